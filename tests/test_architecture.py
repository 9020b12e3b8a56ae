"""The shape of the project: imports go one way, heavy packages load on first use, files stay short."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("l2s_plugin", "heuristics", "integrations")  # each may import itself and those before it
HEAVY = ("torch", "torch_geometric", "ortools", "matplotlib", "numba", "plotly", "jinja2")
LONGEST_FILE = 400

SOURCES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def imported_packages(path: Path) -> Iterator[tuple[int, str]]:
    """Line and top-level package of every import, also those inside functions and `import_module("...")`."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute here"
            yield node.lineno, (node.module or "").partition(".")[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from ((node.lineno, str(a.value).partition(".")[0]) for a in node.args if isinstance(a, ast.Constant))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_left_only(path: Path) -> None:
    """l2s_plugin <- heuristics <- integrations."""
    own = PACKAGES.index(path.relative_to(ROOT).parts[0])
    for line, package in imported_packages(path):
        if package in PACKAGES:
            assert PACKAGES.index(package) <= own, f"{path}:{line} imports {package}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_stay_short(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    assert lines <= LONGEST_FILE, f"{lines} lines: time to split it"


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


def test_every_public_name_of_the_core_can_be_had() -> None:
    """Names are loaded on first use, so that a wrong one would go unnoticed until then."""
    import l2s_plugin

    assert sorted(l2s_plugin._HOME) == l2s_plugin.__all__ == sorted(l2s_plugin.__all__)
    for name in l2s_plugin.__all__:
        assert getattr(l2s_plugin, name) is not None
