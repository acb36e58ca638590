"""The figure of what candidates cost beside what they get right."""

# Matplotlib's own annotations leave **kwargs unknown.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from crosspath.analysis.decompose import as_deployed
from crosspath.analysis.wording import percent
from crosspath.reports.figures_drawing import FONT, INK, axes_within, canvas, headed, png, put_text, series_style, short
from crosspath.types import CandidateCost, Estimate, Judgement

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 16
Price = Literal["usd", "tokens"]
_CLOSE = (0.035, 0.04)
"""Shares of the width and of the height within which two labels cover each other."""
_UNITS: dict[Price, str] = {"usd": "USD per 1,000 replies", "tokens": "tokens per reply, in and out"}


@dataclass(frozen=True)
class Point:
    """One candidate: what a reply takes (None: unknown) and its pass rate as deployed."""

    candidate: str
    price: float | None
    rate: Estimate
    usable: bool
    """False: its control does not hold."""


def price_of(judgement: Judgement) -> Price | None:
    """What at least two candidates can be compared by: money, else tokens; None: neither."""
    for price in ("usd", "tokens"):
        if sum(point.price is not None for point in cost_points(judgement, price)) > 1:
            return price
    return None


def cost_points(judgement: Judgement, price: Price) -> list[Point]:
    """Candidates with a verdict, in their order."""
    costs = {one.candidate: one for one in judgement.costs}
    found: list[Point] = []
    for one in judgement.decompositions:
        cell = as_deployed(one)
        if cell and cell.rate.value is not None and one.candidate in costs:
            usable = one.control.status != "broken"
            found.append(Point(one.candidate, _price(costs[one.candidate], price), cell.population or cell.rate, usable))
    return found


def _price(cost: CandidateCost, price: Price) -> float | None:
    if not cost.scored:
        return None
    total = cost.counted.total_usd if price == "usd" else cost.counted.total_tokens
    return None if total is None else (1000 if price == "usd" else 1) * total / cost.scored


def cost_against_rate(judgement: Judgement, price: Price) -> bytes:
    """Pass rate as deployed over what a reply takes, with 95 % intervals; the line joins those that nothing cheaper equals."""
    points = cost_points(judgement, price)
    known = [point for point in points if point.price is not None]
    drawn = known[:MOST]
    figure = canvas(11.0, max(5.2, 2.2 + 0.26 * (len(points) + 4)))
    axes = axes_within(figure, left=0.75, right=3.9, top=0.5, bottom=0.65)
    beside = axes_within(figure, left=7.3, right=0.1, top=0.5, bottom=0.4)
    _frontier(axes, frontier(drawn))
    for number, point in enumerate(drawn):
        _point(axes, number, point)
    _numbers(axes, drawn)
    _frame(axes, drawn, price)
    _list(beside, drawn, [point for point in points if point.price is None], len(known) - len(drawn))
    headed(figure, f"Pass rate as deployed against {_UNITS[price]}")
    return png(figure)


def cost_caption(judgement: Judgement, price: Price) -> str:
    """What the figure shows of these candidates, and only that."""
    points = cost_points(judgement, price)
    known = [point for point in points if point.price is not None]
    parts = [f"Pass rate as deployed ({_mean(known)}, 95 % intervals) against {_UNITS[price]}"]
    parts += ["the dashed line joins those that nothing cheaper equals"] if len(frontier(known[:MOST])) > 1 else []
    parts += ["those without a known price are listed beside"] if len(known) < len(points) else []
    return f"{'; '.join(parts)}."


def _mean(points: Sequence[Point]) -> str:
    """What the rates are means over."""
    kinds = {point.rate.estimand for point in points}
    return "mean over families" if kinds == {"task_population"} else "mean over tasks" if len(kinds) == 1 else "mean"


def frontier(points: Sequence[Point]) -> list[Point]:
    """Cheapest first: points that no other passes as often for less, or more often for as much; broken controls are left out."""
    found: list[Point] = []
    for point in sorted((one for one in points if one.usable), key=lambda one: (one.price or 0, -(one.rate.value or 0))):
        if not found or (point.rate.value or 0) > (found[-1].rate.value or 0):
            found.append(point)
    return found


def _frontier(axes: Axes, points: Sequence[Point]) -> None:
    places = [(point.price or 0, 100 * (point.rate.value or 0)) for point in points]
    axes.plot(*zip(*places, strict=True) if places else ((), ()), color="#888888", linestyle="--", linewidth=1.2, zorder=1)


def _point(axes: Axes, number: int, point: Point) -> None:
    colour, marker = series_style(number)
    x, y = point.price or 0, 100 * (point.rate.value or 0)
    if point.rate.low is not None and point.rate.high is not None:
        axes.plot([x, x], [100 * point.rate.low, 100 * point.rate.high], color=colour, linewidth=1.6, zorder=2)
    face = colour if point.usable else "white"
    axes.plot(x, y, marker, color=INK, markerfacecolor=face, markersize=9, markeredgewidth=0.8, zorder=3)


def _numbers(axes: Axes, points: Sequence[Point]) -> None:
    """Each point's number; points that lie on each other share a label."""
    for numbers in together(points):
        place = points[numbers[0]]
        text = ", ".join(str(number + 1) for number in numbers)
        at = (place.price or 0, 100 * (place.rate.value or 0))
        axes.annotate(text, at, (7, 5), textcoords="offset points", fontsize=10, family=FONT, weight="bold")


def together(points: Sequence[Point]) -> list[list[int]]:
    """Places of points in groups: those of a group lie so close to its first one that their labels would cover each other."""
    most = _most(points)
    groups: list[list[int]] = []
    for number, point in enumerate(points):
        near = (group for group in groups if _near(points[group[0]], point, most))
        if group := next(near, None):
            group.append(number)
        else:
            groups.append([number])
    return groups


def _near(first: Point, second: Point, most: float) -> bool:
    across = abs((first.price or 0) - (second.price or 0)) / most
    return across < _CLOSE[0] and abs((first.rate.value or 0) - (second.rate.value or 0)) < _CLOSE[1]


def _most(points: Sequence[Point]) -> float:
    return max((point.price or 0 for point in points), default=0) or 1


def _frame(axes: Axes, points: Sequence[Point], price: Price) -> None:
    axes.set_xlim(0, _most(points) * 1.1)
    axes.set_ylim(-3, 105)
    axes.set_xlabel(_UNITS[price], family=FONT)
    axes.set_ylabel(f"pass rate, %, {_mean(points)}", family=FONT)
    axes.grid(color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _list(axes: Axes, drawn: Sequence[Point], unknown: Sequence[Point], more: int) -> None:
    """Who is who, and who can't be placed because the price of a reply is not known."""
    lines = [_line(str(number + 1), point) for number, point in enumerate(drawn)]
    lines += [f"{more} more with a known price"] if more > 0 else []
    if unknown:
        lines += ["", "price unknown, so not drawn:"]
        lines += [_line("–", point) for point in unknown[:MOST]]
        lines += [f"{len(unknown) - MOST} more"] if len(unknown) > MOST else []
    lines += ["", *(["dashed: nothing cheaper passes as often"] if len(frontier(drawn)) > 1 else [])]
    lines += ["hollow: control broken, not to be used"] if any(not point.usable for point in drawn) else []
    axes.axis("off")
    axes.set_xlim(0, 1)
    axes.set_ylim(max(len(lines), 18), -1)
    for row, line in enumerate(lines):
        put_text(axes, 0, row, line, 9, ha="left")


def _line(mark: str, point: Point) -> str:
    return f"{mark}  {short(point.candidate, 32)}  {percent(point.rate.value)}"
