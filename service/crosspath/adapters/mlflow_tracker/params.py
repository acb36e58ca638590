"""The configuration of an evaluation as MLflow params: pure functions of the records."""

from collections.abc import Mapping

from crosspath.adapters.mlflow_tracker.names import flatten, value_text
from crosspath.pipeline.configurations import candidate_values, cell_values, shared_values
from crosspath.types import Candidate, Cell, Facts, Lock


def shared_params(facts: Facts) -> dict[str, str]:
    """What all runs of the evaluation have in common: tasks, reference, toolchain, packages, code."""
    return _texts(shared_values(facts))


def parent_params(facts: Facts) -> dict[str, str]:
    """The shared part and the names of the candidates; each candidate's own fields are on its nested runs."""
    return _texts({"candidates": ", ".join(one.name for one in facts.lock.candidates)}) | shared_params(facts)


def cell_params(facts: Facts, candidate: Candidate, cell: Cell) -> dict[str, str]:
    """Every configuration field of one nested run. ``contract`` and ``transport`` are the cell's, so that columns line up."""
    who = {
        "candidate": candidate.name,
        "candidate.contract": candidate.generation.contract,
        "candidate.transport": candidate.transport,
    }
    values = candidate_values(facts, candidate) | cell_values(facts, cell.contract, cell.transport)
    return _texts(who | values) | shared_params(facts)


def lock_candidate(lock: Lock, name: str) -> Candidate | None:
    """The candidate of that name."""
    return next((one for one in lock.candidates if one.name == name), None)


def _texts(values: Mapping[str, object]) -> dict[str, str]:
    return {name: value_text(value) for name, value in flatten(values)}
