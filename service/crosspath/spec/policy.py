"""From YAML text to a ``Policy``, and from a text to the evidence that it names."""

import json
import re
from pathlib import PurePath
from typing import Any, cast

from pydantic import ValidationError

from crosspath.errors import ConfigError
from crosspath.spec.inline_keys import inline_key
from crosspath.spec.mistakes import located, place_of, problem_of
from crosspath.spec.schema import SCHEMA_URL, fields_at
from crosspath.strict_yaml import Place, read_document
from crosspath.types import EvidenceRef, Policy

_SIDES = ("candidate", "baseline")
_MODEL = re.compile(r"models:/(?P<model>[^/@]+)(?:/(?P<version>[1-9][0-9]{0,8})|@(?P<alias>[^/@]+))")


def load_policy(text: str, source: str) -> Policy:
    """The policy in ``text``; ``source`` names its file in errors, and the file's stem is the default name.

    Raises:
        ConfigError: on the first mistake, as ``file:line: field: problem``.
    """
    document = read_document(text, source)
    if not isinstance(document.value, dict):
        raise ConfigError("a policy is a mapping with at least `rules:`", source=source)
    secret = inline_key(document.value)
    if secret is not None:
        raise located(document, source, *secret)
    value: dict[str, Any] = {key: item for key, item in document.value.items() if item is not None}
    if value.get("name") in (None, ""):
        value["name"] = PurePath(source).stem[:60]
    for side in _SIDES:
        if side in value and not isinstance(value[side], dict):
            try:
                value[side] = parse_ref(value[side], side).model_dump(exclude_none=True)
            except ConfigError as error:
                raise located(document, source, (side,), error.problem) from None
    try:
        return Policy.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        details = error.errors(include_url=False)[0]
        place = (*place_of(details), *_field(details.get("ctx", {})))
        raise located(document, source, place, problem_of(details, _fields_at)) from None


def _field(context: dict[str, Any]) -> tuple[str, ...]:
    """The field of a record that its own check found wrong."""
    return (cast(str, context["field"]),) if "field" in context else ()


def parse_ref(text: object, field: str) -> EvidenceRef:
    """``EVALUATION``, ``EVALUATION:CANDIDATE``, ``models:/NAME/VERSION`` or ``models:/NAME@ALIAS``; an evaluation is an id in the
    ledger, ``latest``, or the id of an MLflow run.

    Raises:
        ConfigError: the text is none of these; ``field`` is where it stands.
    """
    right = "an evaluation, EVALUATION:CANDIDATE, models:/NAME/VERSION or models:/NAME@ALIAS"
    if not isinstance(text, str):
        raise ConfigError(f"must be {right}, not {text!r}", field=field)
    if text.startswith("models:"):
        found = _MODEL.fullmatch(text)
        if found is None:
            raise ConfigError(f"must be models:/NAME/VERSION or models:/NAME@ALIAS, not {text!r}", field=field)
        version = found["version"]
        return EvidenceRef(model=found["model"], version=int(version) if version else None, alias=found["alias"])
    evaluation, colon, candidate = text.partition(":")
    if not evaluation.strip() or (colon and not candidate.strip()):
        raise ConfigError(f"must be {right}, not {text!r}", field=field)
    return EvidenceRef(evaluation=evaluation, candidate=candidate or None)


def _fields_at(place: Place) -> tuple[str, ...]:
    return fields_at(place, policy_schema())


def policy_schema() -> dict[str, Any]:
    """The schema that ``deploy/policy.schema.json`` holds: a side may be written as one text, too."""
    schema: dict[str, Any] = {"$schema": SCHEMA_URL, **Policy.model_json_schema(mode="validation")}
    for side in _SIDES:
        schema["properties"][side]["anyOf"].append({"type": "string"})
    return schema
