"""Verdicts for tests of what is made of them, without a gate."""

from typing import Any

from crosspath.types import EvidenceCheck, EvidenceRef, GateSide, GateStatus, Policy, PolicyRule, RuleResult, Verdict

HOSTILE = "</failure><b>x</b> ]]> & \x00\x1b[31m\ufffe `|` [a](http://b)\nnext line"
"""What a model, a name or a server might put into a sentence."""


def rule(name: str = "pass rate", state: str = "shown", **fields: Any) -> RuleResult:
    """One rule's result."""
    values = {"metric": "pass_rate", "tier": "block", "bound": 0.9, "direction": "at_least", "sentence": f"{name} is {state}."}
    return RuleResult.model_validate({"name": name, "state": state, **values, **fields})


def check(name: str = "control", ok: bool = True, sentence: str = "The control holds.") -> EvidenceCheck:
    """One check of the evidence."""
    return EvidenceCheck(name=name, ok=ok, sentence=sentence)


def side(candidate: str = "new", evaluation: str = "few-20261130-1") -> GateSide:
    """One side."""
    return GateSide(
        ref=EvidenceRef(evaluation=evaluation, candidate=candidate),
        evaluation=evaluation,
        created_at=1_764_400_000.0,
        candidate=candidate,
        lock_digest="0" * 64,
        configuration={"model": "baseline/adaptive"},
        replies_digest="1" * 64,
        replayed="few-20261130-2",
        bundle="candidate",
        bundle_digest="2" * 64,
    )


def verdict(status: GateStatus = "PASS", *rules: RuleResult, **fields: Any) -> Verdict:
    """A whole verdict; one rule that is shown where none is given."""
    values: dict[str, Any] = {
        "id": "gate-20261130-220000-abcdef",
        "policy": Policy(name="release", rules=(PolicyRule(metric="pass_rate", at_least=0.9),)),
        "policy_digest": "3" * 64,
        "candidate": side(),
        "baseline": side("old"),
        "checks": (check(),),
        "rules": rules or (rule(),),
        "reasons": ("pass rate is at least 90 %.",),
        "created_at": 1_764_400_100.0,
        "crosspath": "0.1.0",
    }
    return Verdict(status=status, **values | fields)
