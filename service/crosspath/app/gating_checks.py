"""What a gate asks of its evidence beside the policy: that what is judged is what was evaluated, and that both sides met the
same machine."""

from collections.abc import Iterator, Mapping, Sequence

from crosspath.pipeline.configurations import configuration_of, from_spec
from crosspath.pipeline.gate import GateOutcome
from crosspath.pipeline.toolchains import mixture
from crosspath.types import Evidence, EvidenceCheck, Facts, Trial, digest

AGAIN = "evaluate the candidate as it is now (crosspath run), then gate that evaluation"
"""What helps where evidence is not about what would be released."""


def candidate_configuration(evidence: Evidence, replayed: Facts, candidate: str) -> dict[str, str]:
    """The configuration of a candidate as its evaluation had it; texts and tasks are those of the replay, which are the same."""
    known = replayed.model_copy(update={"head": evidence.head, "lock": evidence.lock, "cells": evidence.cells})
    return configuration_of(known, next(one for one in evidence.lock.candidates if one.name == candidate))


def paths_check(side: str, evidence: Evidence, replayed: Facts) -> EvidenceCheck:
    """Whether every reply travelled now as it did when it was evaluated: the same layers, the same harness."""
    before = {(cell.candidate, cell.name, cell.control): (cell.transport, cell.path) for cell in evidence.cells}
    now = {(cell.candidate, cell.name, cell.control): (cell.transport, cell.path) for cell in replayed.cells}
    changed = {then[0]: (then[1], now[key][1]) for key, then in before.items() if key in now and now[key] != then}
    own = {spec.name for spec in replayed.path_specs if spec.external}
    words = "; ".join(
        f"{'the harness' if name in own else 'the path'} {name} is not what was evaluated (digest {was[:12]}, now {is_[:12]})"
        for name, (was, is_) in changed.items()
    )
    paths = len({path for _, path in now.values()})
    sentence = words or f"all {paths} paths are as they were evaluated"
    return EvidenceCheck(name=f"{side} paths", ok=not changed, sentence=sentence)


def toolchain_check(side: Facts) -> EvidenceCheck:
    """Of a candidate alone: whether all its replays ran with the same programs, in the same sandbox."""
    mixed = (mixture(side) or "").rstrip(".")
    sentence = mixed or "all replies were executed with the same programs in the same sandbox"
    return EvidenceCheck(name="same toolchain", ok=not mixed, sentence=sentence)


def spec_check(evidence: Mapping[str, str], spec: Mapping[str, str]) -> EvidenceCheck:
    """Whether the spec that would be released resolves to what was evaluated, field by field."""
    was, is_ = from_spec(evidence), from_spec(spec)
    names = [name for name in sorted(was.keys() | is_.keys()) if was.get(name, "unset") != is_.get(name, "unset")]
    words = ", ".join(f"{name} ({_short(was.get(name, 'unset'))}, now {_short(is_.get(name, 'unset'))})" for name in names)
    sentence = f"it is not what was evaluated: {words}" if names else f"it is what was evaluated, in all {len(was)} fields"
    return EvidenceCheck(name="spec", ok=not names, sentence=sentence)


def sides_check(
    ours: tuple[Evidence, Facts], theirs: tuple[Evidence, Facts], pairs: Sequence[tuple[str, str]], unchanged: bool = False
) -> EvidenceCheck:
    """Whether the two sides are two: the same replies of the same configuration are never worse than themselves.

    ``pairs``: which candidate is compared with which. ``unchanged``: the policy lets them be the same.
    Only what a spec decides counts: the programs of the day or the evaluation that replies are in make nothing else of them.
    """
    known = [pair for pair in pairs if _has(ours[0], pair[0]) and _has(theirs[0], pair[1])]  # others are told elsewhere
    same = [pair for pair in known if _standing(*ours, pair[0]) == _standing(*theirs, pair[1])]
    sentence = "the two sides are different replies, or different configurations"
    if same:
        places = " and ".join(f"{name} of {side[0].head.id}" for name, side in zip(same[0], (ours, theirs), strict=True))
        ending = "nothing changed, which the policy allows" if unchanged else "a comparison with itself shows nothing"
        sentence = f"{places} are the same replies of the same configuration: {ending}"
    return EvidenceCheck(name="two sides", ok=unchanged or not same, sentence=sentence)


def _has(evidence: Evidence, candidate: str) -> bool:
    return any(one.name == candidate for one in evidence.lock.candidates)


def _standing(evidence: Evidence, replayed: Facts, candidate: str) -> tuple[str, dict[str, str]]:
    own = next(one for one in evidence.lock.candidates if one.name == candidate).generation.digest
    trials = [trial for trial in replayed.trials if trial.key.generation == own]
    return replies_digest(trials), from_spec(candidate_configuration(evidence, replayed, candidate))


def replies_digest(trials: Sequence[Trial]) -> str:
    """Over the keys and replies of trials, in whatever order; a trial without a reply counts with its fault's type."""
    rows = [
        [trial.request.key, trial.reply.to_json() if trial.reply else None, trial.fault and trial.fault.type] for trial in trials
    ]
    return digest(sorted(rows, key=str))


def baseline_check(reason: str) -> EvidenceCheck:
    """There is no baseline, and rules need one."""
    return EvidenceCheck(name="baseline", ok=False, sentence=reason.rstrip("."))


def with_checks(outcome: GateOutcome, further: Sequence[EvidenceCheck]) -> GateOutcome:
    """The outcome with further checks of the evidence; one that does not hold makes it INVALID, whatever else was found."""
    failed = [check for check in further if not check.ok]
    checks = (*further, *outcome.checks)
    if not failed:
        return GateOutcome(outcome.status, checks, outcome.rules, outcome.reasons, outcome.next_steps)
    invalid = outcome.status == "INVALID"
    reasons = (*(f"{check.name}: {check.sentence}" for check in failed), *(outcome.reasons if invalid else ()))
    steps = (*_steps(failed), *(outcome.next_steps if invalid else ()))
    return GateOutcome("INVALID", checks, outcome.rules, reasons, tuple(dict.fromkeys(steps)))


def _steps(failed: Sequence[EvidenceCheck]) -> Iterator[str]:
    for check in failed:
        if check.name == "same toolchain":
            yield "gate again: both sides are then replayed from the start"
        elif check.name == "two sides":
            yield (
                "name what is deployed today as the baseline; where that is the candidate itself there is nothing to release"
                " (`allow_unchanged: true` in the policy's evidence lets it pass)"
            )
        elif check.name == "baseline":
            yield "name a baseline that can be read with --baseline, or gate with a policy without rules against one"
        elif check.name.startswith("baseline"):
            yield "bring back what the baseline was evaluated with, or evaluate the baseline again with what there is now"
        else:
            yield AGAIN


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
