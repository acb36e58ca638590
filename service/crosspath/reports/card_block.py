"""The machine-readable block of a card: one HTML comment at the end of the page.

    <!-- crosspath-card sha256:DIGEST
    {...}
    -->

The comment holds one JSON document in one fixed form: keys sorted, ASCII only, what is short on one line, everything else one
item a line. Back quotes, ``<``, ``>`` and ``&`` stand as escapes, so that no text in it can end the comment or become markup. The
digest is a SHA-256 over its canonical JSON (``crosspath.types.canonical_json``). Reading compares the text with that form, so a
changed character is found wherever it is. What editors do by themselves is no change: line ends as CR LF, white space at the end
of lines, blank lines at the end of the file, a byte order mark.
"""

import json
import math
import re
from dataclasses import dataclass
from typing import Any, cast

from crosspath.errors import ConfigError
from crosspath.types import canonical_json, digest

_OPENING = re.compile(r"<!-- crosspath-card sha256:(?P<digest>[0-9a-f]{64})")
_MARK = "<!-- crosspath-card"
_CLOSING = "-->"
_SHORT = 120
"""Characters of a value that stands on one line."""
_DEEPEST = 40
"""Levels of a document; a card has ten."""
_DIGITS = 30
"""Of a whole number: more than any count, seed or price has, and few enough that nothing that is computed with it overflows."""
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "`<>&"}


@dataclass(frozen=True)
class CardFile:
    """A card as it was read: two halves that are compared with each other later."""

    page: str
    """What people read, up to the block."""
    value: dict[str, Any]
    """The block's document."""
    stated: str
    """The digest that stands in front of it."""
    changed_line: int | None
    """First line of the file in which the block is not in its fixed form; None: all are."""
    after: str
    """What follows the block."""

    @property
    def digest(self) -> str:
        """The digest of the document, as computed."""
        return digest(self.value)


def block(value: dict[str, Any]) -> str:
    """The block that holds ``value``."""
    return f"{_MARK} sha256:{digest(value)}\n{laid_out(value)}\n{_CLOSING}\n"


def laid_out(value: Any, depth: int = 0) -> str:
    """A JSON value in the one form that a block has."""
    short = _escaped(value)
    if len(short) + depth <= _SHORT or not isinstance(value, (dict, list)) or not value:
        return short
    if isinstance(value, dict):
        mapping = cast("dict[str, Any]", value)
        items = [f"{_escaped(key)}:{laid_out(mapping[key], depth + 1)}" for key in sorted(mapping)]
    else:
        items = [laid_out(item, depth + 1) for item in cast("list[Any]", value)]
    first, last = "{}" if isinstance(value, dict) else "[]"
    indent = "\n" + " " * (depth + 1)
    return f"{first}{indent}{f',{indent}'.join(items)}\n{' ' * depth}{last}"


def _escaped(value: Any) -> str:
    return canonical_json(value).translate(_ESCAPES)


def lines_of(text: str) -> list[str]:
    """The lines of a file, without what editors add by themselves."""
    lines = [line.rstrip(" \t") for line in text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def read_block(text: str, source: str) -> CardFile:
    """Take a card apart.

    Raises:
        ConfigError: it holds no block, or several, or one that is cut off or no JSON document.
    """
    lines = lines_of(text)
    marks = [number for number, line in enumerate(lines) if line.startswith(_MARK)]
    if len(marks) != 1:
        problem = f"holds {len(marks)} blocks of cards" if marks else "is no card: it has no line that begins with " + _MARK
        raise ConfigError(f"{problem}; a card is written by crosspath card", source=source)
    start = marks[0]
    opening = _OPENING.fullmatch(lines[start])
    end = next((number for number in range(start, len(lines)) if lines[number] == _CLOSING), None)
    if opening is None or end is None:
        problem = (
            f"line {start + 1} states no SHA-256" if opening is None else f"the block is cut off: no line {_CLOSING} ends it"
        )
        raise ConfigError(f"is no whole card: {problem}", source=source)
    inner = lines[start + 1 : end]
    value = _document("\n".join(inner), source)
    return CardFile(
        page="\n".join(lines[:start]).strip("\n"),
        value=value,
        stated=opening["digest"],
        changed_line=_first_difference(inner, laid_out(value).split("\n"), start + 2),
        after="\n".join(lines[end + 1 :]).strip("\n"),
    )


def _first_difference(found: list[str], expected: list[str], first: int) -> int | None:
    """Number of the first line that is another one; ``first``: the number of the first line of all."""
    for number, (one, other) in enumerate(zip(found, expected, strict=False)):
        if one != other:
            return first + number
    return None if len(found) == len(expected) else first + min(len(found), len(expected))


def _document(text: str, source: str) -> dict[str, Any]:
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number, parse_float=_finite, parse_int=_whole)
    except (ValueError, RecursionError) as error:
        words = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        raise ConfigError(f"is no card: its block is no JSON document ({words})", source=source) from None
    if not isinstance(value, dict) or _deeper(value, _DEEPEST):
        raise ConfigError("is no card: its block is no JSON object that a card could have", source=source)
    return cast("dict[str, Any]", value)


def _deeper(value: Any, levels: int) -> bool:
    """Whether something is nested more than ``levels`` deep."""
    layer: list[Any] = [value]
    for _ in range(levels):
        layer = [inner for outer in layer for inner in _inside(outer) if isinstance(inner, (dict, list))]
    return bool(layer)


def _inside(value: Any) -> list[Any]:
    return list(cast("dict[str, Any]", value).values()) if isinstance(value, dict) else cast("list[Any]", value)


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_number(text)


def _whole(text: str) -> int:
    if len(text.removeprefix("-")) > _DIGITS:
        raise ValueError(f"{_cut(text)} has {len(text.removeprefix('-'))} digits; no number of a card has more than {_DIGITS}")
    return int(text)


def _cut(text: str) -> str:
    """Enough of a hostile text to find it."""
    return text if len(text) <= _DIGITS else f"{text[:_DIGITS]}..."


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {_cut(key)!r} stands twice")
        found[key] = value
    return found


def _no_number(name: str) -> float:
    raise ValueError(f"{_cut(name)} is no number")
