"""The outcome of a trial in one cell as a short code, so that a third party can recompute every number of a card.

    p                  right                     f:wrong_state   wrong, and the path said so
    p!timeout          right, and a false alarm  s:wrong_state   wrong, and the path reported success
    f!masked           only the exit status is wrong
    x:server_error     nothing was observed
    p~1101             the same, with each repeat: 1 right, 0 wrong, - not observed

How a reply answers, where some tasks can't be done: ``form`` (it declined in the contract's form), ``otherwise`` (in other
words), ``acted``, or ``x`` (not observed); ``*`` behind it: the final state is not as it was; ``~`` the repeats.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from crosspath.types import Score

_CODE = re.compile(r"(?P<verdict>[pfsx])(?::(?P<word>[^!~]*))?(?:!(?P<alarm>[a-z]+))?(?:~(?P<repeats>[10-]+))?")
_DECLINING = re.compile(r"(?P<way>form|otherwise|acted|x)(?P<touched>\*)?(?:~(?P<repeats>[10-]+))?")
_MARKS = {True: "1", False: "0", None: "-"}
_MEANS = {mark: passed for passed, mark in _MARKS.items()}


@dataclass(frozen=True)
class Outcome:
    """One trial in one cell. ``passed`` None: not observed, ``cause`` is the type of the fault then."""

    passed: bool | None
    silent: bool = False
    """Wrong, and the path reported success."""
    cause: str | None = None
    alarm: str | None = None
    repeats: tuple[bool | None, ...] = ()
    """Passed, once per replay, the first one included; empty where there was one."""

    @property
    def passes(self) -> tuple[bool | None, ...]:
        return self.repeats or (self.passed,)


@dataclass(frozen=True)
class Answered:
    """How one reply answered in one cell. ``way`` None: not observed."""

    way: str | None
    touched: bool = False
    repeats: tuple[bool | None, ...] = ()
    """Whether it was right to answer so, once per replay."""


def outcome_code(score: Score | None, fault: str, passes: Sequence[bool | None]) -> str:
    """The code of one trial: its first score, or the type of the fault that stands in its place, and every repeat."""
    tail = repeats_code(passes) if len(passes) > 1 else ""
    if score is None:
        return f"x:{re.sub('[!~]', '_', fault)}{'~' + tail if tail else ''}"
    verdict = "p" if score.passed else "s" if score.silent_wrong else "f"
    cause = f":{score.cause}" if score.cause else ""
    alarm = f"!{score.false_alarm}" if score.false_alarm else ""
    return f"{verdict}{cause}{alarm}{'~' + tail if tail else ''}"


def outcome(code: str) -> Outcome:
    """The inverse of :func:`outcome_code`.

    Raises:
        ValueError: it is no such code.
    """
    found = _CODE.fullmatch(code)
    if found is None:
        raise ValueError(f"{code!r} is no outcome")
    passed = {"p": True, "x": None}.get(found["verdict"], False)
    return Outcome(passed, found["verdict"] == "s", found["word"], found["alarm"], repeats(found["repeats"] or ""))


def repeats_code(passes: Sequence[bool | None]) -> str:
    """``1`` right, ``0`` wrong, ``-`` not observed, in order."""
    return "".join(_MARKS[passed] for passed in passes)


def repeats(code: str) -> tuple[bool | None, ...]:
    """The inverse of :func:`repeats_code`.

    Raises:
        ValueError: another character.
    """
    if stray := set(code) - _MEANS.keys():
        raise ValueError(f"{min(stray)!r} is no mark of a repeat")
    return tuple(_MEANS[mark] for mark in code)


def declining_code(answered: Answered) -> str:
    """The code of how one reply answered."""
    tail = f"~{repeats_code(answered.repeats)}" if len(answered.repeats) > 1 else ""
    return f"{answered.way or 'x'}{'*' if answered.touched else ''}{tail}"


def answered(code: str) -> Answered:
    """The inverse of :func:`declining_code`.

    Raises:
        ValueError: it is no such code.
    """
    found = _DECLINING.fullmatch(code)
    if found is None:
        raise ValueError(f"{code!r} says not how a reply answered")
    way = None if found["way"] == "x" else found["way"]
    return Answered(way, found["touched"] is not None, repeats(found["repeats"] or ""))
