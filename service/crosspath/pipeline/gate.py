"""The gate's decision: a pure function of a policy and the evidence of both sides.

INVALID wins over everything, because nothing follows from evidence that can't be used; then FAIL, then INCONCLUSIVE, then PASS.
For PASS each blocking rule has to be shown at alpha by itself: the risk that all are shown although one does not hold is alpha at
most (an intersection-union test; Berger 1982, Multiparameter hypothesis testing and acceptance sampling, Technometrics 24). For
FAIL one is enough, so the p-values against the rules are adjusted by Holm over the blocking ones. Rules that only warn take no
part in either.
"""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crosspath.analysis.gate_rules import Weighed, weigh
from crosspath.analysis.gate_words import rule_result
from crosspath.analysis.simultaneous import holm
from crosspath.pipeline.gate_checks import Side, evidence_checks
from crosspath.pipeline.gate_evidence import Evaluated
from crosspath.ports import Validator
from crosspath.types import EvidenceCheck, Facts, GateStatus, Judgement, Policy, PolicyRule, RuleResult


@dataclass(frozen=True)
class GateInput:
    """One side: an evaluation, and which of its candidates is meant."""

    facts: Facts
    judgement: Judgement
    candidate: str


@dataclass(frozen=True)
class GateOutcome:
    """What was found, and what follows."""

    status: GateStatus
    checks: tuple[EvidenceCheck, ...]
    rules: tuple[RuleResult, ...]
    reasons: tuple[str, ...]
    """Why, the one that decided first; never empty."""
    next_steps: tuple[str, ...]


def judge_gate(
    policy: Policy, candidate: GateInput, baseline: GateInput | None = None, validator: Validator | None = None
) -> GateOutcome:
    """Whether the candidate may be released.

    ``validator``: what the suites were judged with, to audit them by mutations; None: they can't be audited, which is INVALID
    unless the policy asks for no mutation to be rejected.

    Raises:
        ValidatorError: a suite could not be carried out.
    """
    ours = _side("candidate", policy.blocking, candidate, Evaluated(candidate.facts, candidate.judgement, validator))
    theirs = None
    if baseline is not None:
        same = baseline.facts is candidate.facts and baseline.judgement is candidate.judgement
        evaluated = ours.evaluated if same else Evaluated(baseline.facts, baseline.judgement, validator)
        against = [rule for rule in policy.blocking if rule.against_baseline]
        theirs = _side("baseline", against, baseline, evaluated)
    checks = evidence_checks(policy.evidence, ours, theirs)
    rules = concluded([_weighed(rule, policy.alpha, ours, theirs) for rule in policy.rules], policy.alpha)
    status = status_of(checks, rules)
    steps = (*_next_steps(status, checks, rules), *(_where_to_look(candidate, baseline) if status == "FAIL" else ()))
    return GateOutcome(status, checks, rules, tuple(_reasons(status, checks, rules)), steps)


def _side(name: str, rules: Sequence[PolicyRule], given: GateInput, evaluated: Evaluated) -> Side:
    others = (rule.candidate for rule in rules if rule.candidate is not None)
    return Side(name, evaluated, tuple(dict.fromkeys((given.candidate, *others))))


def _weighed(rule: PolicyRule, alpha: float, candidate: Side, baseline: Side | None) -> Weighed:
    """A rule about another candidate is compared with the one of the same name in the baseline's evaluation."""
    evidence = candidate.evaluated.evidence(rule, rule.candidate or candidate.candidates[0])
    other = None
    if rule.against_baseline and baseline is not None:
        other = baseline.evaluated.evidence(rule, rule.candidate or baseline.candidates[0])
    return weigh(rule, alpha, evidence, other)


def concluded(weighed: Sequence[Weighed], alpha: float) -> tuple[RuleResult, ...]:
    """The rules in their order, those that block adjusted for their number before one of them is called violated."""
    places = [at for at, one in enumerate(weighed) if one.rule.tier == "block" and one.p_violated is not None]
    adjusted = dict(zip(places, holm([p for at in places if (p := weighed[at].p_violated) is not None]), strict=True))
    return tuple(rule_result(one, alpha, adjusted.get(at)) for at, one in enumerate(weighed))


def status_of(checks: Sequence[EvidenceCheck], rules: Sequence[RuleResult]) -> GateStatus:
    """INVALID over FAIL over INCONCLUSIVE over PASS; without a blocking rule that was looked at nothing passes."""
    blocking = [rule for rule in rules if rule.tier == "block"]
    if any(not check.ok for check in checks) or any(rule.state == "unusable" for rule in blocking):
        return "INVALID"
    if any(rule.state == "violated" for rule in blocking):
        return "FAIL"
    return "PASS" if blocking and all(rule.state == "shown" for rule in blocking) else "INCONCLUSIVE"


def _reasons(status: GateStatus, checks: Sequence[EvidenceCheck], rules: Sequence[RuleResult]) -> Iterator[str]:
    blocking = [rule for rule in rules if rule.tier == "block"]
    if status == "INVALID":
        yield from (f"{check.name}: {check.sentence}" for check in checks if not check.ok)
        yield from (rule.sentence for rule in blocking if rule.state == "unusable")
    elif status == "FAIL":
        violated = [rule for rule in blocking if rule.state == "violated"]
        yield from (rule.sentence for rule in sorted(violated, key=lambda rule: (rule.p_violated or 0.0, rule.name)))
    elif status == "INCONCLUSIVE":
        yield from (rule.sentence for rule in blocking if rule.state == "undecided")
    else:
        yield from (rule.sentence for rule in blocking)


_STEPS = {
    "control": "read the report of that side: as long as its control does not hold, no number of it means anything",
    "coverage": "run the same spec again: it asks for what is missing only",
    "faults": "run the same spec again: it asks for what is missing only",
    "unstable": "read which trials are unstable in the report, and make those commands or tasks repeatable",
    "held-out": "gate on held-out tasks alone: `partition: heldout`",
    "families": "choose more families in the spec",
    "tasks": "choose more tasks in the spec, or the same ones on both sides",
    "trials": "raise `trials` in the spec",
    "hostile": "choose tasks of tier 1 to 3, too",
    "suite": "judge again with an allowed suite: `crosspath validate`",
    "toolchain": "replay both sides in one session on this machine, as `crosspath gate` does",
    "reference": "evaluate both sides with the same `reference`",
    "known": "name a candidate that is in the evaluation",
}
"""Last word of a check's name -> what to do about it."""


def _next_steps(status: GateStatus, checks: Sequence[EvidenceCheck], rules: Sequence[RuleResult]) -> Iterator[str]:
    blocking = [rule for rule in rules if rule.tier == "block"]
    if status == "INVALID":
        failed = [check.name for check in checks if not check.ok]
        words = ["suite" if name.startswith("suite ") else name.split()[-1] for name in failed]
        yield from dict.fromkeys(_STEPS[word] for word in words if word in _STEPS)
        if any(rule.state == "unusable" for rule in blocking):
            yield "take out the rules that can't be judged with this evidence, or give the evidence that they ask for"
    elif status == "INCONCLUSIVE":
        yield from (f"{rule.name}: {rule.needs}" for rule in blocking if rule.state == "undecided" and rule.needs)


def _where_to_look(candidate: GateInput, baseline: GateInput | None) -> Iterator[str]:
    """Commands about the evaluations that were asked for, not about their replays for this gate."""
    yield f"read where it was lost: crosspath report {_evaluation(candidate)}"
    if baseline is not None:
        sides = (f"{_evaluation(side)}:{side.candidate}" for side in (baseline, candidate))
        yield f"see what made the difference: crosspath compare {shlex.join(sides)}"


def _evaluation(side: GateInput) -> str:
    return side.facts.head.derived_from or side.facts.head.id
