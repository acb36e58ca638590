"""One candidate's whole configuration: every field that was asked, and what it resolved to.

It is what MLflow shows as params, what two candidates are compared by, and what must be equal before anything is promoted.
"""

import json
from collections import Counter
from collections.abc import Mapping
from typing import cast

from crosspath.types import Candidate, Facts, Text, digest


def configuration_of(facts: Facts, candidate: Candidate) -> dict[str, str]:
    """Every field of the candidate by its dotted name, as text; what was not set is ``unset``."""
    contract, transport = candidate.generation.contract, candidate.transport
    return flat(candidate_values(facts, candidate) | cell_values(facts, contract, transport) | shared_values(facts))


NOT_IN_A_SPEC = (
    "model.served", "model.fingerprint", "kind", "spec.digest", "lock.digest", "toolchain", "packages", "commit", "dirty",
)  # fmt: skip
"""Fields, or what stands before the dot of theirs, that are found out when it runs, or are of the whole evaluation."""


def from_spec(configuration: Mapping[str, str]) -> dict[str, str]:
    """The fields that a spec decides for its candidate, before anything was asked or executed."""
    return {
        name: value
        for name, value in configuration.items()
        if not any(name == one or name.startswith(f"{one}.") for one in NOT_IN_A_SPEC)
    }


def candidate_values(facts: Facts, candidate: Candidate) -> dict[str, object]:
    """The candidate's own axes, but for contract and path, which each cell has its own of; mappings are nested."""
    generation, lock = candidate.generation, facts.lock
    model = generation.model
    return {
        "model": model.name,
        "model.served": ", ".join(lock.served_models.get(model.name, ())) or None,
        "model.fingerprint": ", ".join(lock.fingerprints.get(model.name, ())) or None,
        "model.api_base": model.api_base,
        "model.api_key_env": model.api_key_env,
        "model.params": model.params,
        "model.prices": model.prices.model_dump(mode="json") if model.prices else None,
        "op": generation.operating_point.model_dump(mode="json"),
        "harness": candidate.harness,
        "request_style": generation.request_style,
        "request_style.version": _version(facts.styles, generation.request_style),
        "request_style.digest": lock.styles.get(generation.request_style),
        "tools": ", ".join(generation.tools) if generation.tools is not None else "all",
        "validator": candidate.validator,
        "validator.digest": lock.suites.get(candidate.validator),
    }


def cell_values(facts: Facts, contract: str, transport: str) -> dict[str, object]:
    """What the model was told, and how its reply was executed."""
    lock = facts.lock
    return {
        "contract": contract,
        "contract.version": _version(facts.contracts, contract),
        "contract.digest": lock.contracts.get(contract),
        "transport": transport,
        "transport.version": _version(facts.transports, transport),
        "transport.digest": lock.transports.get(transport),
    }


def shared_values(facts: Facts) -> dict[str, object]:
    """What all candidates of the evaluation have in common: tasks, reference, toolchain, packages, code."""
    lock = facts.lock
    toolchain = lock.toolchain.model_dump(mode="json") if lock.toolchain else {"sandbox": None}
    return {
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


def flat(value: Mapping[str, object], prefix: str = "") -> dict[str, str]:
    """Nested mappings as dotted names with their values as text; an empty mapping is left out."""
    found: dict[str, str] = {}
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            found |= flat(cast(Mapping[str, object], inner), f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = _text(inner)
    return found


def _text(value: object) -> str:
    if value is None:
        return "unset"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


def _partitions(facts: Facts) -> dict[str, object]:
    """Which partitions there are, how many tasks are held out, and how many draws of a variant at most."""
    draws = Counter(task.twin or task.id for task in facts.tasks if task.partition == "heldout")
    kinds = sorted({task.partition for task in facts.tasks})
    partition = "both" if len(kinds) == 2 else "".join(kinds)
    return {"partition": partition, "heldout": draws.total(), "heldout_draws": max(draws.values(), default=0)}


def _version(texts: tuple[Text, ...], name: str) -> str | None:
    return next((text.version or None for text in texts if text.name == name), None)
