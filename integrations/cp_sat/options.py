"""What users pass: workers, CP-SAT's parameters, schedules to begin with; checked before any work starts."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from reprlib import repr as short
from typing import Any

from heuristics.configuration import Configuration
from heuristics.result import Result
from integrations.libraries import ortools
from l2s_plugin.devices import available_cores
from l2s_plugin.errors import L2SError, unknown_name
from l2s_plugin.instance import Instance
from l2s_plugin.schedule import Schedule

WarmStart = Schedule | Result | str | os.PathLike[str] | None

_PLAIN = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
_OURS = {
    "num_workers": "give workers",
    "num_search_workers": "give workers",
    "random_seed": "give a seed",
    "max_time_in_seconds": "give a time limit",
    "log_search_progress": "ask for the log",
    "log_to_stdout": "ask for the log",
    "catch_sigint_signal": "signals end the run with its best schedule",
}


def check_options(way: Configuration) -> tuple[int, dict[str, Any]]:
    """Workers, all cores unless given (more than there are is allowed, and told), and what every attempt is given."""
    log = partial(print, file=sys.stderr) if way.log is True else way.log or None
    if log is not None and not callable(log):
        raise L2SError(f"log must be True, False or a function that takes a line, got {short(log)}")
    options = {"parameters": check_parameters(way.parameters), "log": log}
    cores = available_cores()
    if way.workers is not None and way.workers > cores:
        print(f"l2s: {way.workers} workers share {cores} core{'s' if cores > 1 else ''}", file=sys.stderr)
    return way.workers or cores, options


def beginning(way: Configuration, instance: Instance, warm_start: WarmStart) -> Configuration:
    """With the warm start, if there is one, as `initial`, which the search verifies."""
    if warm_start is None:
        return way
    if isinstance(warm_start, str | os.PathLike):
        warm_start = Schedule.load(instance, Path(warm_start))
    if not isinstance(warm_start, Schedule | Result):
        raise L2SError(f"a warm start is a schedule, a result or a file, got {short(warm_start)}")
    return replace(way, initial=warm_start)


def check_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """CP-SAT's own parameters by name; text is read as what the parameter is."""
    cp_model = ortools()
    solver = cp_model.CpSolver()
    values = {name: getattr(solver.parameters, name) for name in dir(solver.parameters) if name.islower()}
    plain = {name: value for name, value in values.items() if isinstance(value, tuple(_PLAIN)) or _choices(value)}
    checked = {}
    for name, value in parameters.items():
        if name in _OURS:
            raise L2SError(f"CP-SAT's parameter {name} is not for parameters=; {_OURS[name]}")
        if name not in plain:
            raise unknown_name("parameter of CP-SAT", str(name), plain)
        checked[name] = _like(plain[name], name, value)
        try:
            setattr(solver.parameters, name, checked[name])
        except (TypeError, ValueError) as error:  # more than 32 bits, say
            raise L2SError(f"CP-SAT's parameter {name} cannot be {short(value)}") from error
    if parameters and solver.status_name(solver.solve(cp_model.CpModel())) == "MODEL_INVALID":
        raise L2SError(f"CP-SAT refuses its parameters: {solver.solution_info()}")
    return checked


def _choices(value: Any) -> Mapping[str, Any]:
    """The values of an enumeration by name; empty for what is none."""
    return getattr(type(value), "__members__", {})


def _like(usual: Any, name: str, value: Any) -> Any:
    """The value as one of the kind of the usual one, if it means one."""
    kind, choices = type(usual), _choices(usual)
    words = {"true": True, "false": False} if kind is bool else choices
    try:
        if isinstance(value, str):
            return words[value] if words else kind(value)
        if isinstance(value, bool) == (kind is bool) and kind(value) == value:
            return kind(value)
    except (KeyError, TypeError, ValueError):
        pass
    expected = f"one of {', '.join(choices)}" if choices else _PLAIN[kind]
    raise L2SError(f"CP-SAT's parameter {name} is {expected}, got {short(value)}")
