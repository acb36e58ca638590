"""Where each trial of a candidate as deployed was lost: exactly one place, decided by what the same reply, and the reply that was
told nothing of the path, do on the reference path.

The first rule that applies:

1. no verdict (a fault), or unstable           -> ``infrastructure``
2. it passes                                   -> kept
3. the *same reply* passes on the reference    -> ``path``. So for a candidate that is told nothing, what the path loses is what
   damage calls lost. It comes before the format: a reply that the reference carries and the path refuses, or that clean-up would
   have saved from this path alone, is well enough formed to be right.
4. ``contract_error``, ``undeliverable``, or right with the other clean-up of replies -> ``format``
5. ``refusal``, ``truncated``, ``empty``       -> ``model``: there is nothing that a path could have carried
6. the reply of the *same trial index* that was told nothing is right on the reference and wrong on this path -> ``path``: the
   task can be done, the path breaks the plain reply, and what the model wrote instead does not make up for it
7. else                                        -> ``model``. Where that plain reply is right on this very path, telling did it.

Rule 6 compares two independent draws. Taking the same index, and neither a majority nor the best of the task's trials, keeps
numbers whole and the expected share unbiased. Where that trial was not observed on both paths another trial of the task stands
for it, the lowest index first; without any, rule 7 decides, and the trial is counted as ``unmatched``. On the reference path
rules 3 and 6 can't apply, so nothing is lost to a path.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from crosspath.analysis.effects import population_rate
from crosspath.analysis.outcomes import arrange
from crosspath.analysis.stats import ALPHA
from crosspath.types import CellRow, Estimate, Loss, Losses, Side

_FORMAT = frozenset({"contract_error", "undeliverable"})
_NO_WORK = frozenset({"refusal", "truncated", "empty"})
PLACES: tuple[Loss, ...] = get_args(Loss)
ESTIMATED: tuple[Loss, ...] = ("path", "model", "format")
"""Places whose share says something about tasks."""


@dataclass(frozen=True)
class Seen:
    """One planned trial as deployed, and what is known of it elsewhere."""

    row: CellRow
    on_reference: bool | None = None
    """Whether the same reply passes on the reference path; None: not observed, or unstable."""
    plain: tuple[bool, bool] | None = None
    """Whether the matched reply that was told nothing passes on the reference path, and on this one."""
    cleaned: bool = False
    """Whether the same reply passes on the same path with the other clean-up."""


@dataclass(frozen=True)
class Placed:
    """A trial and its place; ``place`` None: kept."""

    row: CellRow
    place: Loss | None
    kind: str = ""
    plain: tuple[bool, bool] | None = None
    on_reference: bool | None = None


def place(seen: Seen) -> Placed:
    """Where a trial belongs; the rules are those of the module."""
    row = seen.row
    if row.unstable or row.passed is None:
        return Placed(row, "infrastructure", "unstable" if row.unstable else row.cause or "fault:unknown")
    if row.passed:
        return Placed(row, None, "", seen.plain)
    cause = row.cause or row.false_alarm or "unknown"
    return Placed(row, _lost_to(seen, cause), cause, seen.plain, seen.on_reference)


def _lost_to(seen: Seen, cause: str) -> Loss:
    if seen.on_reference:
        return "path"
    if cause in _FORMAT or seen.cleaned:
        return "format"
    if cause in _NO_WORK:
        return "model"
    return "path" if seen.plain == (True, False) else "model"


def matched(reference: Sequence[CellRow], here: Sequence[CellRow]) -> Mapping[str, Mapping[int, tuple[bool, bool]]]:
    """Task -> trial index -> whether the reply that was told nothing passes on either path; what lacks a stable verdict on
    one of them is left out."""
    passed = {(row.task, row.index): row.passed for row in here if not row.unstable}
    found: dict[str, dict[int, tuple[bool, bool]]] = {}
    for row in sorted(reference, key=lambda one: one.index):
        other = passed.get((row.task, row.index))
        if row.passed is not None and other is not None and not row.unstable:
            found.setdefault(row.task, {})[row.index] = (row.passed, other)
    return found


def matched_with(pairs: Mapping[str, Mapping[int, tuple[bool, bool]]], row: CellRow) -> tuple[bool, bool] | None:
    """The pair of the trial's own index, else that of the task's lowest one."""
    found = pairs.get(row.task, {})
    return found.get(row.index) or next(iter(found.values()), None)


def losses_of(candidate: str, told: Side, done: Side, trials: Iterable[Seen], together: int = 1) -> Losses:
    """Every trial in its place, counted; ``kept`` and all ``lost`` add up to ``attempted``, whatever the trials are.

    ``together``: over so many candidates the intervals of all shares hold together.
    """
    placed = [place(seen) for seen in trials]
    lost: dict[Loss, list[Placed]] = {name: [one for one in placed if one.place == name] for name in PLACES}
    by_model = [one for one in lost["model"] if one.kind not in _NO_WORK]
    return Losses(
        candidate=candidate,
        told=told,
        done=done,
        attempted=len(placed),
        kept=sum(one.place is None for one in placed),
        lost={name: len(found) for name, found in lost.items()},
        kinds={name: dict(sorted(Counter(one.kind for one in found).items())) for name, found in lost.items() if found},
        tasks={name: tuple(sorted({one.row.task for one in found})) for name, found in lost.items() if found},
        examples={name: min((one.row.task, one.row.index) for one in found) for name, found in lost.items() if found},
        shares={name: _share(placed, name, together) for name, found in lost.items() if found and name in ESTIMATED},
        made_up=sum(one.place is None and one.plain == (True, False) for one in placed),
        not_made_up=sum(not one.on_reference for one in lost["path"]),
        told_worse=sum(told == "N" and bool(one.plain and one.plain[1]) for one in lost["model"]),
        unmatched=sum(one.plain is None for one in by_model),
    )


def _share(placed: Sequence[Placed], name: Loss, together: int) -> Estimate:
    """The share that is lost in one place, as an estimate for the population of task families; what has no verdict is missing.

    The interval is one of all that could have been asked for, three places of each candidate, because readers are shown the
    biggest: Bonferroni, as in ``crosspath.analysis.simultaneous``.
    """
    rows = [one.row.model_copy(update={"passed": None if one.place == "infrastructure" else one.place == name}) for one in placed]
    number = together * len(ESTIMATED)
    found = population_rate(arrange(rows), bad=True, alpha=ALPHA / number)
    method = f"{found.method}; Bonferroni over {number}" if found.low is not None else found.method
    return found.model_copy(update={"method": method})
