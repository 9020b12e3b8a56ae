"""Attacks on a run of `l2s solve ... --output`: how many results are lost or damaged?

    python benchmarks/robustness.py kills 100 [--seed 0]

Runs are killed (SIGKILL), ended (SIGTERM), or lose the reader of their standard output or standard error, each at a
random moment, half of them near the delivery; others print to a full device. Every other run has a file to replace.
A SIGKILL may lose the run. All others have to leave the schedule in the file as soon as one was reported, and nothing
may ever leave a damaged file. Prints the counts; exit code 1 if a result was lost or damaged.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from l2s_plugin.errors import L2SError
from l2s_plugin.loader import load
from l2s_plugin.verification import verify_dict

INSTANCE = "la21"
L2S = [sys.executable, "-c", "import sys; sys.argv[0] = 'l2s'; from integrations.cli import main; main()"]
RUNS = (["--method", "memetic", "--time-limit", "0.3"], ["--method", "hybrid", "--workers", "2", "--time-limit", "1"])
ATTACKS = ("SIGKILL", "SIGTERM", "stdout closed", "stderr closed", "stdout full")


def attack(kind: str, words: list[str], file: Path, moment: float) -> bool:
    """Run and attack at the moment; whether the run had reported a schedule."""
    command = [*L2S, "solve", INSTANCE, *words, "--output", str(file)]
    with open("/dev/full", "w") as full, tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            command,
            stdout=full if kind == "stdout full" else subprocess.PIPE,
            stderr=subprocess.PIPE if kind == "stderr closed" else log,
        )
        time.sleep(moment)
        if kind.startswith("SIG"):
            process.send_signal(signal.Signals[kind])
        for stream in (process.stdout, process.stderr):
            if stream is not None and kind.endswith("closed"):
                stream.close()
        process.wait()
        log.seek(0)
        return "makespan" in log.read() or not kind.startswith("SIG")


def outcome(kind: str, file: Path, before: int | None, reported: bool) -> str:
    """What the file holds after the attack."""
    inode = file.stat().st_ino if file.exists() else None
    if inode is not None:
        try:
            verify_dict(load(INSTANCE), json.loads(file.read_text()), str(file))
        except (L2SError, ValueError):
            return "damaged"
    if inode is not None and inode != before:
        return "written"
    if before is not None and inode is None:
        return "damaged"  # the old file is gone, and there is no new one
    if kind == "SIGKILL":
        return "run lost"
    return "lost" if reported else "nothing found yet"


def kills(count: int, seed: int) -> Counter[tuple[str, str]]:
    """Attack so many runs; how often each attack had which outcome."""
    rng = random.Random(seed)
    counts: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "schedule.json"
        usual = []
        for words in RUNS:  # also compiles the kernels
            for _ in range(2):
                begin = time.perf_counter()
                attack("none", words, file, 0)
                last = time.perf_counter() - begin
            usual.append(last)
        for number in range(count):
            kind = ATTACKS[number % len(ATTACKS)]
            which = rng.randrange(len(RUNS))
            moment = usual[which] * (rng.uniform(0.9, 1.05) if rng.random() < 0.5 else rng.random())
            if number % 2:
                file.unlink(missing_ok=True)
            before = file.stat().st_ino if file.exists() else None
            reported = attack(kind, RUNS[which], file, moment)
            counts[kind, outcome(kind, file, before, reported)] += 1
        attack("none", RUNS[0], file, 0)
        counts["all", "left beside the file"] = len(list(Path(name).iterdir())) - 1
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("kills")
    command.add_argument("count", type=int, nargs="?", default=100)
    command.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts = kills(options.count, options.seed)
    for (kind, what), number in sorted(counts.items()):
        print(f"{kind:<14} {what:<20} {number:>5}")
    bad = sum(number for (_, what), number in counts.items() if what in ("lost", "damaged"))
    print(f"{options.count} attacks, {bad} results lost or damaged")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
