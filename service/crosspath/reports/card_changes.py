"""Which lines of a page are other ones than they should be."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

ALIGNED = 2_000
"""Up to so many lines are aligned, which takes the square of their number; longer stretches are compared line by line."""

Change = tuple[int, str, str]
"""Number of the line from 1, as it stands, as it should be."""


def changed_lines(page: str, again: str) -> Iterator[Change]:
    """Every line of ``page`` that is another one in ``again``; one that was put in or taken out is one change."""
    ours, theirs = page.split("\n"), again.split("\n")
    start = next(
        (n for n, (one, other) in enumerate(zip(ours, theirs, strict=False)) if one != other), min(len(ours), len(theirs))
    )
    ours, theirs = ours[start:], theirs[start:]
    same = next((n for n, (one, other) in enumerate(zip(ours[::-1], theirs[::-1], strict=False)) if one != other), None)
    ending = min(len(ours), len(theirs)) if same is None else same
    yield from _between(ours[: len(ours) - ending], theirs[: len(theirs) - ending], start + 1)


def _between(ours: Sequence[str], theirs: Sequence[str], first: int) -> Iterator[Change]:
    if max(len(ours), len(theirs)) > ALIGNED:
        yield from _pairs(ours, theirs, first)
        return
    for tag, start, end, other, last in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if tag != "equal":
            yield from _pairs(ours[start:end], theirs[other:last], first + start)


def _pairs(ours: Sequence[str], theirs: Sequence[str], first: int) -> Iterator[Change]:
    for number, (line, should) in enumerate(zip_longest(ours, theirs, fillvalue="")):
        if line != should:
            yield first + min(number, max(0, len(ours) - 1)), line, should
