"""Workers that die and runs that are interrupted: one task is lost and tried again, and what is there is returned."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import Executor, Future
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import loky
import pytest
from distributed.scheduler import KilledWorker

import l2s_plugin as l2s
from heuristics import Configuration, ProcessPool, portfolio, tabu_search
from heuristics.workers.processes import WorkerDied
from l2s_plugin.errors import L2SError
from tests import tasks

ROOT = Path(__file__).parents[2]
STOP = l2s.stop.steps(100)


def dying(method, folder, **options):
    return Configuration(partial(method, folder=str(folder), **options))


def test_a_worker_that_dies_loses_its_own_task_only(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    way = dying(tasks.dies_beside_another, tmp_path, signs=2)
    runs = portfolio("ft06", way, [0, 1], partial(ProcessPool, 2), stop=STOP).wait()
    assert {run.seed: run.tries for run in runs.runs} == {0: 2, 1: 1}
    assert tasks.begun(tmp_path) == {0: 2, 1: 1}
    for run in runs.runs:
        expected = tabu_search(l2s.load("ft06"), stop=STOP, seed=run.seed)
        assert (run.result.schedule.order == expected.schedule.order).all()


def test_a_task_whose_workers_keep_dying_fails_and_the_rest_goes_on():
    runs = portfolio("ft06", tasks.dies_always, range(5), partial(ProcessPool, 2), stop=STOP, tries=2).wait()
    assert [(run.seed, run.tries) for run in runs.failures] == [(0, 2)]
    assert runs.failures[0].error == "lost 2 times: the worker process died (exit code -9)"
    assert sorted(run.seed for run in runs.runs if run.result) == [1, 2, 3, 4]


def test_a_broken_executor_is_replaced_when_there_is_a_way_to_make_another(tmp_path):
    """loky's pool breaks as a whole when a worker dies, like that of the standard library."""
    way = dying(tasks.dies_once, tmp_path)
    runs = portfolio("ft06", way, range(4), partial(loky.ProcessPoolExecutor, 2), stop=STOP).wait()
    assert not runs.failures
    assert sorted(run.seed for run in runs.runs) == [0, 1, 2, 3]


def test_a_broken_executor_that_was_given_fails_what_is_left_in_one_line(tmp_path):
    with loky.ProcessPoolExecutor(1) as executor:
        runs = portfolio("ft06", dying(tasks.dies_once, tmp_path), [0, 1], executor, stop=STOP).wait()
    assert len(runs.failures) == 2
    assert all(run.error.startswith("the executor takes no more tasks: ") for run in runs.failures)


class GivesUp(Executor):
    """Like dask when a task has cost it several workers."""

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        future.set_exception(KilledWorker("task", SimpleNamespace(address="tcp://10.0.0.2:1"), 3))
        return future


def test_a_task_that_dask_has_given_up_is_not_begun_again():
    """It has been tried on four workers by then, each of which it took with it."""
    (run,) = portfolio("ft06", "tabu", 0, GivesUp(), stop=STOP)
    assert run.tries == 1
    assert run.error.startswith("lost once: Attempted to run task")
    assert "\n" not in run.error


FORKED = """
import multiprocessing, torch
from concurrent.futures import ProcessPoolExecutor
from heuristics.workers.stream import stream
from tests import tasks

torch.set_num_threads(3)
with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as executor:
    print(*(outcome.value for outcome in stream(tasks.torch_threads, [None], executor)), torch.get_num_threads())
"""


def test_tasks_keep_to_one_thread_in_forked_processes_and_leave_the_coordinator_alone():
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    run = subprocess.run([sys.executable, "-c", FORKED], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["1", "3"]


INTERRUPTED = """
import json, sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
import l2s_plugin as l2s
from heuristics import ProcessPool, portfolio
from functools import partial
from loky import get_reusable_executor
from tests import tasks

if __name__ == "__main__":
    executor = partial(globals()[sys.argv[1]], 1)
    runs = portfolio("ta41", tasks.announced, [1, 2], executor, stop=l2s.stop.seconds(600))
    runs.wait()
    runs.best.schedule.verify()
    print(json.dumps([runs.interrupted, [run.result.stopped_by for run in runs.runs]]), flush=True)
"""


@pytest.fixture
def searching(tmp_path):
    return start_searching(tmp_path, "ProcessPool")


def start_searching(folder, executor):
    """The program above, in a process group of its own as a shell starts it, when its first search is under way."""
    script = folder / "interrupted.py"
    script.write_text(INTERRUPTED)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, str(script), executor],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "searching":
            break
    return process


@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["coordinator alone", "all, as a terminal does"])
def test_ctrl_c_returns_what_is_there(send, searching):
    """Also the incumbent of the search that is under way."""
    send(searching.pid, signal.SIGINT)
    last = searching.stdout.read().strip().splitlines()[-1]
    assert searching.wait() == 0
    assert json.loads(last) == [True, ["interrupt"]]


@pytest.mark.parametrize("executor", ["ThreadPoolExecutor", "ProcessPoolExecutor", "get_reusable_executor"])
def test_ctrl_c_at_a_terminal_reaches_the_searches_of_other_executors(executor, tmp_path):
    searching = start_searching(tmp_path, executor)
    os.killpg(searching.pid, signal.SIGINT)
    last = searching.stdout.read().strip().splitlines()[-1]
    assert searching.wait() == 0
    assert json.loads(last) == [True, ["interrupt"]]


def test_workers_end_with_their_coordinator(searching):
    searching.kill()
    searching.communicate(timeout=120)  # until no process holds the pipe any more; the search would take ten minutes


def test_the_pool_returns_values_and_raises_what_calls_raise():
    with ProcessPool(1) as pool:
        assert pool.submit(divmod, 7, 2).result() == (3, 1)
        assert list(pool.map(abs, [-1, 2, -3])) == [1, 2, 3]
        with pytest.raises(ValueError, match="invalid literal"):
            pool.submit(int, "x").result()
        with pytest.raises(Exception, match="pickle"):
            pool.submit(lambda: 1).result()
        with pytest.raises(TypeError, match="cannot pickle"):
            pool.submit(open, os.devnull).result()
        assert pool.submit(int, "3").result() == 3
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(int)


def test_a_process_that_died_idle_costs_no_task():
    with ProcessPool(1) as pool:
        number = pool.submit(os.getpid).result()
        os.kill(number, signal.SIGKILL)
        next(iter(pool._workers.values())).join()
        assert pool.submit(os.getpid).result() != number


def test_a_killed_pool_fails_what_runs_and_cancels_what_waits(tmp_path):
    for name in ("pipe", "never"):
        os.mkfifo(tmp_path / name)
    pool = ProcessPool(1)
    running = pool.submit(tasks.tell_and_wait, tmp_path / "pipe")
    waiting = pool.submit(int)
    tasks.wait_for(tmp_path / "pipe", signs=1)
    pool.kill()
    assert isinstance(running.exception(), WorkerDied)
    assert waiting.cancelled()


@pytest.mark.parametrize("processes", [0, -1])
def test_a_pool_needs_a_process(processes):
    with pytest.raises(L2SError, match="1 or more"):
        ProcessPool(processes)
