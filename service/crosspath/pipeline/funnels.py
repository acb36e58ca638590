"""Where it broke: every cell as a funnel, and by family, tier and hazard."""

from crosspath.pipeline.fact_index import FactIndex
from crosspath.types import Breakdown, Funnel


def funnels(index: FactIndex) -> tuple[Funnel, ...]:
    """Not filled yet."""
    return ()


def breakdowns(index: FactIndex) -> tuple[Breakdown, ...]:
    """Not filled yet."""
    return ()
