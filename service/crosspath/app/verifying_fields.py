"""Field by field: two plain values side by side."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, cast

from crosspath.types import CardCheck, CardDifference, canonical_json

_TOLERANCE = 1e-9
"""Of numbers that another machine's library of mathematics may round otherwise."""
_BY_METHOD = frozenset({"low", "high", "method", "p_value", "worst", "best", "together", "sources", "standard_error", "share"})
"""Fields that another version may compute by another method. Counts and values are the same in all."""
IMPOSSIBLE = (ValueError, ArithmeticError, LookupError, TypeError, AttributeError, AssertionError, StopIteration)
"""What the code that makes pages and numbers raises on values that no evaluation could have given."""
MOST = 200
"""Differences of one check that are kept."""
LONGEST = 200
"""Letters of a value that are shown."""
_MISSING = "nothing"


def difference(card: object, again: object, name: str = "", skipped: Collection[str] = ()) -> Iterator[CardDifference]:
    """Every field in which a card's value is another one than what was found; fields that the card does not have count for
    nothing, because an older version did not write them."""
    if isinstance(card, Mapping) and isinstance(again, Mapping):
        ours, theirs = cast("Mapping[str, object]", card), cast("Mapping[str, object]", again)
        for key in ours:
            if key not in skipped:
                yield from difference(ours[key], theirs.get(key), f"{name}.{key}" if name else key, skipped)
    elif isinstance(card, Sequence) and isinstance(again, Sequence) and not isinstance(card, str) and not isinstance(again, str):
        yield from _items(cast("Sequence[object]", card), cast("Sequence[object]", again), name, skipped)
    elif not _same(card, again):
        yield CardDifference(field=name, card=_text(card), found=_text(again))


def left_out(card: object, whole: object, name: str = "") -> Iterator[str]:
    """Names of fields that ``whole`` has and the card does not."""
    if isinstance(card, Mapping) and isinstance(whole, Mapping):
        ours, theirs = cast("Mapping[str, object]", card), cast("Mapping[str, object]", whole)
        for key in theirs:
            place = f"{name}.{key}" if name else key
            yield from left_out(ours[key], theirs[key], place) if key in ours else [place]
    elif isinstance(card, list) and isinstance(whole, list):
        ours, theirs = cast("list[object]", card), cast("list[object]", whole)
        for number, (one, other) in enumerate(zip(ours, theirs, strict=False)):
            yield from left_out(one, other, f"{name}[{_label(one, number)}]")


def _items(card: Sequence[object], again: Sequence[object], name: str, skipped: Collection[str]) -> Iterator[CardDifference]:
    if len(card) != len(again):
        yield CardDifference(
            field=f"{name}: number of entries" if name else "number of entries", card=str(len(card)), found=str(len(again))
        )
    for number, (one, other) in enumerate(zip(card, again, strict=False)):
        yield from difference(one, other, f"{name}[{_label(one, number)}]", skipped)


def _label(entry: object, number: int) -> str:
    """What names an entry of a list: its own name where it has one."""
    if isinstance(entry, Mapping):
        fields = cast("Mapping[str, Any]", entry)
        named = fields.get("name") or fields.get("id") or (fields.get("told") and f"{fields['told']}{fields.get('done', '')}")
        return str(named or number)
    return str(number)


def _same(one: object, other: object) -> bool:
    if isinstance(one, bool) or isinstance(other, bool) or not (_number(one) and _number(other)):
        return one == other
    try:
        return math.isclose(cast("float", one), cast("float", other), rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    except OverflowError:  # a whole number that no float can hold
        return one == other


def _number(value: object) -> bool:
    return isinstance(value, (int, float))


def _text(value: object) -> str:
    if value is None:
        return _MISSING
    text = value if isinstance(value, str) else canonical_json(cast("Any", value))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def differences(about: str, found: Sequence[CardDifference], holds: str, *, other_version: str = "") -> CardCheck:
    """A check of numbers. ``other_version``: says that another version computed them, whose methods may be others."""
    firm = [one for one in found if not other_version or not _BY_METHOD & set(one.field.replace("[", ".").split("."))]
    if found and not firm:
        why = f"{other_version}, whose methods may be others: install that one to check it"
        return CardCheck(about=about, status="unavailable", detail=why, differences=tuple(found[:MOST]))
    return judged_check(about, firm, holds)


def said(error: Exception) -> str:
    """The first line of an error, with what kind it is where that says more."""
    first = next(iter(str(error).splitlines()), "")[:LONGEST]
    return first if isinstance(error, ValueError) and first else f"{type(error).__name__} {first}".strip()


def judged_check(about: str, found: Sequence[CardDifference], holds: str, more: str = "") -> CardCheck:
    """``holds`` without any difference, else ``differs`` with all of them."""
    if not found:
        return CardCheck(about=about, status="holds", detail=holds)
    number = f"{len(found)} {'field' if len(found) == 1 else 'fields'}"
    cut = f"; the first {MOST} are kept" if len(found) > MOST else ""
    return CardCheck(about=about, status="differs", detail=f"{number}{more}{cut}", differences=tuple(found[:MOST]))
