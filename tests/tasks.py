"""Searches that other processes can import, and that misbehave there as tests want them to."""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path
from typing import Any

from heuristics import tabu_search
from heuristics.result import Result
from l2s_plugin.errors import L2SError
from l2s_plugin.instance import Instance

PATIENCE = 120_000  # milliseconds that a task waits for another one before the test fails


def search(instance: Instance, *, stop: Any, seed: int) -> Result:
    """A short and healthy search."""
    return tabu_search(instance, stop=stop, seed=seed)


def announced(instance: Instance, *, stop: Any, seed: int) -> Result:
    """A search that says when it is under way."""
    return tabu_search(instance, stop=stop, seed=seed, listener=lambda improvement: print("searching", flush=True))


def dies_once(instance: Instance, *, stop: Any, seed: int, folder: str) -> Result:
    """With seed 0, takes its process down the first time; notes every beginning in the folder."""
    begun = note(folder, seed)
    if seed == 0 and begun == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return search(instance, stop=stop, seed=seed)


def dies_beside_another(instance: Instance, *, stop: Any, seed: int, folder: str, signs: int) -> Result:
    """As `dies_once`; with seed 1, goes on until the one with seed 0 has begun for the `signs`-th time."""
    begun = note(folder, seed)
    pipe = Path(folder) / "pipe"
    if seed == 1:
        wait_for(pipe, signs)
    if seed == 0 and begun <= signs:
        tell(pipe)
    if seed == 0 and begun == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return search(instance, stop=stop, seed=seed)


def dies_always(instance: Instance, *, stop: Any, seed: int) -> Result:
    """With seed 0, takes its process down whenever it runs."""
    if seed == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return search(instance, stop=stop, seed=seed)


def fails(instance: Instance, *, stop: Any, seed: int) -> Result:
    """Seed 0 is refused, seed 1 meets a bug."""
    if seed == 0:
        raise L2SError("seed 0 is refused")
    if seed == 1:
        raise KeyError("a bug")
    return search(instance, stop=stop, seed=seed)


def leaves(instance: Instance, *, stop: Any, seed: int) -> Result:
    """Tries to end its process."""
    raise (KeyboardInterrupt if seed else SystemExit)(f"seed {seed}")


def tells_threads(instance: Instance, *, stop: Any, seed: int, workers: int | None = None) -> Result:
    """Fails with the number of threads that it would use."""
    import torch

    raise L2SError(f"torch {torch.get_num_threads()}, workers {workers}")


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
