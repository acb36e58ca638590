"""``crosspath tasks check``: every task proves that it measures something.

* the right command passes raw, and encoded through every path that can be survived;
* the tempting command passes on tier 0 and fails on the hostile tiers, raw;
* every mutation of the right final state is rejected by the validator, and the right state itself accepted;
* replies that try to forge what observers print are found out.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from crosspath import catalogue
from crosspath.app import adapters
from crosspath.app.forgeries import forgeries
from crosspath.errors import ConfigError
from crosspath.scoring import build_tables, scorable, score
from crosspath.scoring.mutations import mutations
from crosspath.spec import Spec
from crosspath.tasks import require_unique
from crosspath.transports import Path as Route
from crosspath.transports import assemble, preset, preset_names
from crosspath.types import Delivery, Execution, Fault, Replay, ReplayJob, ReplayKey, Reply, Task, Text, TrialKey


@dataclass(frozen=True)
class Finding:
    """One proof of one task."""

    task: str
    proof: str
    holds: bool
    detail: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True)
class _Trial:
    """One execution that must pass, or must fail."""

    task: Task
    proof: str
    command: str
    route: Route
    encoded: bool
    must_pass: bool


def known_tasks(files: Sequence[Path]) -> tuple[Task, ...]:
    """The tasks of the given files, or the catalogue.

    Raises:
        ConfigError: a file is not acceptable, or two tasks have one id.
    """
    tasks = tuple(task for file in files for task in catalogue.read_tasks(file)) if files else catalogue.catalogue_tasks()
    require_unique(tasks)
    return tasks


def known_task(task_id: str, files: Sequence[Path]) -> Task:
    """One task by its id.

    Raises:
        ConfigError: there is none.
    """
    tasks = {task.id: task for task in known_tasks(files)}
    if task_id not in tasks:
        near = get_close_matches(task_id, tasks, n=3, cutoff=0.4)
        known = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(list(tasks)[:30])}"
        raise ConfigError(f"{task_id!r} is not a task; {known}", field="task")
    return tasks[task_id]


def check(tasks: Sequence[Task]) -> tuple[Finding, ...]:
    """Carry out every proof that each task allows (one without an oracle has none).

    Raises:
        SandboxError: the sandbox could not run them.
    """
    trials = [trial for task in tasks for trial in _trials(task)]
    replays = _executed(trials)
    suite = catalogue.suite_text("exact")
    verdicts = _judged(suite, {task.id: task for task in tasks}, replays)
    findings = [_finding(trial, replay, passed) for trial, replay, passed in zip(trials, replays, verdicts, strict=True)]
    rights = [
        (trial.task, replay)
        for trial, replay, passed in zip(trials, replays, verdicts, strict=True)
        if passed and trial.proof == "right command, raw"
    ]
    return (*findings, *_mutants(suite, rights))


def _trials(task: Task) -> Iterator[_Trial]:
    raw = assemble(preset("raw"), None, "none")
    if task.oracle is not None:
        yield _Trial(task, "right command, raw", task.oracle, raw, False, True)
        for name in preset_names():
            route = assemble(preset(name), None, "none")
            if name != "raw" and route.survivable:
                yield _Trial(task, f"right command, encoded for {name}", task.oracle, route, True, True)
    if task.naive is not None and task.tier is not None:
        yield _Trial(task, "tempting command, raw", task.naive, raw, False, task.tier == 0)
    for trick, command in forgeries(task):
        yield _Trial(task, f"forgery found out: {trick}", command, raw, False, False)


def _executed(trials: Sequence[_Trial]) -> list[Replay]:
    """Replays of all trials, in order, by one sandbox."""
    prepared = [_prepared(number, trial) for number, trial in enumerate(trials)]
    jobs = [
        ReplayJob(key=key, task=trial.task, commands=tuple(action.command for action in delivery.actions))
        for trial, (key, delivery) in zip(trials, prepared, strict=True)
    ]
    results = adapters.make_sandbox(Spec()).run(jobs)
    return [
        Replay(
            key=key,
            transport=trial.route.name,
            delivery=delivery,
            execution=result if isinstance(result, Execution) else None,
            fault=result if isinstance(result, Fault) else None,
        )
        for trial, (key, delivery), result in zip(trials, prepared, results, strict=True)
    ]


def _prepared(number: int, trial: _Trial) -> tuple[ReplayKey, Delivery]:
    key = TrialKey(generation="check", task=trial.task.id, index=number)
    delivery = trial.route.deliver(Reply(text=trial.command), encoded=trial.encoded)
    return ReplayKey(trial=key, path=trial.route.digest, encoded=trial.encoded), delivery


def _judged(suite: Text, tasks: Mapping[str, Task], replays: Sequence[Replay]) -> list[bool | None]:
    """Passed, per replay; None where it could not be observed."""
    executed = [replay for replay in replays if scorable(replay)]
    scores = dict(zip((replay.key for replay in executed), _judged_in_order(suite, tasks, executed), strict=True))
    return [scores.get(replay.key) for replay in replays]


def _finding(trial: _Trial, replay: Replay, passed: bool | None) -> Finding:
    if passed is None:
        return Finding(trial.task.id, trial.proof, False, f"could not be run: {_why_not(replay)}")
    wanted = "pass" if trial.must_pass else "fail"
    detail = "" if passed == trial.must_pass else f"must {wanted} on tier {trial.task.tier} and does not: {trial.command!r}"
    return Finding(trial.task.id, trial.proof, passed == trial.must_pass, detail)


def _why_not(replay: Replay) -> str:
    if replay.fault:
        return replay.fault.message
    return (replay.execution.setup_failed if replay.execution else None) or replay.delivery.reason


def _mutants(suite: Text, rights: Iterable[tuple[Task, Replay]]) -> Iterator[Finding]:
    """One finding per mutation of a right final state: it holds if the validator rejects it."""
    mutants = [(task, each.name, each.replay) for task, replay in rights for each in mutations(task, replay)]
    tasks = {task.id: task for task, _, _ in mutants}
    verdicts = _judged_in_order(suite, tasks, [mutant for _, _, mutant in mutants])
    for (task, name, _), passed in zip(mutants, verdicts, strict=True):
        yield Finding(task.id, f"mutation rejected: {name}", not passed, "the validator accepts it" if passed else "")


def _judged_in_order(suite: Text, tasks: Mapping[str, Task], replays: Sequence[Replay]) -> list[bool]:
    """Passed, by position: mutants of one replay share its key."""
    if not replays:
        return []
    checks = adapters.make_validator().validate(suite, build_tables(tasks, replays))
    return [score(replay, tasks[replay.key.trial.task], checks[row]).passed for row, replay in enumerate(replays)]


def task_text(task: Task) -> str:
    """A task for a person."""
    value = task.model_dump(mode="json", exclude={"instruction", "oracle", "naive"})
    lines = [f"{task.id}  tier {task.tier}  hazards: {', '.join(task.hazards) or 'none'}", ""]
    lines += [f"  | {line}" for line in task.instruction.split("\n")]
    lines += ["", "right command:", *(f"  | {line}" for line in (task.oracle or "(none)").split("\n"))]
    lines += ["tempting command:", *(f"  | {line}" for line in (task.naive or "(none)").split("\n"))]
    lines += ["", json.dumps({k: v for k, v in value.items() if v not in (None, [], {}, "")}, indent=2, ensure_ascii=False)]
    return "\n".join(lines)
