"""A user's own path, from the JSON or YAML value of a spec.

Either a chain, as a mapping or as its bare list of layers::

    {layers: [{layer: double-quoted-shell, escape: true}, shell], version: 2, summary: ...}

or the user's harness, a program or a function::

    {external: {argv: [python3, /opt/harness/run.py], bind: [/opt/harness], env: {MODE: fast}}}
    {callable: "myteam.agent:run_reply", python: /opt/venv/bin/python, bind: [prompts], env: {MODE: fast}}
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from crosspath.errors import ConfigError
from crosspath.transports.chain import build_chain
from crosspath.transports.commands import HARNESS_ENV
from crosspath.transports.naming import unknown
from crosspath.transports.presets import preset_names
from crosspath.types import JSON, External, LayerSpec, PathSpec

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_KINDS = ("layers", "external", "callable")
_PATH_FIELDS = (*_KINDS, "version", "summary", "source")
_CALLABLE_FIELDS = ("python", "bind", "env")
_EXTERNAL_FIELDS = ("argv", "bind", "env")


def parse_path(name: str, config: JSON, source: str) -> PathSpec:
    """The path that ``config`` describes; ``source`` (a file, or a place in one) is named in errors.

    Relative files of a harness stay as they are written: resolving them needs a disk.

    Raises:
        ConfigError: one line with the place, the field, the value and what would be right.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is no name for a path: use letters, digits, _ . -", source=source)
    if name in preset_names():
        raise ConfigError(f"{name!r} is the name of a path that ships; choose another", source=source)
    return _Reader(source).path(name, config)


@dataclass(frozen=True)
class _Reader:
    """Reads values at one place of one file, so that every error can name both."""

    source: str
    at: str = ""

    def path(self, name: str, config: JSON) -> PathSpec:
        fields = (*_PATH_FIELDS, *_CALLABLE_FIELDS) if isinstance(config, dict) and "callable" in config else _PATH_FIELDS
        found = self.mapping({"layers": config} if isinstance(config, list) else config, fields)
        if len(found.keys() & set(_KINDS)) != 1:
            raise self.wrong("give either layers or external or callable")
        spec = PathSpec(
            name=name,
            version=self.inside("version").label(found.get("version", "1")),
            summary=self.inside("summary").text(found.get("summary", "")),
            source=self.inside("source").text(found.get("source", "")),
        )
        if "external" in found:
            harness = self.inside("external").external(found["external"])
            return spec.model_copy(update={"external": harness, "accepts": "any"})
        if "callable" in found:
            return spec.model_copy(update={"external": self.function(found), "accepts": "any"})
        layers = self.inside("layers").layers(found["layers"])
        build_chain(layers, self.source)
        return spec.model_copy(update={"layers": layers})

    def layers(self, value: JSON) -> tuple[LayerSpec, ...]:
        items = self.list(value)
        return tuple(self.inside(str(number)).layer(item) for number, item in enumerate(items))

    def layer(self, value: JSON) -> LayerSpec:
        if isinstance(value, str):
            return LayerSpec(layer=value)
        found = self.mapping(value, None)
        if "layer" not in found:
            raise self.wrong("a layer is a name, or a mapping with `layer: NAME` and its options")
        return LayerSpec(layer=self.text(found["layer"]), options={key: item for key, item in found.items() if key != "layer"})

    def external(self, value: JSON) -> External:
        found = self.mapping(value, _EXTERNAL_FIELDS)
        argv = self.inside("argv").texts(found.get("argv"))
        if not argv:
            raise self.inside("argv").wrong("name the program to run")
        env = self.inside("env").environment(found.get("env", {}))
        return External(argv=argv, bind=self.inside("bind").texts(found.get("bind", [])), env=env)

    def function(self, found: Mapping[str, JSON]) -> External:
        at = self.inside("callable")
        target = at.text(found["callable"])
        names = target.split(":")
        if len(names) != 2 or not all(name.isidentifier() for part in names for name in part.split(".")):
            raise at.wrong(f"{target!r} is not module:function, for instance myteam.agent:run_reply")
        return External(
            function=target,
            python=self.inside("python").text(found.get("python", "")),
            bind=self.inside("bind").texts(found.get("bind", [])),
            env=self.inside("env").environment(found.get("env", {})),
        )

    def environment(self, value: JSON) -> tuple[tuple[str, str], ...]:
        found = self.mapping(value, None)
        taken = sorted(set(found) & {name for name, _ in HARNESS_ENV})
        if taken:
            raise self.wrong(f"{taken[0]} is set by Crosspath")
        bad = next((name for name in found if not name or "=" in name), None)
        if bad is not None:
            raise self.wrong(f"{bad!r} is no name of a variable")
        return tuple((name, self.inside(name).text(item)) for name, item in sorted(found.items()))

    def label(self, value: JSON) -> str:
        """A short text; a whole number is fine for a version."""
        return str(value) if type(value) is int else self.text(value)

    def texts(self, value: JSON) -> tuple[str, ...]:
        return tuple(self.inside(str(number)).text(item) for number, item in enumerate(self.list(value)))

    def text(self, value: JSON) -> str:
        if not isinstance(value, str) or "\0" in value:
            raise self.wrong(f"{value!r} is not a text (quote it)")
        return value

    def list(self, value: JSON) -> list[JSON]:
        if not isinstance(value, list):
            raise self.wrong(f"{value!r} is not a list")
        return cast("list[JSON]", value)

    def mapping(self, value: JSON, fields: Iterable[str] | None) -> Mapping[str, JSON]:
        if not isinstance(value, dict):
            raise self.wrong(f"{value!r} is not a mapping")
        found = cast("dict[str, JSON]", value)
        for name in found:
            if type(name) is not str or (fields is not None and name not in fields):  # pyright: ignore[reportUnnecessaryComparison]
                raise self.wrong(unknown("field", str(name), fields or ()))
        return found

    def inside(self, name: str) -> "_Reader":
        return _Reader(self.source, f"{self.at}.{name}" if self.at else name)

    def wrong(self, problem: str) -> ConfigError:
        return ConfigError(problem, source=self.source, field=self.at or None)
