"""The figure of all effects of an evaluation with their intervals: each alone, and all together."""

# Matplotlib's own annotations leave **kwargs unknown.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from crosspath.analysis.wording import control_word, effect_label, points, span
from crosspath.reports.figures_drawing import FONT, GREY, INK, axes_within, canvas, headed, png, put_text, short
from crosspath.types import Decomposition, Effect, Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKS = {"damage": ("s", "#d55e00"), "compensation": ("o", "#0072b2"), "matched_gap": ("D", "#222222")}
_ROW = 0.26
_EDGE = 218
"""Where labels begin, in points left of zero."""
_Row = tuple[Decomposition, Effect | None]
"""An effect of a candidate; None: the line with the candidate's name."""


def effects_with_intervals(decompositions: Sequence[Decomposition], of: int | None = None) -> bytes:
    """A forest plot for the population of task families; ``of``: how many candidates there are where not all are shown."""
    rows = list(_rows(decompositions))
    figure = canvas(11.0, 1.8 + _ROW * max(1, len(rows)))
    axes = axes_within(figure, left=3.1, right=2.2, top=0.5, bottom=1.15)
    axes.axvline(0, color=INK, linewidth=0.9)
    for place, (decomposition, effect) in enumerate(rows):
        if effect is None:
            axes.axhspan(place - 0.5, place + 0.5, color="#eeeeee", linewidth=0)
        else:
            _draw(axes, place, decomposition, effect)
    _finish(axes, rows)
    _legend(figure)
    more = f", the first {len(decompositions)} of {of} candidates" if of and of > len(decompositions) else ""
    headed(figure, f"Effects for tasks like these, with 95 % intervals{more}")
    return png(figure)


def _rows(decompositions: Sequence[Decomposition]) -> Iterator[_Row]:
    for decomposition in decompositions:
        effects = [effect for effect in decomposition.effects if effect.name in _MARKS]
        if effects:
            yield decomposition, None
            yield from ((decomposition, effect) for effect in effects)


def _draw(axes: Axes, place: int, decomposition: Decomposition, effect: Effect) -> None:
    marker, colour = _MARKS[effect.name]
    if effect.population.value is None or (effect.name == "damage" and decomposition.blind):
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
        put_text(axes, 0, place, "can't be seen" if decomposition.blind else "not measured", 8.5, style="italic", bbox=box)
        return
    usable = decomposition.control.status == "holds"
    colour = colour if usable else GREY
    for estimate, width, cap in ((effect.together, 1.0, 4.0), (effect.population, 3.2, 0.0)):
        if estimate and estimate.low is not None and estimate.high is not None:
            low, high = 100 * estimate.low, 100 * estimate.high
            axes.plot([low, high], [place, place], color=colour, linewidth=width, solid_capstyle="butt")
            axes.plot([low, high], [place, place], "|", color=colour, markersize=cap * 2, markeredgewidth=1.0)
    face = colour if usable else "white"
    axes.plot(100 * effect.population.value, place, marker, color=INK, markerfacecolor=face, markersize=7, markeredgewidth=1.0)


def _finish(axes: Axes, rows: Sequence[_Row]) -> None:
    for place, (one, effect) in enumerate(rows):
        label = short(one.candidate, 40) if effect is None else f"   {short(effect_label(one, effect.name), 34)}"
        weight = "normal" if effect else "bold"
        put_text(axes, -_EDGE, place, label, 8.5, ha="left", weight=weight)
        put_text(axes, 108, place, _words(one, effect), 8.5, ha="left", weight=weight)
    axes.set_yticks([])
    axes.set_ylim(max(1, len(rows)) - 0.5, -0.5)
    axes.set_xlim(-105, 105)
    axes.set_xlabel("points of pass rate", family=FONT)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    if not rows:
        put_text(axes, 0, 0, "no effect was measured", 11)


def _words(decomposition: Decomposition, effect: Effect | None) -> str:
    if effect is None:
        status = "holds" if decomposition.control.kind == "none" else control_word(decomposition)
        return "" if status == "holds" else f"control {status}" + (": not to be used" if status == "broken" else "")
    blind = effect.name == "damage" and decomposition.blind
    return "" if blind or effect.population.value is None else _value(effect.population)


def _value(estimate: Estimate) -> str:
    interval = span(estimate.low, estimate.high, signed=True)
    return f"{points(estimate.value)}  ({interval})" if estimate.low is not None else f"{points(estimate.value)}  (no interval)"


def _legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    handles = [
        *(
            Line2D([], [], color=INK, marker=marker, markerfacecolor=colour, linewidth=0, label=name.replace("_", " "))
            for name, (marker, colour) in _MARKS.items()
        ),
        Line2D([], [], color=INK, linewidth=3.2, label="95 % interval of one effect"),
        Line2D([], [], color=INK, linewidth=1.0, marker="|", markersize=8, label="all of the report hold together, 95 %"),
        Line2D([], [], color=INK, marker="s", markerfacecolor="white", linewidth=0, label="control does not hold"),
    ]
    figure.legend(handles=handles, loc="lower center", ncols=3, frameon=False, fontsize=9)
