"""Candidates that share everything but the model, and how models and configurations are called beside each other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from crosspath.pipeline.fact_index import flatten
from crosspath.types import Candidate, PlannedCell, digest

_NOT_THE_MODEL = {"prices", "api_key_env"}
"""What a model costs, and under which key it is called, makes it no other model."""


@dataclass(frozen=True)
class Configuration:
    """One configuration, and the candidates that have it: model's label -> candidate."""

    candidates: Mapping[str, Candidate]


def configurations(candidates: Sequence[Candidate]) -> tuple[Configuration, ...]:
    """Groups of candidates that share everything but the model, in the order given; of two alike the first stands for both."""
    labels = model_labels(candidates)
    groups: dict[str, dict[str, Candidate]] = {}
    for candidate in candidates:
        fields = candidate.model_dump(mode="json", exclude={"name": True, "generation": {"model"}})
        groups.setdefault(digest(fields), {}).setdefault(labels[candidate.name], candidate)
    return tuple(map(Configuration, groups.values()))


def model_labels(candidates: Iterable[Candidate]) -> dict[str, str]:
    """Candidate -> label of its model: its name, with what tells it from others of the same name."""
    models = {candidate.name: _identity(candidate) for candidate in candidates}
    return {
        name: _label(model, [other for other in models.values() if other["name"] == model["name"]])
        for name, model in models.items()
    }


def _identity(candidate: Candidate) -> dict[str, str]:
    return flatten(candidate.generation.model.model_dump(mode="json", exclude=_NOT_THE_MODEL))


def _label(model: Mapping[str, str], namesakes: Sequence[Mapping[str, str]]) -> str:
    apart = differing(namesakes)
    return f"{model['name']} ({_said(model, apart)})" if apart else model["name"]


def differing(described: Sequence[Mapping[str, str]]) -> list[str]:
    """Fields in which the descriptions are not all alike, sorted."""
    fields = sorted({field for one in described for field in one})
    return [field for field in fields if len({one.get(field, "unset") for one in described}) > 1]


def arrangement_fields(candidate: Candidate, cell: PlannedCell) -> dict[str, str]:
    """Everything but the model that a cell's outcome depends on: field -> value."""
    generation = cell.generation.model_dump(mode="json", exclude={"model"})
    return flatten(
        {"contract": cell.contract, "transport": cell.transport, "harness": candidate.harness, "validator": cell.validator}
        | {key: value for key, value in generation.items() if key != "contract"}
    )


def arrangement_label(fields: Mapping[str, str], apart: Iterable[str]) -> str:
    """``told raw, run on nested-shell``, with the other fields that are named ``apart``."""
    words = f"told {fields['contract']}, run on {fields['transport']}"
    others = _said(fields, [field for field in apart if field not in ("contract", "transport")])
    return f"{words}, {others}" if others else words


def _said(fields: Mapping[str, str], names: Iterable[str]) -> str:
    return ", ".join(f"{name.removeprefix('operating_point.')} {fields.get(name, 'unset')}" for name in names)
