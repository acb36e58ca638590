"""Every layer that a chain may name, and how a named one is built."""

import re
import warnings
from collections.abc import Mapping
from types import MappingProxyType

from crosspath.errors import ConfigError
from crosspath.transports.layers import Kind, Layer
from crosspath.transports.naming import unknown
from crosspath.transports.readings import READINGS
from crosspath.transports.steps import STEPS
from crosspath.transports.terminals import TERMINALS
from crosspath.types import JSON, LayerSpec

KINDS: Mapping[str, Kind] = MappingProxyType({**STEPS, **READINGS, **TERMINALS})


def layer_kinds() -> Mapping[str, Kind]:
    """Every layer that a chain may name: embeddings and edits, readings, terminals."""
    return KINDS


def build_layer(spec: LayerSpec, source: str, field: str) -> Layer:
    """The layer that ``spec`` names; ``field`` is its place in the chain.

    Raises:
        ConfigError: unknown layer, or an option that is unknown, missing, of the wrong type or of no possible value.
    """
    kind = KINDS.get(spec.layer)
    if kind is None:
        raise ConfigError(unknown("layer", spec.layer, KINDS), source=source, field="layers")
    for name, value in spec.options.items():
        if name not in kind.options:
            raise ConfigError(unknown("option", name, kind.options), source=source, field=field)
        problem = _problem(kind, name, value)
        if problem is not None:
            raise ConfigError(f"{value!r} {problem}", source=source, field=f"{field}.{name}")
    for name in kind.required:
        if name not in spec.options:
            raise ConfigError(f"{spec.layer} needs the option {name!r}", source=source, field=field)
    return kind.build(effective_options(spec))


def effective_options(spec: LayerSpec) -> dict[str, JSON]:
    """The options of a known layer, defaults written out."""
    return {**KINDS[spec.layer].options, **spec.options}


_LARGEST: Mapping[str, int] = MappingProxyType({"status": 255, "at_once": 1_048_576, "characters": 16_777_216, "times": 3})
_NOT_EMPTY = frozenset({"find", "text", "separator", "start", "end"})
_FORMS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "delimiter": (r"[A-Za-z_][A-Za-z0-9_]*", "is no delimiter of a here-document (letters, digits and _)"),
        "locale": (r"[A-Za-z0-9_.@-]*", "is no name of a locale"),
        "language": (r"[A-Za-z0-9_.+#-]*", "is no name of a language behind a fence"),
    }
)


def _problem(kind: Kind, name: str, value: JSON) -> str | None:
    """What is wrong with the value of a known option; None: nothing."""
    problem = _wrong_type(kind.options[name], value)
    if problem is not None:
        return problem
    if name in kind.choices and value not in kind.choices[name]:
        return f"is none of {', '.join(map(repr, kind.choices[name]))}"
    if name in _NOT_EMPTY and value == "":
        return "is empty"
    if isinstance(value, int) and value > _LARGEST.get(name, value):
        return f"is more than {_LARGEST[name]}"
    form = _FORMS.get(name)
    if form is not None and not re.fullmatch(form[0], str(value)):
        return form[1]
    return _wrong_pattern(str(value)) if kind is KINDS["replace-pattern"] and name == "find" else None


def _wrong_pattern(pattern: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"is no regular expression: {error}"
    return None


def _wrong_type(default: JSON, value: JSON) -> str | None:
    """What is wrong with the type of an option; None: nothing. A whole number will do for a number of seconds."""
    wanted = type(default)
    if wanted is list:
        fine = isinstance(value, list) and all(isinstance(item, str) and item and "\0" not in item for item in value)
        return None if fine else "is not a list of texts"
    if wanted is float and type(value) in (int, float) and not isinstance(value, bool):
        return None if isinstance(value, int | float) and 0 < value <= 600 else "is not a number of seconds between 0 and 600"
    if type(value) is not wanted:
        return f"is not {_TYPES.get(wanted, wanted.__name__)}"
    if wanted is int and isinstance(value, int) and value < 0:
        return "is negative"
    return "holds a NUL" if isinstance(value, str) and "\0" in value else None


_TYPES: Mapping[type, str] = MappingProxyType(
    {str: "a text (quote it)", int: "a whole number", float: "a number", bool: "true or false"}
)
