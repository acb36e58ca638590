"""A gate's verdict for tests that need one without a gate."""

from pathlib import Path

from builders import STARTED_AT
from crosspath.types import EvidenceRef, GateSide, GateStatus, ModelVersion, Policy, PolicyRule, RuleResult, Verdict, digest

RULE = PolicyRule(name="right often enough", metric="pass_rate", at_least=0.8)


def verdict(
    evidence: ModelVersion, status: GateStatus = "PASS", *, number: int = 1, configuration: dict[str, str] | None = None
) -> Verdict:
    """A verdict about a version's own evaluation; ``configuration``: what its evidence was made with."""
    policy = Policy(name="release", rules=(RULE,))
    side = GateSide(
        ref=EvidenceRef(evaluation=evidence.evaluation),
        evaluation=evidence.evaluation,
        created_at=STARTED_AT,
        candidate=evidence.candidate,
        run=evidence.evaluation_run,
        lock_digest=digest("lock"),
        configuration=evidence.configuration if configuration is None else configuration,
        replies_digest=digest("replies"),
        replayed=f"{evidence.evaluation}-gate",
        bundle="candidate",
        bundle_digest=digest("bundle"),
    )
    shown = RuleResult(
        name=RULE.name,
        metric="pass_rate",
        tier="block",
        state="shown",
        sentence="right in 9 of 9",
        bound=0.8,
        direction="at_least",
    )
    return Verdict(
        id=f"gate-20261130-120000-{number:06d}",
        status=status,
        policy=policy,
        policy_digest=digest("policy"),
        candidate=side,
        checks=(),
        rules=(shown,),
        reasons=("right in 9 of 9",),
        created_at=STARTED_AT + 60,
        crosspath="0.0.0",
    )


def written(one: Verdict, directory: Path) -> Path:
    """Its directory, as a gate leaves it."""
    (directory / "candidate").mkdir(parents=True)
    (directory / "candidate" / "index.json").write_text("{}\n")
    (directory / "verdict.json").write_text(one.to_json())
    (directory / "verdict.md").write_text(f"# {one.status}\n")
    return directory
