"""The first run on a machine: compilation is announced and kept, and a cache that cannot be written is no obstacle."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

SCRIPT = shutil.which("l2s", path=str(Path(sys.executable).parent)) or "l2s"

ANNOUNCE = """
import sys
from l2s_plugin.kernels.compile import announce_compilation, cache_folder
announce_compilation(sys.argv[1])
print(cache_folder(sys.argv[1]))
"""


def announced(source: Path, cache: Path) -> tuple[str, str]:
    """What a fresh process says on standard error before it uses the kernels of a file, and where it keeps them."""
    done = subprocess.run(
        [sys.executable, "-c", ANNOUNCE, str(source)],
        env=os.environ | {"L2S_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr, done.stdout.strip()


def test_compilation_is_announced_until_something_is_in_the_cache(tmp_path: Path) -> None:
    source = tmp_path / "kernels.py"
    source.write_text("")
    said, folder = announced(source, tmp_path / "cache")
    assert said.startswith("l2s: compiling the search kernels, once")
    (Path(folder) / "kernel.nbi").write_text("")
    assert announced(source, tmp_path / "cache") == ("", folder)


def test_a_cache_that_cannot_be_written_is_told_and_the_work_is_done(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")  # a file where the folder should be: refused for every user, the superuser, too
    done = subprocess.run(
        [SCRIPT, "solve", "ft06", "--method", "dispatch", "--json"],
        env=os.environ | {"L2S_CACHE_DIR": str(in_the_way / "cache")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert '"makespan"' in done.stdout
    assert done.stderr.count("\n") == 1
    assert "cannot keep compiled kernels in" in done.stderr
    assert "L2S_CACHE_DIR" in done.stderr
