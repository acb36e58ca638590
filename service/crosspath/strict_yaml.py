"""YAML as people mean it: JSON values only, no repeated keys, no guessing, and the line of every value.

The reading is YAML 1.2's core schema with fewer surprises than YAML 1.1:

* booleans are ``true`` and ``false``; ``no``, ``on`` and ``yes`` are texts,
* numbers are decimal, ``0x1F`` or ``0o17``; ``0755``, ``12:30`` and dates are texts,
* ``.nan`` and ``.inf`` are refused, and so are tags (``!!python/...``), merge keys (``<<``) and keys that are no text,
* anchors and aliases work, but a document may not contain itself or grow beyond ``MAX_VALUES`` values.

Every trouble is a ``ConfigError`` with file and line.
"""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from yaml.composer import Composer
from yaml.error import MarkedYAMLError, YAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

from crosspath.errors import ConfigError
from crosspath.types.base import JSON

MAX_VALUES = 200_000
"""Values of one document, aliases expanded: bounds what a small file can grow to."""
MAX_DEPTH = 100
"""Values inside values."""

Place = tuple[str | int, ...]
"""Where a value stands: keys and positions, outermost first."""

_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NULLS = {"", "~", "null", "Null", "NULL"}
_PREFIX = "tag:yaml.org,2002:"
_PLAIN = "plain"
"""Our own tag of a scalar without quotes and without a tag."""
_NUMBERS: tuple[tuple[re.Pattern[str], Callable[[str], int | float]], ...] = (
    (re.compile(r"[-+]?(?:0|[1-9][0-9]{0,30})"), int),
    (re.compile(r"0x[0-9a-fA-F]{1,16}"), lambda text: int(text, 16)),
    (re.compile(r"0o[0-7]{1,20}"), lambda text: int(text[2:], 8)),
    (re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?"), float),
)
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


@dataclass(frozen=True)
class Document:
    """A YAML document as JSON, with the line (from 1) on which each value stands."""

    value: JSON
    lines: dict[Place, int]

    def line(self, place: Place) -> int | None:
        """The line of ``place``, or of the nearest thing around it."""
        for length in range(len(place), -1, -1):
            if place[:length] in self.lines:
                return self.lines[place[:length]]
        return None


def load_yaml(text: str, source: str) -> JSON:
    """The document in ``text`` as JSON values.

    Raises:
        ConfigError: with ``source`` and line; see the module's head for what is refused.
    """
    return read_document(text, source).value


def read_document(text: str, source: str) -> Document:
    """Like :func:`load_yaml`, with the lines of all values.

    Raises:
        ConfigError: as :func:`load_yaml`.
    """
    try:
        node: Node | None = _Loader(text).get_single_node()
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"not readable as YAML: {error.problem or error.context}", source=f"{source}:{line}") from None
    except YAMLError as error:
        raise ConfigError(f"not readable as YAML: {str(error).splitlines()[0]}", source=source) from None
    except RecursionError:
        raise ConfigError("nested too deeply", source=source) from None
    reader = _Reading(source)
    return Document(reader.value(node, ()) if node else None, reader.lines)


class _Loader(Reader, Scanner, Parser, Composer, BaseResolver):  # pyright: ignore[reportUnsafeMultipleInheritance]
    """PyYAML up to the tree of nodes; meaning is given here, so no constructor is involved."""

    def __init__(self, stream: str) -> None:
        Reader.__init__(self, stream)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        BaseResolver.__init__(self)

    def resolve(self, kind: type[Node], value: object, implicit: object) -> str:
        """Mark plain scalars, which alone may mean something else than text."""
        if kind is ScalarNode and isinstance(implicit, tuple) and implicit[0]:
            return _PLAIN
        return str(super().resolve(kind, value, implicit))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


@dataclass
class _Reading:
    """One pass over the tree of nodes."""

    source: str
    lines: dict[Place, int] = field(default_factory=dict[Place, int])
    open: set[int] = field(default_factory=set[int])
    count: int = 0

    def value(self, node: Node, place: Place) -> JSON:
        self.lines.setdefault(place, node.start_mark.line + 1)
        self.count += 1
        if self.count > MAX_VALUES:
            self.refuse(node, f"more than {MAX_VALUES} values, aliases expanded")
        if len(place) > MAX_DEPTH:
            self.refuse(node, "nested too deeply")
        if isinstance(node, ScalarNode):
            return self.scalar(node)
        if id(node) in self.open:
            self.refuse(node, "an alias refers to what it is part of")
        self.open.add(id(node))
        value = self.mapping(node, place) if isinstance(node, MappingNode) else self.sequence(node, place)
        self.open.discard(id(node))
        return value

    def sequence(self, node: Node, place: Place) -> JSON:
        assert isinstance(node, SequenceNode)
        self.require_no_tag(node, "seq")
        return [self.value(item, (*place, number)) for number, item in enumerate(node.value)]

    def mapping(self, node: MappingNode, place: Place) -> JSON:
        self.require_no_tag(node, "map")
        result: dict[str, JSON] = {}
        for key_node, value_node in node.value:
            key = self.key(key_node)
            if key in result:
                self.refuse(key_node, f"{key!r} stands here twice; the first is on line {self.lines[(*place, key)]}")
            self.lines[(*place, key)] = key_node.start_mark.line + 1
            result[key] = self.value(value_node, (*place, key))
        return result

    def key(self, node: Node) -> str:
        key = self.scalar(node) if isinstance(node, ScalarNode) else None
        if not isinstance(key, str):
            self.refuse(node, "a key must be a text; write it in quotes")
        if key == "<<" and node.tag == _PLAIN:
            self.refuse(node, "merge keys (<<) are not supported; write the fields out")
        return key

    def scalar(self, node: ScalarNode) -> JSON:
        if node.tag == _PLAIN:
            return self.plain(node, node.value)
        self.require_no_tag(node, "str")
        return self.text(node, node.value)

    def plain(self, node: ScalarNode, text: str) -> JSON:
        if text in _NULLS:
            return None
        if text in _BOOLEANS:
            return _BOOLEANS[text]
        if _NOT_FINITE.fullmatch(text):
            self.refuse(node, f"{text} is not a finite number")
        for pattern, convert in _NUMBERS:
            if pattern.fullmatch(text):
                return self.finite(node, convert(text))
        return self.text(node, text)

    def text(self, node: Node, text: str) -> str:
        """``text`` with escaped surrogate pairs (as JSON writes them) joined; half a pair is no character."""
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self.refuse(node, "half a surrogate pair is no character")

    def finite(self, node: Node, number: int | float) -> int | float:
        if abs(number) > sys.float_info.max:
            self.refuse(node, f"{node.value[:40]} is too large")
        return number

    def require_no_tag(self, node: Node, kind: str) -> None:
        if node.tag != _PREFIX + kind:
            self.refuse(node, f"tags are not supported: {node.tag}")

    def refuse(self, node: Node, problem: str) -> NoReturn:
        raise ConfigError(problem, source=f"{self.source}:{node.start_mark.line + 1}")
