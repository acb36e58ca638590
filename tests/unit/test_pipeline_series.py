"""What an evaluation says of its deployment, in one small record."""

from typing import Any

import builders
from crosspath.pipeline.series import entry_of, reply_digest
from crosspath.types import Facts, Judgement, Reply, ToolCall
from crosspath.types.drift import SeriesEntry, WatchRules

SECTION: dict[str, Any] = {
    "name": "bot", "candidate": "oracle", "reference": False, "reference_trials": 12, "chosen_on": "first-20261001-1",
    "alpha": 0.01, "horizon_days": 30, "max_age_days": 3.0, "max_missing": 0.1,
}  # fmt: skip


def deployed(section: dict[str, Any] | None = None, **head: Any) -> tuple[Facts, Judgement]:
    """An evaluation of two candidates whose spec names a deployment."""
    facts, judgement = builders.evaluation()
    spec = {**facts.head.spec, "deployment": SECTION | (section or {})}
    return facts.model_copy(update={"head": facts.head.model_copy(update={"spec": spec, **head})}), judgement


def entry(section: dict[str, Any] | None = None, **head: Any) -> SeriesEntry:
    found = entry_of(*deployed(section, **head))
    assert found
    return found


def test_an_evaluation_without_a_deployment_has_no_entry() -> None:
    """Nor has one that was made of another one's replies, because nothing was sampled for it."""
    assert entry_of(*builders.evaluation()) is None
    assert entry_of(*deployed(derived_from="other", derivation="replay")) is None


def test_an_entry_is_of_the_cell_as_deployed() -> None:
    """Its trials are those of the candidate's own contract and path, with what became of each."""
    facts, judgement = deployed()
    found = entry_of(facts, judgement)
    assert found
    cell = next(one for one in judgement.decompositions if one.candidate == "oracle").cell("NN")
    assert cell
    assert (found.rate.value, found.rate.n, found.rate.estimand) == (cell.rate.value, cell.rate.n, "these_tasks")
    assert sum(bool(trial.passed) for trial in found.trials) == cell.passed
    assert {trial.task for trial in found.trials} == {task.id for task in facts.tasks if task.infeasible is None}
    assert all(trial.reply and trial.length and trial.latency_s == 0.8 for trial in found.trials)


def test_an_entry_says_how_it_is_to_be_used() -> None:
    """Role, rules, and the sample on which its tasks were chosen come from the spec."""
    found = entry()
    assert (found.deployment, found.candidate, found.role, found.chosen_on) == ("bot", "oracle", "day", "first-20261001-1")
    rules = WatchRules(alpha=0.01, horizon_days=30, reference_trials=12, max_age_days=3, max_missing=0.1)
    assert (found.rules, entry({"reference": True}).role) == (rules, "reference")
    assert entry({"candidate": None}).candidate == deployed()[0].lock.candidates[0].name


def test_an_entry_survives_json() -> None:
    """It is what a reader gets."""
    assert SeriesEntry.from_json(entry().to_json()) == entry()


def test_replies_are_told_apart_by_what_they_say() -> None:
    """Text, and names and arguments of tool calls; a call's id is drawn anew each time and plays no part."""
    first = Reply(text=None, tool_calls=(ToolCall(id="a1", name="run", arguments='{"c": 1}'),))
    same = first.model_copy(update={"tool_calls": (ToolCall(id="b2", name="run", arguments='{"c": 1}'),)})
    other = first.model_copy(update={"tool_calls": (ToolCall(id="a1", name="run", arguments='{"c":1}'),)})
    assert reply_digest(first) == reply_digest(same)
    assert len({reply_digest(one) for one in (first, other, Reply(text="x"), Reply(text=""), Reply(text=None))}) == 5
