"""Which verdicts depend on the validator: counted per cell, named with what each validator says."""

import json

from hypothesis import given
from hypothesis import strategies as st

from builders import evaluation
from crosspath.analysis.verdict_sensitivity import Judged, verdict_sensitivity
from crosspath.types import Facts, Score

FACTS, JUDGEMENT = evaluation(trials=2)


def judged(name: str, scores: tuple[Score, ...], facts: Facts = FACTS) -> Judged:
    """The evaluation with these scores, by a validator of this name."""
    cells = tuple(cell.model_copy(update={"validator": name}) for cell in facts.cells)
    return Judged(name, cells, [score.model_copy(update={"validator": name}) for score in scores])


def flipped(score: Score) -> Score:
    return score.model_copy(update={"passed": not score.passed, "reason": "unexpected: x" if score.passed else ""})


def test_the_same_verdicts_depend_on_nothing() -> None:
    """Equal scores give equal counts and no trial, and the counts are those of the decomposition."""
    found = verdict_sensitivity([judged("exact", JUDGEMENT.scores), judged("content", JUDGEMENT.scores)])
    assert found.verdicts == ()
    assert found.validators == ("exact", "content")
    cells = {(d.candidate, c.name): (c.scored, c.passed) for d in JUDGEMENT.decompositions for c in d.cells}
    assert {(c.candidate, c.cell): (c.scored, c.passed["content"]) for c in found.cells if c.cell != "control"} == cells


def test_a_changed_verdict_is_named_with_both_sides() -> None:
    """Candidate, cell, task, trial, who passes it, and the reason of who does not."""
    other = [flipped(score) if number == 0 else score for number, score in enumerate(JUDGEMENT.scores)]
    found = verdict_sensitivity([judged("exact", JUDGEMENT.scores), judged("mine", tuple(other))])
    first = JUDGEMENT.scores[0]
    for verdict in found.verdicts:
        assert (verdict.task, verdict.trial) == (first.key.trial.task, first.key.trial.index)
        assert verdict.passed == {"exact": first.passed, "mine": not first.passed}
        assert list(verdict.reasons) == ["mine" if first.passed else "exact"]
    assert len(found.verdicts) >= 1
    assert json.loads(json.dumps(found.as_dict()))["verdicts"][0]["cell"] in {"RR", "RN", "NR", "NN"}


@given(st.sets(st.integers(0, len(JUDGEMENT.scores) - 1)))
def test_what_depends_is_what_differs(changed: set[int]) -> None:
    """Whatever verdicts differ: exactly their trials are listed, and the counts of a cell differ by no more than that."""
    other = tuple(flipped(score) if number in changed else score for number, score in enumerate(JUDGEMENT.scores))
    found = verdict_sensitivity([judged("exact", JUDGEMENT.scores), judged("mine", other)])
    trials = {(JUDGEMENT.scores[number].key.trial.task, JUDGEMENT.scores[number].key.trial.index) for number in changed}
    assert {(verdict.task, verdict.trial) for verdict in found.verdicts} == trials
    for cell in found.cells:
        listed = [v for v in found.verdicts if (v.candidate, v.cell) == (cell.candidate, cell.cell)]
        gained = sum(v.passed["mine"] - v.passed["exact"] for v in listed)
        assert cell.passed["mine"] - cell.passed["exact"] == gained


def test_trials_without_a_verdict_and_infeasible_tasks_are_left_out() -> None:
    """A replay that one side could not judge is not compared, nor is a task that can't be done."""
    whole = verdict_sensitivity([judged("exact", JUDGEMENT.scores), judged("mine", JUDGEMENT.scores)])
    short = verdict_sensitivity([judged("exact", JUDGEMENT.scores), judged("mine", JUDGEMENT.scores[1:])])
    assert short.compared < whole.compared
    assert all(cell.scored >= max(cell.passed.values()) for cell in short.cells)
    declined = tuple(score.model_copy(update={"infeasible": True}) for score in JUDGEMENT.scores)
    assert verdict_sensitivity([judged("exact", declined), judged("mine", declined)]).compared == 0


def test_each_cell_is_judged_by_its_own_validator() -> None:
    """An evaluation whose candidates have different validators counts each by its own."""
    cells = tuple(
        cell.model_copy(update={"validator": "mine" if cell.candidate == "adaptive" else "exact"}) for cell in FACTS.cells
    )
    mine = [flipped(score).model_copy(update={"validator": "mine"}) for score in JUDGEMENT.scores]
    own = Judged("own", cells, [*JUDGEMENT.scores, *mine])
    found = verdict_sensitivity([own, judged("exact", JUDGEMENT.scores)])
    assert {verdict.candidate for verdict in found.verdicts} == {"adaptive"}
