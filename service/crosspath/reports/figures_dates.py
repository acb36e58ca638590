"""An axis of days: where a moment lies on it, and which days are named."""

# Matplotlib's own annotations leave **kwargs unknown.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from math import ceil, floor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_EPOCH = date(1970, 1, 1)
_STEPS = (1, 2, 7, 14, 28, 56, 91, 182, 364)
_MOST_TICKS = 10


def place_of(at: float) -> float:
    """Seconds since 1970 as days since 1970: a place on the axis."""
    return at / 86_400


def place_of_day(day: str) -> float | None:
    """Noon of a UTC date; None where it is no date."""
    try:
        return (date.fromisoformat(day) - _EPOCH).days + 0.5
    except ValueError:
        return None


def day_span(places: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis that shows these places, never of no length."""
    low, high = min(places, default=0.0), max(places, default=0.0)
    room = max(0.03 * (high - low), 0.6)
    return low - room, high + room


def name_days(axes: Axes, span: tuple[float, float], *, labels: bool = True) -> None:
    """At most ten days are named, from the newest back: the first of each is its midnight (UTC)."""
    axes.set_xlim(*span)
    first, last = ceil(span[0]), floor(span[1])
    step = next((step for step in _STEPS if (last - first) / step <= _MOST_TICKS - 1), 364 * ceil((last - first) / 3_640))
    days = list(range(last, first - 1, -step))
    names = [(_EPOCH + timedelta(days=day)).isoformat() if labels else "" for day in days]
    axes.set_xticks(days, names, fontsize=8.5)
