"""The JSON schema of a spec: what editors use, and where near field names come from."""

from typing import Any

from crosspath.spec.specification import Spec
from crosspath.strict_yaml import Place

SCHEMA_URL = "https://json-schema.org/draft/2020-12/schema"


def spec_schema() -> dict[str, Any]:
    """The schema that ``deploy/spec.schema.json`` holds."""
    return {"$schema": SCHEMA_URL, **Spec.model_json_schema(mode="validation")}


def fields_at(place: Place, schema: dict[str, Any] | None = None) -> tuple[str, ...]:
    """Names of the fields that the section at ``place`` may have; empty where names are free. ``schema``: default, a spec's."""
    schema = spec_schema() if schema is None else schema
    definitions: dict[str, Any] = schema["$defs"]
    node: dict[str, Any] = schema
    for part in place:
        node = _object(node, definitions)
        if isinstance(part, int):
            node = node.get("items", {})
        else:
            node = node.get("properties", {}).get(part) or node.get("additionalProperties") or {}
    return tuple(_object(node, definitions).get("properties", {}))


def _object(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """``node`` behind references and alternatives: the alternative with fields or items."""
    if "$ref" in node:
        return _object(definitions[node["$ref"].rsplit("/", 1)[-1]], definitions)
    branches = [_object(branch, definitions) for key in ("anyOf", "allOf") for branch in node.get(key, [])]
    return next((branch for branch in branches if branch.keys() & {"properties", "items", "additionalProperties"}), node)
