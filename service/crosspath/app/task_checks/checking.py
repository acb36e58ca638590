"""All proofs of all tasks, one after the other."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from crosspath import catalogue
from crosspath.app import adapters
from crosspath.app.task_checks.audit import AUDIT, audit
from crosspath.app.task_checks.findings import Finding, Report, not_tried
from crosspath.app.task_checks.running import Notify, execute, judged
from crosspath.app.task_checks.sources import Source
from crosspath.app.task_checks.statics import anywhere, ids, of_source, surroundings
from crosspath.app.task_checks.trials import DECLINING, RIGHT, Trial, trials_of
from crosspath.app.task_checks.wording import wording
from crosspath.scoring.suites import load_suite
from crosspath.types import Replay, Score, Task

EXACT = "exact"


def _silent(_what: str, _done: int, _of: int) -> None:
    """Nobody watches."""


def check(sources: Sequence[Source], *, validator: str = EXACT, notify: Notify = _silent) -> Report:
    """Carry out every proof that the tasks allow.

    ``validator``: the suite that judges, by name or file; it is audited, too. ``notify`` is told what is being done.

    Raises:
        ConfigError: the suite is not acceptable; nothing was run then.
        SandboxError: there is no sandbox on this machine.
        ValidatorError: the suite could not be carried out.
        KeyboardInterrupt: it was interrupted.
    """
    suite = catalogue.suite_text(validator)
    load_suite(suite)
    tasks = _once(task for source in sources for task in source.tasks)
    here = surroundings()
    found = [*ids(sources), *(finding for source in sources for finding in of_source(source))]
    for task in tasks:
        found += [*wording(task), anywhere(task, here)]
    planned = [each for task in tasks for each in trials_of(task)]
    trials = [each for each in planned if isinstance(each, Trial)]
    found += [each for each in planned if isinstance(each, Finding)]
    with ThreadPoolExecutor(1) as aside:  # its vendor takes seconds to import
        judge = aside.submit(adapters.make_validator)
        replays = execute(trials, notify)
    scores = judged(judge.result(), suite, {task.id: task for task in tasks}, replays)
    executed = [trial.finding(replay, score) for trial, replay, score in zip(trials, replays, scores, strict=True)]
    found += executed if validator == EXACT else [_doubting(finding, validator) for finding in executed]
    rights = _rights(trials, replays, scores)
    tallies, audited = audit(judge.result(), suite, rights, notify)
    return Report(len(tasks), validator, (*found, *_unaudited(tasks, rights), *audited), tallies)


def _doubting(finding: Finding, validator: str) -> Finding:
    """With another validator than ``exact`` it may be that one that is weak, and not the task."""
    return replace(finding, mend=f"{finding.mend}; or else {validator} overlooks it: see the audit") if finding.mend else finding


def _once(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """The first task of each id: a second one is a finding already, and could not be told apart."""
    return tuple({task.id: task for task in reversed(list(tasks))}.values())[::-1]


def _rights(trials: Sequence[Trial], replays: Sequence[Replay], scores: Sequence[Score | None]) -> list[tuple[Task, Replay]]:
    """Tasks with the replay that has shown a right final state."""
    return [
        (trial.task, replay)
        for trial, replay, score in zip(trials, replays, scores, strict=True)
        if trial.proof in (RIGHT, DECLINING) and score is not None and trial.met_by(score)
    ]


def _unaudited(tasks: Sequence[Task], rights: Sequence[tuple[Task, Replay]]) -> list[Finding]:
    audited = {task.id for task, _ in rights}
    return [not_tried(task.id, AUDIT, "no right final state to change") for task in tasks if task.id not in audited]
