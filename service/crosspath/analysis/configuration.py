"""The configuration as a table: every field of every candidate, and what the lock resolved it to."""

import json
from collections.abc import Mapping, Sequence
from typing import cast

from crosspath.analysis.wording import NONE, table
from crosspath.types import EvaluationHead, Lock, canonical_json, digest


def flatten(value: object, name: str = "") -> dict[str, str]:
    """Nested mappings as dotted names; lists and plain values as their text; None as ``unset``."""
    if isinstance(value, Mapping) and value:
        flat: dict[str, str] = {}
        for key, inner in cast(Mapping[str, object], value).items():
            flat |= flatten(inner, f"{name}.{key}" if name else str(key))
        return flat
    if value is None:
        return {name: "unset"}
    return {name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)}


def configuration_section(head: EvaluationHead, lock: Lock) -> str:
    """Candidates side by side, then what they share."""
    candidates = [flatten(candidate.model_dump(mode="json", exclude={"name"})) for candidate in lock.candidates]
    names = [candidate.name for candidate in lock.candidates]
    return (
        "## Configuration\n\n"
        + table(["field", *names], _side_by_side(candidates))
        + "\n"
        + table(["shared field", "value"], list(_shared(head, lock).items()))
    )


def _side_by_side(columns: Sequence[Mapping[str, str]]) -> list[list[str]]:
    fields = list(dict.fromkeys(field for column in columns for field in column))
    return [[field, *(column.get(field, NONE) for column in columns)] for field in fields]


def _choice(head: EvaluationHead) -> Mapping[str, object]:
    """Which tasks the spec asked for, in its own words; without what was left open. Of a seed it holds the variable's name."""
    asked = cast(Mapping[str, object], head.spec.get("tasks") or {})
    return {field: value for field, value in asked.items() if value not in (None, [])}


def _shared(head: EvaluationHead, lock: Lock) -> dict[str, str]:
    """The head and the lock, flattened. Tasks can be thousands: their number and one digest stand for them."""
    rest = lock.model_dump(mode="json", exclude={"candidates", "tasks", "sent_bodies"})
    tasks = {"tasks": f"{len(lock.tasks)}, digest {digest(dict(lock.tasks))}"} | flatten(_choice(head), "tasks")
    bodies = {f"sent_bodies.{key[:12]}": canonical_json(body) for key, body in lock.sent_bodies.items()}
    who = {"evaluation": head.id, "kind": head.kind, "spec digest": head.spec_digest, "lock digest": lock.digest}
    return who | flatten(rest) | tasks | bodies
