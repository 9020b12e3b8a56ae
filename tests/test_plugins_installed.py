"""Third-party packages, installed with pip and used through their entry points, in processes of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# the packages are installed once per process: keep these tests in one
pytestmark = pytest.mark.xdist_group("installed plugins")

PACKAGES = Path(__file__).parent / "plugins"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which all packages of tests/plugins are installed, as pip does it."""
    sources = tmp_path_factory.mktemp("sources") / "plugins"
    shutil.copytree(PACKAGES, sources)  # building leaves traces in the source folder
    target = tmp_path_factory.mktemp("site")
    packages = [str(path) for path in sorted(sources.iterdir()) if (path / "pyproject.toml").exists()]
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), *packages]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return target


@pytest.fixture
def python(site: Path) -> Run:
    """Run Python with the packages installed: `python("-c", code, VARIABLE="value")`."""

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("L2S_D")}
        environment |= {"PYTHONPATH": str(site)} | variables
        return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True)

    return run


@pytest.fixture
def l2s(python: Run) -> Run:
    """Run the command line with the packages installed."""
    script = shutil.which("l2s", path=str(Path(sys.executable).parent))
    assert script, "the l2s script is not installed"
    return lambda *arguments, **variables: python(script, *arguments, **variables)


def test_plugins_lists_what_works_and_what_failed(l2s: Run) -> None:
    listing = l2s("plugins")
    assert listing.returncode == 0
    assert not listing.stderr
    for line in (
        "l2s-example:example 1.2.3",
        "example-earliest   what can start first, first",
        "FAILED: RuntimeError: the licence server is on holiday",
        "FAILED: unknown hook 'l2s_selektors'; did you mean l2s_selectors",
        "FAILED: hook l2s_neighbourhoods must offer NeighbourhoodSpec, got 'n99'",
        "dispatching rule 'twin' is claimed by l2s-twin-one:twin and l2s-twin-two:twin",
    ):
        assert line in listing.stdout


def test_plugins_lists_the_same_as_json(l2s: Run) -> None:
    listing = json.loads(l2s("plugins", "--json").stdout)
    plugins = {plugin["distribution"]: plugin for plugin in listing["plugins"]}
    assert plugins["l2s-example"] == {
        "distribution": "l2s-example",
        "name": "example",
        "version": "1.2.3",
        "offers": {
            "method": ["example-annealing"],
            "selector": ["example-smallest", "example-compiled"],
            "neighbourhood": ["example-adjacent"],
            "dispatching rule": ["example-earliest"],
        },
        "observes": [],
        "error": None,
        "disabled": False,
    }
    assert plugins["l2s-broken"]["error"] == "RuntimeError: the licence server is on holiday"
    assert "did you mean l2s_selectors" in plugins["l2s-misspelt"]["error"]
    assert "NeighbourhoodSpec" in plugins["l2s-rubbish"]["error"]
    assert {"l2s-twin-one", "l2s-twin-two"} <= set(plugins)  # although their entry points have one name
    assert listing["conflicts"] == [
        {"kind": "dispatching rule", "name": "twin", "plugins": ["l2s-twin-one:twin", "l2s-twin-two:twin"]}
    ]


def test_an_installed_rule_solves_from_the_command_line(l2s: Run, tmp_path: Path) -> None:
    output = tmp_path / "ft06.json"
    options = (
        "--method",
        "dispatch",
        "--init",
        "example-earliest",
        "--seed",
        "7",
        "--output",
        str(output),
        "--json",
    )
    solved = l2s("solve", "ft06", *options)
    assert solved.returncode == 0, solved.stderr
    report = json.loads(solved.stdout)
    assert report["method"] == "dispatch"
    assert 55 <= report["makespan"] < 90
    checked = l2s("check", "ft06", str(output))
    assert checked.returncode == 0, checked.stderr


def test_an_installed_rule_works_from_python(python: Run) -> None:
    code = """
import l2s_plugin as l2s
from heuristics.hosts.dispatching import dispatch
instance = l2s.load("ft06")
schedule = dispatch(instance, "example-earliest", seed=1)
schedule.verify()
assert schedule.order.tolist() == dispatch(instance, "example-earliest", seed=1).order.tolist()
print(schedule.makespan)
"""
    run = python("-c", code)
    assert run.returncode == 0, run.stderr
    assert 55 <= int(run.stdout) < 90


def test_an_installed_selector_and_neighbourhood_are_created_by_name(python: Run) -> None:
    """The neighbourhood lists exactly the swaps that the schedule's own critical blocks allow."""
    code = """
import numpy as np
import l2s_plugin as l2s
from heuristics.hosts.dispatching import dispatch
from l2s_plugin.kernels.critical_path import find_critical_path
from l2s_plugin.kernels.moves import new_moves
from l2s_plugin.kernels.state import new_state, set_order

registry = l2s.default_registry()
neighbourhood = registry.create(l2s.NeighbourhoodSpec, "example-adjacent")
selector = registry.create(l2s.SelectorSpec, "example-smallest")

instance = l2s.load("ft10")
schedule = dispatch(instance, "example-earliest")
state, moves = new_state(instance, seed=1), new_moves(100)
set_order(state, schedule.linear_order.astype(np.uint32))
path = state.path[: find_critical_path(state)].tolist()
assert path in [list(p) for _, p in zip(range(1000), schedule.critical_paths())]

follower = {int(a): int(b) for row in schedule.machine_orders for a, b in zip(row, row[1:])}
pairs = [(a, b) for a, b in zip(path, path[1:]) if follower.get(a) == b]
expected = [(a, b) for a, b in pairs if instance.job[a] != instance.job[b]]
count = neighbourhood.kernel.__wrapped__(state, moves)
assert expected and list(zip(moves.u[:count].tolist(), moves.v[:count].tolist())) == expected

candidates = moves.rows(slice(3))
candidates.value[:] = 7, 3, 5
assert selector.select(state, candidates, None) == 1
"""
    run = python("-c", code)
    assert run.returncode == 0, run.stderr


HOSTS = (["--method", "memetic"], ["--method", "tabu"], ["--method", "local-search"])


@pytest.mark.parametrize("host", HOSTS, ids=["population", "tabu", "local-search"])
@pytest.mark.parametrize(
    ("selector", "gear"),
    [("example-compiled", "compiled"), ("example-compiled:0.5", "compiled"), ("example-smallest", "python")],
)
def test_an_installed_selector_and_neighbourhood_search_from_the_command_line(
    l2s: Run, tmp_path: Path, host: list[str], selector: str, gear: str
) -> None:
    output = tmp_path / "ft10.json"
    parts = ("--selector", selector, "--neighbourhood", "example-adjacent")
    solved = l2s("solve", "ft10", *host, *parts, "--max-steps", "200", "--output", str(output), "--json")
    assert solved.returncode == 0, solved.stderr
    report = json.loads(solved.stdout)
    assert (report["gear"], report["neighbourhood"], report["steps"]) == (gear, "example-adjacent", 200)
    assert report["selector"] == selector.partition(":")[0]
    assert len(report["history"]) > 1
    assert l2s("check", "ft10", str(output)).returncode == 0


def test_installed_selectors_and_neighbourhoods_search_from_python(python: Run) -> None:
    """The compiled selector decides as its Python form does, and zero durations are safe in the neighbourhood."""
    code = """
import numpy as np
import l2s_plugin as l2s
from heuristics import local_search, solve, tabu_search

instance = l2s.load("la21")
stop = l2s.stop.steps(300)

class InPython:
    def select(self, state, moves, rng):
        moved = np.where(moves.forward, moves.u, moves.v)
        return int(np.argmin(moves.value + np.float64(np.float32(0.0137)) * instance.duration[moved]))

for host in (local_search, tabu_search):
    compiled = host(instance, "example-compiled:0.0137", "n6", stop=stop)
    python = host(instance, InPython(), "n6", stop=stop)
    again = host(instance, "example-compiled:0.0137", "n6", stop=stop, gear="python")
    assert (compiled.gear, python.gear, again.gear) == ("compiled", "python", "python")
    assert compiled.schedule.order.tolist() == again.schedule.order.tolist()
    smallest = host(instance, "example-smallest", "example-adjacent", stop=stop)
    assert (smallest.gear, smallest.selector) == ("python", "example-smallest")
    assert host(instance, "example-compiled", "example-adjacent", stop=stop).gear == "compiled"
assert solve(instance, stop, selector="example-compiled").gear == "compiled"

# operation 0 must precede 1 and 2 in their jobs, all take no time, so any swap looks critical
rng = np.random.default_rng(1)
for seed in range(20):
    jobs = [[(int(m), int(rng.integers(0, 2))) for m in rng.permutation(3)] * 2 for _ in range(4)]
    zeros = l2s.Instance.from_jobs(jobs)
    for host in (local_search, tabu_search):
        host(zeros, "random", "example-adjacent", stop=l2s.stop.steps(200), initial="random", seed=seed)
"""
    run = python("-c", code)
    assert run.returncode == 0, run.stderr


def test_a_compiled_selector_with_a_wrong_argument_is_named(l2s: Run) -> None:
    solved = l2s("solve", "ft06", "--selector", "example-compiled:much")
    assert solved.returncode == 2
    assert "plugin l2s-example:example, selector 'example-compiled'" in solved.stderr
    assert "could not convert string to float" in solved.stderr


@pytest.mark.parametrize("host", HOSTS, ids=["population", "tabu", "local-search"])
def test_a_selector_that_raises_is_named_with_its_step_and_the_incumbent_is_written(
    l2s: Run, tmp_path: Path, host: list[str]
) -> None:
    output = tmp_path / "la01.json"
    options = ("--selector", "fails-at:7", "--neighbourhood", "n1", "--output", str(output))
    solved = l2s("solve", "la21", *host, *options, "--quiet", "--json")
    assert solved.returncode == 2
    last = solved.stderr.splitlines()[-1]
    assert last == "Error: selector 'fails-at' failed at step 7: RuntimeError: no more ideas"
    report = json.loads(solved.stdout)
    assert (report["steps"], report["stopped_by"]) == (7, "error")
    assert json.loads(output.read_text())["makespan"] == report["makespan"]
    assert l2s("check", "la21", str(output)).returncode == 0


def test_a_selector_that_fails_on_one_worker_ends_the_others(l2s: Run) -> None:
    solved = l2s("solve", "la21", "--selector", "fails-at:30", "--workers", "2", "--quiet")
    assert solved.returncode == 2
    assert "selector 'fails-at' failed at step 30" in solved.stderr
    assert "stopped by error" in solved.stdout


def test_a_name_claimed_twice_names_both_owners(l2s: Run) -> None:
    solved = l2s("solve", "ft06", "--method", "dispatch", "--init", "twin")
    assert solved.returncode == 2
    assert not solved.stdout
    assert solved.stderr == (
        "Error: dispatching rule 'twin' is claimed by l2s-twin-one:twin and l2s-twin-two:twin; "
        "switch one off with L2S_DISABLE_PLUGINS\n"
    )
    assert l2s("solve", "ft06", "--method", "dispatch", "--init", "twin-one").returncode == 0


@pytest.mark.parametrize("switch", ["l2s-twin-two", "L2S_Twin_Two", "l2s-twin-two:twin", "other, l2s-twin-two"])
def test_switching_one_owner_off_settles_the_claim(l2s: Run, switch: str) -> None:
    solved = l2s("solve", "ft06", "--method", "dispatch", "--init", "twin", L2S_DISABLE_PLUGINS=switch)
    assert solved.returncode == 0, solved.stderr


def test_all_third_parties_can_be_switched_off_but_never_the_built_in_parts(l2s: Run) -> None:
    listing = json.loads(l2s("plugins", "--json", L2S_DISABLE_PLUGINS="*").stdout)["plugins"]
    assert {plugin["distribution"] for plugin in listing if not plugin["error"]} == {"l2s-plugin"}
    disabled = {plugin["distribution"] for plugin in listing if plugin["disabled"]}
    assert disabled == {path.name for path in PACKAGES.iterdir()}
    run = l2s("solve", "ft06", "--method", "dispatch", "--init", "spt", L2S_DISABLE_PLUGINS="*,l2s-plugin")
    assert run.returncode == 0, run.stderr


def test_an_unknown_name_shows_close_matches_and_failed_plugins(l2s: Run) -> None:
    solved = l2s("solve", "ft06", "--method", "dispatch", "--init", "exmple-earliest")
    assert solved.returncode == 2
    assert solved.stderr.startswith(
        "Error: unknown dispatching rule 'exmple-earliest'; did you mean example-earliest? "
        "(plugin l2s-broken:broken failed: RuntimeError: the licence server is on holiday; plugin "
    )
    assert solved.stderr.count("\n") == 1

    off = l2s("solve", "ft06", "--method", "dispatch", "--init", "example-earliest", L2S_DISABLE_PLUGINS="l2s-example")
    assert "plugin l2s-example:example is switched off by L2S_DISABLE_PLUGINS" in off.stderr


def test_listing_plugins_imports_no_targets(python: Run) -> None:
    code = "import l2s_plugin, sys; l2s_plugin.default_registry(); print(*sys.modules)"
    loaded = python("-c", code).stdout.split()
    assert "l2s_example.plugin" in loaded
    assert not {"l2s_example.rule", "l2s_example.neighbourhood", "l2s_example.selector", "numba"} & set(loaded)


def test_an_installed_method_works_wherever_one_is_named(l2s: Run, python: Run, tmp_path: Path) -> None:
    """On the command line, in benchmarks, in portfolios, and stopped by the clock."""
    output = tmp_path / "la01.json"
    words = ("--method", "example-annealing", "--neighbourhood", "n6", "--seed", "3", "--max-steps", "3000")
    solved = l2s("solve", "la01", *words, "--output", str(output), "--json")
    assert solved.returncode == 0, solved.stderr
    report = json.loads(solved.stdout)
    assert (report["method"], report["neighbourhood"], report["gear"]) == ("example-annealing", "n6", "python")
    assert report["makespan"] < report["history"][0][2]
    assert l2s("check", "la01", str(output)).returncode == 0
    again = l2s("solve", "la01", *words, "--json")
    assert json.loads(again.stdout)["makespan"] == report["makespan"]
    assert json.loads(l2s("solve", "la01", "--method", "example-annealing:9", "--time-limit", "0.1", "--json").stdout)
    rows = json.loads(l2s("bench", "la01", "--method", "example-annealing", "--steps", "300", "--json").stdout)["cells"]
    assert rows[0]["label"] == "example-annealing"
    program = """if __name__ == "__main__":
        import l2s_plugin as l2s
        from heuristics import portfolio
        done = portfolio("la01", "example-annealing", seeds=[1, 2], stop=l2s.stop.steps(200)).wait()
        print(len(done.results), *done.failures)"""
    script = tmp_path / "program.py"
    script.write_text(program.replace("\n    ", "\n"))
    assert python(str(script)).stdout.split() == ["2"]


def test_a_method_that_fails_is_named(l2s: Run) -> None:
    failed = l2s("solve", "ft06", "--method", "example-annealing:hot", "--max-steps", "5")
    assert failed.returncode == 2
    assert failed.stderr.splitlines()[-1] == (
        "Error: method 'example-annealing:hot' raised ValueError: could not convert string to float: 'hot'"
    )
