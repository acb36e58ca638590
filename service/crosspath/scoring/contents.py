"""File contents as comparable keys: two contents are equal, in the way a task asks for, if and only if their keys are.

Parsing happens here, before validation, so that one reply's broken JSON is a value in a column and can't break the batch.
Short contents stay readable (escaped text), long ones are their SHA-256.
"""

import hashlib
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, cast

from crosspath.escaping import escape
from crosspath.types import Compare, StateEntry

READABLE_BYTES = 200
"""Longest content that is shown as it is."""


def content_key(content: bytes, compare: Compare = "bytes") -> str:
    """The key of a whole content: ``text:...`` readable, or ``sha256:... (N bytes)``; other prefixes for what can't be read."""
    return _KEYS[compare](content)


def entry_key(entry: StateEntry, expected: bytes, compare: Compare) -> str:
    """The key of an observed file, to stand beside ``content_key(expected, compare)``.

    A file above the sandbox's content cap is known by its digest only: it equals byte for byte or not at all.
    """
    if entry.content is not None:
        if compare == "bytes" and len(entry.content) > READABLE_BYTES and entry.sha256:
            return f"sha256:{entry.sha256} ({len(entry.content)} bytes)"
        return content_key(entry.content, compare)
    if entry.sha256 and entry.sha256 == hashlib.sha256(expected).hexdigest():
        return content_key(expected, compare)
    return f"sha256:{entry.sha256} ({entry.size} bytes)" if compare == "bytes" else f"too long to parse ({entry.size} bytes)"


def _bytes_key(content: bytes) -> str:
    if len(content) <= READABLE_BYTES:
        return "text:" + escape(content)
    return f"sha256:{hashlib.sha256(content).hexdigest()} ({len(content)} bytes)"


def _text_key(content: bytes) -> str:
    """Line-end style and trailing line ends don't count."""
    return _bytes_key(content.replace(b"\r\n", b"\n").replace(b"\r", b"\n").rstrip(b"\n"))


def _json_key(content: bytes) -> str:
    """Canonical JSON: key order, white space and the spelling of numbers and strings don't count; duplicate keys and NaN do."""
    try:
        value = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_int=Decimal,
            parse_float=Decimal,
        )
        canonical = _canonical(value)
    except (ValueError, ArithmeticError, RecursionError) as error:
        return "not JSON (" + " ".join(str(error).split())[:80] + "): " + _bytes_key(content)
    return "json:" + _bytes_key(canonical.encode("ascii"))


def _canonical(value: Any) -> str:
    if isinstance(value, dict):
        items = sorted((json.dumps(key), _canonical(each)) for key, each in cast(dict[str, Any], value).items())
        return "{" + ",".join(f"{key}:{each}" for key, each in items) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_canonical, cast(list[Any], value))) + "]"
    return _number(value) if isinstance(value, Decimal) else json.dumps(value)


def _number(value: Decimal) -> str:
    """Exact, whatever the precision: 1, 1.0 and 10e-1 are one number; 0.1 and 0.1000000000000000055 are two."""
    sign, digits, exponent = value.as_tuple()
    kept = "".join(map(str, digits)).strip("0")
    if not kept:
        return "0"
    trailing = len(digits) - len("".join(map(str, digits)).rstrip("0"))
    power = cast(int, exponent) + trailing
    return f"{'-' if sign else ''}{kept}" + (f"e{power}" if power else "")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("an object has a key twice")
    return value


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON value")


_KEYS = cast(
    dict[Compare, Callable[[bytes], str]],
    {"bytes": _bytes_key, "text": _text_key, "json": _json_key},
)
