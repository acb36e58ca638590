"""JSON as a strict harness reads it: one value, no duplicate keys, no NaN, and nothing that can crash the reader."""

import json
from typing import Any, NoReturn, cast

from jsonschema import Draft202012Validator
from referencing import Registry


class ContractBreachError(ValueError):
    """A reply that does not have the shape that its contract demands; the message is the reason."""


def read_object(text: str, what: str) -> dict[str, Any]:
    """The one JSON object that ``text`` is.

    Raises:
        ContractBreachError: not JSON, more than one value, duplicate keys, NaN or infinity, not an object, or nested too deeply.
    """
    try:
        value: object = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except ContractBreachError as error:
        raise ContractBreachError(f"{what}: {error}") from None
    except json.JSONDecodeError as error:
        raise ContractBreachError(f"{what} is not one JSON value: {error.msg} at character {error.pos}") from None
    except (ValueError, RecursionError) as error:  # an integer of thousands of digits; brackets nested without end
        raise ContractBreachError(f"{what} is not readable JSON: {type(error).__name__}") from None
    if not isinstance(value, dict):
        raise ContractBreachError(f"{what} is a JSON {_kind(value)}, not an object")
    return cast("dict[str, Any]", value)


def check_schema(arguments: dict[str, Any], schema: dict[str, Any], what: str) -> None:
    """Hold arguments against a tool's JSON schema; no reference is ever fetched.

    Raises:
        ContractBreachError: they don't meet it.
    """
    validator: Any = Draft202012Validator(schema, registry=Registry())
    for error in validator.iter_errors(arguments):
        place = "".join(f".{part}" for part in error.absolute_path)
        raise ContractBreachError(f"{what}{place}: {error.message[:200]}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for number, name in enumerate(names) if name in names[:number])
        raise ContractBreachError(f"the key {twice!r} stands twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ContractBreachError(f"{name} is no JSON number")


def _kind(value: object) -> str:
    names = {"str": "string", "list": "array", "bool": "boolean", "int": "number", "float": "number", "NoneType": "null"}
    return names[type(value).__name__]
