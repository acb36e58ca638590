"""Every layer that a chain may name, and how a named one is built."""

import re
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


def build_layer(spec: LayerSpec, source: str) -> Layer:
    """The layer that ``spec`` names.

    Raises:
        ConfigError: unknown layer, or an option that is unknown, missing, of the wrong type or of no possible value.
    """
    kind = KINDS.get(spec.layer)
    if kind is None:
        raise ConfigError(unknown("layer", spec.layer, KINDS), source=source, field="layers")
    for name, value in spec.options.items():
        _check_option(spec.layer, kind, name, value, source)
    if spec.layer == "replace-pattern":
        _check_pattern(effective_options(spec)["find"], source)
    for name in kind.required:
        if name not in spec.options:
            raise ConfigError(f"{spec.layer} needs the option {name!r}", source=source, field=f"layers.{spec.layer}")
    return kind.build(effective_options(spec))


def effective_options(spec: LayerSpec) -> dict[str, JSON]:
    """The options of a known layer, defaults written out."""
    return {**KINDS[spec.layer].options, **spec.options}


def _check_option(layer: str, kind: Kind, name: str, value: JSON, source: str) -> None:
    field = f"layers.{layer}.{name}"
    if name not in kind.options:
        raise ConfigError(unknown("option", name, kind.options), source=source, field=f"layers.{layer}")
    problem = _wrong_type(kind.options[name], value)
    if problem is None and name in kind.choices and value not in kind.choices[name]:
        problem = f"is none of {', '.join(map(repr, kind.choices[name]))}"
    if problem is not None:
        raise ConfigError(f"{value!r} {problem}", source=source, field=field)


def _check_pattern(pattern: JSON, source: str) -> None:
    try:
        re.compile(str(pattern))
    except re.error as error:
        problem = f"{pattern!r} is no regular expression: {error}"
        raise ConfigError(problem, source=source, field="layers.replace-pattern.find") from None


def _wrong_type(default: JSON, value: JSON) -> str | None:
    """What is wrong with the type of an option; None: nothing. A whole number will do for a number of seconds."""
    wanted = type(default)
    if wanted is list:
        fine = isinstance(value, list) and all(isinstance(item, str) and "\0" not in item for item in value)
        return None if fine else "is not a list of texts"
    if wanted is float and type(value) in (int, float) and not isinstance(value, bool):
        return None if isinstance(value, int | float) and 0 < value <= 600 else "is not a number of seconds between 0 and 600"
    if type(value) is not wanted:
        return f"is not a {wanted.__name__}"
    if wanted is int and isinstance(value, int) and value < 0:
        return "is negative"
    return "holds a NUL" if isinstance(value, str) and "\0" in value else None
