"""The figure of two rankings of the same models: who changes places."""

# Matplotlib's own annotations leave **kwargs unknown.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from crosspath.analysis.wording import percent
from crosspath.reports.figures_drawing import (
    FONT,
    INK,
    axes_within,
    canvas,
    headed,
    png,
    put_inner_text,
    series_style,
    short,
    spread,
)
from crosspath.types import ModelRates, PairOrder, RankStability

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_MODELS = 24
"""So many models are drawn, those that change places first."""


def rank_shift(stability: RankStability) -> bytes:
    """One line per model from its pass rate in the first arrangement to that in the second; lines of a reversed pair cross."""
    rates = _chosen(stability)
    inches = max(3.0, 0.3 * len(rates))
    figure = canvas(11.0, inches + 1.6)
    axes = axes_within(figure, left=0.75, right=0.1, top=0.85, bottom=0.75)
    names = {rate.model for rate in rates}
    reversed_ = [pair for pair in stability.pairs if pair.order == "reversed" and {pair.a, pair.b} <= names]
    moving = {model for pair in reversed_ for model in (pair.a, pair.b)}
    for number, rate in enumerate(rates):
        _line(axes, number, rate, dashed=rate.model in moving)
    by_name = {rate.model: rate for rate in rates}
    for pair in reversed_:
        _crossing(axes, pair, by_name[pair.a], by_name[pair.b])
    _ends(axes, rates, inches)
    _frame(axes, stability)
    _legend(figure)
    more = len(stability.rates) - len(rates)
    shown = f"; {more} more that keep their places" if more else ""
    counts = f"{stability.reversed} of {stability.comparable} comparable pairs change places"
    headed(figure, f"Order of the models on {stability.tasks} tasks: {counts}{shown}")
    return png(figure)


def _chosen(stability: RankStability) -> list[ModelRates]:
    """Models with a rate, best first; of very many those that change places."""
    known = [rate for rate in stability.rates if rate.first.value is not None and rate.second.value is not None]
    if len(known) <= MOST_MODELS:
        return known
    moving = [model for pair in stability.pairs if pair.order == "reversed" for model in (pair.a, pair.b)]
    wanted = set(list(dict.fromkeys([*moving, *(rate.model for rate in known)]))[:MOST_MODELS])
    return [rate for rate in known if rate.model in wanted]


def _values(rate: ModelRates) -> tuple[float, float]:
    return 100 * (rate.first.value or 0), 100 * (rate.second.value or 0)


def _line(axes: Axes, number: int, rate: ModelRates, *, dashed: bool) -> None:
    colour, marker = series_style(number)
    style = (0, (5, 2.2)) if dashed else "solid"
    axes.plot(
        [0, 1], _values(rate), color=colour, linestyle=style, marker=marker, linewidth=2.0 if dashed else 1.3,
        markersize=7, markeredgecolor=INK, markeredgewidth=0.7,
    )  # fmt: skip


def _crossing(axes: Axes, pair: PairOrder, a: ModelRates, b: ModelRates) -> None:
    (a_first, a_second), (b_first, b_second) = _values(a), _values(b)
    there = (a_first - b_first) / ((a_first - b_first) - (a_second - b_second))
    face = INK if pair.unambiguous else "white"
    axes.plot(there, a_first + there * (a_second - a_first), "o", markersize=6.5, color=INK, markerfacecolor=face, zorder=5)


def _ends(axes: Axes, rates: Sequence[ModelRates], inches: float) -> None:
    """Names and rates at both ends, moved apart where models are close."""
    every = [value for rate in rates for value in _values(rate)]
    low, high = max(-3.0, min(every, default=0) - 8), min(103.0, max(every, default=100) + 4)
    least = 0.2 * (high - low) / inches
    for side, (x, align) in enumerate(((-0.03, "right"), (1.03, "left"))):
        values = [_values(rate)[side] for rate in rates]
        places = spread(values, least)
        low, high = min([low, *places]) - least / 4, max([high, *places]) + least / 4
        for rate, value, place in zip(rates, values, places, strict=True):
            name, number = short(rate.model, 34), percent(value / 100)
            put_inner_text(axes, x, place, f"{name}  {number}" if side == 0 else f"{number}  {name}", 9, ha=align)
    axes.set_ylim(low, high)


def _frame(axes: Axes, stability: RankStability) -> None:
    axes.set_xlim(-0.75, 1.75)
    for x, label in ((0, stability.first.label), (1, stability.second.label)):
        axes.axvline(x, color="#bbbbbb", linewidth=1.0, zorder=0)
        style: dict[str, Any] = {"ha": "center", "va": "bottom", "family": FONT, "weight": "bold", "parse_math": False}
        axes.text(x, 1.01, short(label, 52), transform=axes.get_xaxis_transform(), **style)
    axes.set_xticks([])
    ticks = [tick for tick in range(0, 101, 10) if axes.get_ylim()[0] <= tick <= axes.get_ylim()[1]]
    axes.set_yticks(ticks, [f"{tick} %" for tick in ticks], fontsize=8.5)
    axes.set_ylabel("pass rate", family=FONT)
    axes.spines[["top", "right", "bottom"]].set_visible(False)


def _legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=INK, linewidth=2.0, linestyle=(0, (5, 2.2)), label="changes places with another model"),
        Line2D([], [], color=INK, linewidth=1.3, label="keeps its places"),
        Line2D([], [], color=INK, marker="o", linewidth=0, label="reversed by more than one task on both sides"),
        Line2D(
            [],
            [],
            color=INK,
            marker="o",
            markerfacecolor="white",
            linewidth=0,
            label="reversed, by a task or less on one side",
        ),
    ]
    figure.legend(handles=handles, loc="lower center", ncols=2, frameon=False, fontsize=9)
