"""What the parts of the paper's network bring: TPM, CAM, both, and attention heads.

    python benchmarks/ablation.py --output out/ablation [--plot docs/images/ablation.png] [--batches 40] [--seeds 2]
        [--processes 2]

A reduced budget: small networks, short searches, few batches. In short trials nothing was learned from the paper's
reward, what a move takes off the best makespan so far; so this one is what it takes off the present makespan,
discounted, with a critic as the baseline and an entropy bonus. A run that was ended goes on when called again.
"""

from __future__ import annotations

import argparse
import io
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from heuristics.training.config import TrainingConfig, preset
from heuristics.training.run_files import RunFolder
from heuristics.training.train import train
from heuristics.training.trials import Validation
from l2s_plugin.files import write_bytes

VARIANTS: dict[str, dict[str, object]] = {
    "TPM": {"embedding": "tpm"},
    "CAM, 1 head": {"embedding": "cam"},
    "TPM + CAM, 1 head": {},
    "TPM + CAM, 2 heads": {"heads": 2},
    "TPM + CAM, 4 heads": {"heads": 4},
}
LAST = 3  # validations whose mean is what a run reached


def config_of(variant: str, batches: int, seed: int) -> TrainingConfig:
    """The preset `paper`, on a reduced budget."""
    changes = {
        "policy": {"width": 32, "layers": 3, "action_width": 32, "action_layers": 2, **VARIANTS[variant]},
        "batches": batches, "steps": 200, "learning_rate": 1e-3, "reward": "decrement", "discount": 0.8,
        "baseline": "critic", "entropy": 0.3, "largest_gradient": 1.0, "seed": seed,
        "validation_instances": 200, "validation_steps": 200, "validation_every": 4,
    }  # fmt: skip
    return preset("paper").with_changes(changes)


def run(task: tuple[str, int, int, Path]) -> tuple[list[tuple[int, float]], float]:
    """Train one variant; returns its validations, a pair of batch and figure each, and the minutes it took."""
    variant, batches, seed, output = task
    folder = output / f"{variant.lower().replace(' ', '-').replace(',', '').replace('+-', '')}-{seed}"
    resume = RunFolder(folder).state_file.exists()
    state = train(config_of(variant, batches, seed), folder, resume=resume, threads=1)
    points = [(row["batch"], row["validation"]) for row in RunFolder(folder).metrics() if "validation" in row]
    return points, state.seconds / 60


def plot(curves: dict[str, list[list[tuple[int, float]]]], path: Path) -> None:
    """Validation over batches: a line per variant, the mean over seeds, and a thin one per seed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    for number, (name, runs) in enumerate(curves.items()):
        batches, colour = [batch for batch, _ in runs[0]], f"C{number}"
        values = np.array([[value for _, value in points] for points in runs])
        axes.plot(batches, values.mean(0), ".-", color=colour, label=name)
        axes.plot(batches, values.T, "-", color=colour, linewidth=0.6, alpha=0.4)
    axes.set(xlabel="batch", ylabel="% above the lower bound after 200 steps")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    write_bytes(path, buffer.getvalue())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="folder for the runs")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--batches", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--processes", type=int, default=1, help="runs at once, on one thread each")
    args = parser.parse_args()
    tasks = [(variant, args.batches, seed, args.output) for seed in range(args.seeds) for variant in VARIANTS]
    with ProcessPoolExecutor(args.processes) as pool:
        results = list(pool.map(run, tasks))
    curves: dict[str, list[list[tuple[int, float]]]] = {variant: [] for variant in VARIANTS}
    minutes = dict.fromkeys(VARIANTS, 0.0)
    for (variant, *_), (points, took) in zip(tasks, results, strict=True):
        curves[variant].append(points)
        minutes[variant] += took / args.seeds
    print(f"| | first validation | mean of the last {LAST} | the same, seed by seed | minutes |\n|---|---|---|---|---|")
    for variant, runs in curves.items():
        first = np.mean([points[0][1] for points in runs])
        last = [np.mean([value for _, value in points[-LAST:]]) for points in runs]
        each = ", ".join(f"{value:.2f}" for value in last)
        print(f"| {variant} | {first:.2f} | {np.mean(last):.2f} | {each} | {minutes[variant]:.1f} |", flush=True)
    validation = Validation(config_of("TPM", args.batches, 0))
    for rule in ("random", "boltzmann"):
        print(f"| `{rule}`, which learned nothing | | {validation.gap_of(rule):.2f} | | |")
    if args.plot:
        plot(curves, args.plot)


if __name__ == "__main__":
    main()
