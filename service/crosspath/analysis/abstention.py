"""Declining what can't be done: precision and recall, apart from every pass rate."""

from collections.abc import Sequence

from crosspath.types import Abstention


def abstention_lines(found: Sequence[Abstention]) -> list[str]:
    """One plain sentence each, for a terminal."""
    return []


def abstention_section(found: Sequence[Abstention]) -> str:
    """A section of the report in Markdown; empty where there is nothing to say."""
    return ""
