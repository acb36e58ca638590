# pyright: standard
"""Expressions that find a task's id, or another name, in a logged call: JMESPath, and ``match`` for parts of a text."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import jmespath
from jmespath import exceptions, functions

from crosspath.errors import ConfigError
from crosspath.logged.shapes import fields, is_list, is_object, items

LONGEST_SEARCHED = 100_000
"""Letters of a text that ``match`` looks at."""
_MOST_VALUES = 5_000
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class _Functions(functions.Functions):
    """JMESPath's own functions, and ``match``."""

    @functions.signature({"types": ["string", "null"]}, {"types": ["string"]})
    def _func_match(self, text: str | None, pattern: str) -> str | None:
        """What the first group of a regular expression finds in a text, or the whole match where it has none."""
        found = re.search(pattern, text[:LONGEST_SEARCHED]) if text else None
        return None if found is None else found[1 if found.re.groups else 0]


class KeyExpression:
    """One expression, such as ``request.metadata.task`` or ``match(span.name, 'task=(\\S+)')``."""

    def __init__(self, text: str, option: str) -> None:
        """Compile it; ``option`` is the argument that it came from, for messages.

        Raises:
            ConfigError: it is no expression.
        """
        self._option = option
        try:
            self._compiled = jmespath.compile(text)
        except (exceptions.JMESPathError, RecursionError) as error:
            reason = str(error).split("\n")[0].removesuffix(":") or "nested too deeply"
            raise ConfigError(
                f"{text!r} is no JMESPath expression ({reason}); right would be request.metadata.task", field=option
            ) from None
        self._options = jmespath.Options(custom_functions=_Functions())

    def of(self, entry: Mapping[str, Any]) -> str | None:
        """The text, or whole number as text, that it finds in a logged call; None where it finds nothing or something else.

        Raises:
            ConfigError: it holds a pattern that is no regular expression, or a function that is not known.
        """
        try:
            found = self._compiled.search(entry, self._options)
        except (re.error, exceptions.UnknownFunctionError, exceptions.ArityError) as error:
            raise ConfigError(f"{str(error)[:120]}", field=self._option) from None
        except OverflowError as error:
            raise ConfigError(f"a pattern in it is no regular expression ({error})", field=self._option) from None
        except (exceptions.JMESPathError, RecursionError):
            return None
        if isinstance(found, int) and not isinstance(found, bool):
            return str(found)
        return found if isinstance(found, str) and found else None


def places_of(entry: Mapping[str, Any], wanted: Collection[str]) -> Iterator[str]:
    """Expressions for the values of a logged call that are wanted ones, such as the ids of tasks."""
    left: list[tuple[str, object]] = [("", entry)]
    for _ in range(_MOST_VALUES):
        if not left:
            return
        path, value = left.pop()
        if isinstance(value, str) and value in wanted:
            yield path
        elif is_object(value):
            left += [(f"{path}.{_name(name)}".removeprefix("."), inside) for name, inside in fields(value).items()]
        elif is_list(value):
            left += [(f"{path}[{number}]", inside) for number, inside in enumerate(items(value))]


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
