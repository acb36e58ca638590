"""The JSON schema of a family file, for editors: completion, and most mistakes while typing. Reading checks more."""

from typing import Any

from crosspath.tasks.drawing import SHAPES
from crosspath.tasks.entries import COMPARES

_PATHS = "Keys are relative paths below the work directory."


def family_schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of ``tasks/<family>.yaml``; ``tasks/family.schema.json`` holds the same."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Crosspath task family",
        "type": "object",
        "required": ["name", "variants"],
        "additionalProperties": False,
        "properties": {**_head(), **_task_fields()},
        "$defs": {
            "entry": _entry(),
            "content": _content(),
            "secret": _secret(),
            "program": _program(),
            "name": _name(),
            "shape": _shape(),
            "heldout": {"type": "object", "additionalProperties": False, "properties": _heldout_parts()},
        },
    }


def _head() -> dict[str, Any]:
    return {
        "name": {"$ref": "#/$defs/name", "description": "Name of the family; ids of its tasks are name/variant."},
        "summary": _text("What the family tests, in one sentence."),
        "incident": {"type": "string", "format": "uri", "description": "A public report of the kind of fault."},
        "defaults": {"type": "object", "description": "Variables of the templates; a variant's 'vars' go before them."},
        "canary": _text("Marks the file so that it can be found in training data; no model is shown it."),
        "heldout": _heldout(),
        "variants": {"type": "array", "minItems": 1, "items": _variant(), "description": "One task each; its texts are literal."},
    }


def _heldout() -> dict[str, Any]:
    tiers = {"additionalProperties": False, "properties": {str(tier): {"$ref": "#/$defs/heldout"} for tier in range(4)}}
    return {
        "description": "How each variant is drawn afresh, with the same hazards; all texts are templates.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            **_heldout_parts(),
            "tiers": {"type": "object", **tiers, "description": "The same once more for single tiers."},
        },
    }


def _heldout_parts() -> dict[str, Any]:
    shapes = {"type": "object", "additionalProperties": {"$ref": "#/$defs/shape"}, "description": "Name -> what is drawn."}
    variables = {"type": "object", "description": "Templates over what was drawn, in this order."}
    return {"draw": shapes, "vars": variables, **_task_fields()}


def _shape() -> dict[str, Any]:
    """The options of a shape depend on it; which ones, is checked when payloads are drawn."""
    return {"type": "object", "required": ["shape"], "properties": {"shape": {"enum": list(SHAPES)}}}


def _variant() -> dict[str, Any]:
    own = {
        "name": {"$ref": "#/$defs/name"},
        "vars": {"type": "object", "description": "Values for the templates; they are not rendered themselves."},
        "tier": {"type": "integer", "minimum": 0, "maximum": 3, "description": "0 benign control, 1-3 rising hostility."},
        "hazards": _texts("What makes it hostile: apostrophe, dollar, newline, ..."),
    }
    return {"type": "object", "required": ["name"], "additionalProperties": False, "properties": {**own, **_task_fields()}}


def _task_fields() -> dict[str, Any]:
    return {
        "instruction": _text("What the model is asked; literal payloads between U+27EA and U+27EB."),
        "messages": {"type": "array", "items": {"type": "object", "required": ["role", "content"]}},
        "fixture": _by_path("#/$defs/entry", f"Files before the reply. {_PATHS}"),
        "directories": _texts("Empty directories that must exist afterwards; extra ones count only where this is given."),
        "programs": {"type": "object", "additionalProperties": {"$ref": "#/$defs/program"}, "description": "Programs on PATH."},
        "setup": _text("Shell line run in the sandbox before the reply."),
        "expected": _by_path("#/$defs/entry", f"Every file that must exist afterwards, nothing else may. {_PATHS}"),
        "compare": {
            "type": "object",
            "additionalProperties": {"enum": list(COMPARES)},
            "description": f"Default bytes. {_PATHS}",
        },
        "ignore": _texts("Globs over whole relative paths that are left out of the comparison."),
        "observe": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "Name -> shell line, run afterwards.",
        },
        "expected_observed": _by_path("#/$defs/content", "What an observer must print, byte for byte."),
        "expected_exit": {"type": "integer", "minimum": 0, "maximum": 255, "description": "Only where the exit status matters."},
        "env": {"type": "object", "additionalProperties": {"type": "string"}, "description": "{work}: the work directory."},
        "settle_s": {"type": "number", "minimum": 0, "maximum": 60, "description": "The state is read so many seconds later."},
        "timeout_s": {"type": "number", "minimum": 0.01, "maximum": 600},
        "infeasible": _text("Why the task can't be done; it has no 'oracle', and 'expected' may be left out: it is the fixture."),
        "secrets": {
            "type": "object",
            "additionalProperties": {"$ref": "#/$defs/secret"},
            "description": "Values of the fixture that may stand only in the files that 'allowed' names.",
        },
        "oracle": _text("A right command for bash -c."),
        "naive": _text("The tempting wrong command; right on tier 0."),
        "meta": {"type": "object"},
    }


def _entry() -> dict[str, Any]:
    fields = {
        "text": {"type": "string"},
        "base64": {"type": "string"},
        "symlink": {"type": "string"},
        "directory": {"const": True},
        "mode": {"type": "string", "pattern": r"^((0o)?[0-7]{3,5}|\{\{.+\}\})$", "description": "Octal; a template may give it."},
    }
    return {"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": False, "properties": fields}]}


def _content() -> dict[str, Any]:
    fields = {"text": {"type": "string"}, "base64": {"type": "string"}}
    return {"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": False, "properties": fields}]}


def _secret() -> dict[str, Any]:
    fields = {
        "text": {"type": "string"},
        "base64": {"type": "string"},
        "allowed": _texts("Globs over whole relative paths."),
    }
    return {"type": "object", "additionalProperties": False, "properties": fields}


def _program() -> dict[str, Any]:
    """The settings of a program depend on its kind; which ones, is checked when a family is read."""
    kinds = ["argv-recorder", "env-recorder", "remote-shell", "stub", "script"]
    record = _text("Stubs: every call is appended to this file in the work directory, answered or not, as argv-recorder does.")
    return {"type": "object", "required": ["kind"], "properties": {"kind": {"enum": kinds}, "record": record}}


def _name() -> dict[str, Any]:
    return {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"}


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "description": description}


def _texts(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string", "minLength": 1}, "description": description}


def _by_path(reference: str, description: str) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": {"$ref": reference}, "description": description}
