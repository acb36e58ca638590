"""The gate over whole evaluations: what is checked before anything follows, and what follows."""

from collections.abc import Callable
from functools import cache

import pytest

from builders import SERVER_ERROR, evaluation, task
from crosspath.catalogue import suite_text
from crosspath.pipeline.gate import GateInput, GateOutcome, judge_gate
from crosspath.pipeline.gate_evidence import Evaluated
from crosspath.pipeline.gate_strength import PER_TASK, strength_of
from crosspath.pipeline.judge import judge
from crosspath.spec.policy import load_policy
from crosspath.testing.validator import FakeValidator
from crosspath.types import Facts, Judgement, Lock, Policy, PolicyRule, Toolchain

TASKS = tuple(task(f"f{family}/t{number}", f"f{family}", 1 + number) for family in range(8) for number in range(2))
RULES = "rules: [{metric: pass_rate, margin: 0.2, over: these_tasks}, {metric: pass_rate, at_least: 0.5}]\n"
LOOSE = "evidence: {control: none, min_tasks: 8}\n"
NAMES = ("oracle", "adaptive")


@cache
def judged(trials: int = 2) -> tuple[Facts, Judgement]:
    """``adaptive`` passes everything as deployed, ``oracle`` nothing."""
    facts, _ = evaluation(names=NAMES, tasks=TASKS, trials=trials)
    suites = (suite_text("exact"),)
    lock = facts.lock.model_copy(update={"suites": {"exact": suites[0].digest}})
    return _judged(facts.model_copy(update={"suites": suites, "lock": lock}))


def _judged(facts: Facts) -> tuple[Facts, Judgement]:
    return facts, judge(facts, FakeValidator())


def policy(text: str = RULES, evidence: str = LOOSE) -> Policy:
    return load_policy(evidence + text, "p.yaml")


def gated(
    candidate: str = "adaptive",
    baseline: str | None = "adaptive",
    asked: Policy | None = None,
    ours: tuple[Facts, Judgement] | None = None,
    theirs: tuple[Facts, Judgement] | None = None,
) -> GateOutcome:
    ours, theirs = ours or judged(), theirs or judged()
    other = GateInput(*theirs, baseline) if baseline else None
    return judge_gate(asked or policy(), GateInput(*ours, candidate), other, FakeValidator())


def refused(outcome: GateOutcome) -> dict[str, str]:
    return {check.name: check.sentence for check in outcome.checks if not check.ok}


def test_an_equal_candidate_passes_with_the_reasons_of_every_rule() -> None:
    """All that blocks is shown; every check and rule is told in one line."""
    found = gated()
    assert found.status == "PASS"
    assert [rule.state for rule in found.rules] == ["shown", "shown"]
    assert found.reasons == tuple(rule.sentence for rule in found.rules)
    assert all("\n" not in line for line in (*found.reasons, *(check.sentence for check in found.checks)))
    assert {"candidate control", "baseline coverage", "suite exact", "same tasks", "same toolchain"} <= {
        check.name for check in found.checks
    }


def test_a_candidate_that_is_worse_fails_and_the_surest_reason_comes_first() -> None:
    """What is violated is told, what it was worse by first where that is surer."""
    found = gated("oracle")
    assert found.status == "FAIL"
    assert found.reasons[0].startswith("pass rate -100.0 points")
    assert found.next_steps


def test_too_little_evidence_is_inconclusive_and_says_what_would_decide() -> None:
    """A margin that so few families can't show: the verdict names the rule and the number of families."""
    found = gated(asked=policy("rules: [{name: narrow, metric: pass_rate, margin: 0.2}]"))
    assert found.status == "INCONCLUSIVE"
    assert found.next_steps == ("narrow: about 14 families instead of 8 would show it, if they turn out as these",)


def test_a_rule_against_a_baseline_needs_one() -> None:
    """Without a baseline such a rule is no evidence for anything; a floor can be judged alone."""
    assert gated(baseline=None).status == "INVALID"
    assert gated(baseline=None, asked=policy("rules: [{metric: pass_rate, at_least: 0.5}]")).status == "PASS"


@pytest.mark.parametrize(
    ("evidence", "name"),
    [
        ("{control: benign}", "candidate control"),
        ("{control: none, min_families: 9}", "candidate families"),
        ("{control: none, min_tasks: 17}", "baseline tasks"),
        ("{control: none, min_trials: 3}", "candidate trials"),
        ("{control: none, suites: [content]}", "candidate suite"),
    ],
)
def test_evidence_that_is_not_what_the_policy_asks_for_is_invalid(evidence: str, name: str) -> None:
    """Each demand by itself, with both numbers in the sentence, although every rule would be shown."""
    found = gated(asked=policy(evidence=f"evidence: {evidence}\n"))
    assert found.status == "INVALID"
    assert name in refused(found)
    assert any(reason.startswith(f"{name}: ") for reason in found.reasons)


def test_easy_tasks_show_nothing() -> None:
    """A share of the tasks has to be hostile, where tasks have tiers."""
    easy = tuple(one.model_copy(update={"tier": 0}) for one in TASKS)
    facts, _ = judged()
    found = gated(ours=_judged(facts.model_copy(update={"tasks": easy})))
    assert refused(found)["candidate hostile"] == "0 of 16 tasks (0 %) are of tier 1 to 3; at least 25 % is asked for"


def test_no_validator_no_audit_no_verdict() -> None:
    """How strict the suite is can't be told without one, and what can't be told is never a pass."""
    side = GateInput(*judged(), "adaptive")
    assert judge_gate(policy(), side, side).status == "INVALID"
    allowed = policy(evidence="evidence: {control: none, min_mutations_rejected: 0}\n")
    assert judge_gate(allowed, side, side).status == "PASS"


def test_a_lax_suite_is_found_out_by_changes_of_right_states() -> None:
    """`exact` rejects every change; a suite that overlooks new files is told with what it lets pass."""
    tasks = [one for one in TASKS if not one.infeasible]
    exact = strength_of(suite_text("exact"), tasks, FakeValidator())
    assert (exact.tasks, exact.changes, exact.rejected) == (16, 16 * PER_TASK, 16 * PER_TASK)
    lax = strength_of(suite_text("content"), tasks, FakeValidator())
    assert lax.rejected < lax.changes == len(lax.accepted) + lax.rejected
    assert strength_of(suite_text("content"), tasks, FakeValidator()) == lax


def _with_lock(change: Callable[[Lock], Lock]) -> tuple[Facts, Judgement]:
    facts, judgement = judged()
    return facts.model_copy(update={"lock": change(facts.lock)}), judgement


@pytest.mark.parametrize(
    ("name", "said", "update"),
    [
        ("same tasks", "1 in another version (f0/t0)", {"tasks": {one.id: one.digest for one in TASKS} | {"f0/t0": "0"}}),
        ("same tasks", "1 not in the baseline (x/new)", {"tasks": {one.id: one.digest for one in TASKS} | {"x/new": "0"}}),
        ("same suite", "in different versions", {"suites": {"exact": "0"}}),
        ("same toolchain", "replay both sides in one session", {"toolchain": Toolchain(sandbox="other")}),
        ("same toolchain", "not known of both", {"toolchain": None}),
        ("same reference", "in another version", {"contracts": {"raw": "0"}}),
    ],
)
def test_sides_that_can_t_be_compared_are_invalid(name: str, said: str, update: dict[str, object]) -> None:
    """Other tasks, another suite, reference or toolchain: named, although the numbers would pass."""
    found = gated(ours=_with_lock(lambda lock: lock.model_copy(update=update)))
    assert found.status == "INVALID"
    assert said in refused(found)[name]


def test_a_broken_control_is_invalid_whatever_the_policy_asks() -> None:
    """Even `control: none` accepts a missing control only."""
    facts, judgement = judged()
    broken = judgement.decompositions[1].control.model_copy(update={"status": "broken", "reason": "3 of 8 differ"})
    changed = judgement.decompositions[1].model_copy(update={"control": broken})
    found = gated(ours=(facts, judgement.model_copy(update={"decompositions": (judgement.decompositions[0], changed)})))
    assert found.status == "INVALID"
    assert "is broken: 3 of 8 differ" in refused(found)["candidate control"]


def _lost(candidate: str, number: int, trials: int = 2) -> tuple[Facts, Judgement]:
    """The first so many trials of a candidate are faults, told or not."""
    facts, _ = judged(trials)
    digests = {cell.generation.digest for cell in facts.cells if cell.candidate == candidate}
    lost = {t.key.to_json() for d in digests for t in [t for t in facts.trials if t.key.generation == d][:number]}
    fault = {"reply": None, "fault": SERVER_ERROR}
    gone = tuple(t.model_copy(update=fault) if t.key.to_json() in lost else t for t in facts.trials)
    replays = tuple(replay for replay in facts.replays if replay.key.trial.to_json() not in lost)
    return _judged(facts.model_copy(update={"trials": gone, "replays": replays}))


@pytest.mark.parametrize("candidate", NAMES)
@pytest.mark.parametrize("side", ["candidate", "baseline"])
def test_faults_lead_to_invalid_and_never_to_a_pass_or_fail(candidate: str, side: str) -> None:
    """A fifth of the trials is lost: whatever the verdict was, it is INVALID, with the share and what to do."""
    lost = _lost("adaptive" if side == "baseline" else candidate, 7)
    found = gated(candidate, ours=lost if side == "candidate" else None, theirs=lost if side == "baseline" else None)
    assert found.status == "INVALID"
    assert f"{side} faults" in refused(found)
    assert "run the same spec again: it asks for what is missing only" in found.next_steps


def test_faults_that_are_allowed_leave_rules_open_at_most() -> None:
    """The same faults where the policy lets them through: each counts at its worst, so nothing passes or fails by them."""
    lax = policy(evidence="evidence: {control: none, min_coverage: 0.5, max_faults: 0.5}\n")
    assert gated(asked=lax, ours=_lost("adaptive", 7)).status == "INCONCLUSIVE"
    few = gated(asked=lax, ours=_lost("adaptive", 1))
    assert few.rules[0].estimate is not None
    assert few.rules[0].estimate.missing == 1
    assert gated("oracle", asked=lax, ours=_lost("oracle", 32)).status != "FAIL"


def test_places_of_loss_are_known_trial_by_trial() -> None:
    """Lost to the path as the report counts it; a fault on the reference path could have been there, too."""
    rule = PolicyRule(metric="lost_to_path", at_most=0.5)
    found = Evaluated(*judged(), FakeValidator()).evidence(rule, "oracle")
    assert not isinstance(found, str)
    assert {span for spans in found.spans.values() for span in spans} == {(1, 1)}  # pyright: ignore[reportAttributeAccessIssue]
    facts, _ = judged()
    reference = next(cell for cell in facts.cells if cell.candidate == "oracle" and cell.name == "NR")
    replays = tuple(
        r for r in facts.replays if (r.key.path, r.key.trial.generation) != (reference.path, reference.generation.digest)
    )
    unsure = Evaluated(*_judged(facts.model_copy(update={"replays": replays})), FakeValidator())
    again = unsure.evidence(rule, "oracle")
    spans = {span for spans in again.spans.values() for span in spans}  # pyright: ignore[reportAttributeAccessIssue]
    assert spans == {(1, 1)}  # the plain reply of the same trial is lost to the path, whatever this one does on the reference
    assert isinstance(Evaluated(*judged()).evidence(rule, "oracle"), str)


def test_tokens_and_latency_are_taken_from_replies() -> None:
    """134 tokens a reply for adaptive, which passes each time; the cost is unknown, and so is no evidence."""
    evaluated = Evaluated(*judged())
    tokens = evaluated.evidence(PolicyRule(metric="tokens_per_pass", at_most=200), "adaptive")
    assert (tokens.value, tokens.worst, tokens.replies) == (134.0, 134.0, 32)  # pyright: ignore[reportAttributeAccessIssue]
    latency = evaluated.evidence(PolicyRule(metric="latency_p90_s", at_most=2), "adaptive")
    assert (latency.best, latency.value, latency.worst) == (0.8, 0.8, 0.8)  # pyright: ignore[reportAttributeAccessIssue]
    assert "is unknown" in str(evaluated.evidence(PolicyRule(metric="usd_per_pass", at_most=2), "adaptive"))
    lost = Evaluated(*_lost("adaptive", 7))
    open_ended = lost.evidence(PolicyRule(metric="latency_p90_s", at_most=2), "adaptive")
    assert (open_ended.best, open_ended.worst, open_ended.missing) == (0.8, None, 7)  # pyright: ignore[reportAttributeAccessIssue]


def test_other_candidates_of_the_evaluation_can_be_asked_about() -> None:
    """A rule on another candidate has its own checks; one that is not there is INVALID, and says which there are."""
    other = policy("rules: [{metric: pass_rate, at_least: 0.5}, {metric: pass_rate, at_least: 0.5, candidate: oracle}]")
    assert gated(asked=other).status == "FAIL"
    assert "candidate oracle control" in {check.name for check in gated(asked=other).checks}
    wrong = policy("rules: [{metric: pass_rate, at_least: 0.5, candidate: orakel}]")
    found = gated(asked=wrong)
    assert (found.status, refused(found)["candidate orakel known"]) == (
        "INVALID",
        "there is no candidate 'orakel'; there is oracle, adaptive",
    )
    warned = policy("rules: [{metric: pass_rate, at_least: 0.5}, {metric: pass_rate, at_least: 0.5, candidate: x, tier: warn}]")
    assert gated(asked=warned).status == "PASS"
