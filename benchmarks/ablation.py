"""What the parts of the paper's network bring: TPM, CAM, both, and attention heads, trained by the paper's algorithm.

    python benchmarks/ablation.py --output out/ablation [--plot docs/images/ablation.png] [--batches 30]

A reduced budget: small networks, short searches, few batches. A run that was ended goes on when called again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from heuristics.training.config import TrainingConfig, preset
from heuristics.training.run_files import RunFolder
from heuristics.training.train import train
from l2s_plugin.files import write_bytes

VARIANTS = {
    "TPM": {"embedding": "tpm"},
    "CAM, 1 head": {"embedding": "cam"},
    "TPM + CAM, 1 head": {},
    "TPM + CAM, 2 heads": {"heads": 2},
    "TPM + CAM, 4 heads": {"heads": 4},
}


def config_of(architecture: dict[str, object], batches: int, seed: int) -> TrainingConfig:
    """The preset `paper`, on a reduced budget."""
    policy = {"width": 32, "layers": 3, "action_width": 32, "action_layers": 2} | architecture
    budget = {"batches": batches, "batch_size": 32, "steps": 200, "learning_rate": 3e-4}
    validation = {"validation_instances": 100, "validation_steps": 200, "validation_every": 3}
    return preset("paper").with_changes({**budget, **validation, "seed": seed, "policy": policy})


def plot(curves: dict[str, list[tuple[int, float]]], path: Path) -> None:
    """Validation over batches, a line per variant."""
    import io

    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    for name, points in curves.items():
        axes.plot(*zip(*points, strict=True), ".-", label=name)
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
    parser.add_argument("--batches", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    curves: dict[str, list[tuple[int, float]]] = {}
    print("| | first validation | last | best | minutes |\n|---|---|---|---|---|")
    for name, architecture in VARIANTS.items():
        folder = args.output / name.lower().replace(" ", "-").replace(",", "").replace("+-", "")
        resume = RunFolder(folder).state_file.exists()
        state = train(config_of(architecture, args.batches, args.seed), folder, resume=resume, threads=args.threads)
        points = [(row["batch"], row["validation"]) for row in RunFolder(folder).metrics() if "validation" in row]
        curves[name] = points
        best = min(value for _, value in points)
        minutes = state.seconds / 60
        print(f"| {name} | {points[0][1]:.2f} | {points[-1][1]:.2f} | {best:.2f} | {minutes:.1f} |", flush=True)
    if args.plot:
        plot(curves, args.plot)


if __name__ == "__main__":
    main()
