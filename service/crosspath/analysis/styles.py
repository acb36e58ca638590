"""Request styles: how far the wording alone moves a score, beside what the path does."""

from collections.abc import Sequence

from crosspath.types import StyleSpread


def style_lines(found: Sequence[StyleSpread]) -> list[str]:
    """One plain sentence each, for a terminal."""
    return []


def style_section(found: Sequence[StyleSpread]) -> str:
    """A section of the report in Markdown; empty where there is nothing to say."""
    return ""
