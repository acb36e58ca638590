"""The configuration of an evaluation as MLflow params: pure functions of the records."""

from collections import Counter
from collections.abc import Mapping

from crosspath.adapters.mlflow_tracker.names import UNSET, flatten, value_text
from crosspath.types import (
    Candidate,
    Cell,
    Facts,
    Lock,
    Text,
    digest,
)


def shared_params(facts: Facts) -> dict[str, str]:
    """What all runs of the evaluation have in common: tasks, reference, toolchain, packages, code."""
    lock = facts.lock
    toolchain = lock.toolchain.model_dump(mode="json") if lock.toolchain else {"sandbox": None}
    values: dict[str, object] = {
        "reference": {"contract": lock.reference.contract, "transport": lock.reference.transport},
        "trials": lock.trials,
        "tasks": {"count": len(lock.tasks), "digest": digest(dict(lock.tasks)), **_partitions(facts)},
        "kind": facts.head.kind,
        "spec.digest": facts.head.spec_digest,
        "lock.digest": lock.digest,
        "toolchain": toolchain,
        "packages": dict(lock.packages),
        "commit": lock.commit or None,
        "dirty": lock.dirty,
    }
    return _texts(values)


def _partitions(facts: Facts) -> dict[str, object]:
    """Which partitions there are, how many tasks are held out, and how many draws of a variant at most."""
    draws = Counter(task.twin or task.id for task in facts.tasks if task.partition == "heldout")
    kinds = sorted({task.partition for task in facts.tasks})
    partition = "both" if len(kinds) == 2 else "".join(kinds)
    return {"partition": partition, "heldout": draws.total(), "heldout_draws": max(draws.values(), default=0)}


def parent_params(facts: Facts) -> dict[str, str]:
    """The shared part and the names of the candidates; each candidate's own fields are on its nested runs."""
    return _texts({"candidates": ", ".join(one.name for one in facts.lock.candidates)}) | shared_params(facts)


def cell_params(facts: Facts, candidate: Candidate, cell: Cell) -> dict[str, str]:
    """Every configuration field of one nested run. ``contract`` and ``transport`` are the cell's, so that columns line up."""
    generation, lock = candidate.generation, facts.lock
    point = {key: UNSET if value is None else value for key, value in generation.operating_point.model_dump(mode="json").items()}
    model = generation.model
    values: dict[str, object] = {
        "candidate": candidate.name,
        "candidate.contract": generation.contract,
        "candidate.transport": candidate.transport,
        "model": model.name,
        "model.served": ", ".join(lock.served_models.get(model.name, ())) or None,
        "model.fingerprint": ", ".join(lock.fingerprints.get(model.name, ())) or None,
        "model.api_base": model.api_base,
        "model.api_key_env": model.api_key_env,
        "model.params": model.params,
        "model.prices": model.prices.model_dump(mode="json") if model.prices else None,
        "op": point,
        "harness": candidate.harness,
        "request_style": generation.request_style,
        "request_style.version": _version(facts.styles, generation.request_style),
        "request_style.digest": lock.styles.get(generation.request_style),
        "tools": ", ".join(generation.tools) if generation.tools is not None else "all",
        "validator": candidate.validator,
        "validator.digest": lock.suites.get(candidate.validator),
        "contract": cell.contract,
        "contract.version": _version(facts.contracts, cell.contract),
        "contract.digest": lock.contracts.get(cell.contract),
        "transport": cell.transport,
        "transport.version": _version(facts.transports, cell.transport),
        "transport.digest": lock.transports.get(cell.transport),
    }
    return _texts(values) | shared_params(facts)


def lock_candidate(lock: Lock, name: str) -> Candidate | None:
    """The candidate of that name."""
    return next((one for one in lock.candidates if one.name == name), None)


def _version(texts: tuple[Text, ...], name: str) -> str | None:
    return next((text.version or None for text in texts if text.name == name), None)


def _texts(values: Mapping[str, object]) -> dict[str, str]:
    return {name: value_text(value) for name, value in flatten(values)}
