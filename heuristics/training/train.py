"""A training run, from top to bottom: batch after batch for the algorithm, validated and kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from heuristics.training.algorithms import ALGORITHMS, Algorithm, Batch, TrainingError
from heuristics.training.config import TrainingConfig
from heuristics.training.instances import parse_size
from heuristics.training.run_files import RunFolder, RunState, check_same_run
from heuristics.training.torchrun import Processes, own_device, process_group
from heuristics.training.trials import Validation, selector_of
from l2s_plugin.devices import check_device
from l2s_plugin.errors import L2SError
from l2s_plugin.policy.checkpoint import save_policy

Listener = Callable[[dict[str, Any]], None]
Progress = Callable[[int, float], None]


def train(
    config: TrainingConfig,
    folder: str | Path,
    *,
    resume: bool = False,
    device: str = "cpu",
    threads: int | None = None,
    command: str | None = None,
    listener: Listener | None = None,
    progress: Progress | None = None,
) -> RunState:
    """Train a policy; its best version is `best.safetensors` in the folder.

    A run that was ended in any way goes on with `resume=True`, to the same numbers as if it had never ended. Under
    `torchrun` every process trains on its share of each batch, and gradients are averaged.

    Parameters
    ----------
    config
        What to do.
    folder
        Of the run; see `heuristics.training.run_files`.
    device
        `"cpu"`, `"cuda"`, ...
    threads
        For torch and validation; torch's default when None.
    command
        What the run was begun with, for the training record of its policy.
    listener
        Called with the figures of every batch.
    progress
        Called after every n moves with the number of the batch and the share of it that is done.
    """
    device = own_device(device)
    check_device(device)
    with process_group(device, threads) as processes, ExitStack() as stack:
        trainer = Trainer(config, RunFolder(folder), device, processes)
        first = processes.rank == 0
        trainer.progress = progress if first else None
        if first:
            stack.enter_context(trainer.folder.locked(create=not resume))
        if resume:
            trainer.resume()
        else:
            if first:
                trainer.folder.create()
            trainer.state.command = command
        processes.wait()  # all have read the folder before the first one writes
        while trainer.state.batches < config.batches:
            figures = trainer.run_batch()
            if first and listener is not None:
                listener(figures)
        if first and trainer.state.best is None:  # ended before its first validation, and asked for no more
            trainer.validate(trainer.state.seconds)
            trainer.folder.save(trainer.state)
        return trainer.state


class Trainer:
    """The algorithm, and how far the run is."""

    def __init__(
        self, config: TrainingConfig, folder: RunFolder, device: str = "cpu", processes: Processes | None = None
    ) -> None:
        self.config, self.folder, self.processes = config, folder, processes or Processes()
        algorithm: type[Algorithm] = ALGORITHMS[config.algorithm].load()
        if config.batch_size % self.processes.count and not algorithm.whole_searches:
            raise L2SError(
                f"a batch of {config.batch_size} cannot be shared equally by {self.processes.count} processes"
            )
        self.algorithm = algorithm(config, self.processes, device)
        self.state = RunState(config)
        self.progress: Progress | None = None
        self._validation: Validation | None = None

    def run_batch(self) -> dict[str, Any]:
        """Train on one batch of instances, validate where it is time to, keep everything; returns the figures."""
        begin = time.perf_counter()
        batch = self.batch(self.state.batches + 1)
        try:
            figures = {"batch": batch.number, "size": batch.size, **self.algorithm.learn(batch)}
        except TrainingError as error:
            done = self.state.batches
            kept = f"{self.folder.path} holds batch {done}" if done else "nothing was trained"
            advice = "a smaller learning rate or largest_gradient may help"
            raise TrainingError(f"{error}; stopped, {kept} ({advice})") from error
        self.state.batches = batch.number
        if self.processes.rank == 0:
            if batch.number % self.config.validation_every == 0 or batch.number == self.config.batches:
                figures["validation"] = self.validate(self.state.seconds + time.perf_counter() - begin)
            self.state.seconds += time.perf_counter() - begin
            figures["seconds"] = self.state.seconds
            self.folder.add_metrics(figures)
            self.state.tensors = self.algorithm.state()
            self.folder.save(self.state)
        return figures

    def batch(self, number: int) -> Batch:
        """This process's share of the instances of a batch, and its random numbers: functions of seed and number."""
        config, rank = self.config, self.processes.rank
        seeds = np.random.SeedSequence((config.seed, number)).generate_state(config.batch_size, np.uint32) // 2
        if self.algorithm.whole_searches:  # all sizes at once, and the same in all processes
            texts, key = config.sizes, [config.seed, number]
        else:
            texts, key = config.sizes[(number - 1) % len(config.sizes) :][:1], [config.seed, number, rank]
            share = config.batch_size // self.processes.count
            seeds = seeds[rank * share : (rank + 1) * share]
        sizes = [parse_size(text) for text in texts]
        instances = [sizes[k % len(sizes)].instance(int(seed)) for k, seed in enumerate(seeds)]
        left = 1 - (number - 1) / config.batches if config.decay else 1.0

        def tell(share: float) -> None:
            if self.progress is not None:
                self.progress(number, share)

        rng = np.random.default_rng(key)
        return Batch(number, ",".join(texts), instances, rng, config.learning_rate * left, tell)

    def resume(self) -> None:
        """Go on from the files of the folder."""
        self.state = self.folder.load()
        check_same_run(self.state.config, self.config)
        self.state.config = self.config
        expected, kept = self.algorithm.state(), self.state.tensors
        try:
            for name in sorted(expected.keys() | kept.keys()):
                shapes = {array.shape if array is not None else None for array in (expected.get(name), kept.get(name))}
                if len(shapes) > 1 or not np.isfinite(kept[name]).all():
                    raise L2SError(f"{name!r} is not as this run keeps it")
            self.algorithm.restore(kept)
        except L2SError as error:
            raise L2SError(f"{self.folder.state_file}: damaged: {error}") from error
        if self.processes.rank == 0:
            self.folder.forget_after(self.state.batches)

    def validate(self, seconds: float) -> float:
        """How good the policy is after so many seconds; the best one so far is kept, with how it came about."""
        if self._validation is None:
            self._validation = Validation(self.config, self.processes.threads)
        weights = self.algorithm.weights()
        gap = self._validation.gap_of(selector_of(self.config, weights))
        if self.state.best is None or gap < self.state.best["validation"]:
            self.state.best = {"batch": self.state.batches, "validation": gap}
            curve = [[row["batch"], row["validation"]] for row in self.folder.metrics() if "validation" in row]
            record = {
                "training": self.config.to_dict(), "seconds": round(seconds), **self.state.best,
                "processes": self.processes.count, "curve": [*curve, [self.state.batches, gap]],
            }  # fmt: skip
            if self.state.command is not None:
                record["command"] = self.state.command
            host = {"method": self.config.host, "neighbourhood": self.config.neighbourhood}
            save_policy(self.folder.best_file, self.config.policy, weights, record, host=host)
        return gap
