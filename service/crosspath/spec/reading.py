"""From YAML text to a ``Spec``; every mistake becomes one line with file, line, field, value and what would be right."""

import json
import re
from pathlib import PurePath
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from crosspath.errors import ConfigError
from crosspath.spec.inline_keys import inline_key
from crosspath.spec.mistakes import located, place_of, problem_of
from crosspath.spec.resolution import Misplaced, name_problem
from crosspath.spec.schema import fields_at
from crosspath.spec.sections import SEED_IS_NAMED
from crosspath.spec.specification import Spec
from crosspath.strict_yaml import read_document

_SHORTHAND_ENTRIES = {"models": "model", "candidates": "model"}
_SHORTHAND_SECTIONS = {"executor": "kind", "deployment": "name"}


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
        raise located(document, source, *secret)
    value = _written_out(document.value)
    value["name"] = value.get("name") or _stem(source)
    try:
        spec = Spec.model_validate_json(json.dumps(value), strict=True)
        _check_names(spec)
        spec.candidates_resolved()
        spec.deployed()
    except ValidationError as error:
        details = error.errors(include_url=False)[0]
        raise located(document, source, place_of(details), _problem(details)) from None
    except Misplaced as error:
        raise located(document, source, error.place, error.problem) from None
    return spec


def _check_names(spec: Spec) -> None:
    problem = name_problem(spec.name)
    if problem:
        raise Misplaced(f"{spec.name!r} {problem}", "name")
    if spec.deployment and (problem := name_problem(spec.deployment.name)):
        raise Misplaced(f"{spec.deployment.name!r} {problem}", "deployment", "name")
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


def _problem(details: ErrorDetails) -> str:
    if "heldout_seed_env" in place_of(details) and details["type"] != "extra_forbidden":
        return SEED_IS_NAMED
    return problem_of(details, fields_at)
