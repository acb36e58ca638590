"""The axes of a configuration: which fields belong to each, which of them matter to a reply or a replay, and where a cell lies.

A cell has a contract and a path of its own; the rest is its candidate's and its evaluation's. Names never matter where a digest
says what they stand for.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from crosspath.errors import ConfigError
from crosspath.pipeline.configurations import candidate_values, cell_values, flat, shared_values
from crosspath.strict_yaml import load_yaml
from crosspath.types import Axis, External, Facts, FieldDifference, PlannedCell, digest

SEPARABLE: tuple[Axis, ...] = (
    "model", "served model", "contract", "transport", "operating point", "harness", "request style", "tools", "toolchain",
    "packages",
)  # fmt: skip
"""Axes that a cell has a place on. Tasks are compared where both have them, other validators are not compared, and the reference
is where other cells start from."""
SHARED: frozenset[Axis] = frozenset({"toolchain", "packages"})
"""Axes that all cells of an evaluation share."""
_PREFIXES: tuple[tuple[str, Axis], ...] = (
    ("model.served", "served model"), ("model.fingerprint", "served model"), ("model", "model"), ("contract", "contract"),
    ("transport", "transport"), ("op", "operating point"), ("harness", "harness"), ("request_style", "request style"),
    ("validator", "validator"), ("tools", "tools"), ("tasks", "tasks"), ("trials", "tasks"), ("reference", "reference"),
    ("toolchain", "toolchain"), ("packages", "packages"),
)  # fmt: skip
_NAMED = ("contract", "transport", "request_style", "validator", "tasks")
"""What a digest stands for, whatever it is called."""
_INERT = {
    "model.prices": "a price changes no reply",
    "model.api_key_env": "the same endpoint answers, whichever variable holds the key",
    "commit": "layers, decoders, contracts and suites have versions or digests of their own",
    "dirty": "layers, decoders, contracts and suites have versions or digests of their own",
    "trials": "more draws, and no other ones: trials are averaged within their task",
    "reference": "cells as deployed don't depend on it; it is where damage is measured from",
}
UNSET = "unset"
Fields = Mapping[str, str]
Place = Mapping[Axis, str]
"""Axis -> digest of the fields that matter."""


def axis_of(field: str) -> Axis:
    """The axis that a field of the flattened configuration belongs to."""
    known: Axis | None = next((axis for prefix, axis in _PREFIXES if _is_below(field, prefix)), None)
    return known or "names and code"


def differences(a: "CellFields", b: "CellFields") -> tuple[FieldDifference, ...]:
    """Every field in which two cells differ, in the order of the axes; those that can't matter say why."""
    first, second = a.fields, b.fields
    values = {field: (first.get(field, UNSET), second.get(field, UNSET)) for field in dict.fromkeys([*first, *second])}
    changed = {field: pair for field, pair in values.items() if pair[0] != pair[1]}
    order: list[Axis] = [*dict.fromkeys(axis for _, axis in _PREFIXES), "names and code"]
    found = [_difference(field, *pair, changed.keys()) for field, pair in changed.items()]
    return tuple(sorted(found, key=lambda one: order.index(one.axis)))


def _difference(field: str, a: str, b: str, changed: Collection[str]) -> FieldDifference:
    why = _why_inert(field)
    named = _named(field)
    if not why and named and f"{named}.digest" not in changed:
        why = "another name or version of the same content, by its digest"
    return FieldDifference(axis=axis_of(field), field=field, a=a, b=b, inert=bool(why), why=why)


def _why_inert(field: str) -> str:
    why = next((why for prefix, why in _INERT.items() if _is_below(field, prefix)), "")
    return why or ("nothing that is sent or run depends on it" if axis_of(field) == "names and code" else "")


def _named(field: str) -> str | None:
    return next((prefix for prefix in _NAMED if _is_below(field, prefix)), None)


def _is_below(field: str, prefix: str) -> bool:
    return field == prefix or field.startswith(prefix + ".")


@dataclass(frozen=True)
class CellFields:
    """The whole configuration that one cell was observed with."""

    fields: Fields

    @cached_property
    def place(self) -> Place:
        """Where the cell lies on each axis."""
        mattering: dict[Axis, dict[str, str]] = {axis: {} for axis in SEPARABLE}
        for field, value in self.fields.items():
            axis = axis_of(field)
            if axis in mattering and not _why_inert(field) and self._tells(field):
                mattering[axis][field] = value
        return {axis: digest(dict(fields)) for axis, fields in mattering.items()}

    def _tells(self, field: str) -> bool:
        """A name counts only where no digest says what it stands for."""
        named = _named(field)
        return named is None or field == f"{named}.digest" or self.fields.get(f"{named}.digest", UNSET) == UNSET


class Configurations:
    """The configurations of the cells of one evaluation."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._shared = shared_values(facts)
        self._candidates = {candidate.name: candidate for candidate in facts.lock.candidates}
        self._texts = {text.digest: text for text in facts.transports}

    def of(self, cell: PlannedCell) -> CellFields:
        """Its candidate's configuration, with the contract and the path of the cell."""
        candidate = self._candidates[cell.candidate]
        transport = candidate.transport if cell.done == "N" else self._facts.lock.reference.transport
        own = cell_values(self._facts, cell.contract, transport) | {"transport.digest": self._path_alone(cell)}
        values = candidate_values(self._facts, candidate) | own | self._shared
        return CellFields({"name": f"{self._facts.head.id}:{candidate.name}", **flat(values)})

    def _path_alone(self, cell: PlannedCell) -> str | None:
        """Digest of what the path itself does: its stored digest holds the clean-up and the contract's decoder, too."""
        text = self._texts.get(cell.path)
        try:
            document = load_yaml(text.content, "path") if text else None
        except ConfigError:
            return None
        if not isinstance(document, dict):
            return None
        if external := document.get("external"):
            return digest(External.model_validate(external).identity)
        if "layers" not in document:
            return None
        layers = [{key: value for key, value in layer.items() if key != "does"} for layer in document["layers"]]
        return digest([document.get("delivery"), layers])
