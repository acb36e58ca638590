"""What follows from published counts alone: effects and orders of models.

No interval and no probability: those need the result of each task, which a table of counts lacks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from crosspath.analysis.rankings import Rankings, RankRow, rank
from crosspath.types import Published, PublishedModel
from crosspath.types.published import CellName

EFFECTS: Mapping[str, tuple[CellName, CellName]] = {
    "damage": ("RN", "RR"),
    "compensation": ("NN", "RN"),
    "matched_gap": ("NN", "RR"),
    "contract_effect": ("NR", "RR"),
}
"""Effect -> minuend, subtrahend."""
NO_INTERVAL = (
    "no interval and no probability of a reversal: they need the result of each task of each model, which a table of counts lacks"
)
_ORDERS: tuple[tuple[CellName, CellName], ...] = (("RR", "NN"), ("RR", "RN"))


@dataclass(frozen=True)
class PublishedOrder:
    """The order of models in two cells. ``rankings`` None: ``reason`` says why there is none."""

    first: CellName
    second: CellName
    rankings: Rankings | None
    reason: str = ""


def published_effects(model: PublishedModel) -> dict[str, Fraction]:
    """Effect -> difference of the two pass rates, exactly; those whose cells were published."""
    passed = model.passed
    return {
        name: Fraction(passed[minuend] - passed[subtrahend], model.n)
        for name, (minuend, subtrahend) in EFFECTS.items()
        if minuend in passed and subtrahend in passed
    }


def published_orders(published: Published) -> tuple[PublishedOrder, ...]:
    """RR against NN and against RN, where at least two models have both cells."""
    return tuple(order for pair in _ORDERS if (order := _order(published, *pair)))


def _order(published: Published, first: CellName, second: CellName) -> PublishedOrder | None:
    models = [model for model in published.models if {first, second} <= model.passed.keys()]
    if len(models) < 2:
        return None
    if len({model.n for model in models}) > 1:
        return PublishedOrder(first, second, None, "the models have different numbers of tasks, so counts give no order")
    return PublishedOrder(first, second, rank([RankRow(one.model, one.passed[first], one.passed[second]) for one in models]))
