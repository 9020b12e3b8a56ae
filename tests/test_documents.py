"""The documents name files, headings, scripts, commands and options that exist."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from integrations.cli import COMMANDS
from integrations.cli import l2s as command_line

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


def options_of(command: str) -> set[str]:
    found = command_line.get_command(click.Context(command_line), command)
    assert found is not None
    family = [found, *(found.commands.values() if isinstance(found, click.Group) else ())]
    options = [each for member in family for each in member.params if isinstance(each, click.Option)]
    return {"--help", *(spelling for each in options for spelling in (*each.opts, *each.secondary_opts))}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_commands_and_their_options_exist(path: Path) -> None:
    text = path.read_text().replace("\\\n", " ")
    for command, rest in re.findall(r"(?:`|\$ |&& )l2s ([a-z]+)([^`\n;&#]*)", text):
        assert command in COMMANDS, command
        for option in re.findall(r"(?<=[\s\[|])--[a-z-]+", rest):
            assert option in options_of(command), f"l2s {command} {option}"
