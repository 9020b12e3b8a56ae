"""The documents name files, headings and scripts that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.md")])


def prose(path: Path) -> str:
    """A document without its blocks of code, in which # begins a comment and not a heading."""
    return re.sub(r"^```.*?^```", "", path.read_text(), flags=re.S | re.M)


def anchors(path: Path) -> set[str]:
    """The names that GitHub gives to headings."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", prose(path))
    for link in links:
        file, _, anchor = link.partition("#")
        if re.match(r"\w+:", link):
            continue
        target = path.parent / file if file else path
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_scripts_that_make_figures_exist(path: Path) -> None:
    for script in re.findall(r"benchmarks/\w+\.py", path.read_text()):
        assert (ROOT / script).is_file(), script
