"""The shape of the project: imports go one way, heavy packages load on first use."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("l2s_plugin", "heuristics", "integrations")  # each may import itself and those before it
HEAVY = ("torch", "torch_geometric", "ortools", "matplotlib", "numba", "plotly", "jinja2")

SOURCES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


TARGET = re.compile(r"(\w+)[.:][\w.:]*")  # a string that names a module or something in one


def imported_packages(path: Path) -> Iterator[tuple[int, str]]:
    """Line and top-level package of every import, also inside functions, by `import_module` and in strings."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute here"
            yield node.lineno, (node.module or "").partition(".")[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from ((node.lineno, str(a.value).partition(".")[0]) for a in node.args if isinstance(a, ast.Constant))
        elif isinstance(node, ast.Constant) and (target := TARGET.fullmatch(str(node.value))):
            yield node.lineno, target[1]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_left_only(path: Path) -> None:
    """l2s_plugin <- heuristics <- integrations."""
    own = PACKAGES.index(path.relative_to(ROOT).parts[0])
    for line, package in imported_packages(path):
        if package in PACKAGES:
            assert PACKAGES.index(package) <= own, f"{path}:{line} imports {package}"


@pytest.mark.parametrize(
    "code",
    [
        "import integrations.plots",
        "def draw():\n    from integrations.plots import gantt",
        "import_module('integrations.plots')",
        "RendererSpec('png', 'integrations.plots:gantt', 'PNG')",
        "home = 'integrations.plots'",
        "target = f'integrations.{name}:draw'",
    ],
)
def test_no_form_of_import_escapes_the_check_of_directions(code: str, tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(code)
    assert "integrations" in {package for _, package in imported_packages(tmp_path / "module.py")}


def loaded_after(code: str) -> set[str]:
    """Which heavy packages are loaded in a fresh process that has run `code`."""
    report = f"import sys; print('loaded:', *({{*sys.modules}} & {{*{HEAVY!r}}}))"
    run = subprocess.run([sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True)
    return set(run.stdout.rpartition("loaded:")[2].split())


@pytest.mark.parametrize(
    "code",
    [
        "import l2s_plugin",
        "import heuristics, integrations",
        "from integrations.cli import l2s; l2s.main(['--help'], standalone_mode=False)",
        "from integrations.cli import l2s; l2s.main(['plugins'], standalone_mode=False)",
    ],
)
def test_heavy_packages_load_on_first_use_only(code: str) -> None:
    assert not loaded_after(code)


def test_the_check_for_heavy_packages_would_notice_one() -> None:
    assert loaded_after("import numba") == {"numba"}


@pytest.mark.parametrize(
    "package", ["l2s_plugin", "heuristics", "l2s_plugin.policy", "integrations.cp_sat", "integrations.gymnasium"]
)
def test_every_public_name_is_offered_and_can_be_had(package: str) -> None:
    """Names load on first use: a wrong one would go unnoticed until then, and completion would not know them."""
    module = import_module(package)
    assert module.__all__ == sorted(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None
    program = f"import {package}; print(*dir({package}))"  # before anything was used
    offered = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert {*module.__all__} <= {*offered.split()}


def test_static_tools_find_the_packages(tmp_path: Path) -> None:
    """Also those of an editable install: mypy and editors follow paths, and run no finders."""
    program = "from importlib.machinery import PathFinder; print(PathFinder.find_spec('heuristics').origin)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-c", program]
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True)


@pytest.mark.parametrize("package", ["l2s_plugin", "heuristics"])
@pytest.mark.parametrize("regular", [True, False])
def test_a_folder_that_shadows_a_package_is_named(package: str, regular: bool, tmp_path: Path) -> None:
    (tmp_path / package).mkdir()
    if regular:
        (tmp_path / package / "__init__.py").write_text("")
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}" if regular else str(ROOT)}
    command = [sys.executable, "-c", "from integrations.cli import main; main()", "solve", "ft06", "--max-steps", "1"]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    if regular:
        assert run.returncode == 2
        assert run.stderr.startswith(f"Error: {tmp_path / package} is in the way of the package {package} in {ROOT}")
        assert run.stderr.count("\n") == 1
    else:  # no package, and so not in the way of one that is on the path
        assert run.returncode == 0, run.stderr
