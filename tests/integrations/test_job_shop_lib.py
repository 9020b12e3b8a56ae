"""The extra `job-shop-lib` in an environment of its own, and `job_shop_lib_checks.py` there.

The library needs OR-Tools older than 9.13, so it cannot stand beside the version the other tests run with. The
environment is kept in `.venv-job-shop-lib`, and made anew when what is to be installed has changed.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import l2s_plugin as l2s
from integrations.job_shop_lib import export_instance
from l2s_plugin.errors import MissingExtraError

# the environment is made once: keep these tests in one process
pytestmark = pytest.mark.xdist_group("job_shop_lib")

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".venv-job-shop-lib"
CHECKS = Path(__file__).with_name("job_shop_lib_checks.py")


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter of an environment with the extra."""
    recipe = (ROOT / "pyproject.toml").read_bytes() + (ROOT / "constraints.txt").read_bytes()
    made_from = hashlib.sha256(recipe + sys.version.encode()).hexdigest()
    stamp = ENVIRONMENT / "made-from"
    interpreter = ENVIRONMENT / "bin" / "python"
    if not stamp.exists() or stamp.read_text() != made_from:
        venv.create(ENVIRONMENT, clear=True, with_pip=True)
        constraints = [
            line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("ortools")
        ]
        (ENVIRONMENT / "constraints.txt").write_text("\n".join(constraints))
        command = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        command += ["-c", str(ENVIRONMENT / "constraints.txt"), "-e", f"{ROOT}[job-shop-lib]"]
        command += ["pytest", "hypothesis"]
        installation = subprocess.run(command, capture_output=True, text=True)
        assert installation.returncode == 0, installation.stderr
        stamp.write_text(made_from)
    return interpreter


def run(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run([str(python), *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)


def test_the_extra_installs_and_all_checks_pass_with_it(python):
    checks = run(python, "-m", "pytest", "-p", "no:cacheprovider", str(CHECKS))
    assert checks.returncode == 0, checks.stdout + checks.stderr


def test_cp_sat_is_there_with_the_extra(python):
    """job_shop_lib brings OR-Tools, in a version that our CP-SAT still works with."""
    program = """
from integrations import cp_sat
from l2s_plugin import load
print(cp_sat.solve(load("ft06"), time_limit=60).makespan)
"""
    assert run(python, "-c", program).stdout.split() == ["55"]


def test_without_job_shop_lib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "job_shop_lib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'l2s-plugin\[job-shop-lib\]'"):
        export_instance(l2s.load("ft06"))
