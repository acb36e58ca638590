"""Public against held-out tasks: the contamination alarm."""

from collections.abc import Sequence

from crosspath.types import PartitionGap


def partition_lines(found: Sequence[PartitionGap]) -> list[str]:
    """One plain sentence each, for a terminal."""
    return []


def partition_section(found: Sequence[PartitionGap]) -> str:
    """A section of the report in Markdown; empty where there is nothing to say."""
    return ""
