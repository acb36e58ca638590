"""What the format of replies costs: with the harness's clean-up and without it."""

from crosspath.pipeline.fact_index import FactIndex
from crosspath.types import FormatDamage


def format_damage(index: FactIndex) -> tuple[FormatDamage, ...]:
    """Not filled yet."""
    return ()
