"""Markdown with YAML front matter: a block between two ``---`` lines at the very start, then the text.

Contracts and request styles are such files.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import cast

from crosspath.errors import ConfigError
from crosspath.strict_yaml import load_yaml

_LINE = "---"


def split(text: str, source: str) -> tuple[Mapping[str, object], str]:
    """The front matter and the text after it, without blank lines around it.

    Raises:
        ConfigError: there is no front matter, it is not a YAML mapping, or there is no text.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != _LINE or _LINE not in (line.rstrip() for line in lines[1:]):
        raise ConfigError("must start with front matter between two lines of ---", source=source)
    end = next(number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _LINE)
    body = "\n".join(lines[end + 1 :]).strip()
    if not body:
        raise ConfigError("has no text after its front matter", source=source)
    return _mapping("\n".join(lines[1:end]), source), body


def _mapping(text: str, source: str) -> Mapping[str, object]:
    value = load_yaml("\n" + text, source)  # the line of dashes counts, so that errors name the file's own lines
    if not isinstance(value, dict | None):
        raise ConfigError("is not a mapping", source=source, field="front matter")
    return cast("dict[str, object]", value or {})


@dataclass(frozen=True)
class Place:
    """A field of a file."""

    source: str
    field: str = ""

    def inside(self, name: str) -> "Place":
        """The field of that name in this one."""
        return Place(self.source, f"{self.field}.{name}" if self.field else name)

    def wrong(self, problem: str) -> ConfigError:
        """The error to raise for this field."""
        return ConfigError(problem, source=self.source, field=self.field or None)

    def text(self, value: object) -> str:
        """A text that is not blank."""
        if value is None:
            raise self.wrong("is missing")
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(f"{value!r} is not a text (quote it)")
        return value

    def version(self, value: object) -> str:
        """A whole number or a text; a number with a point is refused, because YAML reads 1.10 as 1.1."""
        return str(value) if type(value) is int else self.text(value)

    def choice(self, value: object, known: Collection[str]) -> str:
        """One of the known texts."""
        if value not in known:
            raise self.wrong(f"{value!r} is none of {', '.join(known)}")
        return str(value)

    def mapping(self, value: object, known: Collection[str] | None = None) -> Mapping[str, object]:
        """A mapping; with ``known``, of no other fields."""
        if not isinstance(value, Mapping):
            raise self.wrong("is missing" if value is None else f"{value!r} is not a mapping")
        found = cast("Mapping[object, object]", value)
        for name in found:
            if known is not None and name not in known:
                near = get_close_matches(str(name), known, n=1)
                hint = f"did you mean {near[0]}? " if near else ""
                raise self.wrong(f"unknown field {name!r}; {hint}known: {', '.join(known)}")
        return {str(name): item for name, item in found.items()}
