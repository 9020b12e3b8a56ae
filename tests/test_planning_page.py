"""The page for planners shows what they will see: its commands are run, and print and write what stands there."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integrations.command_line import run

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "planning.md").read_text()


def blocks() -> list[tuple[str, str]]:
    """The language and the contents of every block of code."""
    return re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.S | re.M)


def commands(block: str) -> Iterator[tuple[list[str], str]]:
    """The words of every command and what stands below it."""
    for step in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, shown = re.sub(r"\\\n\s*", "", step).partition("\n")
        yield shlex.split(command), shown


def matches(shown: str, text: str) -> bool:
    """Whether a text is what is shown, with anything in place of lines of three dots."""
    pattern = (r"(.*\n)*" if line == "...\n" else re.escape(line) for line in shown.splitlines(keepends=True))
    return re.fullmatch("".join(pattern), text) is not None


def grep(word: str, *files: str) -> str:
    rows = ((file, line) for file in files for line in Path(file).read_text().splitlines() if word in line)
    return "".join(f"{file}:{line}\n" for file, line in rows)


def test_every_command_prints_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    workshop = Path(shutil.copy(ROOT / "examples" / "workshop.csv", "."))
    Path("orders.csv").write_text(workshop.read_text().replace(",1140,", ",1140.5,", 1))
    tables = iter(["workshop.csv", "plan.csv", "rush.csv"])
    for language, block in blocks():
        if language == "text":
            table = Path(next(tables))
            if not table.exists():  # the page says what is in it
                table.write_text(block)
            assert matches(block, table.read_text()), table
        for (program, *arguments), shown in commands(block) if language == "console" else ():
            if "edited.csv" in arguments:  # somebody lets a step begin an hour later, and not the next one
                row = "bush-1047,1,cut,Saw,2026-11-23T0{}:00"
                Path("edited.csv").write_text(Path("plan.csv").read_text().replace(row.format(6), row.format(7)))
            if program == "grep":
                printed = grep(*arguments)
            else:
                result = run(*arguments)
                printed = result.stdout or result.stderr
            assert matches(shown, printed), f"{arguments}\n{printed}"
    assert not list(tables)
