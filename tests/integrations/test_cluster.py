"""A real dask cluster on the loopback interface: a scheduler and two workers, one of which dies in mid-run."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest

import l2s_plugin as l2s
from heuristics import Configuration, cooperate, portfolio, tabu_search
from integrations.cli.terminal import ProgressDisplay
from integrations.cluster import ClusterExecutor, executor_for
from l2s_plugin.errors import L2SError, MissingExtraError
from tests import tasks
from tests.integrations import command_line

ROOT = Path(__file__).parents[2]
STOP = l2s.stop.steps(100)


class Cluster:
    """Scheduler and workers as processes of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.processes: list[subprocess.Popen[str]] = []
        scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        assert scheduler.stderr is not None
        for line in scheduler.stderr:
            if "Scheduler at:" in line:
                self.address = line.split()[-1]
                break

    def add_worker(self) -> None:
        # without a nanny, nobody replaces a worker that dies
        self._start("worker", self.address, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--no-dashboard")

    def _start(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "dask", *words]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        errors = subprocess.PIPE if words[0] == "scheduler" else subprocess.DEVNULL
        process = subprocess.Popen(command, cwd=self._folder, env=environment, stderr=errors, text=True)
        self.processes.append(process)
        return process

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()
            if process.stderr is not None:
                process.stderr.close()


@pytest.fixture
def cluster(tmp_path):
    cluster = Cluster(tmp_path)
    try:
        for _ in range(2):
            cluster.add_worker()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def executor(cluster):
    with executor_for(cluster.address) as executor:
        executor.client.wait_for_workers(2, timeout=120)
        yield executor


@pytest.fixture
def notes(tmp_path):
    """A folder for the notes of `tests.tasks`."""
    folder = tmp_path / "notes"
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    return folder


def test_a_worker_killed_in_mid_run_loses_its_own_task_only(executor, notes):
    assert executor.workers == 2
    way = Configuration(partial(tasks.dies_beside_another, folder=str(notes), signs=1))
    runs = portfolio("ft06", way, range(6), executor, stop=STOP).wait()
    assert executor.workers == 1
    assert tasks.begun(notes) == {0: 2, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1}
    assert not runs.failures
    assert len(runs.results) == 6
    for run in runs.runs:
        expected = tabu_search(l2s.load("ft06"), stop=STOP, seed=run.seed)
        assert (run.result.schedule.order == expected.schedule.order).all()


def test_searches_on_a_cluster_cooperate_and_survive_a_worker(executor, notes):
    selector = tasks.DyingSelector(str(notes))
    result = cooperate(l2s.load("la21"), l2s.stop.steps(60), selector=selector, executor=executor)
    result.schedule.verify()
    assert result.steps == 60
    assert executor.workers == 1


def test_closing_the_executor_leaves_the_cluster_running(cluster):
    for _ in range(2):
        with executor_for(cluster.address) as executor:
            assert executor.submit(int, "7").result() == 7
    assert all(process.poll() is None for process in cluster.processes)


def test_a_lost_scheduler_fails_what_is_left_in_one_line(cluster):
    with executor_for(cluster.address, timeout=3) as executor:
        assert executor.submit(int, "7").result() == 7
        cluster.stop()
        runs = portfolio("ft06", tasks.search, [1, 2], executor, stop=STOP).wait()
    assert len(runs.failures) == 2
    assert all(run.error and "\n" not in run.error for run in runs.failures)


def test_a_connection_is_closed_even_if_its_executor_fails_to_shut_down():
    """Left to the garbage collector, dask waits for a lock that its own thread may hold."""
    client = Mock(status="running")
    client.get_executor().shutdown.side_effect = TimeoutError
    with ClusterExecutor(client):
        pass
    client.close.assert_called_once()


@pytest.mark.parametrize("failures", [2, 3])
def test_dask_may_need_more_than_one_try_to_start_on_a_loaded_machine(failures, monkeypatch):
    tries = iter([AssertionError("its loop"), AssertionError("its loop"), AssertionError("its loop")][:failures])

    def client(*_, **__):
        for error in tries:
            raise error
        return Mock(status="running")

    monkeypatch.setattr("distributed.Client", client)
    if failures == 2:
        executor_for("tcp://127.0.0.1:1").shutdown()
    else:
        with pytest.raises(L2SError, match="dask does not start on this machine: AssertionError: its loop"):
            executor_for("tcp://127.0.0.1:1")


def test_a_cluster_without_workers_says_so(tmp_path):
    cluster = Cluster(tmp_path)
    try:
        with executor_for(cluster.address) as executor, pytest.raises(L2SError, match="has no workers"):
            assert executor.workers
    finally:
        cluster.stop()


def test_a_benchmark_says_that_it_waits_for_workers(tmp_path):
    cluster = Cluster(tmp_path)
    words = ["bench", "ft06", "--steps", "50", "--scheduler", cluster.address]
    command = [sys.executable, "-c", "from integrations.cli import main; main()", *words]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    try:
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            waiting = process.stderr.readline()
            cluster.add_worker()
            process.stderr.read()
        assert waiting == f"the dask cluster at {cluster.address} has no workers yet; waiting for them\n"
        assert process.returncode == 0
    finally:
        cluster.stop()


def test_an_address_where_nobody_answers_is_named_in_one_line():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(L2SError, match=f"no dask scheduler answers at {address}") as caught:
        executor_for(address, timeout=0.2)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("address", ["nonsense://here", "127.0.0.1:port", ""])
def test_an_address_that_is_none_is_named_in_one_line(address):
    with pytest.raises(L2SError) as caught:
        executor_for(address, timeout=0.2)
    assert "\n" not in str(caught.value)


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'l2s-plugin\[dask\]'"):
        executor_for("tcp://127.0.0.1:8786")


def test_the_command_line_runs_on_a_cluster(cluster):
    """The same rows as here, and the result of the same cooperation in Python."""
    words = ("bench", "ft06", "la01", "--steps", "50", "--seeds", "2", "--json")
    here, there = (
        json.loads(command_line.run(*words, *more).stdout) for more in ((), ("--scheduler", cluster.address))
    )
    makespans = [{cell["key"]: cell["makespan"] for cell in report["cells"]} for report in (here, there)]
    assert makespans[0] == makespans[1]
    assert len(makespans[0]) == 4
    (data,) = command_line.reports("la16", "--scheduler", cluster.address, "--max-steps", "4000", "--seed", "3")
    with executor_for(cluster.address) as executor:
        expected = cooperate(l2s.load("la16"), l2s.stop.steps(4000), seed=3, workers=2, executor=executor)
    assert (data["makespan"], data["steps"], data["workers"]) == (expected.makespan, expected.steps, 2)


def test_a_scheduler_is_for_the_search_only(cluster):
    command_line.assert_bad_input(
        command_line.solve("ft06", "--method", "cp-sat", "--scheduler", cluster.address),
        "--scheduler does not go with --method cp-sat",
    )


def test_a_lost_scheduler_leaves_the_incumbent_and_its_file(executor, cluster, tmp_path, monkeypatch):
    """As docs/integrations.md has it: files are written, exit code 2, one line."""
    improved = ProgressDisplay.improved

    def lose(display, improvement):
        improved(display, improvement)
        if improvement.step > 0:
            cluster.stop()

    monkeypatch.setattr(ProgressDisplay, "improved", lose)
    output = tmp_path / "plan.json"
    # an instance that no round solves before the loss is noticed
    words = ("ta41", "--scheduler", cluster.address, "--time-limit", "600", "--output", str(output))
    result = command_line.run("solve", *words)
    assert result.exit_code == 2
    assert "Error: the executor takes no more tasks" in result.stderr
    assert command_line.run("check", "ta41", str(output)).exit_code == 0


def test_the_command_to_repeat_names_the_scheduler(executor, cluster):
    words = ("ft06", "--scheduler", cluster.address, "--max-steps", "10")
    assert f"--scheduler {cluster.address}" in command_line.run("solve", *words).stdout
