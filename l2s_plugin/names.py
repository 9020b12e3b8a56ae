"""Finding jobs, machines, operations and times by what people call them.

Names where an instance has them, else numbers from 0. An operation is JOB/STEP (steps count from 1), JOB/NAME, or NAME
where one operation alone is called that. A time is a whole number, or a moment such as 2026-11-23T06:00 where the
instance has a clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index

from l2s_plugin.errors import L2SError, UnknownNameError, unknown_name
from l2s_plugin.instance import Instance

Word = int | str  # a name, or a number
_MOMENT = ": nothing says which moment time 0 is (--start-at)"


def find_job(instance: Instance, word: Word) -> int:
    """The number of a job."""
    return _find("job", word, instance.job_names, instance.n_jobs)


def find_machine(instance: Instance, word: Word) -> int:
    """The number of a machine."""
    return _find("machine", word, instance.machine_names, instance.n_machines)


def find_operation(instance: Instance, word: Word) -> int:
    """The id of an operation; a whole number is one already."""
    if not isinstance(word, str):
        return _number("operation", word, instance.n_operations)
    if word and (found := _called(instance, word, range(instance.n_operations))):
        if len(found) == 1:
            return found[0]
        first = instance.job_name(instance.job[found[0]])
        raise L2SError(f"{len(found)} operations are called {word!r}; name the job, too, as in {first}/{word}")
    slashes = [place for place, sign in enumerate(word) if sign == "/"]
    if not slashes:
        known = {*(instance.operation_names or ())} - {""}
        raise unknown_name("operation", word, known, f"; expected JOB/STEP, such as {instance.job_name(0)}/1")
    wrong: list[L2SError] = []
    for place in slashes:  # names may have slashes, too
        try:
            return _step(instance, find_job(instance, word[:place]), word[place + 1 :])
        except UnknownNameError as error:
            wrong.append(error)
    raise next((error for error in wrong[::-1] if str(error).startswith("unknown operation")), wrong[-1])


def find_time(instance: Instance, word: Word) -> int:
    """The time that a number, its text or a moment on the instance's clock stands for."""
    try:
        return int(word) if isinstance(word, str) else index(word)
    except (TypeError, ValueError):
        pass
    if isinstance(word, str) and instance.clock is not None:
        return instance.clock.time(word)
    expected = "a whole number, or one such as 2026-11-23T06:00"
    if instance.clock is None:
        expected = f"a whole number{_MOMENT if isinstance(word, str) and word[4:5] == '-' else ''}"
    raise L2SError(f"{word!r:.40} is no time, expected {expected}")


def time_text(instance: Instance, time: int) -> str:
    """A time for people: on the clock, where the instance has one."""
    return str(time) if instance.clock is None else instance.clock.text(time)


def _find(kind: str, word: Word, names: Sequence[str] | None, count: int) -> int:
    if not isinstance(word, str):
        return _number(kind, word, count)
    if names is None:
        return _number(kind, int(word) if _is_number(word) else word, count)
    if word not in names:
        raise unknown_name(kind, word, names)
    return names.index(word)


def _number(kind: str, word: Word, count: int) -> int:
    if isinstance(word, str | bool) or not hasattr(word, "__index__") or not 0 <= index(word) < count:
        raise UnknownNameError(f"unknown {kind} {str(word)!r}; {kind}s are numbered from 0 to {count - 1}")
    return index(word)


def _is_number(word: str) -> bool:
    return word.isdecimal() and len(word) < 10  # Python refuses to read thousands of digits


def _called(instance: Instance, name: str, among: range) -> list[int]:
    return [x for x in among if instance.operation_name(x) == name]


def _step(instance: Instance, job: int, word: str) -> int:
    """An operation of a job, by its name or else by its step."""
    steps = range(instance.job_offset[job], instance.job_offset[job + 1])
    found, who = _called(instance, word, steps) if word else [], f"job {instance.job_name(job)}"
    if len(found) > 1:
        raise L2SError(f"{len(found)} operations of {who} are called {word!r}; write {instance.job_name(job)}/STEP")
    if found:
        return found[0]
    if _is_number(word) and 1 <= int(word) <= len(steps):
        return steps[int(word) - 1]
    names = {instance.operation_name(x) for x in steps} - {""}
    raise unknown_name("operation", word, names, f"; {who} has the steps 1 to {len(steps)}")
