"""What each candidate's replies take."""

from crosspath.pipeline.fact_index import FactIndex
from crosspath.types import CandidateCost


def candidate_costs(index: FactIndex) -> tuple[CandidateCost, ...]:
    """Not filled yet."""
    return ()
