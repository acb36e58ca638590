"""From YAML text to a ``Spec``; every mistake becomes one line with file, line, field, value and what would be right."""

import json
import re
from pathlib import PurePath
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from crosspath.errors import ConfigError
from crosspath.spec.inline_keys import inline_key
from crosspath.spec.resolution import Misplaced, name_problem, near
from crosspath.spec.schema import fields_at
from crosspath.spec.sections import SEED_IS_NAMED
from crosspath.spec.specification import Spec
from crosspath.strict_yaml import Document, Place, read_document

_SHORTHAND_ENTRIES = {"models": "model", "candidates": "model"}
_SHORTHAND_SECTIONS = {"executor": "kind"}
_WORDS = {
    "Input should be": "must be",
    "String should": "must",
    "Dictionary should": "must",
    "Tuple should": "must",
    "a valid array": "a list",
    "a valid list": "a list",
    "an object": "a mapping",
    "a valid dictionary": "a mapping",
    "a valid string": "a text",
    "a valid integer": "a whole number",
    "a valid number": "a number",
}
"""pydantic's words -> those of a person who writes YAML."""


def load_spec(text: str, source: str) -> Spec:
    """The spec in ``text``; ``source`` names its file in errors, and the file's stem is the default name.

    Raises:
        ConfigError: on the first mistake, as ``file:line: field: problem``.
    """
    document = read_document(text, source)
    if not isinstance(document.value, dict):
        raise ConfigError("a spec is a mapping with at least `candidates:` or `models:`", source=source)
    secret = inline_key(document.value)
    if secret is not None:
        raise _located(document, source, *secret)
    value = _written_out(document.value)
    value["name"] = value.get("name") or _stem(source)
    try:
        spec = Spec.model_validate_json(json.dumps(value), strict=True)
        _check_names(spec)
        spec.candidates_resolved()
    except ValidationError as error:
        details = error.errors(include_url=False)[0]
        raise _located(document, source, _place(details), _problem(details)) from None
    except Misplaced as error:
        raise _located(document, source, error.place, error.problem) from None
    return spec


def _check_names(spec: Spec) -> None:
    problem = name_problem(spec.name)
    if problem:
        raise Misplaced(f"{spec.name!r} {problem}", "name")
    for section in ("models", "transports"):
        for name in getattr(spec, section):
            problem = name_problem(name)
            if problem:
                raise Misplaced(f"{name!r} {problem}", section, name)


def _stem(source: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.\- ]", "-", PurePath(source).stem).strip(" ")[:60] or "spec"


def _written_out(value: dict[str, Any]) -> dict[str, Any]:
    """Sections that are written as one text, and sections left empty, as mappings."""
    full: dict[str, Any] = {}
    for key, item in value.items():
        if key in _SHORTHAND_SECTIONS:
            full[key] = _expanded(item, _SHORTHAND_SECTIONS[key])
        elif key in _SHORTHAND_ENTRIES and isinstance(item, dict):
            named = cast("dict[str, Any]", item)
            full[key] = {name: _expanded(entry, _SHORTHAND_ENTRIES[key]) for name, entry in named.items()}
        elif item is not None:
            full[key] = item
    return full


def _expanded(value: Any, field: str) -> Any:
    if value is None:
        return {}
    return {field: value} if isinstance(value, str) else value


def _located(document: Document, source: str, place: Place, problem: str) -> ConfigError:
    line = document.line(place)
    return ConfigError(problem, source=f"{source}:{line}" if line else source, field=dotted(place) or None)


def dotted(place: Place) -> str:
    """``candidates.a.tools[1]``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")


def _place(details: ErrorDetails) -> Place:
    """Where the mistake stands; branches that pydantic names inside unions are no places."""
    return tuple(part for part in details["loc"] if isinstance(part, int) or not re.match(r"(?:list|dict|tuple)\[", part))


def _problem(details: ErrorDetails) -> str:
    place, value, context = _place(details), details["input"], details.get("ctx", {})
    if "heldout_seed_env" in place and details["type"] != "extra_forbidden":
        return SEED_IS_NAMED
    if details["type"] == "extra_forbidden":
        return f"unknown field; {near(str(place[-1]), fields_at(place[:-1]))}"
    if details["type"] == "missing":
        return "is missing"
    if details["type"] == "value_error":
        return str(context["error"]) if isinstance(value, dict) else f"{_short(value)}: {context['error']}"
    message, hint = details["msg"], ""
    for theirs, ours in _WORDS.items():
        message = message.replace(theirs, ours, 1)
    if details["type"] == "literal_error" and isinstance(value, str):
        close = near(value, re.findall(r"'([^']*)'", str(context["expected"])))
        hint = f"; {close}" if close.startswith("did") else ""
    return f"{message}, not {_short(value)}{hint}"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
