"""Where the variance of an effect over the task population comes from: families, tasks within families, draws of replies.

The effect is the mean of family means, of task means, of trials. With G families, T_g tasks in family g and task means whose
sampling variance is v_gi, its variance is

    families   s_F^2 / G
    tasks      s_T^2 / G^2  *  sum over g of 1 / T_g
    replies    1 / G^2      *  sum over g, i of v_gi / T_g^2

Components are estimated by the method of moments of the unbalanced nested analysis of variance, expected mean squares from the
inside out (Searle, Casella and McCulloch 1992, Variance Components, chapters 3 and 5). They add up to the variance of the family
means that was observed: what is left for a source after those inside of it, and never less than 0. Replies are Bernoulli trials
of unequal chances, so v_gi is taken task by task; only a task with a single trial, where others have several, takes the pooled
variance. **Tiers** are no random draw: a family has tasks of each by design, so the mean difference between tiers is taken out
of the tasks first (its degrees of freedom, too).

What one trial a task can't separate: how a task differs from its family's other tasks, and how its reply would differ if drawn
again. Both are then in ``tasks``. With one task a family all three are in ``families``.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crosspath.types import VarianceSource

_NOTHING = 1e-20
"""A variance below this is what rounding leaves of equal means."""

Trials = Mapping[str, Sequence[float]]
"""Task -> values of its trials, at least one. One mapping for each independent generation; their task means are added up."""


@dataclass(frozen=True)
class _Task:
    value: float
    draws: tuple[float, ...] | None
    """Sampling variance of the task's mean from each generation; None where no task has two trials."""
    tier: int | None


def variance_sources(
    generations: Sequence[Trials], families: Mapping[str, str], tiers: Mapping[str, int] | None = None
) -> tuple[VarianceSource, ...]:
    """Contributions to the standard error of the mean of family means; empty with fewer than two families.

    ``generations``: of the same tasks. Damage has one (differences of each reply on two paths), compensation has two (NN, and RN
    with its sign turned), because its sides are drawn independently. ``families``: task -> family; ``tiers``: task -> tier.
    """
    tasks = sorted(generations[0]) if generations else []
    grouped: dict[str, list[_Task]] = {}
    drawn = [_draw_variances(trials) for trials in generations]
    told_apart = all(one is not None for one in drawn)
    for task in tasks:
        value = math.fsum(math.fsum(trials[task]) / len(trials[task]) for trials in generations)
        draws = tuple(one[task] for one in drawn if one is not None) if told_apart else None
        grouped.setdefault(families[task], []).append(_Task(value, draws, (tiers or {}).get(task)))
    if len(grouped) < 2:
        return ()
    return _listed([grouped[family] for family in sorted(grouped)])


def _draw_variances(trials: Trials) -> dict[str, float] | None:
    """Task -> sampling variance of its mean; the pooled variance for a task with one trial; None where no task has two."""
    spreads = {task: (_squares(values), len(values) - 1) for task, values in sorted(trials.items())}
    degrees = sum(free for _, free in spreads.values())
    if not degrees:
        return None
    pooled = math.fsum(squares for squares, _ in spreads.values()) / degrees
    return {task: (squares / free if free else pooled) / (free + 1) for task, (squares, free) in spreads.items()}


def _squares(values: Sequence[float]) -> float:
    """Sum of squared distances from the mean."""
    centre = math.fsum(values) / len(values)
    return math.fsum((value - centre) ** 2 for value in values)


def _listed(families: Sequence[Sequence[_Task]]) -> tuple[VarianceSource, ...]:
    groups = len(families)
    total = _squares([_mean(tasks) for tasks in families]) / (groups - 1) / groups
    total = total if total > _NOTHING else 0.0
    replies, tasks = _from_draws(families), _from_tasks(families)
    names, parts = ["families"], [total]
    if tasks is not None:
        names, parts = ["families", "tasks"], _split(parts[0], tasks + math.fsum(replies or ()))
    if replies is not None:
        inner = _split(parts[-1], math.fsum(replies))
        names, parts = (
            [*names, *("replies", "other_replies")[: len(replies)]],
            [*parts[:-1], inner[0], *_shared(inner[1], replies)],
        )
    whole = math.fsum(parts)
    return tuple(
        VarianceSource.model_validate(
            {"name": name, "standard_error": math.sqrt(part), "share": min(1.0, part / whole) if whole else None}
        )
        for name, part in zip(names, parts, strict=True)
    )


def _from_draws(families: Sequence[Sequence[_Task]]) -> tuple[float, ...] | None:
    """What each generation's draws add to the variance of the effect."""
    first = families[0][0].draws
    if first is None:
        return None
    return tuple(
        math.fsum(task.draws[place] / len(tasks) ** 2 for tasks in families for task in tasks if task.draws) / len(families) ** 2
        for place in range(len(first))
    )


def _from_tasks(families: Sequence[Sequence[_Task]]) -> float | None:
    """What tasks add to the variance of the effect beyond draws of replies; None: no two tasks to compare in a family.

    Draws are in it where they can't be told apart.
    """
    free = sum(len(tasks) - 1 for tasks in families)
    tiers = {task.tier for tasks in families for task in tasks}
    degrees = free - (len(tiers) - 1)
    if degrees < 1:
        return None
    centres = {tier: _mean([task for tasks in families for task in tasks if task.tier == tier]) for tier in tiers}
    squares = math.fsum(_squares([task.value - centres[task.tier] for task in tasks]) for tasks in families)
    draws = math.fsum((1 - 1 / len(tasks)) * math.fsum(task.draws or ()) for tasks in families for task in tasks)
    within = squares / degrees - draws / free
    return max(0.0, within) * math.fsum(1 / len(tasks) for tasks in families) / len(families) ** 2


def _mean(tasks: Sequence[_Task]) -> float:
    return math.fsum(task.value for task in tasks) / len(tasks)


def _split(variance: float, inside: float) -> list[float]:
    """What is left for a source, and what those inside of it take: at most all of it."""
    taken = min(variance, inside)
    return [variance - taken, taken]


def _shared(variance: float, parts: Sequence[float]) -> list[float]:
    """A variance, shared in proportion."""
    whole = math.fsum(parts)
    return [variance * part / whole if whole else 0.0 for part in parts]
