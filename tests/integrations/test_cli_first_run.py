"""The first run on a machine: compilation is announced and kept, and a cache that cannot be written is no obstacle."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

SCRIPT = shutil.which("l2s", path=str(Path(sys.executable).parent)) or "l2s"

USE_A_KERNEL = """
import numpy as np
from l2s_plugin.kernels.compile import announce_compilation
announce_compilation()
from l2s_plugin.kernels.random import next_uint64
next_uint64(np.ones(1, np.uint64))
"""


def said(cache: Path) -> str:
    """What a fresh process says on standard error when it uses a kernel."""
    environment = os.environ | {"L2S_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", USE_A_KERNEL]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr


def test_compilation_is_announced_when_it_happens_and_only_then(tmp_path: Path) -> None:
    announced = said(tmp_path)
    assert announced.startswith("l2s: compiling the search kernels, once")
    assert announced.count("\n") == 1
    assert said(tmp_path) == ""
    for compiled in tmp_path.rglob("*.nbc"):  # the index is still there, as after a change of Python or of the folder
        compiled.unlink()
    assert said(tmp_path) == announced


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
