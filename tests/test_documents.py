"""The documents are short, and name files, headings, scripts, commands, options and methods that exist."""

from __future__ import annotations

import re
from pathlib import Path
from pkgutil import resolve_name

import click
import pytest

from integrations.cli import COMMANDS
from integrations.cli import l2s as command_line
from l2s_plugin import MethodSpec, Registry

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.md")])
MOST_WORDS = 700  # of the README
LONGEST_LINE = 109


def prose(path: Path) -> str:
    """A document without its blocks of code, in which # begins a comment and not a heading."""
    return re.sub(r"^```.*?^```", "", path.read_text(), flags=re.S | re.M)


def anchors(path: Path) -> set[str]:
    """The names that GitHub gives to headings."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_readme_is_read_in_three_minutes() -> None:
    """At most 700 words, code and table among them."""
    words = [word for word in (ROOT / "README.md").read_text().split() if re.search(r"\w", word)]
    assert len(words) <= MOST_WORDS


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_lines_fit_a_window(path: Path) -> None:
    """Below 110 characters, but for tables, code and what only a link makes longer."""
    for line in prose(path).splitlines():
        shown = re.sub(r"\]\([^)]*\)", "]", line)
        assert len(shown) <= LONGEST_LINE or line.startswith(("|", "    ")), line


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_files_that_are_named_exist(path: Path) -> None:
    for file in re.findall(r"`((?:l2s_plugin|heuristics|integrations|tests)/[\w/.-]*)`", prose(path)):
        assert (ROOT / file).exists(), file


def python_names(text: str) -> set[str]:
    """What a document says in dotted names, and what its examples import."""
    ours = r"(?:l2s_plugin|heuristics|integrations)"
    names = set(re.findall(rf"`({ours}(?:\.\w+)+)", text))
    for module, imported in re.findall(rf"^\s*from ({ours}[\w.]*) import (\([^)]*\)|[^#\n(]+)", text, re.M):
        names |= {f"{module}.{name}" for name in re.findall(r"\w+", imported)}
    return names


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_python_names_exist(path: Path) -> None:
    for name in python_names(path.read_text()):
        try:
            resolve_name(name)
        except (ImportError, AttributeError) as error:
            pytest.fail(f"{name}: {error}")


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


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_methods_exist(path: Path) -> None:
    offered = {spec.name for spec in Registry.discover().specs(MethodSpec)}
    for method in re.findall(r"--method ([a-z][a-z-]*[a-z])", path.read_text()):
        assert method in offered, method
