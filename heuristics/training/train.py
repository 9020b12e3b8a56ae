"""Training of a policy (paper, algorithm 1), from top to bottom."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heuristics.training.config import WHOLE_SEARCHES, TrainingConfig
from heuristics.training.environment import Environment
from heuristics.training.evolution import FIRST_SPREAD, Trial, next_generation
from heuristics.training.instances import parse_size
from heuristics.training.run_files import RunFolder, RunState, check_same_run
from heuristics.training.slopes import MILESTONES, deviations, mirrored_results, slopes, smoothed
from heuristics.training.torchrun import own_device, process_group
from heuristics.training.validation import Validation, selector_of
from l2s_plugin.devices import check_device
from l2s_plugin.errors import L2SError
from l2s_plugin.instance import Instance
from l2s_plugin.policy.checkpoint import save_policy
from l2s_plugin.policy.config import MovePolicyConfig
from l2s_plugin.policy.graph.graphs import GraphBatch
from l2s_plugin.policy.graph.network import PolicyNetwork, frozen_statistics
from l2s_plugin.policy.move_network import MoveNetwork

import torch  # isort: skip  (the line above says which extra is missing)
import torch.distributed as distributed  # isort: skip
from torch import Tensor, nn  # isort: skip

from heuristics.training.reinforce import Stretch, sample, stretch_loss

Listener = Callable[[dict[str, Any]], None]
Progress = Callable[[int, float], None]


class TrainingError(L2SError):
    """Training cannot go on; what was reached is kept."""


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
    if threads is not None:
        torch.set_num_threads(threads)
    device = own_device(device)
    check_device(device)
    with process_group(device) as (rank, processes), ExitStack() as stack:
        if config.batch_size % processes and config.algorithm not in WHOLE_SEARCHES:
            raise L2SError(f"a batch of {config.batch_size} cannot be shared equally by {processes} processes")
        trainer = Trainer(config, RunFolder(folder), device, rank, processes)
        trainer.progress = progress if rank == 0 else None
        if rank == 0:
            stack.enter_context(trainer.folder.locked(create=not resume))
        if resume:
            trainer.resume()
        else:
            if rank == 0:
                trainer.folder.create()
            trainer.state.command = command
        if processes > 1:  # all have read the folder before the first one writes
            distributed.barrier()
        while trainer.state.batches < config.batches:
            figures = trainer.run_batch()
            if rank == 0 and listener is not None:
                listener(figures)
        if rank == 0 and trainer.state.best is None:  # ended before its first validation, and asked for no more
            trainer.validate()
        return trainer.state


class Trainer:
    """Network, optimiser and how far the run is."""

    def __init__(
        self, config: TrainingConfig, folder: RunFolder, device: str = "cpu", rank: int = 0, processes: int = 1
    ) -> None:
        self.config, self.folder = config, folder
        self.rank, self.processes = rank, processes
        torch.manual_seed(config.seed)
        policy = config.policy
        network: Any = MoveNetwork(policy) if isinstance(policy, MovePolicyConfig) else PolicyNetwork(policy)
        self.network = network.to(device).train()
        self.critic = nn.Sequential(nn.Linear(self.network.embedding_width, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
        if config.baseline != "critic":
            self.critic.requires_grad_(requires_grad=False)
        everything = (*self.network.parameters(), *self.critic.parameters())
        self.parameters = [parameter for parameter in everything if parameter.requires_grad]
        self.optimiser = torch.optim.Adam(self.parameters, lr=config.learning_rate)
        self.spread = FIRST_SPREAD  # of the rules that evolution tries
        self.slope = np.zeros(1)  # along every weight, as far as known
        self.state = RunState(config)
        self.progress: Progress | None = None
        self._validation: Validation | None = None

    def run_batch(self) -> dict[str, Any]:
        """Train on one batch of instances, validate where it is time to, keep everything; returns the figures."""
        begin = time.perf_counter()
        batch = self.state.batches + 1
        self._set_learning_rate(batch)
        instances, rng = self._instances(batch)
        learn = {"evolution": self._evolve, "slopes": self._descend}.get(self.config.algorithm, self._learn)
        figures = {"batch": batch, **learn(instances, rng)}
        self.state.batches = batch
        if self.rank == 0:
            if batch % self.config.validation_every == 0 or batch == self.config.batches:
                seconds = self.state.seconds + time.perf_counter() - begin
                figures["validation"] = self._validate(batch, seconds)
            self.state.seconds += time.perf_counter() - begin
            figures["seconds"] = self.state.seconds
            self.folder.add_metrics(figures)
            self.state.tensors = self._tensors()
            self.folder.save(self.state)
        return figures

    def _learn(self, instances: list[Instance], rng: np.random.Generator) -> dict[str, Any]:
        """Go through a batch, learning from every n moves."""
        config, seed = self.config, int(rng.integers(2**31))
        environment = Environment(
            instances, config.host, config.neighbourhood, getattr(config.policy, "features", "paper"), config.reward,
            config.start, seed,
        )  # fmt: skip
        rows, count = [], config.steps // config.horizon
        for k in range(count):
            rows.append(self._reinforce(environment, rng))
            if self.progress is not None:
                self.progress(self.state.batches + 1, (k + 1) / count)
        means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
        start = environment.initial_makespans
        means["improvement"] = 100 * float(np.mean(1 - environment.incumbents / start))
        self._average_statistics()
        size = config.sizes[self.state.batches % len(config.sizes)]
        return {"size": size, **self._averaged(means)}

    def _evolve(self, instances: list[Instance], rng: np.random.Generator) -> dict[str, Any]:
        """Let one generation of rules search on the instances; the best of them make the next rule."""
        trial = Trial(self.config, instances, int(rng.integers(2**31)), torch.get_num_threads())
        weights = self._weights()

        def results_of(tried: NDArray[np.float64]) -> list[float]:
            """Of all rules; every process tries its share of them."""
            own, results = slice(self.rank, None, self.processes), np.zeros(len(tried))
            results[own] = trial.results([selector_of(self.config, weights | {"rule": rule}) for rule in tried[own]])
            if self.processes > 1:
                distributed.all_reduce(torch.from_numpy(results))
            return results.tolist()

        centre, self.spread, left = next_generation(
            weights["rule"].astype(np.float64), self.spread, self.config.population, results_of, rng
        )
        with torch.no_grad():
            self.network.rule.copy_(torch.as_tensor(centre))
        spread = float(self.spread[self.spread > 0].mean())
        return {"size": ",".join(self.config.sizes), "improvement": 100 - left, "spread": spread}

    def _descend(self, instances: list[Instance], rng: np.random.Generator) -> dict[str, Any]:
        """Try deviations from the rule on both sides, and go where results are better."""
        config, weights = self.config, self._weights()
        changing: dict[str, Any] = {name: getattr(self.network, name) for name in ("rule", "drift") if name in weights}
        centre = np.concatenate([weights[name].ravel() for name in changing]).astype(np.float64)
        milestones = [max(round(part * config.steps), 1) for part in MILESTONES]
        trial = Trial(config, instances, int(rng.integers(2**31)), milestones=milestones)

        def parts(tried: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
            rows = tried.reshape(-1, len(weights["rule"]))
            return dict(zip(changing, (rows[0], rows[1:]), strict=False))

        def search(tried: NDArray[np.float64], k: int) -> float:
            return trial.search(selector_of(config, weights | parts(tried)), k)

        tried = deviations((len(instances), len(centre)), config.features, rng)
        own = range(self.rank, len(instances), self.processes)
        results = mirrored_results(search, centre, tried, own, torch.get_num_threads())
        if self.processes > 1:
            distributed.all_reduce(torch.from_numpy(results))
        self.slope, slope = smoothed(self.slope, slopes(tried, results), self.state.batches + 1)
        for name, values in parts(centre - self.optimiser.param_groups[0]["lr"] * slope).items():
            with torch.no_grad():
                changing[name].copy_(torch.as_tensor(values))
        figures = {"improvement": 100 - float(results.mean()), "slope": float(np.abs(slope).max())}
        return {"size": ",".join(config.sizes), **figures}

    def resume(self) -> None:
        """Go on from the files of the folder."""
        state = self.folder.load()
        check_same_run(state.config, self.config)
        state.config = self.config
        self.state = state
        self._load_tensors(state.tensors)
        if self.rank == 0:
            self.folder.forget_after(state.batches)

    def validate(self) -> None:
        """Keep the policy of the last batch as the best so far."""
        self._validate(self.state.batches, self.state.seconds)
        self.folder.save(self.state)

    def _set_learning_rate(self, batch: int) -> None:
        left = 1 - (batch - 1) / self.config.batches if self.config.decay else 1.0
        for group in self.optimiser.param_groups:
            group["lr"] = self.config.learning_rate * left

    def _instances(self, batch: int) -> tuple[list[Instance], np.random.Generator]:
        """This process's share of the instances of a batch, and its random numbers: functions of seed and batch."""
        config = self.config
        seeds = np.random.SeedSequence((config.seed, batch)).generate_state(config.batch_size, np.uint32) // 2
        sizes = [parse_size(size) for size in config.sizes]
        if config.algorithm in WHOLE_SEARCHES:  # all sizes at once, and the same in all processes
            instances = [sizes[k % len(sizes)].instance(int(seed)) for k, seed in enumerate(seeds)]
            return instances, np.random.default_rng((config.seed, batch))
        size = sizes[(batch - 1) % len(sizes)]
        share = config.batch_size // self.processes
        own = seeds[self.rank * share : (self.rank + 1) * share]
        return [size.instance(int(seed)) for seed in own], np.random.default_rng((config.seed, batch, self.rank))

    def _reinforce(self, environment: Environment, rng: np.random.Generator) -> dict[str, Any]:
        """Make n moves and learn from them by REINFORCE."""
        stretch, with_critic = Stretch(), self.config.baseline == "critic"
        for _ in range(self.config.horizon):
            scores, graphs = self._scores(environment.observe())
            moves = sample(scores, environment.n_actions, rng)
            values = self.critic(graphs).squeeze(1) if with_critic else None
            stretch.add(moves, environment.step(moves.actions), values)
        last = None
        if with_critic:
            with torch.no_grad(), frozen_statistics(self.network):
                last = self.critic(self.network.scores_and_embedding(environment.observe())[1]).squeeze(1)
        loss, figures = stretch_loss(stretch, last, self.config)
        self._update(loss)
        return figures

    def _scores(self, seen: GraphBatch) -> tuple[Tensor, Tensor]:
        scores, embedding = self.network.scores_and_embedding(seen)
        if not torch.isfinite(scores).all():
            raise self._failure("scores")
        return scores, embedding

    def _update(self, loss: Tensor) -> None:
        self.optimiser.zero_grad()
        loss.backward()
        if self.processes > 1:
            self._average([parameter.grad for parameter in self.parameters if parameter.grad is not None])
        norm = nn.utils.clip_grad_norm_(self.parameters, self.config.largest_gradient or torch.inf)
        if not torch.isfinite(norm):
            raise self._failure("gradient")
        self.optimiser.step()

    def _failure(self, what: str) -> TrainingError:
        kept = f"{self.folder.path} holds batch {self.state.batches}" if self.state.batches else "nothing was trained"
        return TrainingError(
            f"the {what} in batch {self.state.batches + 1} are no finite numbers; stopped, {kept} "
            "(a smaller learning rate or largest_gradient may help)"
        )

    def _average_statistics(self) -> None:
        """Processes normalise by their own nodes; what they gathered is averaged once per batch."""
        if self.processes > 1:
            self._average([buffer for buffer in self.network.buffers() if buffer.is_floating_point()])

    def _average(self, tensors: list[Tensor]) -> None:
        """Replace each by its mean over the processes: all in one message, many small ones take longer."""
        flat = torch.cat([tensor.flatten() for tensor in tensors])
        distributed.all_reduce(flat)
        parts = flat.div_(self.processes).split([tensor.numel() for tensor in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.copy_(part.view_as(tensor))

    def _averaged(self, figures: dict[str, float]) -> dict[str, float]:
        if self.processes == 1:
            return figures
        values = torch.tensor(list(figures.values()), dtype=torch.float64)
        distributed.all_reduce(values)
        return dict(zip(figures, (values / self.processes).tolist(), strict=True))

    def _validate(self, batch: int, seconds: float) -> float:
        """How good the policy is now; the best one so far is kept, with how it came about."""
        if self._validation is None:
            self._validation = Validation(self.config, torch.get_num_threads())
        weights = self._weights()
        gap = self._validation.gap_of(selector_of(self.config, weights))
        if self.state.best is None or gap < self.state.best["validation"]:
            self.state.best = {"batch": batch, "validation": gap}
            curve = [[row["batch"], row["validation"]] for row in self.folder.metrics() if "validation" in row]
            record = {"training": self.config.to_dict(), "seconds": round(seconds), **self.state.best}
            record["processes"] = self.processes
            record["curve"] = [*curve, [batch, gap]]
            if self.state.command is not None:
                record["command"] = self.state.command
            host = {"method": self.config.host, "neighbourhood": self.config.neighbourhood}
            save_policy(self.folder.best_file, self.config.policy, weights, record, host=host)
        return gap

    def _weights(self) -> dict[str, NDArray[Any]]:
        return {name: tensor.detach().cpu().numpy().copy() for name, tensor in self.network.state_dict().items()}

    def _tensors(self) -> dict[str, Any]:
        tensors = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        tensors |= {f"critic.{name}": tensor for name, tensor in self.critic.state_dict().items()}
        for i, entry in self.optimiser.state_dict()["state"].items():
            tensors |= {f"adam.{i}.{name}": tensor for name, tensor in entry.items()}
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
        evolving = {"evolution": {"evolution.spread": self.spread}, "slopes": {"slopes.slope": self.slope}}
        return arrays | evolving.get(self.config.algorithm, {})

    def _load_tensors(self, arrays: Mapping[str, Any]) -> None:
        self._check_tensors(arrays)
        tensors = {name: torch.tensor(array) for name, array in arrays.items()}

        def part(prefix: str) -> dict[str, Tensor]:
            return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}

        self.spread = arrays.get("evolution.spread", self.spread)
        self.slope = arrays.get("slopes.slope", self.slope)
        self.network.load_state_dict(part("network."))
        self.critic.load_state_dict(part("critic."))
        optimiser = self.optimiser.state_dict()
        for name, tensor in part("adam.").items():
            number, _, key = name.partition(".")
            optimiser["state"].setdefault(int(number), {})[key] = tensor
        self.optimiser.load_state_dict(optimiser)

    def _check_tensors(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Raise unless these are what `_tensors` gives; Adam knows only parameters that it has changed."""
        expected = {name: [np.shape(array)] for name, array in self._tensors().items()}
        for i, parameter in enumerate(self.parameters):
            if any(name.startswith(f"adam.{i}.") for name in arrays):
                shape = tuple(parameter.shape)
                expected |= {f"adam.{i}.{name}": [shape] for name in ("exp_avg", "exp_avg_sq")}
                expected[f"adam.{i}.step"] = [()]
        if "slopes.slope" in expected:  # of one number until the first batch
            rule = (tensor for name, tensor in self.network.named_parameters() if name in ("rule", "drift"))
            expected["slopes.slope"].append((sum(tensor.numel() for tensor in rule),))
        for name in sorted(expected.keys() | arrays.keys()):
            array = arrays.get(name)
            if array is None or array.shape not in expected.get(name, ()) or not np.isfinite(array).all():
                raise L2SError(f"{self.folder.state_file}: damaged: {name!r} is not as this run keeps it")
            if name.endswith((".step", "_sq", ".spread")) and (array < 0).any():
                raise L2SError(f"{self.folder.state_file}: damaged: {name!r} holds negative numbers")
