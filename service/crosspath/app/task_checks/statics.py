"""Proofs for which nothing is run: ids, canaries, held-out sections, and that nothing of this machine is in an expected state."""

import getpass
import re
import socket
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from crosspath.app.task_checks.findings import Finding, not_tried, proved
from crosspath.app.task_checks.sources import Source
from crosspath.app.task_checks.texts import instruction_of, texts_after, texts_before
from crosspath.tasks.choosing import same_name
from crosspath.types import Task

OWN_ID = "id of its own"
CANARY = "canary"
HELDOUT = "held-out section"
ANYWHERE = "nothing of this machine, user or day is expected"
_MIN_NAME = 3
"""Characters of the shortest host or user name that is looked for."""


@dataclass(frozen=True)
class Surroundings:
    """What an expected state may not hold by accident."""

    days: tuple[date, ...]
    host: str
    user: str
    home: str


def surroundings() -> Surroundings:
    """This machine, this user and today, in every time zone."""
    now = datetime.now(UTC)
    days = sorted({(now + timedelta(hours=hours)).date() for hours in (-12, 0, 14)})
    try:
        user, home = getpass.getuser(), str(Path.home())
    except (OSError, RuntimeError, KeyError):
        user, home = "", ""
    return Surroundings(tuple(days), socket.gethostname(), user, home)


def ids(sources: Sequence[Source]) -> Iterator[Finding]:
    """No two tasks share an id up to case and Unicode form, whichever files they stand in."""
    seen: dict[str, tuple[str, str]] = {}
    for source in sources:
        for task in source.tasks:
            other = seen.setdefault(same_name(task.id), (task.id, source.name))
            first = other == (task.id, source.name)
            problem = None if first else f"stands in {source.name}, beside {other[0]!r} in {other[1]}"
            yield proved(task.id, OWN_ID, problem, "rename one of them; case and Unicode form make no difference")


def of_source(source: Source) -> Iterator[Finding]:
    """The proofs about a file as a whole."""
    yield _canary(source)
    if source.undrawn is not None:
        yield Finding(source.name, HELDOUT, "fails", source.undrawn, "correct the section 'heldout' there")
    elif source.heldout or source.shipped:
        problem = None if source.heldout else "payloads can't be drawn afresh"
        yield proved(source.name, HELDOUT, problem, "add a section 'heldout' that draws them (docs/add-a-task.md)")
    else:
        yield not_tried(source.name, HELDOUT, "no section 'heldout'" if source.family else "no family")


def _canary(source: Source) -> Finding:
    values = {str(task.meta.get("canary") or "") for task in source.tasks}
    if not source.family and values <= {""}:
        return not_tried(source.name, CANARY, "no family")
    if source.family and not source.tasks:
        return not_tried(source.name, CANARY, "nothing is drawn from this family")
    problem = None if all("canary" in value.lower() for value in values) else "a family without a canary"
    if problem and values != {""}:
        problem = "a canary says that it is one: the word 'canary' is not in it"
    mend = f'add the line  canary: "crosspath canary {uuid.uuid4()}: these tasks belong into no training data"'
    return proved(source.name, CANARY, problem, mend)


def anywhere(task: Task, here: Surroundings) -> Finding:
    """No content, name or observation holds what is only so here and today, unless the task itself brings it along."""
    brought = "\0".join((instruction_of(task), *texts_before(task)))
    expected = "\0".join(texts_after(task))
    for what, text in _accidents(here):
        if _stands_in(text, expected) and not _stands_in(text, brought):
            mend = "expect what is the same everywhere, or let instruction, fixture or 'env' give it"
            return proved(task.id, ANYWHERE, f"the expected state holds {what}, {text!r}", mend)
    return proved(task.id, ANYWHERE, None, "")


def _accidents(here: Surroundings) -> Iterator[tuple[str, str]]:
    for day in here.days:
        for form in ("%Y-%m-%d", "%Y%m%d", "%d %b %Y", "%b %d %Y", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y"):
            yield "today's date", day.strftime(form)
    names = (("this machine's name", here.host), ("this user's name", here.user), ("this user's home directory", here.home))
    yield from ((what, name) for what, name in names if len(name) >= _MIN_NAME)


def _stands_in(text: str, whole: str) -> bool:
    return re.search(rf"(?<![\w/]){re.escape(text)}(?!\w)", whole) is not None
