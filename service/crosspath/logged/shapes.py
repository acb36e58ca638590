"""Values of a log, which may hold anything: what has the wrong type is read as absent, never repaired."""

import json
import math
from collections.abc import Iterable
from datetime import datetime
from typing import Any, cast

MOST_TOKENS = 10**9
"""Of one request; no model reads or writes as many."""
LONGEST_WAIT_S = 1e7
MAX_DEPTH = 100
_SECONDS_NOT_MORE = 1e11
"""A moment above is counted in something smaller than seconds."""


class Unreadable(Exception):
    """A piece of a log can't be read: ``reason`` in the same words for all pieces, ``detail`` about this one."""

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason = reason
        self.detail = detail
        super().__init__(f"{reason} ({detail})" if detail else reason)


def parse(text: str) -> object:
    """Strict JSON, but for numbers that are none: they are read as null.

    Raises:
        Unreadable: it is none.
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise Unreadable("not readable as JSON", f"{error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise Unreadable("nested too deeply") from None
    except ValueError:
        raise Unreadable("not readable as JSON", "a number is too long") from None
    if _deep(value):
        raise Unreadable("nested too deeply")
    return value


def _deep(value: object) -> bool:
    """Whether more than ``MAX_DEPTH`` lists and objects stand inside each other: what reads them need not fear for its stack."""
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inside for one in level for inside in (fields(one).values() or items(one)) if is_object(inside) or is_list(inside)
        ]
        if not level:
            return False
    return True


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise Unreadable("a field stands twice in one object")
    return result


def _no_number(_: str) -> None:
    return None


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def inner(text: object) -> object:
    """The value of a JSON text inside of a log; any other text, or value, as it is."""
    if not isinstance(text, str) or text[:1] not in ("{", "[", '"'):
        return text
    try:
        return parse(text)
    except Unreadable:
        return text


def is_object(value: object) -> bool:
    """Whether it is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> bool:
    """Whether it is a JSON list."""
    return isinstance(value, list)


def fields(value: object) -> dict[str, Any]:
    """The fields of an object; none of anything else."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """The items of a list; none of anything else."""
    return cast(list[Any], value) if isinstance(value, list) else []


def objects(value: object) -> list[dict[str, Any]]:
    """Those items of a list that are objects."""
    return [item for item in items(value) if isinstance(item, dict)]


def text(value: object) -> str | None:
    """A text that is not empty."""
    return value if isinstance(value, str) and value else None


def first(values: Iterable[object]) -> Any:
    """The first that is there; None where none is."""
    return next((value for value in values if value is not None), None)


def count(value: object) -> int | None:
    """A count of tokens that a server can mean; everything else is unknown."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS else None


def seconds(value: object, unit_s: float = 1.0) -> float | None:
    """A duration, given in units of so many seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LONGEST_WAIT_S / unit_s:
        return None
    return round(value * unit_s, 9)


def elapsed_s(start: object, end: object) -> float | None:
    """Seconds between two moments in ISO form, or in seconds since 1970; None where one is not known, or the order is wrong."""
    if isinstance(start, int | float) and isinstance(end, int | float):
        return seconds(end - start) if 0 < start < _SECONDS_NOT_MORE else None
    try:
        began, ended = datetime.fromisoformat(str(start)), datetime.fromisoformat(str(end))
        return seconds((ended - began).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None
