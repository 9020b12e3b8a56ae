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
        "example-earliest  what can start first, first",
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
            "selector": ["example-smallest"],
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
    assert report["init"] == "example-earliest"
    assert 55 <= report["makespan"] < 90
    checked = l2s("check", "ft06", str(output))
    assert checked.returncode == 0, checked.stderr


def test_an_installed_rule_works_from_python(python: Run) -> None:
    code = """
import l2s_plugin as l2s
from heuristics.dispatching import dispatch
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
from heuristics.dispatching import dispatch
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

candidates = type(moves)(*(column[:3] for column in moves))
candidates.value[:] = 7, 3, 5
candidates.admissible[:] = 1, 0, 1
assert selector.select(state, candidates, None) == 2
"""
    run = python("-c", code)
    assert run.returncode == 0, run.stderr


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

    off = l2s("solve", "ft06", "--init", "example-earliest", L2S_DISABLE_PLUGINS="l2s-example")
    assert "plugin l2s-example:example is switched off by L2S_DISABLE_PLUGINS" in off.stderr


def test_listing_plugins_imports_no_targets(python: Run) -> None:
    code = "import l2s_plugin, sys; l2s_plugin.default_registry(); print(*sys.modules)"
    loaded = python("-c", code).stdout.split()
    assert "l2s_example.plugin" in loaded
    assert not {"l2s_example.rule", "l2s_example.neighbourhood", "l2s_example.selector", "numba"} & set(loaded)
