"""Whether the order of models survives a change of configuration."""

from crosspath.pipeline.fact_index import FactIndex
from crosspath.types import FragileTask, RankStability


def rank_stability(index: FactIndex) -> tuple[RankStability, ...]:
    """Not filled yet."""
    return ()


def fragile_tasks(index: FactIndex) -> tuple[FragileTask, ...]:
    """Not filled yet."""
    return ()
