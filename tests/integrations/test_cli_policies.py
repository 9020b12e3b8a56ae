"""`l2s policies` and `l2s solve --policy`, also with a policy that an installed package ships."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from integrations.cli import l2s
from l2s_plugin.builtin import l2s_policies
from l2s_plugin.loader import load
from l2s_plugin.registry import default_registry
from tests.policies import TINY, write_random_policy
from tests.reference import FOLDER

PACKAGE = Path(__file__).parent.parent / "plugins" / "l2s-example-policy"
AUTHORS = FOLDER / "l2s_authors_10x10.pth"
Run = Callable[..., "subprocess.CompletedProcess[str]"]

# the package is installed once per process: keep these tests in one
pytestmark = pytest.mark.xdist_group("installed policy")


def start(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the package installed."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("L2S_D")}
    environment["PYTHONPATH"] = str(site)
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the package is installed, as pip does it."""
    source = tmp_path_factory.mktemp("source") / "package"
    shutil.copytree(PACKAGE, source)  # building leaves traces in the source folder
    target = tmp_path_factory.mktemp("site")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return target


@pytest.fixture
def installed(site: Path) -> Run:
    """Run the command line with the package installed."""
    script = shutil.which("l2s", path=str(Path(sys.executable).parent))
    assert script, "the l2s script is not installed"
    return lambda *arguments: start(site, script, *arguments)


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run the command line with nothing but the built-in parts."""
    monkeypatch.setenv("L2S_DISABLE_PLUGINS", "*")
    default_registry.cache_clear()
    yield lambda *arguments: CliRunner().invoke(l2s, arguments, prog_name="l2s")
    default_registry.cache_clear()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_random_policy(tmp_path / "mine.safetensors", host={"method": "tabu"}, neighbourhoods=["n5", "n6"])


def line_of(run: subprocess.CompletedProcess[str] | Result) -> str:
    """The one line of an error."""
    assert (run.exit_code if isinstance(run, Result) else run.returncode) == 2, run.stderr
    assert not run.stdout
    assert run.stderr.count("\n") == 1
    return run.stderr


def test_installed_policies_and_files_are_listed_each_with_its_failure(installed, file, tmp_path):
    text = tmp_path / "notes.safetensors"
    text.write_text("not a policy")
    listing = installed("policies", str(file), str(text), "--json")
    assert listing.returncode == 1  # one of the files given is of no use
    entries = {entry["name"]: entry for entry in json.loads(listing.stdout)["policies"]}
    assert list(entries) == [*shipped(), "example-random", "example-forgotten", "mine", "notes"]
    assert entries["example-random"]["record"] == {"note": "random weights, not trained", "seed": 2023}
    assert entries["example-random"]["architecture"] == TINY.to_dict()
    assert entries["example-random"]["error"] is None
    assert "No such file" in entries["example-forgotten"]["error"]
    assert entries["mine"]["host"] == {"method": "tabu"}
    assert entries["mine"]["neighbourhoods"] == ["n5", "n6"]
    assert (entries["mine"]["installed"], entries["example-random"]["installed"]) == (False, True)
    assert "not a safetensors file" in entries["notes"]["error"]

    listing = installed("policies", str(file))
    assert listing.returncode == 0
    for words in ("example-random\n", "note: random weights, not trained", "FAILED: cannot read", "mine\n", "width 8"):
        assert words in listing.stdout
    assert installed("policies", "list", str(file)).stdout == listing.stdout
    assert "parameters      888" in listing.stdout


def shipped() -> list[str]:
    return [spec.name for spec in l2s_policies()]


def test_the_shipped_policies_are_listed_with_their_records(without):
    listed = json.loads(without("policies", "--json").stdout)["policies"]
    assert [entry["name"] for entry in listed] == shipped()
    for entry in listed:
        assert entry["error"] is None
        assert Path(entry["source"]).stat().st_size < 2_000_000
        assert entry["record"]["training"]["sizes"]
        tabu = {"l2s-fast": "n7,n5", "l2s-polish": "n7"}
        method = "tabu" if entry["name"] in tabu else "local-search"
        neighbourhood = tabu.get(entry["name"], "n5")
        assert entry["host"] == {"method": method, "neighbourhood": neighbourhood}


def test_listing_without_policies(monkeypatch):
    monkeypatch.setattr("l2s_plugin.policy.library.installed_policies", lambda registry=None: iter(()))
    run = CliRunner().invoke(l2s, ["policies"], prog_name="l2s")
    assert "No policy is installed" in run.stdout


@pytest.mark.parametrize(("method", "selector"), [("tabu", "l2s-greedy:l2s-fast"), ("local-search", "l2s:l2s")])
def test_a_learned_selector_alone_means_the_policy_this_project_ships(installed, without, method, selector):
    words = ("solve", "ft06", "--method", method, "--selector", "l2s", "--max-steps", "5", "--json")
    assert json.loads(without(*words).stdout)["selector"] == selector
    assert json.loads(installed(*words).stdout)["selector"] == selector


def test_listing_imports_no_torch(site, file):
    code = f"""
import sys
from integrations.cli import l2s
l2s.main(["policies", {str(file)!r}], standalone_mode=False)
print("loaded:", *{{"torch", "numba", "safetensors"}} & {{*sys.modules}})
"""
    run = start(site, "-c", code)
    assert run.returncode == 0, run.stderr
    assert run.stdout.endswith("loaded:\n")


def test_an_installed_policy_is_swapped_in_by_name_from_the_command_line(installed, tmp_path):
    output = tmp_path / "schedule.json"
    options = ("solve", "ft06", "--policy", "example-random", "--max-steps", "20", "--json")
    solved = installed(*options, "--selector", "l2s", "--output", str(output))
    assert solved.returncode == 0, solved.stderr
    report = json.loads(solved.stdout)
    assert (report["method"], report["selector"], report["gear"]) == ("memetic", "l2s:example-random", "compiled")
    assert report["steps"] == 20
    assert installed("check", "ft06", str(output)).returncode == 0
    again = json.loads(installed(*options).stdout)  # the selector goes without saying
    assert (again["makespan"], again["selector"]) == (report["makespan"], report["selector"])
    greedy = json.loads(installed(*options, "--selector", "l2s-greedy", "--method", "local-search").stdout)
    assert (greedy["method"], greedy["selector"]) == ("local-search", "l2s-greedy:example-random")


def test_an_installed_policy_is_swapped_in_by_name_from_python(site):
    code = """
import l2s_plugin as l2s
from heuristics import tabu_search
from l2s_plugin.policy import L2SSelector
instance = l2s.load("la16")
options = {"stop": l2s.stop.steps(30), "seed": 1}
rule = tabu_search(instance, "estimate", **options)
learned = tabu_search(instance, "l2s:example-random", **options)
again = tabu_search(instance, L2SSelector("example-random"), **options)
assert learned.schedule.order.tolist() == again.schedule.order.tolist()
print(rule.selector, learned.selector)
"""
    run = start(site, "-c", code)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["estimate", "l2s:example-random"]


def test_a_policy_given_as_a_file_solves_and_the_run_is_reproducible(without, file):
    options = ("solve", "la01", "--policy", str(file), "--method", "local-search", "--max-steps", "30", "--seed", "3")
    first = without(*options)
    assert first.exit_code == 0, first.stderr
    assert f"--policy {file}" in first.stdout  # in the line that reproduces the run
    one, two = (json.loads(without(*options, "--json").stdout) for _ in range(2))
    assert one["selector"] == "l2s:mine"
    assert [entry[1:] for entry in one["history"]] == [entry[1:] for entry in two["history"]]


def test_the_command_line_forbids_the_undo_for_a_learned_selector(without, file):
    options = ("solve", "la01", "--policy", str(file), "--method", "local-search", "--max-steps", "60", "--json")
    silent, asked = (json.loads(without(*options, *more).stdout) for more in ([], ["--forbid-undo"]))
    assert [entry[1:] for entry in silent["history"]] == [entry[1:] for entry in asked["history"]]


def test_refusals_are_one_line(installed, without, file, tmp_path):
    assert "unknown policy 'example-rando'; did you mean example-random" in line_of(
        installed("solve", "ft06", "--policy", "example-rando", "--max-steps", "5")
    )
    assert "--policy goes with the selectors l2s, l2s-greedy and l2s-fast" in line_of(
        without("solve", "ft06", "--selector", "greedy", "--policy", str(file))
    )
    assert "--policy does not go with --method dispatch" in line_of(
        without("solve", "ft06", "--method", "dispatch", "--policy", str(file))
    )
    assert "policy 'mine' cannot score the moves of neighbourhood 'n7'" in line_of(
        without("solve", "ft06", "--policy", str(file), "--neighbourhood", "n7", "--max-steps", "5")
    )
    short = tmp_path / "short.safetensors"
    short.write_bytes(file.read_bytes()[:-9])
    assert "truncated" in line_of(without("solve", "ft06", "--policy", str(short), "--max-steps", "5"))


def test_import_refuses_in_one_line(without, file, tmp_path):
    assert "Missing option" in line_of(without("policies", "import", str(file)))
    output, text = tmp_path / "out.safetensors", tmp_path / "notes.pth"
    text.write_text("not tensors")
    line = line_of(without("policies", "import", str(text), "-o", str(output)))
    assert "not a PyTorch file that holds nothing but tensors" in line
    assert "out.pth: the name of a policy file ends in" in line_of(
        without("policies", "import", str(text), "-o", str(tmp_path / "out.pth"))
    )
    assert not output.exists()


@pytest.mark.skipif(not AUTHORS.exists(), reason="reference data is not here")
def test_import_then_solve(without, tmp_path):
    output = tmp_path / "authors.safetensors"
    run = without("policies", "import", str(AUTHORS), "-o", str(output))
    assert run.exit_code == 0, run.stderr
    assert "parameters      400,512" in run.stdout
    assert run.stdout.endswith(f"wrote {output}\n")
    run = without("solve", "ft06", "--policy", str(output), "--method", "local-search", "--max-steps", "100", "--json")
    report = json.loads(run.stdout)
    assert report["selector"] == "l2s:authors"
    assert report["makespan"] <= report["history"][0][2]
    assert load("ft06").upper_bound <= report["makespan"]
