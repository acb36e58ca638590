"""Instruction and final state agree: what is demanded is checked, and what is checked is demanded."""

import fnmatch
import re
from collections.abc import Iterator

from crosspath.app.task_checks.findings import Finding, not_tried, proved
from crosspath.app.task_checks.texts import (
    CLOSING,
    OPENING,
    MarksError,
    instruction_of,
    names_of,
    payloads,
    spellings,
    texts_after,
    texts_before,
)
from crosspath.tasks.hazards import HAZARDS, found_in
from crosspath.types import Task

MARKS = "marks pair up"
DEMANDED = "what is demanded is checked"
TOLD = "what is checked is demanded"
TAGGED = "hazards are there"
_WORD = re.compile(r"[^\W_][\w]{2,}")
"""A word that can be looked for: three characters or more."""
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[0-7]{1,3}|[a-zA-Z])|%[0-9a-fA-F]{2}|&#?\w+;")
"""One character as formats and languages write it down; it is no part of the word beside it."""


def wording(task: Task) -> Iterator[Finding]:
    """The proofs about the words of one task."""
    try:
        marked = payloads(instruction_of(task))
    except MarksError as error:
        mend = f"close each {OPENING} with {CLOSING} before the next one opens"
        yield Finding(task.id, MARKS, "fails", str(error), mend)
        marked = ()
    else:
        yield _marks(task, marked)
        yield _demanded(task, marked)
    yield _told(task)
    yield _tagged(task, marked)


def _marks(task: Task, marked: tuple[str, ...]) -> Finding:
    if not marked:
        return not_tried(task.id, MARKS, "no marks in the instruction")
    inside = next((text for text in (*texts_before(task), *texts_after(task)) if OPENING in text or CLOSING in text), None)
    problem = None if inside is None else f"a mark is itself a part of {_shown(inside)}"
    return proved(task.id, MARKS, problem, f"take {OPENING} and {CLOSING} out of files, names and environment")


def _demanded(task: Task, marked: tuple[str, ...]) -> Finding:
    """Each payload occurs somewhere: in what is there before or in what is expected, as it is or as some format writes it."""
    if not marked:
        return not_tried(task.id, DEMANDED, "no marks in the instruction")
    if task.infeasible is not None:
        return not_tried(task.id, DEMANDED, "it can't be done, so nothing of what is demanded comes about")
    known = [*texts_before(task), *texts_after(task), *(observer.command for observer in task.observers)]
    lost = next((text for text in marked if not _occurs(text, known, task)), None)
    problem = None if lost is None else f"{_shown(lost)} is neither in fixture, programs or environment nor in the expected state"
    mend = "write the same payload in the instruction and in 'expected' (a variable of the template keeps them together)"
    return proved(task.id, DEMANDED, problem, mend)


def _occurs(text: str, known: list[str], task: Task) -> bool:
    lines = text.splitlines()
    return (
        _in_some_spelling(text, known)
        or (len(lines) > 1 and all(_in_some_spelling(line.strip(), known) for line in lines))  # indented, or one by one
        or any(fnmatch.fnmatchcase(name.rpartition("/")[2], text) for name in names_of(task))
        or _is_a_call(text, task)
    )


def _in_some_spelling(text: str, known: list[str]) -> bool:
    return any(form in each for form in spellings(text) for each in known)


def _is_a_call(text: str, task: Task) -> bool:
    """Whether each word is one that a program of the task knows: patterns of a stub stand there word by word."""
    words = text.split()
    texts = [
        each
        for program in task.programs
        for each in (program.path.decode(errors="replace"), program.content.decode(errors="replace"))
    ]
    return bool(words) and all(any(word in each for each in texts) for word in words)


def _told(task: Task) -> Finding:
    """No word of the expected state is known to the right command alone.

    What a command works out is not spelled out in it. So a word that it does spell out, that the final state must hold, and that
    stands neither in the instruction nor in anything that can be looked up, nobody can know.
    """
    if task.oracle is None:
        return not_tried(task.id, TOLD, "no right command (oracle)")
    known = "\0".join((instruction_of(task), *texts_before(task)))
    expected = set(_words("\0".join(texts_after(task))))
    secret = [word for word in _words(task.oracle) if word in expected and word not in known]
    shown = ", ".join(repr(word) for word in dict.fromkeys(secret))
    problem = f"the expected state holds {shown}, which neither the instruction nor the fixture tells" if secret else None
    return proved(task.id, TOLD, problem, "say it in the instruction, or take it out of 'expected'")


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(_ESCAPE.sub(" ", text)) if any(character.isalpha() for character in word)]


def _tagged(task: Task, marked: tuple[str, ...]) -> Finding:
    """Each tag that names a known hazard occurs in a payload, a name, a content or a value of the environment."""
    tags = [tag for tag in task.hazards if tag in HAZARDS]
    if not tags:
        return not_tried(task.id, TAGGED, "no tag of a known hazard")
    held = (*marked, *names_of(task), *texts_before(task), *texts_after(task))
    there: set[str] = set().union(*(found_in(text.removesuffix("\n")) for text in held))
    lacking = [tag for tag in tags if tag not in there]
    problem = f"{', '.join(lacking)}: in no payload, name, content or variable" if lacking else None
    return proved(task.id, TAGGED, problem, "put the hazard into the payload, or drop the tag")


def _shown(text: str) -> str:
    return repr(text) if len(text) <= 60 else repr(text[:60]) + "..."
