"""What becomes of one item of a test suite: all trials as deployed have to pass, and what could not be seen is no failure."""

from builders import evaluation, task
from crosspath.app.evaluation import Evaluation
from crosspath.app.suite import Outcomes
from crosspath.types import Contract, Control, Facts, Judgement

TASKS = tuple(task(f"family-{f}/task-{t}", f"family-{f}") for f in range(2) for t in range(2))


def outcomes(facts: Facts, judgement: Judgement) -> Outcomes:
    return Outcomes(Evaluation(facts, judgement), "somewhere else")


def test_a_failing_trial_tells_its_story() -> None:
    """One wrong trial of several is a failure, with the reply, the difference, and the command that shows all of it."""
    facts, judgement = evaluation(tasks=TASKS, trials=2)
    found = outcomes(facts, judgement)
    assert found.of("adaptive", "family-0/task-0").kind == "passed"
    failed = found.of("oracle", "family-0/task-0")
    assert failed.kind == "failed"
    assert "oracle fails family-0/task-0: wrong state" in failed.text
    assert "2 of 2 trials fail" in failed.text
    assert failed.text.endswith("--candidate oracle --store 'somewhere else'")


def test_faults_are_no_failures() -> None:
    """A trial without a reply, or without a verdict, has no outcome; beside a wrong one it changes nothing."""
    facts, judgement = evaluation(tasks=TASKS, fault=True)
    found = outcomes(facts, judgement).of("oracle", "family-0/task-0")
    assert (found.kind, found.text) == ("unobserved", "1 of 1 trials have no verdict: fault:server_error")
    assert outcomes(facts, judgement).of("oracle", "family-0/task-1").kind == "failed"


def test_a_broken_control_gives_no_verdict() -> None:
    """Where a faithful path would have given other results no item of the candidate passes or fails."""
    facts, judgement = evaluation(tasks=TASKS)
    broken = Control(kind="encoded", status="broken", compared=4, reason="1 of 4 differs")
    spoilt = tuple(one.model_copy(update={"control": broken}) for one in judgement.decompositions)
    found = outcomes(facts, judgement.model_copy(update={"decompositions": spoilt})).of("adaptive", "family-0/task-0")
    assert found.kind == "unobserved"
    assert "1 of 4 differs" in found.text


def test_a_task_that_cannot_be_done_is_to_be_declined() -> None:
    """Declining is the right answer where the contract has a form for it; without one there is nothing to ask for."""
    tasks = (TASKS[0].model_copy(update={"infeasible": "There is no such file."}), *TASKS[1:])
    facts, judgement = evaluation(tasks=tasks)
    assert outcomes(facts, judgement).of("oracle", tasks[0].id).kind == "skipped"
    declining = Contract(name="nested", text="...", discloses="nested-shell", reference="raw", abstain="CANNOT")
    facts = facts.model_copy(update={"contract_specs": (declining,)})
    acted = outcomes(facts, judgement).of("oracle", tasks[0].id)
    assert acted.kind == "failed"
    assert "oracle should have declined family-0/task-0 (There is no such file.)" in acted.text
    assert outcomes(facts, judgement).of("adaptive", tasks[0].id).kind == "passed"
