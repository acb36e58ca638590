"""The gate's decision: a pure function of a policy and the evidence of both sides.

INVALID wins over everything, because nothing follows from evidence that can't be used; then FAIL, then INCONCLUSIVE, then PASS.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from crosspath.ports import Validator
from crosspath.types import EvidenceCheck, Facts, GateStatus, Judgement, Policy, RuleResult


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
    checks: tuple[EvidenceCheck, ...] = ()
    rules: tuple[RuleResult, ...] = ()
    status = status_of(checks, rules)
    return GateOutcome(status, checks, rules, ("nothing is judged yet",), ())


def status_of(checks: Sequence[EvidenceCheck], rules: Sequence[RuleResult]) -> GateStatus:
    """INVALID over FAIL over INCONCLUSIVE over PASS; without a blocking rule that was looked at nothing passes."""
    blocking = [rule for rule in rules if rule.tier == "block"]
    if any(not check.ok for check in checks) or any(rule.state == "unusable" for rule in blocking):
        return "INVALID"
    if any(rule.state == "violated" for rule in blocking):
        return "FAIL"
    return "PASS" if blocking and all(rule.state == "shown" for rule in blocking) else "INCONCLUSIVE"
