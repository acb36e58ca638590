"""What changed in the texts of a configuration: a digest says that a contract was edited, and the lines say how."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from itertools import groupby
from typing import Literal

from crosspath.types import Facts, Text
from crosspath.types.drift import SeriesEntry, TextChange

Kind = Literal["contract", "path", "suite", "style"]
Side = tuple[SeriesEntry, Facts]
"""An evaluation's entry, and the evaluation."""
SHOWN_LINES = 40
"""Of each diff."""
SHOWN_LETTERS = 200
"""Of each line."""
_LEAD = 60
"""So many of them before the place where a long line begins to differ."""
SAME_LINES = (" only line ends or invisible characters changed",)
"""Stands for the lines of texts that have the same ones."""
_FIELDS: Mapping[str, Kind] = {"contract": "contract", "transport": "path", "validator": "suite", "request_style": "style"}


def changed_kinds(breaking: Sequence[str]) -> tuple[str, ...]:
    """The fields that name a text, of those whose digest or version is among the changed ones."""
    return tuple(field for field in _FIELDS if any(name == field or name.startswith(f"{field}.") for name in breaking))


def text_changes(
    before: tuple[SeriesEntry, Facts], after: tuple[SeriesEntry, Facts], fields: Sequence[str]
) -> tuple[TextChange, ...]:
    """Line by line, for those ``fields`` of which both evaluations keep the text; equal texts are left out."""
    return tuple(_changes(before, after, fields))


def _changes(before: Side, after: Side, fields: Sequence[str]) -> Iterator[TextChange]:
    for field in fields:
        old, new = _text(*before, field), _text(*after, field)
        if old is None or new is None or old.content == new.content:
            continue
        found = list(unified_diff(old.content.splitlines(), new.content.splitlines(), n=1, lineterm=""))[2:] or SAME_LINES
        shown = tuple(_cut(found))[:SHOWN_LINES]
        yield TextChange(kind=_FIELDS[field], name=new.name, lines=shown, left_out=max(0, len(found) - SHOWN_LINES))


def _cut(lines: Sequence[str]) -> Iterator[str]:
    """Lines of a diff, the long ones cut so that what differs from the line that they replace is seen."""
    for changed, run in groupby(lines, lambda line: line.startswith(("-", "+"))):
        found = list(run)
        old = [line for line in found if changed and line.startswith("-")]
        new = found[len(old) :]
        places = [_differ_at(before, after) for before, after in zip(old, new, strict=False)]
        for side in (old, new):
            yield from (_around(line, places[at] if at < len(places) else 0) for at, line in enumerate(side))


def _differ_at(old: str, new: str) -> int:
    """Place of the first letter behind the mark that is another one."""
    letters = enumerate(zip(old[1:], new[1:], strict=False), 1)
    return next((at for at, (before, after) in letters if before != after), min(len(old), len(new)))


def _around(line: str, at: int) -> str:
    """So much of a line that ``at`` is seen."""
    if len(line) <= SHOWN_LETTERS or at < SHOWN_LETTERS - _LEAD:
        return line[:SHOWN_LETTERS]
    return f"{line[0]}...{line[at - _LEAD :]}"[:SHOWN_LETTERS]


def _text(entry: SeriesEntry, facts: Facts, field: str) -> Text | None:
    """The text that an entry's configuration names; a path's by its digest, because one name may stand for several."""
    name = entry.configuration.get(field)
    known = {"contract": facts.contracts, "transport": facts.transports, "validator": facts.suites, "request_style": facts.styles}
    own = entry.configuration.get(f"{field}.digest")
    named = [text for text in known[field] if text.name == name]
    return next((text for text in named if text.digest == own), named[0] if named else None)
