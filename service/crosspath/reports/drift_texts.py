"""The changed lines of contracts, paths, suites and request styles."""

from collections.abc import Iterator

from crosspath.reports.explanation import Block
from crosspath.types.drift import Drift, TextChange


def text_block(drift: Drift) -> Block:
    """Each text with its lines; untrusted like everything that an evaluation holds."""
    return Block("Changed texts, reference to newest", tuple(line for one in drift.texts for line in _lines(one)))


def _lines(one: TextChange) -> Iterator[str]:
    yield f"{one.kind} {one.name}"
    yield from one.lines
    if one.left_out:
        yield f"not shown: {one.left_out} more lines"
