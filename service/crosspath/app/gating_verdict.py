"""From replayed evidence to a verdict, and the directory that holds everything it was drawn from.

A gate draws the verdict and writes the directory; an audit reads the directory and draws the verdict again.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path

import yaml

from crosspath import __version__
from crosspath.app.gating_checks import (
    baseline_check,
    candidate_configuration,
    paths_check,
    replies_digest,
    sides_check,
    spec_check,
    toolchain_check,
    with_checks,
)
from crosspath.app.gating_places import VERDICT
from crosspath.errors import StoreError, boundary
from crosspath.pipeline.gate import GateInput, judge_gate
from crosspath.ports import Validator
from crosspath.reports.gate_junit import gate_junit
from crosspath.reports.gate_markdown import gate_markdown
from crosspath.store.bundle import index_digest, write_bundle
from crosspath.types import Asked, AskedSide, Evidence, EvidenceRef, Facts, GateSide, Judgement, Policy, Verdict, digest

POLICY, MARKDOWN, JUNIT = "policy.yaml", "verdict.md", "junit.xml"
SIDES = ("candidate", "baseline")


@dataclass(frozen=True)
class Replayed:
    """One side after its replay."""

    ref: EvidenceRef
    candidate: str
    run: str | None
    evidence: Evidence
    facts: Facts
    judgement: Judgement
    bundle: str
    """Name of its bundle in the verdict's directory: that of the candidate where both sides are in one evaluation."""


@dataclass(frozen=True)
class Material:
    """Everything that a verdict is drawn from."""

    policy: Policy
    candidate: Replayed
    baseline: Replayed | None = None
    baseline_unreadable: str = ""
    spec_configuration: dict[str, str] | None = None

    @property
    def sides(self) -> tuple[Replayed, ...]:
        return (self.candidate, self.baseline) if self.baseline else (self.candidate,)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Of each side, as it is kept: the candidate's with what was asked."""
        sides = [AskedSide(ref=side.ref, candidate=side.candidate, run=side.run) for side in self.sides]
        asked = Asked(
            candidate=sides[0],
            baseline=sides[1] if self.baseline else None,
            baseline_unreadable=self.baseline_unreadable,
            spec_configuration=self.spec_configuration,
        )
        first, *others = (side.evidence for side in self.sides)
        return first.model_copy(update={"asked": asked}), *others


def verdict_id(now: float, token: str) -> str:
    """``gate-YYYYMMDD-HHMMSS-TOKEN``."""
    return f"gate-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{token}"


def evidence_file(side: str) -> str:
    """File beside the verdict with what the evaluation of a side said of itself."""
    return f"{side}-evidence.json"


def draw(material: Material, directory: Path, validator: Validator, name: str, now: float) -> Verdict:
    """The verdict that follows from the material, whose bundles are in ``directory``.

    Raises:
        ValidatorError: a suite could not be carried out.
        StoreError: a bundle is missing.
    """
    candidate, baseline = material.candidate, material.baseline
    inputs = [GateInput(side.facts, side.judgement, side.candidate) for side in material.sides]
    outcome = judge_gate(material.policy, inputs[0], inputs[1] if baseline else None, validator)
    sides = [_side(side, kept, directory) for side, kept in zip(material.sides, material.evidence, strict=True)]
    further = [paths_check(name, side.evidence, side.facts) for name, side in zip(SIDES, material.sides, strict=False)]
    if baseline is None:
        further.append(toolchain_check(candidate.facts))
    elif pairs := _compared(material.policy, candidate.candidate, baseline.candidate):
        ours, theirs = (candidate.evidence, candidate.facts), (baseline.evidence, baseline.facts)
        further.append(sides_check(ours, theirs, pairs, material.policy.evidence.allow_unchanged))
    if material.baseline_unreadable:
        further.append(baseline_check(material.baseline_unreadable))
    if material.spec_configuration is not None:
        further.append(
            spec_check(
                candidate_configuration(candidate.evidence, candidate.facts, candidate.candidate), material.spec_configuration
            )
        )
    outcome = with_checks(outcome, further)
    return Verdict(
        id=name,
        status=outcome.status,
        policy=material.policy,
        policy_digest=policy_digest(material.policy),
        candidate=sides[0],
        baseline=sides[1] if baseline else None,
        baseline_unreadable=material.baseline_unreadable,
        spec_configuration=material.spec_configuration,
        checks=outcome.checks,
        rules=outcome.rules,
        reasons=outcome.reasons,
        next_steps=outcome.next_steps,
        created_at=now,
        crosspath=__version__,
    )


def _compared(policy: Policy, candidate: str, baseline: str) -> list[tuple[str, str]]:
    """Which candidates the rules against the baseline compare: one that a rule names is compared with its namesake."""
    named = [rule.candidate for rule in policy.rules if rule.against_baseline]
    return list(dict.fromkeys((name or candidate, name or baseline) for name in named))


def policy_digest(policy: Policy) -> str:
    """Of everything that the policy asks, whatever its file looks like."""
    return digest(policy.model_dump(mode="json"))


def _side(side: Replayed, kept: Evidence, directory: Path) -> GateSide:
    return GateSide(
        ref=side.ref,
        evaluation=side.evidence.head.id,
        created_at=side.evidence.head.created_at,
        candidate=side.candidate,
        run=side.run,
        lock_digest=side.evidence.lock.digest,
        configuration=candidate_configuration(side.evidence, side.facts, side.candidate),
        replies_digest=replies_digest(side.facts.trials),
        evidence_digest=digest(kept.model_dump(mode="json")),
        replayed=side.facts.head.id,
        bundle=side.bundle,
        bundle_digest=index_digest(directory / side.bundle),
        toolchain=side.facts.lock.toolchain,
    )


def write_material(material: Material, directory: Path) -> None:
    """The policy, the evidence and the bundles.

    Raises:
        StoreError: the place can't be written.
    """
    with boundary(StoreError, f"writing {directory}"):
        (directory / POLICY).write_text(policy_text(material.policy), "utf-8")
        for name, kept in zip(SIDES, material.evidence, strict=False):
            (directory / evidence_file(name)).write_text(kept.to_json() + "\n", "ascii")
        for side in {side.bundle: side for side in material.sides}.values():
            write_bundle(side.facts, side.judgement, directory / side.bundle, pages=False)  # the verdict is what is read


def policy_text(policy: Policy) -> str:
    """The policy with every default written out."""
    return yaml.safe_dump(policy.model_dump(mode="json", exclude_none=True), sort_keys=False, allow_unicode=False, width=120)


def write_verdict(verdict: Verdict, directory: Path) -> None:
    """The verdict itself in its three forms; ``verdict.json`` last: a directory without it is an unfinished one.

    Raises:
        StoreError: the place can't be written.
    """
    with boundary(StoreError, f"writing {directory}"):
        (directory / MARKDOWN).write_text(gate_markdown(verdict), "utf-8", "backslashreplace")
        (directory / JUNIT).write_text(gate_junit(verdict), "utf-8", "backslashreplace")
        (directory / VERDICT).write_text(verdict_text(verdict), "ascii")


def verdict_text(verdict: Verdict) -> str:
    """The verdict as strict JSON for people and programs."""
    return json.dumps(verdict.model_dump(mode="json"), indent=2, ensure_ascii=True, allow_nan=False) + "\n"
