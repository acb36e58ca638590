"""Several trials of the same task: pass^k, first trials against all, and how often a reply is another one.

pass^k is the chance that k independent trials of a task all pass (Yao et al. 2024, tau-bench): of c passes among n trials the
unbiased estimate is C(c, k) / C(n, k), the share of the k-subsets that hold passes only; the same counting as Chen et al. (2021)
use for pass@k, which asks for one pass among k. It is averaged over tasks within families, with the interval over families that
every rate has.

A task that lost trials still gives pass^k for every k that its remaining trials reach, which is unbiased where trials are lost
whatever they would have shown. ``worst`` and ``best`` need no such assumption: each lost trial counts as failed, or as passed
(``best`` is raised to the value where the tasks that can't give it are known to be no better).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import comb
from typing import NamedTuple

from crosspath.analysis.family_intervals import family_interval
from crosspath.analysis.outcomes import Outcomes, arrange, average, family_means
from crosspath.analysis.stats import sign_flip_p
from crosspath.types import CellRow, Estimate, Reliability, Side

Distinct = tuple[str | None, tuple[tuple[str, str], ...]]
"""What makes a reply another one: its text, and the names and arguments of its tool calls."""


class Repeated(NamedTuple):
    """One cell with all its trials."""

    candidate: str
    told: Side
    done: Side
    trials: int
    """Planned trials a task."""
    rows: Sequence[CellRow]
    replies: Mapping[str, Sequence[Distinct]]
    """Task -> its replies, also those without a verdict."""


def all_pass(passed: int, trials: int, k: int) -> Fraction:
    """Unbiased estimate of the chance that ``k`` trials all pass, from ``passed`` of ``trials`` independent ones.

    Raises:
        ValueError: fewer trials than ``k``, which say nothing about it.
    """
    if not (0 <= passed <= trials and 1 <= k <= trials):
        raise ValueError(f"pass^{k} can't be had from {passed} of {trials} trials")
    return Fraction(comb(passed, k), comb(trials, k))


class _Counts(NamedTuple):
    """One task's trials."""

    passed: int
    seen: int
    """Those that count."""
    planned: int


def _counted(outcomes: Outcomes) -> dict[str, _Counts]:
    """Task -> counts, tasks in alphabetical order."""
    found: dict[str, _Counts] = {}
    for task, trials in sorted(outcomes.trials.items()):
        seen = [passed for passed in trials.values() if passed is not None]
        found[task] = _Counts(sum(seen), len(seen), len(trials))
    return found


def reliability_of(cell: Repeated) -> Reliability:
    """What the repeated trials of a cell show.

    Raises:
        ValueError: two rows are the same trial, or a task is in two families.
    """
    outcomes = arrange(cell.rows)
    counts = _counted(outcomes)
    whole = [one for one in counts.values() if one.seen >= cell.trials]
    different = [len(set(replies)) for _, replies in sorted(cell.replies.items()) if len(replies) > 1]
    chances = {k: pass_hat(outcomes, k, counts) for k in range(1, cell.trials + 1)}
    return Reliability(
        candidate=cell.candidate,
        told=cell.told,
        done=cell.done,
        trials=cell.trials,
        pass_hat=chances,
        tasks={k: sum(one.seen >= k for one in counts.values()) for k in chances},
        first=pass_hat(arrange(row for row in cell.rows if row.index == 0), 1),
        every=chances[1],
        first_minus_every=_first_minus_every(outcomes, counts),
        by_trial=_by_trial(outcomes, cell.trials),
        always=sum(one.passed == one.seen for one in whole),
        sometimes=sum(0 < one.passed < one.seen for one in whole),
        never=sum(one.passed == 0 for one in whole),
        incomplete=len(counts) - len(whole),
        unsteady={task: (one.passed, one.seen) for task, one in counts.items() if 0 < one.passed < one.seen},
        distinct=dict(sorted(Counter(different).items())),
        distinct_mean=sum(different) / len(different) if different else None,
    )


def pass_hat(outcomes: Outcomes, k: int, counts: Mapping[str, _Counts] | None = None) -> Estimate:
    """pass^k for the population of families; without a value where no task has ``k`` trials that count.

    ``counts``: those of ``outcomes``, where they are known already.
    """
    counts = _counted(outcomes) if counts is None else counts
    reached = {task: one for task, one in counts.items() if one.seen >= k}
    chances = {task: all_pass(one.passed, one.seen, k) for task, one in reached.items()}
    interval = family_interval(family_means(chances, outcomes.families), 0, 1)
    n, unstable = sum(one.seen for one in reached.values()), len(outcomes.unstable)
    value = [average(chances, outcomes.families)] if chances else []
    lost = any(one.seen < one.planned for one in counts.values())
    worst, best = ([*(_bound(outcomes, counts, k, missing) if lost else ()), *value] for missing in (False, True))
    return Estimate(
        value=float(value[0]) if value else None, low=interval.low, high=interval.high,
        n=n, missing=sum(one.planned for one in counts.values()) - n - unstable, unstable=unstable,
        worst=float(min(worst)) if worst else None, best=float(max(best)) if best else None, estimand="task_population",
        method=interval.method,
    )  # fmt: skip


def _bound(outcomes: Outcomes, counts: Mapping[str, _Counts], k: int, missing: bool) -> list[Fraction]:
    """pass^k over all planned trials, if each that doesn't count had ended as ``missing``; nothing where none were planned."""
    chances = {
        task: all_pass(one.passed + (one.planned - one.seen if missing else 0), one.planned, k)
        for task, one in counts.items()
        if one.planned >= k
    }
    return [average(chances, outcomes.families)] if chances else []


def _first_minus_every(outcomes: Outcomes, counts: Mapping[str, _Counts]) -> Estimate:
    """First trials minus all trials of the same tasks, over tasks whose first trial counts; ``n`` and ``missing`` are tasks."""
    differences = {
        task: int(first) - Fraction(counts[task].passed, counts[task].seen)
        for task, trials in sorted(outcomes.trials.items())
        if (first := trials.get(0)) is not None
    }
    families = family_means(differences, outcomes.families)
    interval = family_interval(families, -1, 1)
    p_value = sign_flip_p(families)
    tested = "" if p_value is None else "; sign-flip p over families"
    return Estimate(
        value=float(average(differences, outcomes.families)) if differences else None, low=interval.low, high=interval.high,
        n=len(differences), missing=len(outcomes.trials) - len(differences), estimand="task_population",
        method=interval.method + tested, p_value=p_value,
    )  # fmt: skip


def _by_trial(outcomes: Outcomes, trials: int) -> dict[int, tuple[int, int]]:
    return {index: _count(task.get(index) for task in outcomes.trials.values()) for index in range(trials)}


def _count(seen: Iterable[bool | None]) -> tuple[int, int]:
    counting = [passed for passed in seen if passed is not None]
    return sum(counting), len(counting)
