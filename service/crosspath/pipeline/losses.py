"""What became of each candidate's trials as deployed: where they were lost."""

from crosspath.pipeline.fact_index import FactIndex
from crosspath.types import Losses


def losses(index: FactIndex) -> tuple[Losses, ...]:
    """Not filled yet."""
    return ()
