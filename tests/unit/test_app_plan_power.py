"""How likely a policy lets an equal candidate pass, before anything is spent."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from builders import evaluation, task
from crosspath.analysis.gate_power import Law, chance_shown, power
from crosspath.analysis.gate_rules import Measured, weigh
from crosspath.app import plan_power
from crosspath.app.evaluation import Evaluation
from crosspath.app.plan_power import policy_document, policy_lines
from crosspath.app.planning import plan_document, plan_text
from crosspath.app.readiness import resolved_spec
from crosspath.catalogue import suite_text
from crosspath.errors import ConfigError
from crosspath.pipeline.judge import judge
from crosspath.pipeline.plan import Plan
from crosspath.spec.policy import load_policy
from crosspath.testing.validator import FakeValidator
from crosspath.types import Policy, PolicyRule

FAMILIES = tuple(f"f{number % 9}" for number in range(27))
KINDS = ({"pass_rate": 1, "pass_hat": 1, "silent_wrong": 0}, {"pass_rate": 0, "pass_hat": 0, "silent_wrong": 1})
SPEC = "candidates: {adaptive: {model: baseline/adaptive, contract: nested-shell, transport: nested-shell}}\n"
NARROW = "{metric: pass_rate, margin: 0.2, over: these_tasks}"


def law(passes: float) -> Law:
    return Law(FAMILIES, KINDS, tuple((passes, 1 - passes) for _ in FAMILIES))  # pyright: ignore[reportArgumentType]


def policy(*rules: str, evidence: str = "{}") -> Policy:
    return load_policy(f"evidence: {evidence}\nrules: [{', '.join(rules)}]\n", "p.yaml")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer simulated gates: what is tested is no number of theirs."""
    monkeypatch.setattr(plan_power, "_SIMULATED", 40)
    monkeypatch.setattr(plan_power, "_SEARCHED", 40)


def planned(tmp_path: Path, text: str = "tasks: {tiers: [1]}\ntrials: 3\n") -> Plan:
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC + text)
    return resolved_spec(spec).plan


@pytest.mark.parametrize(
    "rule",
    [
        PolicyRule(metric="pass_rate", margin=0.2),
        PolicyRule(metric="pass_rate", at_least=0.5),
        PolicyRule(metric="pass_rate", margin=0.2, over="these_tasks"),
        PolicyRule(metric="silent_wrong", at_most=0.5),
        PolicyRule(metric="silent_wrong", margin=0.1, over="these_tasks"),
        PolicyRule(metric="pass_hat", k=2, margin=0.2),
        PolicyRule(metric="pass_hat", k=2, at_least=0.4, over="these_tasks"),
    ],
    ids=lambda rule: rule.title,
)
def test_simulated_gates_judge_as_real_ones_do(rule: PolicyRule) -> None:
    """The same trials give the same p-value in the simulation and in the gate."""
    shape, draw = law(0.8), np.random.default_rng(1)
    sides = [(draw.random((27, 4)) < 0.8).astype(int) for _ in range(2)]
    ordered = sorted(range(27), key=lambda at: FAMILIES[at])
    turned = [-side if rule.metric == "silent_wrong" else side for side in sides]
    measured = [
        Measured(
            {f"t{at:02}": [(int(value), int(value)) for value in side[place]] for place, at in enumerate(ordered)},
            {f"t{at:02}": family for at, family in enumerate(FAMILIES)},
        )
        for side in sides
    ]
    assert chance_shown(rule, shape, turned[0], turned[1]) == pytest.approx(weigh(rule, 0.05, *measured).p_shown)


def test_the_same_seed_gives_the_same_power_and_more_trials_give_more() -> None:
    """Seeded; a sure candidate always passes what its tasks can show, and nobody what they can't."""
    rules = (PolicyRule(metric="pass_rate", margin=0.1, over="these_tasks"),)
    found = [power(rules, law(0.9), trials, 0.05, 60) for trials in (2, 8, 2)]
    assert found[0] == found[2]
    assert found[0].passes < found[1].passes
    assert power(rules, law(1.0), 2, 0.05, 5).passes == 1.0
    assert power((PolicyRule(metric="pass_rate", margin=0.1),), law(1.0), 50, 0.05, 5).passes == 0.0


def test_all_rules_have_to_be_shown_of_the_same_draws() -> None:
    """The joint chance is at most that of the least likely rule."""
    rules = (PolicyRule(metric="pass_rate", margin=0.15, over="these_tasks"), PolicyRule(metric="silent_wrong", at_most=0.45))
    found = power(rules, law(0.9), 3, 0.05, 60)
    assert 0 < found.passes <= min(found.by_rule)


def test_more_families_are_those_there_are_over_and_over() -> None:
    """As many tasks in each as before."""
    more = law(0.9).among(20)
    assert len(set(more.families)) == 20
    assert len(more.families) == 60


@pytest.mark.usefixtures("few")
def test_plan_says_how_many_trials_it_takes(tmp_path: Path) -> None:
    """The chance now, of each rule, and the trials for 80 %; in text and in JSON."""
    document = policy_document(policy(NARROW, "{metric: usd_per_pass, times_baseline: 2}"), planned(tmp_path))
    assert 0 < document["passes"] <= 1
    assert document["trials_needed"] >= 1
    assert document["refused"] == []
    text = "\n".join(policy_lines(document))
    for words in ("PASS in", "9 of 10 replies", "shown in", "usd_per_pass times baseline 2: not simulated", "80 % takes"):
        assert words in text


@pytest.mark.usefixtures("few")
def test_plan_says_why_no_number_of_trials_is_enough(tmp_path: Path) -> None:
    """Few families can't show a narrow bound over families; more families can, and that many are named."""
    chosen = "tasks: {families: [exact-file, commit-path]}\n"
    document = policy_document(policy("{metric: pass_rate, margin: 0.5}"), planned(tmp_path, chosen))
    assert (document["trials_needed"], document["families"]) == (None, 2)
    assert document["families_needed"] > 2
    text = "\n".join(policy_lines(document))
    assert "80 % can't be reached with more trials" in text
    assert "2 families can't show it; take more families, a wider bound, or over: these_tasks" in text
    assert "! INVALID in any case: 2 families, and the policy asks for at least 6" in text


@pytest.mark.usefixtures("few")
def test_tasks_can_be_as_in_an_earlier_evaluation(tmp_path: Path) -> None:
    """What was seen of each task is drawn again; a candidate that is not there, or not named, is one clear line."""
    plan = planned(tmp_path, "tasks: {families: [exact-file, commit-path, csv-append]}\ntrials: 2\n")
    tasks = tuple(task(one.id, one.family, 1) for one in plan.tasks.values() if one.infeasible is None)
    facts, _ = evaluation(names=("oracle", "adaptive"), tasks=tasks, trials=2)
    facts = facts.model_copy(update={"suites": (suite_text("exact"),)})
    like = Evaluation(facts, judge(facts, FakeValidator()))
    document = policy_document(policy(NARROW), plan, like)
    assert document["like"] == "quoting-20261129-1:adaptive"
    assert document["passes"] > 0.9  # it passed everything there
    with pytest.raises(ConfigError, match="which of its candidates is meant"):
        policy_document(policy(NARROW), replace(plan, candidates=()), like)
    alone = Evaluation(facts.model_copy(update={"cells": facts.cells[4:5]}), like.judgement)
    with pytest.raises(ConfigError, match="nothing to draw matched_gap of adaptive from: the cell NN"):
        policy_document(policy("{metric: matched_gap, at_least: -0.5}"), plan, alone)


@pytest.mark.usefixtures("few")
def test_plan_shows_the_policy_beside_the_rest(tmp_path: Path) -> None:
    """`plan --policy`: a section of its own, and none without a policy."""
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC + "tasks: {families: [exact-file]}\n")
    assert plan_document(spec)["policy"] is None
    assert "policy p " in plan_text(plan_document(spec, policy=policy(NARROW)))
