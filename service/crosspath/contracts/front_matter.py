"""Markdown with YAML front matter: a block between two ``---`` lines at the very start, then the text."""

from collections.abc import Mapping
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
