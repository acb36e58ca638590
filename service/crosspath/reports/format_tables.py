"""What the format of replies costs: with the harness's clean-up and without it."""

from crosspath.types import Judgement


def format_section(judgement: Judgement) -> str:
    """Not filled yet."""
    return ""


def format_lines(judgement: Judgement) -> list[str]:
    """Not filled yet."""
    return []
