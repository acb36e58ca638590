"""File contents as comparable keys: two contents are equal, in the way that is asked for, if and only if their keys are.

Parsing happens here, before validation, so that one reply's broken JSON is a value in a column and can't break the batch.
Short contents stay readable (escaped text), long ones are their SHA-256.

A task says how each of its files is compared (``Compare``). Two further ways, which validators ask for, overlook more and never
less: ``text`` and ``json``, see :func:`content_rule`.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import partial
from typing import Any, Literal, cast

from crosspath.escaping import escape
from crosspath.types import Compare, StateEntry

READABLE_BYTES = 200
"""Longest content that is shown as it is."""
Way = Literal["content", "text", "json"]
"""As the task says; or, over that, without the white space that can't be seen; or with JSON as values."""
WAYS: tuple[Way, ...] = ("content", "text", "json")
_INVISIBLE = b" \t\r\v\f"


def content_key(content: bytes, compare: Compare = "bytes") -> str:
    """The key of a whole content: ``text:...`` readable, or ``sha256:... (N bytes)``; other prefixes for what can't be read."""
    return _KEYS[compare](content)


class ContentRule:
    """How observed files are compared with one expected content: ``right`` is its key, ``of`` gives theirs."""

    def __init__(self, expected: bytes, key: Callable[[bytes], str]) -> None:
        self._expected, self._key = expected, key
        self.right = key(expected)

    def of(self, entry: StateEntry) -> str:
        """The key of an observed file.

        One above the sandbox's content cap is known by its digest only: it equals byte for byte or not at all.
        """
        content = known_content(entry, (self._expected,))
        if content is None:
            return f"too long to compare ({entry.size} bytes, sha256 {entry.sha256 or 'unknown'})"
        return self.right if content == self._expected else self._key(content)


def content_rule(expected: bytes, compare: Compare = "bytes", way: Way = "content") -> ContentRule:
    """The rule for one expected file.

    ``content``: as the task says. ``text``: moreover, white space at the end of lines (the CR of CRLF is some) and final newlines
    don't count; a content with a NUL byte is no text and counts byte for byte. ``json``: moreover, where the expected content is
    a JSON object or array, values are compared. A bare number is none here: it is as well a version.
    """
    if way == "text" and compare != "json":
        return ContentRule(expected, partial(_lenient_key, compare=compare))
    if way == "json" and _is_json_document(expected):
        return ContentRule(expected, _json_key)
    return ContentRule(expected, _KEYS[compare])


def known_content(entry: StateEntry, candidates: Iterable[bytes]) -> bytes | None:
    """The content of an observed file, or the candidate that its digest proves it to be; None where neither is known."""
    if entry.content is not None or not entry.sha256:
        return entry.content
    return next((content for content in candidates if hashlib.sha256(content).hexdigest() == entry.sha256), None)


def _bytes_key(content: bytes) -> str:
    if len(content) <= READABLE_BYTES:
        return "text:" + escape(content)
    return f"sha256:{hashlib.sha256(content).hexdigest()} ({len(content)} bytes)"


def _text_key(content: bytes) -> str:
    """Line-end style and trailing line ends don't count."""
    return _bytes_key(content.replace(b"\r\n", b"\n").replace(b"\r", b"\n").rstrip(b"\n"))


def _lenient_key(content: bytes, compare: Compare) -> str:
    """White space that can't be seen doesn't count either."""
    if b"\0" in content:
        return _KEYS[compare](content)
    text = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if compare == "text" else content
    return _bytes_key(b"\n".join(line.rstrip(_INVISIBLE) for line in text.split(b"\n")).rstrip(b"\n"))


def _is_json_document(content: bytes) -> bool:
    """Whether it is JSON beyond doubt: an object or array."""
    return content.lstrip(b" \t\r\n")[:1] in (b"{", b"[") and _json_key(content).startswith("json:")


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
