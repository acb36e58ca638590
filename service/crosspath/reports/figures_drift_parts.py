"""Two figures of a drift report: effects over time, and frozen replies that come out otherwise."""

# Matplotlib's own annotations leave **kwargs unknown.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crosspath.reports.figures_dates import day_span, name_days, place_of
from crosspath.reports.figures_drawing import (
    FONT,
    INK,
    RIGHT,
    STAGE_COLOURS,
    canvas,
    headed,
    legend_of,
    png,
    put_boxes,
    put_text,
    series_style,
    short,
)
from crosspath.types.drift import SHOWN_EFFECTS, Drift, Flip, SeriesPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_TASKS, MOST_REPLIES = 24, 10
"""So many tasks and so many replies of each are drawn; the rest is counted."""
_WIDTH = 11.0
_FEW = 90


# -- effects over time -----------------------------------------------------------------------------------------------------


def drawn_effects(drift: Drift) -> tuple[str, ...]:
    """Effects that some evaluation has a value of."""
    having = {one.effect for point in drift.points for one in point.effects if one.estimate.value is not None}
    return tuple(name for name in SHOWN_EFFECTS if name in having)


def effects_over_time(drift: Drift) -> bytes:
    """One panel per effect, each evaluation a point with its 95 % interval, in points."""
    names = drawn_effects(drift)
    height = 0.55 + 1.7 * max(1, len(names)) + 0.45
    figure = canvas(_WIDTH, height)
    having = [point for point in drift.points if point.effects]
    span = day_span([place_of(point.created_at) for point in having])
    for number, name in enumerate(names):
        bottom = (0.45 + 1.7 * (len(names) - 1 - number)) / height
        axes = figure.add_axes((0.09, bottom, 0.86, 1.5 / height))
        _panel(axes, having, name, number)
        name_days(axes, span, labels=number == len(names) - 1)
    headed(figure, f"{short(drift.deployment, 40)}: effects over time, in points, with 95 % intervals")
    return png(figure)


def _panel(axes: Axes, points: Sequence[SeriesPoint], name: str, number: int) -> None:
    colour, marker = series_style(number)
    found = [(place_of(point.created_at), one.estimate) for point in points for one in point.effects if one.effect == name]
    known = [(place, estimate) for place, estimate in found if estimate.value is not None]
    many = len(known) > _FEW
    axes.axhline(0, color=INK, linewidth=0.9)
    for place, estimate in known:
        if estimate.low is not None and estimate.high is not None:
            axes.vlines(place, 100 * estimate.low, 100 * estimate.high, color=colour, linewidth=0.5 if many else 1.0, alpha=0.55)
    places, values = [place for place, _ in known], [100 * (estimate.value or 0) for _, estimate in known]
    axes.plot(places, values, marker, color=colour, markersize=2.6 if many else 4.5)
    axes.set_ylabel(name.replace("_", " "), family=FONT, fontsize=9)
    axes.tick_params(axis="y", labelsize=8.5)
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


# -- flipped replies -------------------------------------------------------------------------------------------------------

_BOX, _GAP, _BEFORE, _NOW = 0.22, 0.06, 4.3, 7.7
"""Inches: a reply's square, the gap to the next one, and where both columns begin."""


def flipped_replies(drift: Drift) -> bytes:
    """A row per task: each of its flipped replies as a square, before and now; wrong is hatched."""
    by_task = _by_task(drift.toolchain.flips)
    shown = list(by_task.items())[:MOST_TASKS]
    more = len(by_task) - len(shown)
    rows = len(shown) + (more > 0)
    height = 1.05 + 0.34 * max(rows, 1) + 0.5
    figure = canvas(_WIDTH, height)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, _WIDTH)
    axes.set_ylim(0, height)
    axes.axis("off")
    for x, words in ((_BEFORE, "when it was executed first"), (_NOW, "now")):
        put_text(axes, x, height - 0.72, words, 10, ha="left", weight="bold")
    boxes: dict[bool, list[tuple[float, float, float, float]]] = {True: [], False: []}
    for row, (task, flips) in enumerate(shown):
        y = height - 1.1 - 0.34 * row
        put_text(axes, 0.15, y, short(task, 44), 9.5, ha="left")
        for x, outcomes in ((_BEFORE, [one.passed_before for one in flips]), (_NOW, [one.passed_now for one in flips])):
            _squares(axes, boxes, outcomes, x, y)
    if more > 0:
        put_text(axes, 0.15, height - 1.1 - 0.34 * len(shown), f"{more} more tasks", 9.5, ha="left", style="italic")
    for passed, places in boxes.items():
        if places:
            put_boxes(axes, places, RIGHT if passed else STAGE_COLOURS["state"], hatch="" if passed else "////")
    legend_of(figure, {"right": (RIGHT, ""), "wrong": (STAGE_COLOURS["state"], "////")})
    replies = f"{len(drift.toolchain.flips)} of {drift.toolchain.compared} frozen replies come out otherwise"
    headed(figure, f"{short(drift.deployment, 40)}: {replies}")
    return png(figure)


def _by_task(flips: Sequence[Flip]) -> dict[str, list[Flip]]:
    """Tasks with most flips first."""
    found: dict[str, list[Flip]] = {}
    for flip in flips:
        found.setdefault(flip.task, []).append(flip)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))


def _squares(
    axes: Axes,
    boxes: dict[bool, list[tuple[float, float, float, float]]],
    outcomes: Sequence[bool],
    x: float,
    y: float,
) -> None:
    for place, passed in enumerate(outcomes[:MOST_REPLIES]):
        boxes[passed].append((x + place * (_BOX + _GAP), y - _BOX / 2, _BOX, _BOX))
    if len(outcomes) > MOST_REPLIES:
        more = f"+{len(outcomes) - MOST_REPLIES}"
        put_text(axes, x + MOST_REPLIES * (_BOX + _GAP) + 0.05, y, more, 9, ha="left")
