"""Markdown with YAML front matter: a block between two ``---`` lines at the very start, then the text."""

from collections.abc import Mapping
from typing import Any, cast

import yaml

from crosspath.errors import ConfigError

_LINE = "---"


class _StrictLoader(yaml.SafeLoader):
    """YAML without duplicate keys: the last one would win, and nobody would see it."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping whose keys differ."""
        seen: set[str] = set()
        for key_node, _ in node.value:
            key = str(key_node.value)
            if key in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key!r} stands twice", problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


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
    try:
        value: object = yaml.load(text, _StrictLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        raise ConfigError(f"line {line}: {error.problem}", source=source, field="front matter") from None
    except yaml.YAMLError as error:
        raise ConfigError(str(error).splitlines()[0], source=source, field="front matter") from None
    if not isinstance(value, dict):
        raise ConfigError("is not a mapping", source=source, field="front matter")
    found = cast("dict[object, object]", value)
    return {str(key): item for key, item in found.items()}
