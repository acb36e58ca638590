"""Values of a user's file, read one by one; every complaint names the place, the field, the value and what would be right."""

import difflib
import json
import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, cast

from crosspath.errors import ConfigError

_SHOWN = 60


@dataclass(frozen=True)
class Place:
    """A field of a file: ``source`` is the file (with its line), ``field`` the way to the value, as in ``fixture.a.txt``."""

    source: str
    field: str = ""

    def at(self, name: str | int) -> "Place":
        """The place of a value inside of this one."""
        part = f"[{name}]" if isinstance(name, int) else _one_line(name)
        glue = "." if self.field and isinstance(name, str) else ""
        return replace(self, field=f"{self.field}{glue}{part}")

    def wrong(self, value: object, right: str) -> ConfigError:
        """``value`` is not ``right``, where ``right`` says in words what would be."""
        return self.refuse(f"{shown(value)} is not {right}")

    def refuse(self, problem: str) -> ConfigError:
        """Any other trouble at this place."""
        return ConfigError(problem, source=self.source, field=self.field or None)


def shown(value: object) -> str:
    """``value`` in at most about 60 characters of one line."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def known_names(names: Collection[str], wrong: str = "") -> str:
    """``known: a, b, c``; with ``did you mean`` in front when one of them is near to ``wrong``."""
    near = difflib.get_close_matches(wrong, names, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    return f"{guess}known: {', '.join(sorted(names)) or 'none'}"


def as_object(value: object, place: Place, known: Collection[str] | None = None) -> dict[str, object]:
    """A JSON object; with ``known``, fields outside of it are refused."""
    if not isinstance(value, dict):
        raise place.wrong(value, "an object of named fields")
    fields = cast(dict[str, object], value)
    for name in fields:
        if known is not None and name not in known:
            raise place.refuse(f"unknown field {shown(name)}; {known_names(known, name)}")
    return fields


def as_list(value: object, place: Place) -> list[object]:
    """A JSON list."""
    if not isinstance(value, list):
        raise place.wrong(value, "a list")
    return cast(list[object], value)


def as_text(value: object, place: Place, *, empty: bool = True) -> str:
    """A text without a NUL character, that can be written as UTF-8."""
    if not isinstance(value, str):
        raise place.wrong(value, "a text")
    if not value and not empty:
        raise place.refuse("must not be empty")
    if "\0" in value:
        raise place.wrong(value, "right: a NUL character can't be part of it (give content as base64)")
    encoded(value, place)
    return value


def encoded(value: str, place: Place) -> bytes:
    """``value`` as UTF-8."""
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError:
        raise place.wrong(value, "valid Unicode (half of a surrogate pair stands alone); give such bytes as base64") from None


def as_texts(value: object, place: Place) -> tuple[str, ...]:
    """A list of texts, none of them empty."""
    return tuple(as_text(item, place.at(number), empty=False) for number, item in enumerate(as_list(value, place)))


def as_integer(value: object, place: Place, low: int, high: int) -> int:
    """A whole number within bounds; ``true`` is none, nor is ``1.0``."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise place.wrong(value, f"a whole number from {low} to {high}")
    return value


def as_number(value: object, place: Place, low: float, high: float, unit: str) -> float:
    """A finite number within bounds; ``unit`` is for the message."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not (math.isfinite(value) and low <= value <= high):
        raise place.wrong(value, f"a number of {unit} from {low:g} to {high:g}")
    return float(value)


def as_json(value: object, place: Place) -> dict[str, Any]:
    """An object with any content."""
    return cast(dict[str, Any], as_object(value, place))


def _one_line(name: str) -> str:
    return name if name.isprintable() else json.dumps(name)
