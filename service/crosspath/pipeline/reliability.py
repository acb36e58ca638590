"""How often a candidate is right each time."""

from crosspath.pipeline.fact_index import FactIndex
from crosspath.types import Reliability


def reliability(index: FactIndex) -> tuple[Reliability, ...]:
    """Not filled yet."""
    return ()
