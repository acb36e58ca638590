"""Which tasks fail where."""

from builders import evaluation
from crosspath.analysis.task_rows import failing_tasks


def test_a_task_that_fails_somewhere_has_a_row_with_its_cause_per_cell() -> None:
    """The oracle's replies pass on the reference path and not on the broken one: the row says so for each cell."""
    facts, judgement = evaluation()
    text = failing_tasks("oracle", facts.cells, judgement.scores)
    failed = {score.key.trial.task for score in judgement.scores if not score.passed}
    assert text.splitlines()[2].startswith("| task | RR | RN |")
    assert all(any(line.startswith(f"| {task} |") for line in text.splitlines()) for task in failed)
    assert "passed" in text
    assert "wrong_state" in text


def test_tasks_that_pass_everywhere_make_no_table() -> None:
    """With nothing to say nothing is said."""
    facts, judgement = evaluation()
    assert failing_tasks("oracle", facts.cells, [score for score in judgement.scores if score.passed]) == ""


def test_several_trials_are_counted() -> None:
    """Of several trials of a task each outcome is counted."""
    facts, judgement = evaluation(trials=3)
    text = failing_tasks("oracle", facts.cells, judgement.scores)
    assert "3 passed" in text
