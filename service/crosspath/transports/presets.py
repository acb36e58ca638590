"""The paths that ship, by name, and how a name is looked up.

A decoder may be fixed in a name: ``json:nested-shell`` and ``tools:nested-shell`` accept only replies of that shape. Without a
prefix the contract's shape decides which decoder stands in front.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from crosspath.errors import ConfigError
from crosspath.transports.naming import unknown
from crosspath.types import LayerSpec, PathSpec

_SHELL = LayerSpec(layer="shell")
_DECODERS: Mapping[str, Literal["json", "tools"]] = MappingProxyType({"json": "json", "tools": "tools"})


def _double_quoted(escape: bool) -> LayerSpec:
    return LayerSpec(layer="double-quoted-shell", options={"escape": True} if escape else {})


_PRESETS: Mapping[str, PathSpec] = MappingProxyType(
    {
        spec.name: spec
        for spec in (
            PathSpec(name="raw", summary="bash -c <reply>: one shell, the reply as one argument", layers=(_SHELL,)),
            PathSpec(
                name="nested-shell",
                summary='bash -c "<reply>": pasted unescaped between double quotes that an outer shell reads',
                layers=(_double_quoted(False), _SHELL),
            ),
            PathSpec(
                name="nested-shell-escaped",
                summary='bash -c "<reply>" with correct escaping: the control of nested-shell as a path of its own',
                layers=(_double_quoted(True), _SHELL),
            ),
            PathSpec(
                name="single-quoted-shell",
                summary="bash -c '<reply>': pasted unescaped between single quotes that an outer shell reads",
                layers=(LayerSpec(layer="single-quoted-shell"), _SHELL),
            ),
            PathSpec(
                name="script-file",
                summary="the reply is written to a file and executed with bash FILE",
                layers=(LayerSpec(layer="script-file"),),
            ),
        )
    }
)


def preset_names() -> tuple[str, ...]:
    """The names of the paths that ship, without decoder prefixes."""
    return tuple(_PRESETS)


def preset(name: str) -> PathSpec:
    """The shipped path of that name, with or without a decoder prefix.

    Raises:
        ConfigError: there is none; the message names the near ones.
    """
    return find_path(name)


def find_path(name: str, own: Mapping[str, PathSpec] = MappingProxyType({})) -> PathSpec:
    """The path of that name among the user's own and the shipped ones, with or without a decoder prefix.

    Raises:
        ConfigError: there is none, or a decoder stands in front of a path that reads the whole reply itself.
    """
    prefix, _, rest = name.partition(":")
    decoder = _DECODERS.get(prefix) if rest else None
    wanted = rest if decoder else name
    known = {**_PRESETS, **own}
    if wanted not in known:
        raise ConfigError(unknown("path", wanted, known), field="transport")
    spec = known[wanted]
    if decoder is None:
        return spec
    if spec.external is not None:
        raise ConfigError(
            f"{name!r}: {wanted} reads the whole reply itself, no decoder can stand in front of it", field="transport"
        )
    return spec.model_copy(update={"name": name, "accepts": decoder})
