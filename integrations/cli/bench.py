"""`l2s bench`: methods, selectors and neighbourhoods against each other on sets of instances."""

from __future__ import annotations

import itertools
import json
import shlex
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from heuristics.configuration import Configuration
from integrations.cli import EXIT_INTERRUPTED, example
from integrations.cli.completion import path_option, sets_and_instances
from integrations.cli.parameters import check_parts, method_option, search_option, takes
from integrations.cli.solve import DEFAULT_SECONDS
from integrations.cli.terminal import Line, duration, echo
from l2s_plugin import stop as stops
from l2s_plugin.errors import L2SError
from l2s_plugin.files import write_text
from l2s_plugin.stop import Stop

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from integrations.bench.report import By, Row

QUICK = ("ft", "la:10x10", "ta:15x15")
QUICK_STEPS = "500,5000"


@click.command(epilog=example("l2s bench ta:15x15 --method memetic --method hybrid --time-limit 10 --output out"))
@click.argument("sets", nargs=-1, metavar="[SET|INSTANCE]...", shell_complete=sets_and_instances)
@method_option(multiple=True, help="How to solve, as in l2s solve; may be given several times.  [default: memetic]")
@search_option("objective")
@search_option("selector", multiple=True, help="Move selector; several times.")
@search_option("policy", multiple=True, help="Policy of the learned selector; several.")
@search_option("neighbourhood", multiple=True, help="Neighbourhood; several times.")
@search_option("initial", multiple=True, help="Dispatching rule of the first schedule; several.")
@click.option("--steps", metavar="N,N,...", help="Milestones in steps; one run to the largest serves all.")
@click.option("--time-limit", type=float, metavar="S", help="Seconds for each run, instead of steps.  [default: 10]")
@search_option("population", help="Schedules to recombine (memetic, hybrid).")
@click.option("--seeds", type=click.IntRange(1), default=1, show_default=True, help="Runs per instance, seeds 1 to N.")
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Runs side by side, a core each; methods that could use more are kept on one.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Run on the workers of this dask cluster instead.")
@path_option("--output", metavar="DIR", type=click.Path(path_type=Path), help="Keep results; run again to resume.")
@path_option("--report", "report_file", metavar="FILE.html", help="Tables and curves as a page that opens offline.")
@click.option("--quick", is_flag=True, help="A meaningful table in about a minute.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.pass_context
def bench(
    ctx: click.Context,
    sets: tuple[str, ...],
    steps: str | None,
    time_limit: float | None,
    seeds: int,
    workers: int,
    scheduler: str | None,
    output: Path | None,
    report_file: str | None,
    quick: bool,
    as_json: bool,
    **parts: Any,
) -> None:
    """Compare methods on sets of instances.

    A SET is ft, la, abz, orb, swv, yn or ta, a group of one such as ta:15x15, or paper for all 26 groups of the paper's
    Table 1; an INSTANCE a benchmark name, a file, a folder or a pattern. Every combination of the methods, selectors,
    neighbourhoods and rules given is run. Gaps are to the best known makespan, or else to the best bound that one of
    the runs has proven, in percent (of the makespan where the objective is lateness), with the standard error of the
    mean over all runs of a group.

    \b
    l2s bench ta:15x15 la --method local-search --selector greedy --selector boltzmann --steps 500,5000
    """
    from integrations.bench import report
    from integrations.bench.cells import Store, cells_of, run_cells
    from integrations.bench.sets import groups
    from integrations.plots import style
    from integrations.report import check_report, save_bench_report

    if quick:
        if any((sets, steps, time_limit, *parts.values())):
            raise L2SError("--quick has its own sets, methods, parts and limits; leave them out")
        sets, steps = QUICK, QUICK_STEPS
    if not sets:
        raise L2SError("which instances? for example: l2s bench ta:15x15, or l2s bench --quick")
    milestones = _milestones(steps)
    if milestones and time_limit is not None:
        raise L2SError("--steps and --time-limit exclude each other")
    chosen = groups(sets)
    seconds = DEFAULT_SECONDS if time_limit is None else time_limit
    stop = stops.steps(max(milestones)) if milestones else stops.seconds(seconds)
    ways = [_ready(way, stop) for way in (_quick() if quick else _combine(parts))]
    cells = cells_of(chosen, ways, seeds)
    store = Store(output)
    if output is not None:  # before the work starts: can its results be drawn and written?
        style()
    if report_file is not None:
        check_report(report_file)
    with _cluster(scheduler) as executor:
        finished = run_cells(cells, store, workers, _progress, executor)
    rows = report.compared((cell.instance, store.rows[cell.key]) for cell in cells if cell.key in store.rows)
    table = report.summarise(rows, milestones) + report.published(rows)
    table.sort(key=lambda row: list(chosen).index(row["group"]))  # ours and the published rows of a group together
    outcome = {"command": sys.argv[1:], "finished": finished, "table": table, "cells": rows}
    written = []
    if output is not None:
        _write(output, outcome, "steps" if milestones else "seconds")
        written.append(f"{output}/results.md, results.csv, results.json and anytime.png")
    if report_file is not None:
        save_bench_report(outcome, report_file)
        written.append(report_file)
    if as_json:
        echo(json.dumps(outcome))
    else:
        show = report.aligned if sys.stdout.isatty() else report.markdown
        echo(show(table, chosen) if table else "nothing finished")
        for files in written:
            echo(f"wrote {files}", err=True)
    if not finished:
        echo("interrupted; run the same command again to resume" if output else "interrupted", err=True)
        ctx.exit(EXIT_INTERRUPTED)


def _cluster(address: str | None) -> AbstractContextManager[Executor | None]:
    if address is None:
        return nullcontext()
    from integrations.cluster import executor_for

    executor = executor_for(address)
    if not executor.client.ncores():  # a cluster may well start them when there is work
        echo(f"the dask cluster at {address} has no workers yet; waiting for them", err=True)
    return executor


def _milestones(text: str | None) -> list[int]:
    if text is None:
        return []
    words = text.split(",")
    if not all(word.strip().isdigit() and int(word) > 0 for word in words):
        raise L2SError(f"--steps takes positive whole numbers separated by commas, got {text!r}")
    return sorted({int(word) for word in words})


def _combine(given: dict[str, Any]) -> list[Configuration]:
    """Every combination."""
    parts = {
        "method": given["method"] or ["memetic"],
        "selector": [*given["selector"], *(f"l2s:{policy}" for policy in given["policy"])] or [None],
        "neighbourhood": given["neighbourhood"] or [None],
        "initial": given["initial"] or [None],
        "population": [given["population"]],
        "objective": [given["objective"]],
    }
    return [Configuration(**dict(zip(parts, each, strict=True))) for each in itertools.product(*parts.values())]


def _ready(way: Configuration, stop: Stop) -> Configuration:
    """On a core of its own, without bounds from the literature, and with everything checked before the first run."""
    workers = 1 if takes(str(way.method), "workers") else None
    way = replace(way, stop=stop, label=str(way), known_bounds=False, workers=workers)
    check_parts(way)
    return replace(way.checked(), stop=stop)


def _quick() -> list[Configuration]:
    return [
        Configuration("local-search", selector, "n5")
        for selector in ("greedy", "best-improvement", "first-improvement", "random", "boltzmann", "l2s")
    ] + [
        Configuration("tabu", selector, neighbourhood)
        for selector, neighbourhood in (("estimate", "n5"), ("estimate", "n6"), ("estimate", "n7"), ("l2s-fast", "n7"))
    ]


def _progress(done: int, count: int, left: float, row: Row) -> None:
    """Every run on a terminal; elsewhere a line for every tenth of the work."""
    line, last = Line(sys.stderr), done == count
    if line.live or last or done * 10 // count != (done - 1) * 10 // count:
        text = f"{done}/{count} runs, about {duration(left)} left; {row['instance']} {row['label']}: {row['value']}"
        line.write(text, stays=last)


def _write(folder: Path, outcome: dict[str, Any], by: By) -> None:
    from integrations.bench import report
    from integrations.plots import anytime

    command, table = shlex.join(["l2s", *outcome["command"]]), outcome["table"]
    groups = dict.fromkeys(row["group"] for row in table)
    write_text(folder / "results.md", f"`{command}`\n\n{report.markdown(table, groups)}\n")
    write_text(folder / "results.csv", report.as_csv(table))
    write_text(folder / "results.json", json.dumps({"command": command, "table": table}, indent=1) + "\n")
    anytime(outcome["cells"], by, folder / "anytime.png")
