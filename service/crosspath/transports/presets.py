"""The paths that ship, by name, and how a name is looked up. They are data: ``presets.yaml`` beside this module.

A decoder may be fixed in a name: ``json:nested-shell`` and ``tools:nested-shell`` accept only replies of that shape. Without a
prefix the contract's shape decides which decoder stands in front.
"""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal, cast

from crosspath.errors import ConfigError
from crosspath.strict_yaml import load_yaml
from crosspath.transports.naming import unknown
from crosspath.types import LayerSpec, PathSpec

_DECODERS: Mapping[str, Literal["json", "tools"]] = MappingProxyType({"json": "json", "tools": "tools"})
_FILE = "presets.yaml"


@cache
def _presets() -> Mapping[str, PathSpec]:
    text = resources.files(__package__ or "crosspath.transports").joinpath(_FILE).read_text(encoding="utf-8")
    found = cast("dict[str, dict[str, Any]]", load_yaml(text, _FILE))
    return MappingProxyType({name: _spec(name, config) for name, config in found.items()})


def _spec(name: str, config: Mapping[str, Any]) -> PathSpec:
    return PathSpec.model_validate({**config, "name": name, "layers": tuple(map(_layer, config["layers"]))})


def _layer(value: str | dict[str, Any]) -> LayerSpec:
    if isinstance(value, str):
        return LayerSpec(layer=value)
    return LayerSpec(layer=value["layer"], options={key: item for key, item in value.items() if key != "layer"})


def preset_names() -> tuple[str, ...]:
    """The names of the paths that ship, without decoder prefixes."""
    return tuple(_presets())


def preset(name: str) -> PathSpec:
    """The shipped path of that name, with or without a decoder prefix.

    Raises:
        ConfigError: there is none; the message names the near ones.
    """
    return find_path(name)


def find_path(name: str, own: Mapping[str, PathSpec] = MappingProxyType({})) -> PathSpec:
    """The path of that name among the user's own and the shipped ones, with or without a decoder prefix.

    Raises:
        ConfigError: there is none, or a decoder stands in front of a path that fixes another one or reads the whole reply itself.
    """
    prefix, _, rest = name.partition(":")
    decoder = _DECODERS.get(prefix) if rest else None
    wanted = rest if decoder else name
    known = {**_presets(), **own}
    if wanted not in known:
        raise ConfigError(unknown("path", wanted, known), field="transport")
    spec = known[wanted]
    if decoder is None:
        return spec
    if spec.external is not None:
        problem = f"{name!r}: {wanted} reads the whole reply itself, no decoder can stand in front of it"
        raise ConfigError(problem, field="transport")
    if spec.accepts not in ("text", decoder):
        raise ConfigError(f"{name!r}: {wanted} is for replies of shape {spec.accepts}", field="transport")
    return spec.model_copy(update={"name": name, "accepts": decoder})
