"""Damaged files against every reader: how many are accepted, refused in one line, or end in an internal error.

python benchmarks/fuzz_readers.py --inputs 100000 --seed 0
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.mutations import attack, readers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100_000, help="in all, shared by the readers")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        every = list(readers(Path(folder)))
        print("| reader | inputs | accepted | refused | internal errors |\n|---|---|---|---|---|")
        for number, reader in enumerate(every):
            inputs = options.inputs // len(every) + (number < options.inputs % len(every))
            counts = attack(reader, inputs, options.seed)
            failed = counts["failures"]
            failures += len(failed)
            print(
                f"| {reader.name} | {inputs} | {counts['accepted']} | {counts['refused']} | {len(failed)} |", flush=True
            )
            for kind in sorted({f"{type(error).__name__}: {str(error)[:100]!r}" for _, error in failed})[:5]:
                print(f"  {reader.name}: {kind}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
