"""Progress of a search: a live line on a terminal, a few lines a second elsewhere, and never in the way."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from heuristics.result import Improvement
from integrations.cli.terminal import ProgressDisplay
from l2s_plugin.loader import load
from l2s_plugin.stop import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Closed(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The time of the display, under the control of the test."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr("integrations.cli.terminal.time", SimpleNamespace(perf_counter=lambda: clock.now))
    monkeypatch.setenv("TERM", "xterm")
    return clock


def improvement(seconds: float, step: int, makespan: int) -> Improvement:
    return Improvement(load("ft06"), seconds, step, makespan, lower_bound=50)


def test_a_thousand_improvements_are_a_few_lines_and_the_last(clock: SimpleNamespace) -> None:
    stream = io.StringIO()
    with ProgressDisplay(stream, seconds=10) as display:
        for i in range(1000):
            display.improved(improvement(0.001 * i, i, 2000 - i))
            clock.now += 0.001
    lines = stream.getvalue().splitlines()
    assert 5 <= len(lines) <= 7
    assert lines[0] == "    0.00 s, step 0: makespan 2000, bound 50, gap 3900.00 %"
    assert lines[-1] == "    1.00 s, step 999: makespan 1001, bound 50, gap 1902.00 %"


def test_an_improvement_held_back_is_shown_at_the_next_look(clock: SimpleNamespace) -> None:
    stream = io.StringIO()
    with ProgressDisplay(stream, seconds=10) as display:
        display.improved(improvement(0, 0, 60))
        display.improved(improvement(0.1, 5, 55))
        clock.now += 1
        assert display.looked(Progress(90, 1.0, 55, 5)) is False
        clock.now += 1
        display.looked(Progress(190, 2.0, 55, 5))
        assert [line.split("makespan ")[1][:2] for line in stream.getvalue().splitlines()] == ["60", "55"]


def test_a_terminal_gets_one_live_line_that_disappears(clock: SimpleNamespace) -> None:
    stream = Terminal()
    with ProgressDisplay(stream, seconds=10) as display:
        display.looked(Progress(0, 0.0, 0, 0))
        assert not stream.getvalue()
        display.improved(improvement(1.0, 1000, 55))
        clock.now += 1
        display.looked(Progress(2345, 2.0, 55, 1000, 54))
    text = stream.getvalue()
    assert "\n" not in text
    assert text.split("\r")[1:] == [
        "makespan 55, bound 50, gap 10.00 %, 1,000 steps/s, 9 s left\x1b[K",
        "makespan 55, bound 54, gap 1.85 %, 1,172 steps/s, 8 s left\x1b[K",
        "\x1b[K",
    ]


def test_a_live_line_never_wraps_and_counts_up_without_a_time_limit(
    clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Terminal()
    ProgressDisplay(stream, None).improved(improvement(3.0, 7, 55))
    assert stream.getvalue().endswith(", 3 s\x1b[K")
    monkeypatch.setenv("COLUMNS", "20")
    stream = Terminal()
    ProgressDisplay(stream, None).improved(improvement(3.0, 7, 55))
    assert stream.getvalue() == "\rmakespan 55, bound \x1b[K"


def test_a_reader_that_has_gone_does_not_end_the_search() -> None:
    with ProgressDisplay(Closed(), seconds=None) as display:
        display.improved(improvement(0, 0, 60))
        display.improved(improvement(1, 1, 59))


def test_the_title_waits_for_the_first_improvement_and_every_line_has_the_label(clock: SimpleNamespace) -> None:
    stream = io.StringIO()
    with ProgressDisplay(stream, 10, title="method tabu", label="1/2 ft06: ") as display:
        assert not stream.getvalue()
        display.improved(improvement(0, 0, 60))
        clock.now += 1
        display.improved(improvement(1, 9, 55))
    assert stream.getvalue().splitlines() == [
        "1/2 ft06: method tabu",
        "1/2 ft06:     0.00 s, step 0: makespan 60, bound 50, gap 20.00 %",
        "1/2 ft06:     1.00 s, step 9: makespan 55, bound 50, gap 10.00 %",
    ]


def test_a_run_without_steps_shows_no_speed(clock: SimpleNamespace) -> None:
    stream = Terminal()
    ProgressDisplay(stream, 10).improved(improvement(1.0, 0, 55))
    assert stream.getvalue() == "\rmakespan 55, bound 50, gap 10.00 %, 9 s left\x1b[K"
