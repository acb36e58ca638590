"""All proofs of all tasks, one after the other."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from crosspath import catalogue
from crosspath.app import adapters
from crosspath.app.task_checks.audit import AUDIT, audit
from crosspath.app.task_checks.findings import Finding, Report, not_tried
from crosspath.app.task_checks.rights import declared, shown
from crosspath.app.task_checks.running import Notify, execute, judged
from crosspath.app.task_checks.sources import Source
from crosspath.app.task_checks.statics import anywhere, ids, of_source, surroundings
from crosspath.app.task_checks.trials import Trial, trials_of
from crosspath.app.task_checks.wording import wording
from crosspath.errors import ConfigError
from crosspath.scoring.suites import load_suite
from crosspath.transports import Path as Route
from crosspath.transports import assemble, find_path
from crosspath.types import Replay, Task

EXACT = "exact"
PLAIN = ("nested-shell", "nested-shell-escaped", "single-quoted-shell", "script-file")
"""Stand for all that can be survived: a task that passes there, encoded, does so elsewhere but for faults of a path."""


def _silent(_what: str, _done: int, _of: int) -> None:
    """Nobody watches."""


def check(
    sources: Sequence[Source], *, validator: str = EXACT, transports: Sequence[str] | None = None, notify: Notify = _silent
) -> Report:
    """Carry out every proof that the tasks allow.

    ``validator``: the suite that judges, by name or file; it is audited, too. ``transports``: the paths that right commands must
    survive, encoded (None: a few plain ones). ``notify`` is told what is being done.

    Raises:
        ConfigError: the suite is not acceptable, or a path is unknown or can't be survived; nothing was run then.
        SandboxError: there is no sandbox on this machine.
        ValidatorError: the suite could not be carried out.
        KeyboardInterrupt: it was interrupted.
    """
    suite = catalogue.suite_text(validator)
    load_suite(suite)
    routes = _routes(PLAIN if transports is None else transports)
    tasks = _once(task for source in sources for task in source.tasks)
    planned = [each for task in tasks for each in trials_of(task, routes)]
    trials = [each for each in planned if isinstance(each, Trial)]
    with ThreadPoolExecutor(1) as aside:  # its vendor takes seconds to import
        loading = aside.submit(adapters.make_validator)
        replays = execute(trials, notify)
    judge = loading.result()
    scores = judged(judge, suite, {task.id: task for task in tasks}, replays)
    executed = [trial.finding(replay, score) for trial, replay, score in zip(trials, replays, scores, strict=True)]
    rights, accepted = declared(judge, suite, tasks)
    rights += shown(trials, replays, scores)
    tallies, audited = audit(judge, suite, rights, notify)
    found = [*_about_texts(sources, tasks), *(each for each in planned if isinstance(each, Finding))]
    found += executed if validator == EXACT else [_doubting(finding, validator) for finding in executed]
    return Report(len(tasks), validator, (*found, *accepted, *_unaudited(tasks, rights), *audited), tallies)


def _routes(names: Sequence[str]) -> tuple[Route, ...]:
    routes = tuple(assemble(find_path(name)) for name in dict.fromkeys(names))
    bad = next((route for route in routes if not route.survivable), None)
    if bad is not None:
        raise ConfigError(f"{bad.name!r} can't be survived, so no encoding can be proved", field="--transport")
    return routes


def _about_texts(sources: Sequence[Source], tasks: Sequence[Task]) -> Iterator[Finding]:
    """The proofs for which nothing is run."""
    here = surroundings()
    yield from ids(sources)
    for source in sources:
        yield from of_source(source)
    for task in tasks:
        yield from wording(task)
        yield anywhere(task, here)


def _doubting(finding: Finding, validator: str) -> Finding:
    """With another validator than ``exact`` it may be that one that is weak, and not the task."""
    return replace(finding, mend=f"{finding.mend}; or else {validator} overlooks it: see the audit") if finding.mend else finding


def _once(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """The first task of each id: a second one is a finding already, and could not be told apart."""
    return tuple({task.id: task for task in reversed(list(tasks))}.values())[::-1]


def _unaudited(tasks: Sequence[Task], rights: Sequence[tuple[Task, Replay]]) -> list[Finding]:
    """Where there is neither a right command's state nor a declared one that is accepted."""
    audited = {task.id for task, _ in rights}
    return [not_tried(task.id, AUDIT, "its right command leaves no right state") for task in tasks if task.id not in audited]
