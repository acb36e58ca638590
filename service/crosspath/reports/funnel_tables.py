"""How far replies get, in words: one table per candidate."""

from crosspath.types import Judgement


def funnel_section(judgement: Judgement, candidate: str) -> str:
    """Not filled yet."""
    return ""
