"""The tools of a contract: JSON schemas, and how a call is carried out.

Each entry of ``tools`` has ``description``, ``parameters`` (a JSON schema of an object, or the name of a JSON file with one),
and one of ``argument`` (the argument that is shell text; with ``path`` it travels through that path) and ``write`` (the arguments
that are a file's path and content).
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from crosspath.front_matter import Place
from crosspath.types import ToolSpec

ReadFile = Callable[[str], str]
_FIELDS = ("description", "parameters", "argument", "path", "write")


def parse_tools(value: object, place: Place, read: ReadFile | None) -> tuple[ToolSpec, ...]:
    """The tools in their written order.

    Raises:
        ConfigError: a field is missing, unknown or of the wrong type, a schema is none, or an argument is not in it.
    """
    found = place.mapping(value)
    if not found:
        raise place.wrong("must offer at least one tool")
    return tuple(_tool(name, item, place.inside(name), read) for name, item in found.items())


def _tool(name: str, value: object, place: Place, read: ReadFile | None) -> ToolSpec:
    found = place.mapping(value, _FIELDS)
    parameters = _schema(found.get("parameters"), place.inside("parameters"), read)
    if ("argument" in found) == ("write" in found):
        raise place.wrong("give either argument (shell text) or write (a file's path and content)")
    if "path" in found and "argument" not in found:
        raise place.inside("path").wrong("only shell text travels through a path")
    tool = ToolSpec(
        name=name,
        description=place.inside("description").text(found.get("description")),
        parameters=parameters,
        argument=place.inside("argument").text(found["argument"]) if "argument" in found else None,
        path=place.inside("path").text(found["path"]) if "path" in found else None,
        write=_write(found["write"], place.inside("write")) if "write" in found else None,
    )
    for argument in tool.write or (tool.argument or "",):
        _require_string(argument, parameters, place)
    return tool


def _write(value: object, place: Place) -> tuple[str, str]:
    names = cast("list[object]", value) if isinstance(value, list) else []
    if len(names) != 2:
        raise place.wrong("must be a list of two arguments: the one with the path, the one with the content")
    return place.text(names[0]), place.text(names[1])


def _schema(value: object, place: Place, read: ReadFile | None) -> dict[str, Any]:
    if isinstance(value, str):
        value = _from_file(value, place, read)
    schema = cast("dict[str, Any]", dict(place.mapping(value)))
    checker: Any = Draft202012Validator
    try:
        checker.check_schema(schema)
    except SchemaError as error:
        raise place.wrong(f"is no JSON schema: {error.message}") from None
    if schema.get("type") != "object":
        raise place.inside("type").wrong("must be object: arguments are always one")
    _refuse_remote(schema, place)
    return schema


def _from_file(name: str, place: Place, read: ReadFile | None) -> object:
    if read is None:
        raise place.wrong(f"{name!r}: no file can be read here; write the schema inline")
    try:
        return json.loads(read(name))
    except ValueError as error:
        raise place.wrong(f"{name!r} is not JSON: {error}") from None


def _refuse_remote(node: object, place: Place) -> None:
    if isinstance(node, Mapping):
        items = cast("Mapping[str, object]", node)
        target = items.get("$ref", "#")
        if isinstance(target, str) and not target.startswith("#"):
            raise place.wrong(f"$ref {target!r} leaves the schema; nothing is fetched")
        node = list(items.values())
    if isinstance(node, list):
        for item in cast("list[object]", node):
            _refuse_remote(item, place)


def _require_string(argument: str, parameters: Mapping[str, Any], place: Place) -> None:
    declared: Any = parameters.get("properties", {}).get(argument)
    if (
        not isinstance(declared, Mapping)
        or cast("Mapping[str, object]", declared).get("type") != "string"
        or argument not in parameters.get("required", ())
    ):
        raise place.inside("parameters").wrong(f"must have {argument!r} as a required property of type string")
