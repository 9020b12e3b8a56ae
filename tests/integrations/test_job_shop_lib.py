"""The extra `job-shop-lib` in an environment of its own, and `job_shop_lib_checks.py` there.

The library needs OR-Tools older than 9.13, so it cannot stand beside the version the other tests run with. The
environment is kept in `.venv-job-shop-lib`, and made anew when what is to be installed has changed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import l2s_plugin as l2s
from integrations.job_shop_lib import export_instance
from l2s_plugin.errors import MissingExtraError

# the environment is made once: in one process these tests need not wait for each other
pytestmark = pytest.mark.xdist_group("job_shop_lib")

ROOT = Path(__file__).parents[2]
PACKAGES = ("l2s_plugin", "heuristics", "integrations")
ENVIRONMENT = ROOT / ".venv-job-shop-lib"
INTERPRETER = ENVIRONMENT / "bin" / "python"
CHECKS = Path(__file__).with_name("job_shop_lib_checks.py")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Make the environment, unless it is there already, or on its way in another process."""
    recipe = (ROOT / "pyproject.toml").read_bytes() + (ROOT / "constraints.txt").read_bytes()
    made_from = hashlib.sha256(recipe + sys.version.encode()).hexdigest()
    stamp = ENVIRONMENT / "made-from"
    with ENVIRONMENT.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != made_from:
            venv.create(ENVIRONMENT, clear=True, with_pip=True)
            install(tmp_path_factory.mktemp("source"))
            stamp.write_text(made_from)


def install(folder: Path) -> None:
    """Install the project with the extra, at the versions of constraints.txt but for OR-Tools."""
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for package in PACKAGES:  # a copy: building leaves traces in the source folder
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(line for line in lines if not line.startswith("ortools")))
    command = [str(INTERPRETER), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["-c", str(constraints), f"{folder}[job-shop-lib]", "pytest", "pytest-timeout", "hypothesis"]
    installation = subprocess.run(command, capture_output=True, text=True)
    assert installation.returncode == 0, installation.stderr


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the environment, with the packages of the working tree."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment["PYTHONPATH"] = str(ROOT)
    return subprocess.run([str(INTERPRETER), *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.usefixtures("environment")
def test_the_extra_installs_and_all_checks_pass_with_it():
    checks = run("-m", "pytest", "-p", "no:cacheprovider", str(CHECKS))
    assert checks.returncode == 0, checks.stdout + checks.stderr


@pytest.mark.usefixtures("environment")
def test_cp_sat_is_there_with_the_extra():
    """job_shop_lib brings OR-Tools, in a version that our CP-SAT still works with."""
    program = """
from integrations import cp_sat
from l2s_plugin import load
print(cp_sat.solve(load("ft06"), time_limit=60).makespan)
"""
    assert run("-c", program).stdout.split() == ["55"]


def test_without_job_shop_lib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "job_shop_lib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'l2s-plugin\[job-shop-lib\]'"):
        export_instance(l2s.load("ft06"))
