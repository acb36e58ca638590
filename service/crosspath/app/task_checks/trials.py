"""Commands that are executed for a task, and what each of them must do."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from crosspath.app.forgeries import Forgery, forgeries
from crosspath.app.task_checks.findings import Finding, not_tried
from crosspath.transports import Path as Route
from crosspath.transports import assemble, preset
from crosspath.types import FileEntry, Replay, Score, Task

Must = Literal["pass", "fail", "leave it right"]
RIGHT = "right command, raw"
ENCODED = "right command, encoded"
ELSEWHERE = "right command, in another environment"
TEMPTING = "tempting command, raw"
IDLE = "doing nothing fails"
DECLINING = "declining leaves the state right"
FORGERY = "forgery found out"

_LIES_ABOUT_THE_DAY = b"""#!/bin/sh
# Another day, where it is asked for today.
for argument do
    case "$argument" in -[dfrs]* | --[dfrsvh]*) exec /usr/bin/date "$@" ;; esac
done
exec /usr/bin/date --date='2001-02-03 04:05:06' "$@"
"""
_OTHER_ENVIRONMENT = (
    ("HOME", "/tmp"), ("LANG", "C"), ("LC_ALL", "C"), ("LOGNAME", "someone-else"), ("TZ", "<+14>-14"), ("USER", "someone-else"),
)  # fmt: skip
"""The shell's own messages, what is a letter, what is now, and who one is: all of it unlike the sandbox's."""


@dataclass(frozen=True)
class Trial:
    """One execution and what it must do."""

    task: Task
    proof: str
    command: str
    must: Must
    mend: str
    route: Route
    encoded: bool = False
    executed: Task | None = None
    """The task in another environment, where the execution takes place."""
    paths: tuple[str, ...] = ()
    """What a forgery makes an observer execute."""

    def finding(self, replay: Replay, score: Score | None) -> Finding:
        """What the execution has shown; ``score`` is None where it could not be observed."""
        if score is None:
            mend = "see to it that set-up and programs work in the sandbox (crosspath doctor)"
            return Finding(self.task.id, self.proof, "fails", f"could not be run: {_why_not(replay)}", mend)
        if self.met_by(score):
            return Finding(self.task.id, self.proof, "holds")
        return Finding(self.task.id, self.proof, "fails", self._problem(score), self.mend)

    def met_by(self, score: Score) -> bool:
        """Whether the execution did what it must."""
        if self.must == "leave it right":
            return score.state_ok
        return score.passed == (self.must == "pass")

    def _problem(self, score: Score) -> str:
        tier = "" if self.task.tier is None else f" on tier {self.task.tier}"
        if self.must != "fail":
            return f"must pass{tier} and does not ({score.reason or score.cause}): {self.command!r}"
        if self.paths:
            return f"forgeable observer: it executes what the reply can write and nothing compares ({', '.join(self.paths)})"
        return f"must fail{tier} and does not: {self.command!r}"


def trials_of(task: Task, routes: Sequence[Route]) -> Iterator[Trial | Finding]:
    """What is to be executed for a task, and a finding for each proof that it has nothing for.

    ``routes``: survivable paths that the right command is sent through, encoded.
    """
    yield from _of_infeasible(task) if task.infeasible is not None else _of_oracle(task, routes)
    yield from _of_naive(task)
    if task.infeasible is None:
        yield _idle(task)
    tricks = list(forgeries(task))
    if not tricks:
        yield not_tried(task.id, FORGERY, "no observers that are compared")
    for forgery in tricks:
        yield _forged(task, forgery)


def _raw() -> Route:
    return assemble(preset("raw"), None, "none")


def _of_infeasible(task: Task) -> Iterator[Trial | Finding]:
    mend = "expect what fixture and set-up leave there: without 'expected', that is the fixture"
    yield Trial(task, DECLINING, "true", "leave it right", mend, _raw())
    for proof in (RIGHT, ENCODED, ELSEWHERE, IDLE):
        yield not_tried(task.id, proof, "it can't be done")


def _of_oracle(task: Task, routes: Sequence[Route]) -> Iterator[Trial | Finding]:
    if task.oracle is None:
        for proof in (RIGHT, ENCODED, ELSEWHERE):
            yield not_tried(task.id, proof, "no right command (oracle)")
        return
    mend = "correct 'oracle', or what 'expected', 'expected_observed' and 'expected_exit' say"
    yield Trial(task, RIGHT, task.oracle, "pass", mend, _raw())
    mend = "write 'oracle' so that it does the same from a file and through another shell: no $0, no BASH_EXECUTION_STRING"
    for route in routes:
        yield Trial(task, f"{ENCODED} for {route.name}", task.oracle, "pass", mend, route, encoded=True)
    mend = (
        "make it independent of locale, time zone, clock, user and home, or pin what it needs in 'env' (such as LC_ALL: C.UTF-8)"
    )
    yield Trial(task, ELSEWHERE, task.oracle, "pass", mend, _raw(), executed=elsewhere(task))


def elsewhere(task: Task) -> Task:
    """The task where locale, time zone, clock, user and home are others; what it sets itself stays."""
    env = dict(_OTHER_ENVIRONMENT) | dict(task.env)
    clock = FileEntry(path=b"date", content=_LIES_ABOUT_THE_DAY, mode=0o755)
    programs = task.programs if any(program.path == b"date" for program in task.programs) else (*task.programs, clock)
    return task.model_copy(update={"env": tuple(env.items()), "programs": programs})


def _of_naive(task: Task) -> Iterator[Trial | Finding]:
    if task.naive is None:
        yield not_tried(task.id, TEMPTING, "no tempting command (naive)")
    elif task.infeasible is not None:
        mend = "give a command that does something else instead, or complains: to do nothing is the right answer"
        yield Trial(task, TEMPTING, task.naive, "fail", mend, _raw())
    elif task.tier is None:
        yield not_tried(task.id, TEMPTING, "no tier")
    elif task.tier == 0:
        mend = "a benign control is one that the first command that comes to mind solves: mend 'naive', or give another tier"
        yield Trial(task, TEMPTING, task.naive, "pass", mend, _raw())
    else:
        mend = (
            "the payload does not bite: use characters that mean something where 'naive' puts them, "
            "a more careless 'naive', or tier 0"
        )
        yield Trial(task, TEMPTING, task.naive, "fail", mend, _raw())


def _idle(task: Task) -> Trial:
    mend = (
        "the expected state is what is there anyway: expect what the reply has to change, or observe it, or set 'expected_exit'"
    )
    return Trial(task, IDLE, "true", "fail", mend, _raw())


def _forged(task: Task, forgery: Forgery) -> Trial:
    if forgery.paths:
        mend = "take the path out of 'ignore' and into 'expected', or put the program under 'programs', where no reply can write"
    else:
        mend = "let observers print what files hold, and nothing that a program or setting of the reply can bring about"
    proof = f"{FORGERY}: {forgery.trick}"
    return Trial(task, proof, forgery.command, "fail", mend, _raw(), paths=forgery.paths)


def _why_not(replay: Replay) -> str:
    if replay.fault:
        return replay.fault.message
    return (replay.execution.setup_failed if replay.execution else None) or replay.delivery.reason
