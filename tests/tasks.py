"""Searches that other processes can import, and that misbehave there as tests want them to."""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path
from typing import Any

from heuristics import Configuration, tabu_search
from heuristics.hosts.trajectories import follow
from heuristics.monitor import Monitor
from heuristics.result import Result
from l2s_plugin.errors import L2SError
from l2s_plugin.instance import Instance

PATIENCE = 120_000  # milliseconds that a task waits for another one before the test fails


def search(instance: Instance, way: Configuration, monitor: Monitor) -> Result:
    """A short and healthy search."""
    return follow(instance, way, monitor)


def announced(instance: Instance, way: Configuration, monitor: Monitor) -> Result:
    """A search that says when it is under way."""
    return tabu_search(
        instance, stop=way.stop, seed=way.seed, listener=lambda improvement: print("searching", flush=True)
    )


def dies_once(instance: Instance, way: Configuration, monitor: Monitor, *, folder: str) -> Result:
    """With seed 0, takes its process down the first time; notes every beginning in the folder."""
    begun = note(folder, way.seed)
    if way.seed == 0 and begun == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return search(instance, way, monitor)


def dies_beside_another(instance: Instance, way: Configuration, monitor: Monitor, *, folder: str, signs: int) -> Result:
    """As `dies_once`; with seed 1, goes on until the one with seed 0 has begun for the `signs`-th time."""
    begun = note(folder, way.seed)
    pipe = Path(folder) / "pipe"
    if way.seed == 1:
        wait_for(pipe, signs)
    if way.seed == 0 and begun <= signs:
        tell(pipe)
    if way.seed == 0 and begun == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return search(instance, way, monitor)


def dies_always(instance: Instance, way: Configuration, monitor: Monitor) -> Result:
    """With seed 0, takes its process down whenever it runs."""
    if way.seed == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return search(instance, way, monitor)


def fails(instance: Instance, way: Configuration, monitor: Monitor) -> Result:
    """Seed 0 is refused, seed 1 meets a bug."""
    if way.seed == 0:
        raise L2SError("seed 0 is refused")
    if way.seed == 1:
        raise KeyError("a bug")
    return search(instance, way, monitor)


def leaves(instance: Instance, way: Configuration, monitor: Monitor) -> Result:
    """Tries to end its process."""
    raise (KeyboardInterrupt if way.seed else SystemExit)(f"seed {way.seed}")


def tells_threads(instance: Instance, way: Configuration, monitor: Monitor) -> Result:
    """Fails with the number of threads that it would use."""
    import torch

    raise L2SError(f"torch {torch.get_num_threads()}, workers {way.workers}")


def torch_threads(task: Any) -> int:
    """How many threads torch would use here."""
    import torch

    return torch.get_num_threads()


class DyingSelector:
    """Takes the first move; the first time of all it takes its process down instead."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def select(self, state: Any, moves: Any, rng: Any) -> int:
        try:
            (Path(self.folder) / "0").open("x").close()
        except FileExistsError:
            return 0
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("survived")


class NoMoves:
    """A neighbourhood that leaves every schedule as it is."""

    def moves(self, state: Any, rng: Any) -> list[tuple[int, int, bool]]:
        return []


def note(folder: str, seed: int) -> int:
    """Note that a task begins; how often it has begun by now."""
    path = Path(folder) / str(seed)
    with path.open("a") as file:
        file.write("x")
    return path.stat().st_size


def begun(folder: Path) -> dict[int, int]:
    """How often the task with each seed has begun."""
    return {int(path.name): path.stat().st_size for path in folder.iterdir() if path.name.isdigit()}


def tell(pipe: Path) -> None:
    """Give the one who waits for the pipe a sign."""
    with pipe.open("w") as file:
        file.write("x")


def wait_for(pipe: Path, signs: int) -> None:
    """Wait for so many signs."""
    handle = os.open(pipe, os.O_RDWR)  # writing, too: or the first sign's end would look like the end of all
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        for _ in range(signs):
            assert poll.poll(PATIENCE), "the other task never came"
            os.read(handle, 1)
    finally:
        os.close(handle)


def tell_and_wait(pipe: Path) -> None:
    """Say that this process is under way, and stay."""
    tell(pipe)
    wait_for(pipe.parent / "never", signs=1)
