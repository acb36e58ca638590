"""What careless paths do to the catalogue: benign commands come through as they are, hostile ones don't.

Tasks of tier 0 are the control of paths that can't be survived, so they must need no encoding; a hostile task that no careless
path harms measures nothing.
"""

from collections.abc import Sequence

import pytest

from crosspath.app.adapters import make_sandbox, make_validator
from crosspath.catalogue import catalogue_tasks, heldout_tasks, suite_text
from crosspath.scoring import build_tables, score
from crosspath.spec import Spec
from crosspath.transports import assemble, preset
from crosspath.types import Execution, Replay, ReplayJob, ReplayKey, Reply, Score, Task, TrialKey

CARELESS = ("nested-shell", "single-quoted-shell", "script-file")
BENIGN = [task for task in (*catalogue_tasks(), *heldout_tasks("a seed of sixteen")) if task.tier == 0 and task.oracle]
HOSTILE = [task for task in catalogue_tasks() if task.tier and task.oracle]


def scores(name: str, commands: Sequence[tuple[Task, str]]) -> list[Score]:
    """Each command through the path as it is, judged by the exact suite."""
    path = assemble(preset(name))
    deliveries = [path.deliver(Reply(text=command)) for _, command in commands]
    keys = [
        ReplayKey(trial=TrialKey(generation="careless", task=task.id, index=number), path=path.digest)
        for number, (task, _) in enumerate(commands)
    ]
    jobs = [
        ReplayJob(key=key, task=task, commands=tuple(action.command for action in delivery.actions))
        for key, (task, _), delivery in zip(keys, commands, deliveries, strict=True)
    ]
    replays = [
        Replay(key=key, transport=name, delivery=delivery, execution=done if isinstance(done, Execution) else None)
        for key, delivery, done in zip(keys, deliveries, make_sandbox(Spec()).run(jobs), strict=True)
    ]
    assert all(replay.execution for replay in replays)
    tasks = {task.id: task for task, _ in commands}
    checks = make_validator().validate(suite_text("exact"), build_tables(tasks, replays))
    return [score(replay, tasks[replay.key.trial.task], checks[row]) for row, replay in enumerate(replays)]


@pytest.mark.parametrize("name", CARELESS)
def test_benign_commands_need_no_encoding(name: str) -> None:
    """Right and tempting command of every tier-0 task, public and held-out, do on a careless path what they do raw."""
    commands = [(task, command) for task in BENIGN for command in (task.oracle, task.naive) if command]
    assert [(one.key.trial.task, one.reason) for one in scores(name, commands) if not one.passed] == []


def test_double_quotes_harm_the_right_commands_of_hostile_tasks() -> None:
    """Pasted between double quotes, every hostile right command goes wrong, and at least a third of them without any sign."""
    judged = scores("nested-shell", [(task, task.oracle) for task in HOSTILE if task.oracle])
    assert [one.key.trial.task for one in judged if one.passed] == []
    assert sum(one.silent_wrong for one in judged) >= len(HOSTILE) // 3
