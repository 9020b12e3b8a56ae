"""Which files `l2s solve` will write: settled and checked for every instance before the first search begins."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from l2s_plugin.errors import L2SError
from l2s_plugin.files import check_writable

if TYPE_CHECKING:
    from integrations.cli.inputs import Problem
    from integrations.cli.request import Request

PLACEHOLDER = "{name}"
STANDARD_OUTPUT = "-"


class Files(NamedTuple):
    """Where the results of one instance go; None where nothing was asked for."""

    output: str | None = None
    history: str | None = None
    gantt: str | None = None
    stats_dir: str | None = None
    report: str | None = None

    def named(self) -> list[tuple[str, str]]:
        """Option and path of every file, without what is printed."""
        fields = self._asdict().items()
        return [(_option(field), path) for field, path in fields if path and path != STANDARD_OUTPUT]


_ENDINGS = {"output": ".json", "history": ".csv", "gantt": ".png", "stats_dir": ".json", "report": ".html"}
_KINDS = {".csv", ".html", ".json", ".ods", ".pdf", ".png", ".svg", ".tsv", ".xls", ".xlsx"}


def plan(request: Request, problems: Sequence[Problem], inputs: Iterable[str | None] = ()) -> list[Files]:
    """The files of every instance, after making sure that all can be written; makes the folders they need.

    `inputs` are files that are read and must not be overwritten, beside the instances and warm starts.
    """
    stats = request.files.stats_dir and os.path.join(request.files.stats_dir, "")  # a folder, though it may not exist
    options = request.files._replace(stats_dir=stats)
    _check_placeholders(options)
    _check_standard_output(options, request.as_json, len(problems))
    plans = [_files(options, problem.instance.name) for problem in problems]
    read = [*inputs, *(file for problem in problems for file in (problem.file, problem.warm_start_file))]
    _check_collisions(options, plans, problems, {Path(file).resolve() for file in read if file})
    folders = _folders(options, plans)
    for files in plans:
        for _, path in files.named():
            check_writable(_reachable(path, folders))
        _check_endings(files)
        if files.gantt:
            _check_gantt(files.gantt)
        if files.report:
            _check_report(_reachable(files.report, folders))
    _make(folders)
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


def _folders(options: Files, plans: list[Files]) -> set[Path]:
    """The folders that were named as such; they are made where they are missing."""
    pairs = [pair for files in plans for pair in zip(options, files, strict=True)]
    return {Path(path).parent for value, path in pairs if value and path and _is_folder(value)}


def _make(folders: Iterable[Path]) -> None:
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise L2SError(f"cannot make the folder {folder}: {error.strerror}") from error


def _option(field: str) -> str:
    return f"--{field.replace('_', '-')}"


def _files(options: Files, name: str) -> Files:
    """The options with the files of one instance in place of folders and patterns."""
    given = options._asdict().items()
    return Files(**{field: value and file_for(value, name, _ENDINGS[field]) for field, value in given})


def _check_placeholders(options: Files) -> None:
    for option, value in options.named():
        for placeholder in re.findall(r"\{\w*\}", value):
            if placeholder != PLACEHOLDER:
                raise L2SError(f"{option} {value}: {placeholder} stands for nothing, only {PLACEHOLDER} does")


def _check_standard_output(options: Files, as_json: bool, count: int) -> None:
    printed = [f"{_option(field)} -" for field, value in options._asdict().items() if value == STANDARD_OUTPUT]
    printed += ["--json"] * as_json
    if len(printed) > 1:
        raise L2SError(f"{' and '.join(printed)} both want standard output; choose one")
    if options.history == STANDARD_OUTPUT and count > 1:
        raise L2SError(f"--history - is for one instance, not for {count}; name a folder")


def _check_collisions(options: Files, plans: list[Files], problems: Sequence[Problem], read: set[Path]) -> None:
    """No file may be written twice, nor one that is read; only a report may be about several instances."""
    taken: dict[Path, tuple[str, str]] = {}
    for problem, files in zip(problems, plans, strict=True):
        for option, path in files.named():
            file = Path(path).resolve()
            other_option, other_word = taken.setdefault(file, (option, problem.word))
            if file in read:
                raise L2SError(f"{option} would overwrite {path}, which is read")
            if other_option != option:
                raise L2SError(f"{other_option} and {option} name the same file, {path}")
            about_all = option == "--report" and not is_per_instance(options.report or "")
            if other_word != problem.word and not about_all:
                raise L2SError(
                    f"{option} would write {other_word} and {problem.word} to one file, {path}; "
                    f"name a folder, or a pattern with {PLACEHOLDER} in it"
                )


def _reachable(path: str, folders: set[Path]) -> Path:
    """The path itself, or, where its folder is still to be made, the same name in the nearest folder that exists."""
    parent = Path(path).parent
    while parent in folders and not parent.exists():
        folders, parent = folders | {parent.parent}, parent.parent
    if parent.exists() and not parent.is_dir():
        raise L2SError(f"cannot write {path}: {parent} is not a folder")
    return parent / Path(path).name


def _check_endings(files: Files) -> None:
    """No file may be called what it is not: `plan.csv` would hold JSON."""
    for field, path in files._asdict().items():
        ending = os.path.splitext(path or "")[1].lower()
        if field in ("output", "history") and ending in _KINDS - {_ENDINGS[field]}:
            raise L2SError(f"{_option(field)} {path}: it is written as {_ENDINGS[field]}, and not as {ending}")


def _check_gantt(path: str) -> None:
    """Whether there is somebody to draw this kind of file; imports the drawing library, if need be."""
    from l2s_plugin.registry import default_registry
    from l2s_plugin.specs import RendererSpec

    ending = Path(path).suffix.lstrip(".").lower()
    if not ending:
        raise L2SError(f"--gantt {path}: the file's ending says how to draw, as in gantt.png")
    default_registry().load(RendererSpec, ending)


def _check_report(path: Path) -> None:
    from integrations.report import check_report

    check_report(path)
