"""Gantt charts and curves, drawn with matplotlib's figure objects: no global state, no display, no pyplot."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from integrations.bench.report import By, anytime_curves
from integrations.cli.terminal import shown as printable
from integrations.libraries import library
from integrations.marks import GREEN, RED, Marks, cut, last_time, marks, names, outcome, ticks, worse
from integrations.marks import By as Rows
from l2s_plugin.data import best_known
from l2s_plugin.errors import L2SError
from l2s_plugin.files import check_writable, write_bytes
from l2s_plugin.instance import Instance, IntArray
from l2s_plugin.schedule import Schedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDINGS = ("png", "svg", "pdf")
INK = "#1f2937"
QUIET = "#6b7280"
GRID = "#e5e7eb"
BAR = 0.82  # of the height of a row

_MARGINS = (0.62, 0.35, 0.62, 0.66)  # inches: left, right, top, bottom
_FONT_SIZES = (9.0, 8.0, 7.0, 6.0, 5.0)
_DIGIT = 0.66  # width of a bold digit, in font sizes
_LEAST_NAME = 6.0  # the smallest font size of a name: rather cut than too small
_MOST_LEFT = 2.2  # inches of a row's label
_DPI = 160
_MANY_BATCHES = 200  # then their dots are small

# the same schedule gives the same file; text stays text, which keeps SVG small and searchable
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "l2s-plugin",
    "svg.fonttype": "none",
    "font.family": ["DejaVu Sans", "sans-serif"],
}
_METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}

# from OKLab to the answers of the eye, and from there to a screen
_LMS = np.array([
    [1, 0.3963377774, 0.2158037573],
    [1, -0.1055613458, -0.0638541728],
    [1, -0.0894841775, -1.2914855480],
])  # fmt: skip
_RGB = np.array([
    [4.0767416621, -3.3077115913, 0.2309699292],
    [-1.2684380046, 2.6097574011, -0.3413193965],
    [-0.0041960863, -0.7034186147, 1.7076147010],
])  # fmt: skip


def gantt(
    schedule: Schedule,
    path: str | Path | None = None,
    *,
    by: Rows = "machine",
    title: str | None = None,
) -> Axes:
    """Draw a schedule: a row per machine, a colour per job, critical operations in full colour and outlined.

    Where the instance has names and a clock, they replace numbers; due dates, waiting and operations that their dates
    hold are marked, and the legend says how.

    The ending of `path` (png, svg, pdf) says how it is written; None writes nothing. By `"job"`, rows are jobs and
    colours machines. The `title` replaces the instance's name in the heading. The axes can be changed further, their
    `figure` saved, and notebooks show them.
    """
    if by not in ("machine", "job"):
        raise L2SError(f'by must be "machine" or "job", got {by!r}')
    if path is not None:
        _ending(path)
        check_writable(path)
    instance, end = schedule.instance, last_time(schedule, by)
    rows, groups, n_rows, n_groups = view(instance, by)
    # wide enough for numbers or names in most bars, rows as high as their count allows
    bars_in_makespan = schedule.makespan / max(float(instance.duration.mean()), 1e-9)
    width = min(max(9.0, 0.16 * bars_in_makespan + 5.0, _width_for_names(schedule, by)), 24.0)
    height = min(max((0.42 if n_rows <= 12 else 0.3 if n_rows <= 40 else 0.2) * n_rows, 2.0), 30.0)
    found = marks(schedule, by)
    with style():
        from matplotlib.figure import Figure

        labels = _row_labels(instance, by, n_rows)
        left, right, top, bottom = _MARGINS
        left = max(left, 0.25 + max(map(_width, labels)) * 9 / 72 if names(instance, by) else 0)
        below = 0.16 if instance.clock else 0.0  # the time axis names days, too
        bottom += below + (0.17 if found.meanings(by) else 0)
        size = (left + width + right, bottom + height + top)
        place = (left / size[0], bottom / size[1], width / size[0], height / size[1])
        axes = Figure(size, facecolor="white").add_axes(place)
        axes.set_xlim(0, end)
        axes.set_ylim(n_rows - 0.5, -0.5)
        _bars(axes, schedule, rows, groups, palette(n_groups))
        _labels(axes, schedule, by, 72 * width / end, 72 * height / n_rows)
        axes.axvline(schedule.makespan, color=QUIET, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
        _frame(axes, instance, labels, height, end)
        _legend(axes, instance, by, _draw_marks(axes, found, by, end), below)
        _heading(axes, schedule, instance.name if title is None else title, 72 * width)
        return _finished(axes, path)


def style() -> Any:
    """A context in which everything is drawn alike, on every machine."""
    return library("matplotlib", "plot").rc_context(_STYLE)


def _ending(path: str | Path) -> str:
    ending = Path(path).suffix.lstrip(".").lower()
    if ending not in ENDINGS:
        raise L2SError(f"cannot draw {path}: known endings are {', '.join(ENDINGS)}")
    return ending


def _finished(axes: Axes, path: str | Path | None) -> Axes:
    """Write the figure to a file, if one is named; notebooks show it, which figures without pyplot cannot do alone."""
    figure: Any = axes.get_figure()
    axes._repr_png_ = partial(_drawn, figure, "png")  # type: ignore[attr-defined]
    if path is not None:
        write_bytes(path, _drawn(figure, _ending(path)))
    return axes


def _drawn(figure: Figure, ending: str) -> bytes:
    buffer = io.BytesIO()
    with style():
        figure.savefig(buffer, format=ending, dpi=_DPI, metadata=_METADATA.get(ending))
    return buffer.getvalue()


def _bars(
    axes: Axes, schedule: Schedule, rows: NDArray[Any], groups: NDArray[Any], colours: NDArray[np.float64]
) -> None:
    from matplotlib.collections import LineCollection, PolyCollection

    critical, lasting = schedule.critical, schedule.instance.duration > 0
    x0, x1 = schedule.start, schedule.end
    y0, y1 = rows - BAR / 2, rows + BAR / 2
    corners = np.stack([np.stack(c, -1) for c in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))], 1)
    crowded = len(x0) > 1000
    some, fill = lasting & ~critical, pale(colours)[groups]
    edge: dict[str, Any] = {"edgecolors": "white", "linewidths": 0.3 if crowded else 0.7}
    axes.add_collection(PolyCollection(corners[some], facecolors=fill[some], **edge))
    some, fill = lasting & critical, colours[groups]
    edge = {"edgecolors": INK, "linewidths": 0.7 if crowded else 1.3, "joinstyle": "miter"}
    # unclipped, or the outline would be cut at both ends of the time axis
    axes.add_collection(PolyCollection(corners[some], facecolors=fill[some], clip_on=False, zorder=3, **edge))
    ticks = corners[~lasting, 1:3]  # nothing to fill
    axes.add_collection(LineCollection(list(ticks), colors=fill[~lasting], linewidths=1.5, zorder=4))


def _labels(axes: Axes, schedule: Schedule, by: Rows, unit: float, row_height: float) -> None:
    """Write the group's number into every bar that has room for it, in the largest size that suits most; in points.

    Names are cut to what fits, if that is enough to know them by.
    """
    rows, groups, _, n_groups = view(schedule.instance, by)
    named = names(schedule.instance, "job" if by == "machine" else "machine")
    written = named or [str(group) for group in range(n_groups)]
    widths = np.array([_width(name, "bold") if named else len(name) * _DIGIT for name in written])[groups]
    room = schedule.instance.duration * unit - 2.5  # the rest is outline
    sizes = [size for size in _FONT_SIZES if size <= 0.7 * BAR * row_height and (not named or size >= _LEAST_NAME)]
    for size in sizes:
        fits = room >= widths * size
        if fits.mean() >= 0.55 or size == sizes[-1]:
            break
    else:
        return
    weight = np.where(schedule.critical, "bold", "normal")
    middle = (schedule.start + schedule.end) / 2
    look: dict[str, Any] = {"fontsize": size, "color": INK, "ha": "center", "va": "center_baseline"}
    look |= {"clip_on": True, "parse_math": False}
    for x in range(len(rows)) if named else np.flatnonzero(fits):
        text = written[groups[x]]
        if not fits[x]:  # rather small than cut
            look["fontsize"] = next((each for each in sizes if each * widths[x] <= room[x]), sizes[-1])
            text = _fitted(text, room[x] / look["fontsize"], "bold")
        if text:
            axes.text(float(middle[x]), float(rows[x]), text, fontweight=str(weight[x]), zorder=5, **look)
        look["fontsize"] = size


def _width_for_names(schedule: Schedule, by: Rows) -> float:
    """Inches in which the names in most bars are not cut."""
    instance = schedule.instance
    named = names(instance, "job" if by == "machine" else "machine")
    if named is None or not instance.duration.any():
        return 0.0
    some, groups = instance.duration > 0, view(instance, by)[1]
    needed = (_LEAST_NAME * np.array([_width(name, "bold") for name in named])[groups] + 2.5) / 72
    return min(float(np.quantile((needed[some] / instance.duration[some]), 0.6)) * last_time(schedule, by), 18.0)


def _row_labels(instance: Instance, by: Rows, n_rows: int) -> list[str]:
    named = names(instance, by)
    if named is None:
        return [f"{by[0].upper()}{row}" for row in range(n_rows)]
    return [_fitted(name, _MOST_LEFT * 72 / 9) for name in named]


@lru_cache(10_000)
def _width(text: str, weight: str = "normal") -> float:
    """The width of a text, in font sizes."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=_STYLE["font.family"], weight=weight, size=100)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]) / 100


def _fitted(text: str, room: float, weight: str = "normal") -> str:
    """The text, cut to a width in font sizes; nothing where hardly a letter would be left."""
    if _width(text, weight) <= room:
        return text
    shorter = (cut(text, most) for most in range(min(len(text) - 1, int(4 * max(room, 0))), 3, -1))
    return next((short for short in shorter if _width(short, weight) <= room), "")


def _draw_marks(axes: Axes, found: Marks, by: Rows, end: int) -> list[Any]:
    """Draw all marks; a legend's entry for each kind of them."""
    from matplotlib.lines import Line2D

    looks: dict[str, dict[str, Any]] = {}  # in the legend
    for kind, places, colour in (("met", found.met, GREEN), ("late", found.late, RED)):
        width = 2.2 if by == "job" else 3.5
        _upright(axes, places, end, colour, width, 0.5 if by == "job" else BAR / 2)
        looks[kind] = {"marker": "|", "markersize": 9, "markeredgewidth": width, "linestyle": "none", "color": colour}
    looks["waiting"] = {"color": QUIET, "linewidth": 1.0}
    for start, stop, row in found.waiting:
        axes.plot([start, stop], [row, row], zorder=0.9, **looks["waiting"])
    looks["held"] = {"color": INK, "marker": "v", "markersize": 5, "linestyle": "none", "markeredgewidth": 0}
    for start, row in found.held:
        axes.plot(start, row - BAR / 2, zorder=6, clip_on=False, **looks["held"])
    return [Line2D([], [], label=meaning, **looks[kind]) for kind, meaning in found.meanings(by).items()]


def _upright(axes: Axes, places: list[tuple[int, int]], end: int, colour: str, linewidth: float, half: float) -> None:
    """A line through the row at each time; arrows at the edge point to times that the axis does not reach."""
    look: dict[str, Any] = {"zorder": 6, "clip_on": False}
    inside = np.array([place for place in places if 0 <= place[0] <= end])
    if len(inside):
        at, rows = inside.T
        axes.vlines(at, rows - half, rows + half, colors=colour, linewidths=linewidth, **look)
    for time, row in places:
        if time < 0 or time > end:
            axes.plot(min(max(time, 0), end), row, "<" if time < 0 else ">", color=colour, markersize=6, **look)


def _frame(axes: Axes, instance: Instance, labels: list[str], height: float, end: int) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(QUIET)
    axes.set_axisbelow(True)
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    if instance.clock is None:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True, steps=[1, 2, 5, 10]))
    else:
        axes.set_xticks(*ticks(instance.clock, end))
    axes.tick_params(axis="x", colors=QUIET, labelsize=9, length=3)
    shown = range(0, len(labels), max(1, math.ceil(len(labels) * 0.14 / height)))  # rows too thin for a label each
    axes.set_yticks(shown, [labels[row] for row in shown], parse_math=False)
    axes.tick_params(axis="y", colors=INK, labelsize=9, length=0, pad=6)
    if instance.clock is None:
        axes.set_xlabel("time", loc="left", color=QUIET, fontsize=9)


def _legend(axes: Axes, instance: Instance, by: Rows, entries: list[Any], below: float) -> None:
    """What colours, outlines and marks mean, under the time axis."""
    from matplotlib.patches import Patch
    from matplotlib.transforms import ScaledTranslation

    colour: Rows = "job" if by == "machine" else "machine"
    label = "name" if names(instance, colour) else "number"
    axes.legend(
        handles=[
            Patch(facecolor="#d5dbe3", label=f"colour and {label}: {colour}"),
            Patch(facecolor="#9aa7b8", edgecolor=INK, linewidth=1.3, label=f"critical: a delay here {worse(instance)}"),
            *entries,
        ],
        loc="upper right", bbox_to_anchor=(1, 0), borderpad=0, borderaxespad=0,
        bbox_transform=axes.transAxes + ScaledTranslation(0, -0.36 - below, axes.figure.dpi_scale_trans),
        ncols=1 + math.ceil(len(entries) / 2) if entries else 2,
        frameon=False, fontsize=8.5, labelcolor=QUIET, handlelength=1.6,
    )  # fmt: skip


def _heading(axes: Axes, schedule: Schedule, title: str, width: float) -> None:
    instance = schedule.instance
    facts = f"{instance.n_jobs} jobs × {instance.n_machines} machines    {outcome(schedule)}"
    best = best_known(instance)
    if best and schedule.makespan > best:
        facts += f"    best known {best}"
    options: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
    options["parse_math"] = False  # a name is no formula, whatever is in it
    name = _fitted(printable(title), (width - 10 * _width(facts) - 20) / 14, "bold")
    axes.annotate(name, (0, 1), (0, 12), fontsize=14, fontweight="bold", color=INK, **options)
    axes.annotate(facts, (1, 1), (0, 13), ha="right", fontsize=10, color=QUIET, **options)


def anytime(cells: Iterable[dict[str, Any]], by: By, path: str | Path | None = None) -> Axes:
    """Mean gap of every configuration of a benchmark over steps or seconds (`by`)."""
    with style():
        from matplotlib.figure import Figure

        axes = Figure(figsize=(10, 5), layout="constrained").add_subplot()
        curves = anytime_curves(cells, by)
        as_they_end = sorted(curves.items(), key=lambda item: -item[1].gap[-1])  # from top to bottom
        for label, curve in as_they_end:
            axes.plot(curve.at, curve.gap, label=f"{label} ({curve.runs} run{'s' * (curve.runs > 1)})")
        axes.set(xscale="log", xlabel=by, ylabel="mean gap to the best known makespan or bound, %")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        if curves:
            axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))  # beside, never upon the curves
        return _finished(axes, path)


def save_training_curve(rows: Sequence[Mapping[str, Any]], path: str | Path) -> Path:
    """Validation gap, and what each batch is about (improvement, or a student's divergence from its teacher), from the
    lines of `metrics.jsonl`."""
    with style():
        from matplotlib.figure import Figure

        left, right = Figure(figsize=(8, 4.5), layout="constrained").subplots(1, 2)
        checked = [row for row in rows if "validation" in row]
        left.plot([row["batch"] for row in checked], [row["validation"] for row in checked], ".-")
        left.set(xlabel="batch", ylabel="% above the lower bound", title="Validation")
        sizes, marker = dict.fromkeys(row["size"] for row in rows), 2 if len(rows) > _MANY_BATCHES else 6
        taught = all("divergence" in row for row in rows)
        for size in sizes:
            own = [row for row in rows if row["size"] == size]
            figures = [row["divergence" if taught else "improvement"] for row in own]
            right.plot([row["batch"] for row in own], figures, ".", markersize=marker, label=size)
        what = "divergence from the teacher" if taught else "% below the schedule to beat"
        right.set(xlabel="batch", ylabel=what, title="Training batches", yscale="log" if taught else "linear")
        if len(sizes) > 1:
            right.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))  # beside, never upon the points
        for axes in (left, right):
            axes.spines[["top", "right"]].set_visible(False)
            axes.tick_params(colors=QUIET)
            axes.grid(alpha=0.3)
            axes.xaxis.get_major_locator().set_params(integer=True)
        _finished(left, path)
    return Path(path)


def view(instance: Instance, by: str) -> tuple[IntArray, IntArray, int, int]:
    """Rows and colours of all operations and their numbers: `by` machine (colours are jobs), or by job."""
    if by == "machine":
        return instance.machine, instance.job, instance.n_machines, instance.n_jobs
    return instance.job, instance.machine, instance.n_jobs, instance.n_machines


def pale(colours: NDArray[np.float64]) -> NDArray[np.float64]:
    """Halfway to white."""
    return (1 + colours) / 2


def css(colours: NDArray[np.float64]) -> list[str]:
    """RGB rows in [0, 1] as a browser wants them."""
    return [f"#{bytes(row).hex()}" for row in (colours * 255).round().astype(np.uint8)]


def palette(n: int, lightness: float = 0.74) -> NDArray[np.float64]:
    """`n` colours of equal strength, neighbours far apart; RGB rows in [0, 1].

    Björn Ottosson's OKLab in polar form, clipped to what a screen can show.
    """
    index = np.arange(n)
    turn = index / n if n <= 12 else index * 0.61803398875 % 1  # the golden ratio never comes near itself
    hue = 2 * np.pi * (0.08 + turn)
    light = np.full(n, lightness) if n <= 12 else lightness + np.array([0.0, -0.08, 0.07])[index % 3]
    lms = np.stack([light, 0.125 * np.cos(hue), 0.125 * np.sin(hue)], -1) @ _LMS.T
    linear = np.clip(lms**3 @ _RGB.T, 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
