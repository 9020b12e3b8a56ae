"""The scripts in examples/ do what they say, run as a user runs them."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import l2s_plugin as l2s

EXAMPLES = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))


def run(script: str, *arguments: str, folder: Path, **variables: str) -> str:
    """Standard output of a script that is run in an empty folder."""
    command = [sys.executable, str(EXAMPLES / script), *arguments]
    done = subprocess.run(command, cwd=folder, env=os.environ | variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def makespans(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"makespan (\d+)", text)]


def test_a_learned_selector_runs_beside_the_rules(tmp_path: Path) -> None:
    text = run("learned_selector.py", "la16", "200", folder=tmp_path)
    assert [line.split()[0] for line in text.splitlines()] == ["estimate", "random", "l2s-greedy:l2s-fast"]
    assert text.count("after 200 steps, compiled gear") == 3
    assert min(makespans(text)) >= l2s.load("la16").upper_bound


def test_cp_sat_goes_on_from_the_schedule_of_a_search(tmp_path: Path) -> None:
    l2s.save(l2s.load("ft06"), tmp_path / "mine.txt")  # under another name the bound has to be proven
    search, proof = run("warm_start_cp_sat.py", "mine.txt", "60", folder=tmp_path).splitlines()
    assert search.endswith("FEASIBLE")
    assert makespans(search)[0] >= makespans(proof)[0] == 55
    assert proof.endswith("OPTIMAL")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder into which the package with the policies is installed, as pip does it."""
    source, target = tmp_path / "source", tmp_path / "site"
    shutil.copytree(EXAMPLES / "policy-package", source)  # building leaves traces in the source folder
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return target


def test_installing_a_package_is_all_it_takes_to_swap_policies(site: Path, tmp_path: Path) -> None:
    def policies(**variables: str) -> dict[str, int]:
        text = run("swap_policies.py", "la16", "100", folder=tmp_path, **variables)
        return {name: int(makespan) for name, makespan in re.findall(r"^(\S+): makespan (\d+)", text, re.M)}

    before, after = policies(), policies(PYTHONPATH=str(site))
    assert set(after) - set(before) == {"first", "second"}
    assert min(after.values()) >= l2s.load("la16").upper_bound


def test_a_selector_of_ones_own_runs_compiled_and_by_name(tmp_path: Path) -> None:
    mine, built_in = run("selector_plugin.py", "la16", "300", folder=tmp_path).splitlines()
    assert mine.startswith("prefer-short: makespan ")
    assert mine.endswith("compiled gear")
    assert built_in.startswith("estimate: makespan ")


def test_the_workshop_is_planned_without_late_orders_and_again_after_a_breakdown(tmp_path: Path) -> None:
    text = run("workshop.py", str(EXAMPLES / "workshop.csv"), ".", "2000", folder=tmp_path)
    assert re.search(r"^plan: largest lateness -\d+ minutes, 0 of 20 orders late$", text, re.M)
    new, moved = (int(n) for n in re.findall(r"^(?:new plan|the old plan).*?: .*?(-?\d+) minutes", text, re.M))
    assert new <= moved
    with open(EXAMPLES / "workshop.csv", newline="") as file:
        orders = {(row["job"], row["step"]): timedelta(minutes=int(row["duration"])) for row in csv.DictReader(file)}
    broken, repaired = datetime(2026, 11, 24, 10), datetime(2026, 11, 25, 10)
    old = {}
    for name in ("plan", "new"):
        with open(tmp_path / f"{name}.csv", newline="") as file:
            rows = sorted(csv.DictReader(file), key=lambda row: row["start"])
        assert {(row["job"], row["step"]) for row in rows} == {*orders}
        free: dict[str, datetime] = {}
        for row in rows:
            start, end = datetime.fromisoformat(row["start"]), datetime.fromisoformat(row["end"])
            assert all(start >= free.get(row[who], start) for who in ("job", "machine"))
            free[row["job"]] = free[row["machine"]] = end
            step = row["job"], row["step"]
            waits = name == "new" and row["machine"] == "Mill" and start < broken < old[step][1]
            assert end - start == orders[step] + (repaired - broken if waits else timedelta())
            if name == "plan":
                old[step] = start, end
                assert row["late"] == "0"
                assert row["end"] <= row["due"]
            else:
                assert start == old[step][0] or start >= broken
                assert row["machine"] != "Mill" or start < broken or start >= repaired
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert "workshop" in (tmp_path / "plans.html").read_text()


def test_an_agent_learns_to_do_better_than_a_random_walk(tmp_path: Path) -> None:
    """The measured instances are not those it learns from."""
    text = run("gymnasium_agent.py", "6x6", "10", "30", folder=tmp_path)
    reports = re.findall(r"^(random walk|update 10): mean makespan (\d+\.\d)$", text, re.M)
    assert [when for when, _ in reports] == ["random walk", "update 10"]
    assert float(reports[0][1]) > float(reports[1][1])


def test_every_script_is_described_and_tested() -> None:
    listed = (EXAMPLES / "README.md").read_text()
    tests = Path(__file__).read_text()
    for script in SCRIPTS:
        assert f"({script.name})" in listed
        assert f'run("{script.name}"' in tests
