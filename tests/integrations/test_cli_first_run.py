"""The first run on a machine compiles, says so and keeps the result; a cache that cannot be used is no obstacle."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPT = shutil.which("l2s", path=str(Path(sys.executable).parent)) or "l2s"
COMPILING = "l2s: compiling the search kernels, once; this takes some seconds ...\n"

USE_TWO_KERNELS = """
import numpy as np
from l2s_plugin.kernels.random import next_uint64, random
assert next_uint64(np.ones(1, np.uint64)) > 0
assert 0 <= random(np.ones(1, np.uint64)) < 1
"""
COUNT_COMPILATIONS = """
import atexit, sys
from numba.core import event

class Names(event.Listener):
    def on_start(self, event):
        names.add(event.data["name"])
    def on_end(self, event):
        pass

names = set()
event.register("numba:run_pass", Names())
atexit.register(lambda: print("compiled:", *sorted(names)))
from integrations.cli import main
main()
"""


def said(cache: Path, program: str = USE_TWO_KERNELS) -> str:
    """What a fresh process says on standard error when it uses kernels."""
    environment = os.environ | {"L2S_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that holds what is needed; to be copied."""
    folder = tmp_path_factory.mktemp("cache")
    said(folder)
    return folder


def files(cache: Path) -> list[Path]:
    return sorted(path for path in cache.rglob("*") if path.is_file())


def test_compilation_is_announced_when_it_happens_and_only_then(tmp_path: Path) -> None:
    assert said(tmp_path) == COMPILING
    assert said(tmp_path) == ""
    for compiled in files(tmp_path):
        compiled.unlink()
    assert said(tmp_path) == COMPILING


def test_a_default_run_compiles_nothing_once_the_cache_is_filled() -> None:
    command = [sys.executable, "-c", COUNT_COMPILATIONS, "solve", "ft06", "--quiet"]
    subprocess.run(command, capture_output=True, check=True)
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert again.stdout.endswith("\ncompiled:\n")


def test_a_quiet_run_compiles_without_a_word(tmp_path: Path) -> None:
    command = [SCRIPT, "solve", "ft06", "--method", "dispatch", "--quiet"]
    environment = os.environ | {"L2S_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert files(tmp_path)


def empty(first: Path, second: Path) -> None:
    first.write_bytes(b"")


def truncate(first: Path, second: Path) -> None:
    first.write_bytes(first.read_bytes()[:-1])


def change(first: Path, second: Path) -> None:
    for path in (first, second):
        path.write_bytes(path.read_bytes().replace(b"\0", b"\1", 1))


def swap(first: Path, second: Path) -> None:
    contents = first.read_bytes(), second.read_bytes()
    second.write_bytes(contents[0])
    first.write_bytes(contents[1])


@pytest.mark.parametrize("damage", [empty, truncate, change, swap])
def test_a_damaged_cache_is_told_in_one_line_and_rebuilt(
    damage: Callable[[Path, Path], None], filled: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    shutil.copytree(filled, cache)
    damage(*files(cache)[:2])
    line = said(cache)
    assert line == f"l2s: compiled kernels in {cache} are damaged; compiling them anew ...\n"
    assert said(cache) == ""


LITTLE_ROOM = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
SOMEBODY_ELSE = "import os; os.geteuid = lambda: 12345\n"


def test_a_disk_that_is_full_is_told_in_one_line_and_the_work_is_done(tmp_path: Path) -> None:
    compiling, lost = said(tmp_path, LITTLE_ROOM + USE_TWO_KERNELS).splitlines(keepends=True)
    assert compiling == COMPILING
    assert lost.startswith(f"l2s: cannot keep compiled kernels in {tmp_path} (File too large); ")
    assert not files(tmp_path)


@pytest.mark.parametrize(
    ("mode", "program", "reason"),
    [
        (0o770, "", "others may write there"),
        (0o707, "", "others may write there"),
        (0o700, SOMEBODY_ELSE, "it belongs to somebody else"),
    ],
)
def test_a_cache_that_others_can_write_to_is_refused(
    mode: int, program: str, reason: str, filled: Path, tmp_path: Path
) -> None:
    """Its files are code that is run."""
    cache = tmp_path / "cache"
    shutil.copytree(filled, cache)
    cache.chmod(mode)
    before = [path.stat().st_atime_ns for path in files(cache)]
    line = said(cache, program + USE_TWO_KERNELS)
    assert line.startswith(f"l2s: cannot keep compiled kernels in {cache} ({reason}); compiling anew")
    assert line.count("\n") == 1
    assert [path.stat().st_atime_ns for path in files(cache)] == before


def test_a_new_cache_is_closed_to_others(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    said(cache, "import os; os.umask(0)\n" + USE_TWO_KERNELS)
    assert cache.stat().st_mode & 0o077 == 0


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
