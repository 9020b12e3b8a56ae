"""What `l2s solve` reads and writes: settled, read and checked for every instance before the first search begins."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from integrations.bench.sets import file_of, groups
from l2s_plugin.data import benchmark_names
from l2s_plugin.errors import L2SError
from l2s_plugin.files import check_writable

if TYPE_CHECKING:
    from l2s_plugin.clock import Clock
    from l2s_plugin.instance import Instance
    from l2s_plugin.schedule import Schedule

PLACEHOLDER = "{name}"
STANDARD_OUTPUT = "-"

Files = dict[str, str]  # where the results of one instance go, by option

_ENDINGS = {"--output": ".json", "--history": ".csv", "--gantt": ".png", "--stats-dir": ".json", "--report": ".html"}
_WRITTEN_AS = {"--output": (".json", ".csv", ".xlsx"), "--history": (".csv",)}
_KINDS = {".csv", ".html", ".json", ".ods", ".pdf", ".png", ".svg", ".tsv", ".xls", ".xlsx"}


@dataclass(frozen=True)
class Problem:
    """An instance, the word of the command line that stands for it, and the schedule to begin with, if any."""

    word: str
    instance: Instance
    warm_start: Schedule | None = None
    warm_start_file: str | None = None

    @property
    def file(self) -> str | None:
        """The file that the instance was read from, if any."""
        if self.word == "-" or self.word in benchmark_names():
            return None
        return file_of(self.word) or self.word


def load_problems(
    words: Iterable[str], warm_start: str | None = None, clock: Clock | None = None, objective: str | None = None
) -> list[Problem]:
    """Read every instance, each once, and its warm start; the first broken file is the error.

    `clock` is what their times mean and `objective` what to minimise, in place of what the files say.
    """
    from l2s_plugin.loader import load
    from l2s_plugin.tables import read_plan

    found = ([word] if word == "-" else chain(*groups([word]).values()) for word in words)
    timed = {} if clock is None else {"clock": clock}
    problems = [
        Problem(name, load(name).with_details(**timed).with_objective(objective))
        for name in dict.fromkeys(chain.from_iterable(found))
    ]
    if warm_start is None:
        return problems
    if len(problems) > 1 and not is_per_instance(warm_start):
        raise L2SError(
            f"--warm-start {warm_start}: one schedule for {len(problems)} instances; name a folder or a pattern "
            "such as out/{name}.json"
        )
    files = [file_for(warm_start, problem.instance.name, ".json") for problem in problems]
    return [
        replace(problem, warm_start=read_plan(problem.instance, file), warm_start_file=file)
        for problem, file in zip(problems, files, strict=True)
    ]


def plan(options: dict[str, Any], problems: Sequence[Problem], inputs: Iterable[str | None] = ()) -> list[Files]:
    """The files of every instance, after making sure that all can be written; makes the folders they need.

    `options` are those of the command; `inputs` are files that are read and must not be overwritten, beside the
    instances and warm starts.
    """
    values = {option: options[option[2:].replace("-", "_")] for option in _ENDINGS}
    asked = {option: value for option, value in values.items() if value}
    if "--stats-dir" in asked:
        asked["--stats-dir"] = os.path.join(asked["--stats-dir"], "")  # a folder, though it may not exist
    _check_options(asked, options["as_json"], len(problems))
    plans = [
        {option: file_for(value, problem.instance.name, _ENDINGS[option]) for option, value in asked.items()}
        for problem in problems
    ]
    read = [*inputs, *(file for problem in problems for file in (problem.file, problem.warm_start_file))]
    _check_collisions(asked, plans, problems, {Path(file).resolve() for file in read if file})
    folders = {Path(files[option]).parent for files in plans for option in files if _is_folder(asked[option])}
    for files in plans:
        for option, path in files.items():
            _check_file(option, path, folders)
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise L2SError(f"cannot make the folder {folder}: {error.strerror}") from error
    return plans


def file_for(value: str, name: str, ending: str) -> str:
    """The file of one instance: in a folder, by a pattern, or just the file."""
    safe = re.sub(r"[^\w.+#-]", "_", name).lstrip(".") or "_"  # names come from files, and must not lead elsewhere
    value = value.replace(PLACEHOLDER, safe)
    return os.path.join(value, safe + ending) if _is_folder(value) else value


def is_per_instance(value: str) -> bool:
    """Whether instances get files of their own."""
    return PLACEHOLDER in value or _is_folder(value)


def _is_folder(value: str) -> bool:
    return value.endswith(("/", os.sep)) or os.path.isdir(value)


def _check_options(asked: Files, as_json: bool, count: int) -> None:
    """Patterns that mean something, and one thing at most on standard output."""
    printed = [f"{option} -" for option, value in asked.items() if value == STANDARD_OUTPUT]
    printed += ["--json"] * as_json
    for option, value in asked.items():
        for placeholder in re.findall(r"\{\w*\}", value):
            if placeholder != PLACEHOLDER:
                raise L2SError(f"{option} {value}: {placeholder} stands for nothing, only {PLACEHOLDER} does")
    if len(printed) > 1:
        raise L2SError(f"{' and '.join(printed)} both want standard output; choose one")
    if asked.get("--history") == STANDARD_OUTPUT and count > 1:
        raise L2SError(f"--history - is for one instance, not for {count}; name a folder")


def _check_collisions(asked: Files, plans: list[Files], problems: Sequence[Problem], read: set[Path]) -> None:
    """No file may be written twice, nor one that is read; only a report may be about several instances."""
    taken: dict[Path, tuple[str, str]] = {}
    both = zip(problems, plans, strict=True)
    for word, (option, path) in ((problem.word, each) for problem, files in both for each in files.items()):
        if path == STANDARD_OUTPUT:
            continue
        file = Path(path).resolve()
        other_option, other_word = taken.setdefault(file, (option, word))
        if file in read:
            raise L2SError(f"{option} would overwrite {path}, which is read")
        if other_option != option:
            raise L2SError(f"{other_option} and {option} name the same file, {path}")
        about_all = option == "--report" and not is_per_instance(asked[option])
        if other_word != word and not about_all:
            raise L2SError(
                f"{option} would write {other_word} and {word} to one file, {path}; "
                f"name a folder, or a pattern with {PLACEHOLDER} in it"
            )


def _check_file(option: str, path: str, folders: set[Path]) -> None:
    """It can be written, somebody can draw it, and it is not called what it is not: `plan.pdf` would hold JSON."""
    place, ending = _reachable(path, folders), Path(path).suffix.lower()
    if path != STANDARD_OUTPUT:
        check_writable(place)
    if option == "--gantt":
        from l2s_plugin.registry import default_registry
        from l2s_plugin.specs import RendererSpec

        if not ending:
            raise L2SError(f"--gantt {path}: the file's ending says how to draw, as in gantt.png")
        default_registry().load(RendererSpec, ending.lstrip("."))
    elif option == "--report":
        from integrations.report import check_report

        check_report(place)
    elif option in _WRITTEN_AS and ending in _KINDS.difference(_WRITTEN_AS[option]):
        raise L2SError(f"{option} {path}: it is written as {' or '.join(_WRITTEN_AS[option])}, and not as {ending}")
    elif option == "--output" and ending == ".xlsx":
        from l2s_plugin.formats.xlsx import check_openpyxl

        check_openpyxl()


def _reachable(path: str, folders: set[Path]) -> Path:
    """The path itself, or, where its folder is still to be made, the same name in the nearest folder that exists."""
    parent = Path(path).parent
    while parent in folders and not parent.exists():
        folders, parent = folders | {parent.parent}, parent.parent
    if parent.exists() and not parent.is_dir():
        raise L2SError(f"cannot write {path}: {parent} is not a folder")
    return parent / Path(path).name
