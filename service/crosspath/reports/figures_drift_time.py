"""The figure of a watch over time: pass rate of each evaluation, change against the reference, and what changed when."""

# Matplotlib's own annotations leave **kwargs unknown.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosspath.dates import day_of
from crosspath.reports.drift_words import STATE_WORDS
from crosspath.reports.figures_dates import day_span, name_days, place_of, place_of_day
from crosspath.reports.figures_drawing import FONT, INK, RIGHT, canvas, headed, png, put_text, short, spread
from crosspath.reports.figures_drift_marks import LANES, Mark, marks
from crosspath.types.drift import Drift, SeriesPoint, WatchDay

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _LEFT, _RIGHT = 11.0, 1.35, 0.5
_TITLE, _RATES, _CHANGE, _LANE, _TICKS, _LINE, _LEGEND = 0.55, 2.7, 1.5, 0.34, 0.35, 0.21, 0.4
"""Heights in inches, from the top down."""
MOST_NAMED = 10
"""So many marks have a number and a line below, the newest; the others are drawn without."""
_FEW = 90
"""Up to so many points are drawn large."""
_ON_WHITE = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
DAY, TREND, UNUSED = "#0072b2", "#d55e00", "#767676"


@dataclass(frozen=True)
class _Rows:
    """Axes from the top down, each with its height."""

    figure: Figure
    height: float

    def axes(self, top: float, height: float) -> Axes:
        """Axes that begin ``top`` inches below the upper edge."""
        share = (_LEFT / _WIDTH, 1 - (top + height) / self.height, (_WIDTH - _LEFT - _RIGHT) / _WIDTH, height / self.height)
        return self.figure.add_axes(share)


def watch_over_time(drift: Drift) -> bytes:
    """Pass rate per evaluation with 95 % intervals and the reference's band, the change over the window, and numbered marks."""
    found = marks(drift)
    numbers = {id(mark): number for number, mark in enumerate(found[-MOST_NAMED:], 1)}
    change = _changes(drift.provider.days)
    lanes = [lane for lane in LANES if any(mark.lane == lane[0] for mark in found)]
    below = _TITLE + _RATES + (_CHANGE + 0.15) * bool(change)
    lines = len(numbers) + (len(found) > len(numbers))
    height = below + 0.1 + _LANE * len(lanes) + _TICKS + _LINE * lines + _LEGEND
    rows = _Rows(canvas(_WIDTH, height), height)
    span = day_span([*(place_of(point.created_at) for point in drift.points), *(mark.place for mark in found)])
    panels = [rows.axes(_TITLE, _RATES)]
    _draw_rates(panels[0], drift, span)
    if change:
        panels.append(rows.axes(_TITLE + _RATES + 0.15, _CHANGE))
        _draw_change(panels[1], change, drift.provider.window_days)
    if lanes:
        panels.append(rows.axes(below + 0.1, _LANE * len(lanes)))
        _draw_lanes(panels[-1], lanes, found, numbers, span)
    for panel in panels:
        name_days(panel, span, labels=panel is panels[-1])
        _lines_at(panel, found)
    _list(rows, found, numbers, below + 0.1 + _LANE * len(lanes) + _TICKS)
    _legend(rows.figure, drift)
    headed(rows.figure, f"{short(drift.deployment, 40)}: pass rate over time ({STATE_WORDS[drift.status]})")
    return png(rows.figure)


# -- pass rates ------------------------------------------------------------------------------------------------------------


def _draw_rates(axes: Axes, drift: Drift, span: tuple[float, float]) -> None:
    unused = unused_points(drift)
    reference = drift.reference_point
    references = [point for point in drift.points if point is reference or point.role == "reference"]
    others = [point for point in drift.points if point not in references]
    size = 4.5 if len(drift.points) <= _FEW else 2.6
    ends = [*(place_of(point.created_at) for point in references), span[1]]
    for point, end in zip(references, ends[1:], strict=True):
        _band(axes, point, end)
    _dots(axes, [one for one in others if one not in unused], DAY, "o", size, filled=True)
    _dots(axes, unused, UNUSED, "o", size, filled=False)
    _unrated(axes, [point for point in unused if point.rate.value is None], size)
    _dots(axes, references, INK, "D", max(size, 4.5), filled=True)
    values = [end for point in drift.points for end in (point.rate.low, point.rate.high, point.rate.value) if end is not None]
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = max(0.06 * (high - low), 0.02)
    axes.set_ylim(100 * (low - room), 100 * (high + room))
    _frame(axes, "pass rate, %")


def unused_points(drift: Drift) -> list[SeriesPoint]:
    """Evaluations since the reference that are no measurement."""
    days = {day.day: day for day in drift.provider.days}
    reference = drift.reference_point
    own = [point for point in drift.points if point.role == "day" and point is not reference]
    since = [point for point in own if reference is None or point.created_at > reference.created_at]
    compared = [(point, day) for point in since if (day := days.get(day_of(point.created_at)))]
    return [point for point, day in compared if not _counts(day, point)]


def _counts(day: WatchDay, point: SeriesPoint) -> bool:
    if not (day.used and day.evaluated_at):
        return day.used and point.evaluation in day.evaluations
    return point.key in zip(day.evaluations, day.evaluated_at, strict=False)


def _unrated(axes: Axes, points: Sequence[SeriesPoint], size: float) -> None:
    """Evaluations without a rate stand on the axis: a gap would look as if nobody had asked."""
    if not points:
        return
    places = [place_of(point.created_at) for point in points]
    (dots,) = axes.plot(places, [0] * len(places), "o", color=UNUSED, markersize=size, markerfacecolor="white", clip_on=False)
    dots.set_transform(axes.get_xaxis_transform())
    dots.set_zorder(4)


def _band(axes: Axes, point: SeriesPoint, end: float) -> None:
    start, rate = place_of(point.created_at), point.rate
    if rate.low is not None and rate.high is not None:
        axes.fill_between([start, end], 100 * rate.low, 100 * rate.high, color=RIGHT, alpha=0.16, linewidth=0)
    if rate.value is not None:
        axes.plot([start, end], [100 * rate.value] * 2, color=RIGHT, linewidth=1.2)


def _dots(axes: Axes, points: Sequence[SeriesPoint], colour: str, marker: str, size: float, *, filled: bool) -> None:
    known = [point for point in points if point.rate.value is not None]
    if not known:
        return
    places = [place_of(point.created_at) for point in known]
    values = [100 * (point.rate.value or 0) for point in known]
    whole = [(at, point.rate.low, point.rate.high) for at, point in zip(places, known, strict=True)]
    sure = [(at, 100 * low, 100 * high) for at, low, high in whole if low is not None and high is not None]
    if sure:
        line = 1.0 if len(known) <= _FEW else 0.5
        at, low, high = zip(*sure, strict=True)
        axes.vlines(at, low, high, color=colour, linewidth=line, alpha=0.55, zorder=2)
    face = colour if filled else "white"
    axes.plot(places, values, marker, color=colour, markersize=size, markerfacecolor=face, markeredgewidth=0.9, zorder=3)


def _frame(axes: Axes, label: str) -> None:
    axes.set_ylabel(label, family=FONT, fontsize=9)
    axes.tick_params(axis="y", labelsize=8.5)
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


# -- change ----------------------------------------------------------------------------------------------------------------


def _changes(days: Sequence[WatchDay]) -> list[tuple[float, float, float, float]]:
    """Place, value, low and high of each day that has a change, in points."""
    found: list[tuple[float, float, float, float]] = []
    for day in days:
        place, change = place_of_day(day.day), day.change
        if place is None or change is None or change.value is None:
            continue
        low, high = (change.value if end is None else end for end in (change.low, change.high))
        found.append((place, 100 * change.value, 100 * low, 100 * high))
    return found


def _draw_change(axes: Axes, found: Sequence[tuple[float, float, float, float]], window: int) -> None:
    places, values, lows, highs = zip(*found, strict=True)
    axes.axhline(0, color=INK, linewidth=0.9)
    if len(found) == 1:
        axes.vlines(places, lows, highs, color=TREND, linewidth=1.2)
    axes.fill_between(places, lows, highs, color=TREND, alpha=0.2, linewidth=0)
    axes.plot(places, values, color=TREND, linewidth=1.6, marker="o" if len(found) == 1 else None, markersize=4.5)
    _frame(axes, f"change over\n{window} days, points" if window > 1 else "change,\npoints")


# -- marks -----------------------------------------------------------------------------------------------------------------


def _draw_lanes(
    axes: Axes,
    lanes: Sequence[tuple[str, str, str]],
    found: Sequence[Mark],
    numbers: dict[int, int],
    span: tuple[float, float],
) -> None:
    axes.set_ylim(len(lanes) - 0.5, -0.5)
    for row, (name, colour, marker) in enumerate(lanes):
        own = [mark for mark in found if mark.lane == name]
        axes.axhline(row, color="#e4e4e4", linewidth=0.8, zorder=0)
        axes.plot([mark.place for mark in own], [row] * len(own), marker, color=colour, markersize=9 if marker == "*" else 6.5)
        _numbers(axes, row, [(mark.place, numbers[id(mark)]) for mark in own if id(mark) in numbers], span)
    axes.set_yticks(range(len(lanes)), [name for name, _, _ in lanes], fontsize=8.5, family=FONT)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _numbers(axes: Axes, row: int, numbered: Sequence[tuple[float, int]], span: tuple[float, float]) -> None:
    """To the right of each mark, moved apart where marks are close."""
    inch = (span[1] - span[0]) / (_WIDTH - _LEFT - _RIGHT)
    places = spread([place + 0.13 * inch for place, _ in numbered], 0.2 * inch)
    for (_, number), place in zip(numbered, places, strict=True):
        put_text(axes, place, row - 0.12, str(number), 8.5, weight="bold", zorder=5, bbox=_ON_WHITE)


def _lines_at(axes: Axes, found: Sequence[Mark]) -> None:
    colours = {name: colour for name, colour, _ in LANES}
    for mark in found:
        solid = mark.lane == LANES[-1][0]
        axes.axvline(mark.place, color=colours[mark.lane], linewidth=1.1, linestyle="-" if solid else ":", zorder=1)


def _list(rows: _Rows, found: Sequence[Mark], numbers: dict[int, int], top: float) -> None:
    lines = [(str(numbers[id(mark)]), mark.label) for mark in found if id(mark) in numbers]
    if len(found) > len(numbers):
        lines.append(("", f"{len(found) - len(numbers)} earlier marks have no number"))
    if not lines:
        return
    axes = rows.axes(top, _LINE * len(lines))
    axes.axis("off")
    axes.set_xlim(0, 1)
    axes.set_ylim(len(lines), 0)
    for row, (number, line) in enumerate(lines):
        put_text(axes, -0.09, row + 0.5, number, 8.5, ha="right", weight="bold")
        put_text(axes, -0.08, row + 0.5, short(line, 130), 8.5, ha="left")


def _legend(figure: Figure, drift: Drift) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Line2D | Patch] = [
        Line2D([], [], color=DAY, marker="o", linewidth=1, markersize=4.5, label="evaluation, all of its tasks, 95 %"),
        Line2D([], [], color=INK, marker="D", linewidth=1, markersize=4.5, label="reference"),
        Patch(facecolor=RIGHT, alpha=0.3, label="its interval"),
    ]
    if unused := unused_points(drift):
        label = "no measurement" + " (on the axis: no pass rate)" * any(point.rate.value is None for point in unused)
        handles.append(
            Line2D([], [], color=UNUSED, marker="o", markerfacecolor="white", markersize=4.5, linewidth=1, label=label)
        )
    if _changes(drift.provider.days):
        handles.append(
            Line2D([], [], color=TREND, linewidth=1.6, label=f"change, {len(drift.provider.task_changes)} compared tasks, 95 %")
        )
    figure.legend(handles=handles, loc="lower center", ncols=len(handles), frameon=False, fontsize=8.5)
