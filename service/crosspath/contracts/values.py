"""Values of front matter, read at a place that every error names."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import cast

from crosspath.errors import ConfigError


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
