"""Mistakes in a YAML document that is to become a record: one line with file, line, field, value and what would be right."""

import json
import re
from collections.abc import Callable, Iterable

from pydantic_core import ErrorDetails

from crosspath.errors import ConfigError
from crosspath.spec.resolution import near
from crosspath.strict_yaml import Document, Place

_WORDS = {
    "Input should be": "must be",
    "String should": "must",
    "Dictionary should": "must",
    "Tuple should": "must",
    "a valid array": "a list",
    "a valid list": "a list",
    "an object": "a mapping",
    "a valid dictionary": "a mapping",
    "a valid string": "a text",
    "a valid integer": "a whole number",
    "a valid number": "a number",
}
"""pydantic's words -> those of a person who writes YAML."""


def located(document: Document, source: str, place: Place, problem: str) -> ConfigError:
    """The error with file, line and field of ``place``."""
    line = document.line(place)
    return ConfigError(problem, source=f"{source}:{line}" if line else source, field=dotted(place) or None)


def dotted(place: Place) -> str:
    """``candidates.a.tools[1]``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")


def place_of(details: ErrorDetails) -> Place:
    """Where the mistake stands; branches that pydantic names inside unions are no places."""
    return tuple(part for part in details["loc"] if isinstance(part, int) or not re.match(r"(?:list|dict|tuple)\[", part))


def problem_of(details: ErrorDetails, fields_at: Callable[[Place], Iterable[str]]) -> str:
    """What is wrong, and what would be right. ``fields_at``: the fields that the section at a place may have."""
    place, value, context = place_of(details), details["input"], details.get("ctx", {})
    if details["type"] == "extra_forbidden":
        return f"unknown field; {near(str(place[-1]), fields_at(place[:-1]))}"
    if details["type"] == "missing":
        return "is missing"
    if details["type"] == "too_short":
        return f"must have at least {context['min_length']} item{'s' if context['min_length'] > 1 else ''}, not {_short(value)}"
    if details["type"] == "rule":
        return str(context["problem"])
    if details["type"] == "value_error":
        return str(context["error"]) if isinstance(value, dict) else f"{_short(value)}: {context['error']}"
    message, hint = details["msg"], ""
    for theirs, ours in _WORDS.items():
        message = message.replace(theirs, ours, 1)
    if details["type"] == "literal_error" and isinstance(value, str):
        close = near(value, re.findall(r"'([^']*)'", str(context["expected"])))
        hint = f"; {close}" if close.startswith("did") else ""
    return f"{message}, not {_short(value)}{hint}"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
