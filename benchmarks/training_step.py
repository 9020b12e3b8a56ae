"""One move of training by the paper's algorithm, everything included: compiled layers against torch and PyG.

    python benchmarks/training_step.py [--size 10x10] [--batch-size 64] [--width 128] [--rounds 5]

Every form makes n = 10 moves on a batch of instances and learns from them, by the preset `paper`; the forms take turns,
on one thread, so that whatever else the machine does hits all of them. The figure is the median over the rounds,
divided by n. It depends on where the search is, for graphs whose incumbent did not improve need no gradient in part of
the compiled form: the first moves improve it often, later ones seldom.

reference  `l2s_plugin.policy.network`: PyG's layers, to be read
torch      `l2s_plugin.policy.trainable` as it is on a GPU: gathers, no PyG
compiled   `l2s_plugin.policy.compiled_layers`, as it is on a CPU
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from heuristics.training.config import TrainingConfig, preset
from heuristics.training.environment import DUMMY, Environment
from heuristics.training.run_files import RunFolder
from heuristics.training.train import Trainer
from l2s_plugin.policy.graph import GraphBatch
from l2s_plugin.policy.network import PolicyNetwork
from l2s_plugin.policy.trainable import TrainableNetwork

MOVES = (0, 50, 400)  # random ones, before those that are measured


class Reference(PolicyNetwork):
    """The readable network, as the trainer calls it."""

    def scores_and_embedding(self, batch: GraphBatch) -> tuple[Tensor, Tensor | None]:
        return self(batch), None


class WithTorch(TrainableNetwork):
    """The form for other devices."""

    _embed_compiled = TrainableNetwork._embed


FORMS: dict[str, Any] = {"reference": Reference, "torch": WithTorch, "compiled": TrainableNetwork}


def trainer_of(form: str, config: TrainingConfig) -> tuple[Trainer, Environment, np.random.Generator]:
    """A trainer around one form of the network, and a batch to train on; nothing is written."""
    trainer = Trainer(config, RunFolder(Path("unused")))
    network = FORMS[form](config.policy).train()
    network.load_state_dict(trainer.network.state_dict())
    trainer.network, trainer.parameters = network, list(network.parameters())
    trainer.optimiser = torch.optim.Adam(trainer.parameters, lr=config.learning_rate)
    instances, rng = trainer._instances(1)
    environment = Environment(
        instances, config.host, config.neighbourhood, "paper", config.reward, config.start, seed=1
    )  # fmt: skip
    return trainer, environment, rng


def wander(environment: Environment, count: int) -> float:
    """Make random moves; returns the milliseconds that the environment took for each."""
    rng, begin = np.random.default_rng(0), time.perf_counter()
    for _ in range(count):
        environment.observe()
        actions = environment.n_actions
        environment.step(np.where(actions > 0, (rng.random(len(actions)) * actions).astype(np.int64), DUMMY))
    return 1e3 * (time.perf_counter() - begin) / max(count, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="10x10")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    changes = {"sizes": args.size, "batch_size": args.batch_size, "policy": {"width": args.width}}
    config = preset("paper").with_changes(changes)
    print("| milliseconds per move of the batch | " + " | ".join(f"after {count} more moves" for count in MOVES) + " |")
    print("|---" * (len(MOVES) + 1) + "|")
    parts = {form: trainer_of(form, config) for form in FORMS}
    figures: dict[str, list[float]] = {form: [] for form in FORMS}
    own = 0.0
    for count in MOVES:
        for _, environment, _ in parts.values():
            own = wander(environment, count)
        seconds: dict[str, list[float]] = {form: [] for form in FORMS}
        for number in range(args.rounds + 1):  # the first one compiles, and fills the caches
            for form, (trainer, environment, rng) in parts.items():
                begin = time.perf_counter()
                trainer._reinforce(environment, rng)
                if number:
                    seconds[form].append(time.perf_counter() - begin)
        for form in FORMS:
            figures[form].append(1e3 * statistics.median(seconds[form]) / config.horizon)
    for form, row in figures.items():
        print(f"| {form} | " + " | ".join(f"{value:.0f}" for value in row) + " |")
    print(f"\nthe environment alone: {own:.2f} ms per move")


if __name__ == "__main__":
    main()
