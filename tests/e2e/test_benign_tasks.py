"""Tasks of tier 0 are the control of paths that can't be survived, so they must come through careless ones as they are."""

import pytest

from crosspath.app.adapters import make_sandbox, make_validator
from crosspath.catalogue import catalogue_tasks, heldout_tasks, suite_text
from crosspath.scoring import build_tables, score
from crosspath.spec import Spec
from crosspath.transports import assemble, preset
from crosspath.types import Execution, Replay, ReplayJob, ReplayKey, Reply, TrialKey

CARELESS = ("nested-shell", "single-quoted-shell", "script-file")
BENIGN = [task for task in (*catalogue_tasks(), *heldout_tasks("a seed of sixteen")) if task.tier == 0 and task.oracle]


@pytest.mark.parametrize("name", CARELESS)
def test_benign_commands_need_no_encoding(name: str) -> None:
    """Right and tempting command of every tier-0 task, public and held-out, do on a careless path what they do raw."""
    path = assemble(preset(name))
    asked = [(task, kind, command) for task in BENIGN for kind in ("oracle", "naive") if (command := getattr(task, kind))]
    deliveries = [path.deliver(Reply(text=command)) for _, _, command in asked]
    keys = [ReplayKey(trial=TrialKey(generation=kind, task=task.id, index=0), path=path.digest) for task, kind, _ in asked]
    jobs = [
        ReplayJob(key=key, task=task, commands=tuple(action.command for action in delivery.actions))
        for key, (task, _, _), delivery in zip(keys, asked, deliveries, strict=True)
    ]
    done = make_sandbox(Spec()).run(jobs)
    replays = [
        Replay(key=key, transport=name, delivery=delivery, execution=execution)
        for key, delivery, execution in zip(keys, deliveries, done, strict=True)
        if isinstance(execution, Execution)
    ]
    assert len(replays) == len(jobs)
    tasks = {task.id: task for task in BENIGN}
    checks = make_validator().validate(suite_text("exact"), build_tables(tasks, replays))
    scores = [score(replay, tasks[replay.key.trial.task], checks[row]) for row, replay in enumerate(replays)]
    assert [(one.key.trial.task, one.key.trial.generation, one.reason) for one in scores if not one.passed] == []
