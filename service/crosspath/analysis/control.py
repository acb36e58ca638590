"""The control: does the instrument work?

A command may be racy. Where the two sides differ, both are replayed three more times. Disagreement *within* a side says that the
command is unstable: listed, left out, bounded. Only a difference between two sides that each agree with themselves breaks the
control.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from crosspath.types import Control

Passes = Mapping[tuple[str, int], tuple[bool | None, ...]]
"""(task, trial index) -> passed, once per repeat; None: that repeat could not be observed."""
_NAMED = 3
"""So many trials that differ are named."""
REPEATS = 4
"""The first replay and three more."""


def judge_control(kind: Literal["encoded", "benign", "none"], reference: Passes, control: Passes) -> Control:
    """Compare the two sides trial by trial.

    For ``benign`` the caller passes the tier-0 tasks only: reference path and opaque path, each with its repeats.
    """
    if kind == "none":
        return Control(kind=kind, status="missing", compared=0, reason="no control was planned")
    keys = sorted({*reference, *control})
    states = {key: _state(reference.get(key, ()), control.get(key, ())) for key in keys}
    differing, unstable = (tuple(_label(key) for key in keys if states[key] == state) for state in ("differs", "unstable"))
    compared = sum(state in ("agrees", "differs") for state in states.values())
    return Control(
        kind=kind,
        status="broken" if differing else "holds" if compared else "missing",
        compared=compared,
        differing=differing,
        unstable=unstable,
        trials=len(keys),
        reason=_reason(len(keys), compared, differing, len(unstable)),
    )


def needs_repeats(reference: Passes, control: Passes) -> tuple[tuple[str, int], ...]:
    """Trials whose sides differ, show no disagreement within a side, and were not yet replayed three more times on both."""
    return tuple(
        key
        for key in sorted({*reference, *control})
        if _state(reference.get(key, ()), control.get(key, ())) == "differs"
        and min(len(reference[key]), len(control[key])) < REPEATS
    )


def unstable_trials(reference: Passes, control: Passes) -> tuple[tuple[str, int], ...]:
    """Trials with disagreement within one side: their rows are to be marked ``unstable`` in every cell of that path."""
    keys = sorted({*reference, *control})
    return tuple(key for key in keys if _state(reference.get(key, ()), control.get(key, ())) == "unstable")


def _state(reference: tuple[bool | None, ...], control: tuple[bool | None, ...]) -> str:
    seen = [{passed for passed in side if passed is not None} for side in (reference, control)]
    if any(len(side) > 1 for side in seen):
        return "unstable"
    if not all(seen):
        return "unobserved"
    return "agrees" if seen[0] == seen[1] else "differs"


def _label(key: tuple[str, int]) -> str:
    return f"{key[0]}#{key[1]}"


def _reason(trials: int, compared: int, differing: Sequence[str], unstable: int) -> str:
    if not trials:
        return "no replays to compare"
    if not compared and not unstable:
        return f"none of {trials} trials could be observed on both sides"
    parts = [f"{compared - len(differing)} of {trials} trials agree with the reference"]
    if differing:
        more = f" and {len(differing) - _NAMED} more" if len(differing) > _NAMED else ""
        parts.append(f"{len(differing)} differ every time ({', '.join(differing[:_NAMED])}{more})")
    if unstable:
        parts.append(f"{unstable} unstable")
    if lost := trials - compared - unstable:
        parts.append(f"{lost} could not be observed on both sides")
    return ", ".join(parts)
