"""The control of every survivable path, over the whole catalogue: encoded, each right command does what it does raw."""

from collections.abc import Sequence

from crosspath.app.adapters import make_validator
from crosspath.app.task_checks.running import execute, judged
from crosspath.app.task_checks.trials import ENCODED, Trial
from crosspath.catalogue import catalogue_tasks, suite_text
from crosspath.transports import assemble, preset, survivable_presets
from crosspath.types import Task

PATHS = [name for name in survivable_presets() if name != "raw"]
TASKS = [task for task in catalogue_tasks() if task.oracle]
SHARE = 10
"""Each path meets every tenth task here, each task every tenth path; `tasks check --all-transports` tries all with all."""


def meets(number: int) -> Sequence[Task]:
    """The tasks that the path of this number is tried with."""
    return [task for position, task in enumerate(TASKS) if (position + number) % SHARE == 0]


def test_every_task_meets_many_paths() -> None:
    """The share is spread so that no task and no path is left out."""
    met = {task.id for number in range(len(PATHS)) for task in meets(number)}
    assert met == {task.id for task in TASKS}
    assert len(PATHS) >= 60


def test_right_commands_survive_encoded() -> None:
    """Every path passes each of its tasks with the right command, encoded."""
    trials = [_trial(name, task) for number, name in enumerate(PATHS) for task in meets(number)]
    replays = execute(trials, lambda *_: None)
    tasks = {task.id: task for task in TASKS}
    scores = judged(make_validator(), suite_text("exact"), tasks, replays)
    found = [trial.finding(replay, score) for trial, replay, score in zip(trials, replays, scores, strict=True)]
    assert [f"{each.proof}: {each.subject}: {each.detail}" for each in found if each.status != "holds"] == []


def _trial(name: str, task: Task) -> Trial:
    return Trial(task, f"{ENCODED} for {name}", task.oracle or "", "pass", "", assemble(preset(name)), encoded=True)
