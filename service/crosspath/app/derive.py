"""New evaluations from old facts: other paths for the same replies, or another validator for the same final states."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from crosspath.app.harness_code import identify
from crosspath.app.resolve import Resolved, path_specs
from crosspath.errors import ConfigError
from crosspath.pipeline.plan import Plan, make_plan
from crosspath.spec import Spec, load_spec
from crosspath.spec.sections import LimitsSection
from crosspath.store.ledger import Ledger
from crosspath.styles import PLAIN
from crosspath.transports import assemble, find_path, parse_path, preset_names
from crosspath.types import Candidate, Contract, Facts, PathSpec, RequestStyle, Text, canonical_json, digest

LONGEST_NAME = 60
"""Letters of a candidate's name, as specs allow them."""
_HALF = 26
FOR_A_GATE = "replay as deployed, for a gate"
FOR_DRIFT = "replay as deployed, for drift"
"""Derivations of what a gate and a look at drift replay: nobody asked for it as an evaluation."""
UNASKED = (FOR_A_GATE, FOR_DRIFT)
MOST_NAMED = 6
"""So many paths at most are named in the words for a replay."""


def replay_resolved(
    source: Facts, transports: Sequence[str], own_paths: Mapping[str, Any], base: Path, *, every: bool = False
) -> Resolved:
    """The plan that sends every reply of ``source`` through each path, beside the reference.

    ``every``: through all that ship, those in ``own_paths`` and those of the source as well, where they fit its contracts.

    Raises:
        ConfigError: a path is not known, none is given, or none fits.
    """
    if not transports and not every:
        raise ConfigError("name at least one path, or give --all-transports", field="--transport")
    known = _paths(source, own_paths, base)
    for name in transports:
        _require_path(name, known)
    further = _every_path(source, own_paths, transports) if every else ()
    for name in {*transports, *further, source.lock.reference.transport} & known.keys():
        known[name] = identify(known[name], base)  # the harness as it is now, not as it was when the source ran
    candidates = _through(source, transports) + _fitting(source, further, known)
    if not candidates:
        raise ConfigError("no path fits the contracts of this evaluation", field="--all-transports")
    return _resolved(source, _plan(source, _named(candidates), known))


def deployed_resolved(source: Facts, names: Sequence[str], own_paths: Mapping[str, Any], base: Path) -> Resolved:
    """The plan that sends the replies of some candidates through their own paths once more, each as deployed and with its
    controls. Names, contracts and chains are those of the source; a harness of the user's own is taken as it is now.

    Raises:
        ConfigError: a harness is not there any more.
    """
    candidates = tuple(candidate for candidate in source.lock.candidates if candidate.name in names)
    used = {candidate.transport for candidate in candidates} | {source.lock.reference.transport}
    stored = {spec.name: spec for spec in source.path_specs}
    now = {name: _as_now(stored[name], source, own_paths, base) for name in used & stored.keys()}
    resolved = _resolved(source, _plan(source, candidates, stored | now))
    return replace(resolved, spec=resolved.spec.model_copy(update={"limits": LimitsSection()}))


def stored_plan(facts: Facts) -> Plan:
    """The plan that an evaluation followed, from what is stored of it: chains and harnesses as they were."""
    return _plan(facts, facts.lock.candidates, {spec.name: spec for spec in facts.path_specs})


def _as_now(spec: PathSpec, source: Facts, own_paths: Mapping[str, Any], base: Path) -> PathSpec:
    """A harness where the given spec has it, else where it was; a function is looked for as the source's spec names it."""
    if spec.external is None:
        return spec
    written = dict(source.head.spec.get("transports", {})) if spec.external.function else {}
    written |= own_paths
    if spec.name not in written:
        return identify(spec, base)
    return identify(parse_path(spec.name, written[spec.name], f"transports.{spec.name}"), base)


def derivation_words(resolved: Resolved) -> str:
    """``replay through nested-shell, ssh``; of many paths only how many: the words are part of names in MLflow."""
    through = dict.fromkeys(candidate.transport for candidate in resolved.plan.candidates)
    return f"replay through {', '.join(through) if len(through) <= MOST_NAMED else f'{len(through)} paths'}"


def _every_path(source: Facts, own_paths: Mapping[str, Any], transports: Sequence[str]) -> tuple[str, ...]:
    """Names of all paths but ``transports``: the reference first, then what ships, then the user's own, then the source's."""
    used = (candidate.transport for candidate in source.lock.candidates)
    names = dict.fromkeys((source.lock.reference.transport, *preset_names(), *own_paths, *used))
    return tuple(name for name in names if name not in transports)


def _fitting(source: Facts, transports: Sequence[str], known: Mapping[str, PathSpec]) -> list[Candidate]:
    """Candidates through those paths that can read what their contract asks for."""
    contracts = {contract.name: contract for contract in source.contract_specs}
    return [one for one in _through(source, transports) if _fits(one, contracts.get(one.generation.contract), known)]


def _fits(candidate: Candidate, contract: Contract | None, known: Mapping[str, PathSpec]) -> bool:
    return assemble(find_path(candidate.transport, known), contract, candidate.harness).fits is None


def _require_path(name: str, known: Mapping[str, PathSpec]) -> None:
    try:
        find_path(name, known)
    except ConfigError as error:
        raise ConfigError(error.problem, field="--transport") from None


def _paths(source: Facts, own_paths: Mapping[str, Any], base: Path) -> dict[str, PathSpec]:
    """Presets of today, then the source's own paths where they are no presets, then those given now."""
    known = path_specs(own_paths, base)
    return {spec.name: spec for spec in source.path_specs} | known


def _through(source: Facts, transports: Sequence[str]) -> list[Candidate]:
    """One candidate per old candidate and path; old candidates that only differ in their path fall together."""
    seen: dict[str, Candidate] = {}
    for candidate in source.lock.candidates:
        for transport in transports:
            new = candidate.model_copy(update={"transport": transport})
            identity = canonical_json(new.model_dump(mode="json", exclude={"name"}))
            name = candidate.name.removesuffix(f" via {candidate.transport}")  # a replay of a replay says only where it goes
            seen.setdefault(identity, new.model_copy(update={"name": f"{name} via {transport}"}))
    return list(seen.values())


def _named(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    names = _short([candidate.name for candidate in candidates])
    return tuple(one.model_copy(update={"name": name}) for one, name in zip(candidates, names, strict=True))


def _short(names: Sequence[str]) -> list[str]:
    """Names as a spec allows them: what is too long loses its middle, and gets a number where that makes two alike."""
    short: list[str] = []
    for name in names:
        allowed = re.sub(r"[^A-Za-z0-9_.\-/ ]", "-", name)
        new = allowed if len(allowed) <= LONGEST_NAME else f"{allowed[:_HALF]}...{allowed[-_HALF:]}"
        short.append(next(tried for tried in (new, *(f"{new} {n}" for n in range(2, len(names) + 2))) if tried not in short))
    return short


def _plan(source: Facts, candidates: Sequence[Candidate], known: Mapping[str, PathSpec]) -> Plan:
    contracts = {contract.name: contract for contract in source.contract_specs}
    return make_plan(
        candidates, source.lock.reference, source.tasks, contracts, known, source.lock.trials, _styles(source, candidates)
    )


def _styles(source: Facts, candidates: Sequence[Candidate]) -> dict[str, RequestStyle]:
    """The styles of the source as they were. A name without a text comes from a time when every request was plain."""
    kept = {text.name: RequestStyle(name=text.name, version=text.version, text=text.content) for text in source.styles}
    used = {candidate.generation.request_style for candidate in candidates}
    return {name: kept.get(name) or PLAIN.model_copy(update={"name": name}) for name in used}


def _resolved(source: Facts, plan: Plan) -> Resolved:
    used = {candidate.validator for candidate in plan.candidates}
    suites = {suite.name: suite for suite in source.suites if suite.name in used}
    return Resolved(_spec(source, plan.candidates), Path.cwd(), plan, suites, {})


def _spec(source: Facts, candidates: Sequence[Candidate]) -> Spec:
    """The source's spec with the new candidates in place of the old ones."""
    document: dict[str, Any] = {**source.head.spec, "models": {}, "candidates": {}}
    document.pop("deployment", None)  # nothing is sampled here, so it is no day of a deployment
    for number, candidate in enumerate(candidates):
        axes = candidate.model_dump(mode="json", exclude={"name"})
        axes |= axes.pop("generation")
        model = axes["model"]
        axes["model"] = f"model {number}"
        document["models"][axes["model"]] = {"model": model.pop("name"), **model}
        document["candidates"][candidate.name] = axes
    return load_spec(canonical_json(document), f"the spec of {source.head.id}")


def validate_resolved(source: Facts, suite: Text, ledger: Ledger) -> Facts:
    """``source`` with every candidate judged by ``suite``, under a new id; not written yet."""
    now = time.time()
    head = source.head.model_copy(
        update={
            "id": ledger.new_id(source.head.name, now),
            "created_at": now,
            "derived_from": source.head.id,
            "derivation": f"validate with {suite.name}",
            "spec_digest": digest([source.head.spec_digest, suite.digest]),
            "mlflow_run": None,
            "mlflow_uri": None,
            "status": "finished",
        }
    )
    candidates = tuple(c.model_copy(update={"validator": suite.name}) for c in source.lock.candidates)
    lock = source.lock.model_copy(update={"candidates": candidates, "suites": {suite.name: suite.digest}})
    cells = tuple(cell.model_copy(update={"validator": suite.name}) for cell in source.cells)
    return source.model_copy(
        update={"head": head, "lock": lock, "cells": cells, "suites": (suite,), "attempts": (), "sessions": ()}
    )
