"""Right final states, which the mutation audit changes: shown by a replay, or declared where a task brings no right command."""

from collections.abc import Sequence

from crosspath.app.task_checks.findings import Finding, proved
from crosspath.app.task_checks.running import judged
from crosspath.app.task_checks.trials import DECLINING, RIGHT, Trial
from crosspath.ports import Validator
from crosspath.scoring.declared import declared_replay
from crosspath.types import Replay, Score, Task, Text

Rights = list[tuple[Task, Replay]]
DECLARED = "declared state accepted"


def shown(trials: Sequence[Trial], replays: Sequence[Replay], scores: Sequence[Score | None]) -> Rights:
    """Each task with the replay of its right command, or of nothing where that is right."""
    return [
        (trial.task, replay)
        for trial, replay, score in zip(trials, replays, scores, strict=True)
        if trial.proof in (RIGHT, DECLINING) and score is not None and trial.met_by(score)
    ]


def declared(validator: Validator, suite: Text, tasks: Sequence[Task]) -> tuple[Rights, tuple[Finding, ...]]:
    """Each task without a right command with its declared state, where the validator accepts that; a finding for each.

    Raises:
        ConfigError: the suite is not acceptable.
        ValidatorError: it could not be carried out.
    """
    without = {task.id: task for task in tasks if task.oracle is None and task.infeasible is None}
    replays = [declared_replay(task) for task in without.values()]
    scores = judged(validator, suite, without, replays)
    accepted = {replay.key.trial.task: score for replay, score in zip(replays, scores, strict=True) if score and score.passed}
    rights = [(without[replay.key.trial.task], replay) for replay in replays if replay.key.trial.task in accepted]
    problem = f"{suite.name} rejects it, so no reply could ever pass"
    mend = "judge by a validator that fits what the task expects"
    findings = (proved(name, DECLARED, None if name in accepted else problem, mend) for name in without)
    return rights, tuple(findings)
