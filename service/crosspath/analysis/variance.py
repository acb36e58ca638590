"""Where the variance of an effect over the task population comes from: families, tasks within families, draws of replies.

The effect is the mean of family means, of task means, of trials. With G families, T_g tasks in family g and task means whose
sampling variance is v_gi, its variance is

    families   s_F^2 / G
    tasks      s_T^2 / G^2  *  sum over g of 1 / T_g
    replies    1 / G^2      *  sum over g, i of v_gi / T_g^2

Components are estimated by the method of moments of the unbalanced nested analysis of variance, expected mean squares from the
inside out (Searle, Casella and McCulloch 1992, Variance Components, chapters 3 and 5); one that comes out negative is 0, as is
usual there. Replies are Bernoulli trials of unequal chances, so v_gi is taken task by task; only a task with a single trial,
where others have several, takes the pooled variance.

What one trial a task can't separate: how a task differs from its family's other tasks, and how its reply would differ if drawn
again. Both are then in ``tasks``. With one task a family all three are in ``families``.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crosspath.types import VarianceSource

Trials = Mapping[str, Sequence[float]]
"""Task -> values of its trials, at least one. One mapping for each independent generation; their task means are added up."""


@dataclass(frozen=True)
class _Task:
    value: float
    draws: tuple[float, ...] | None
    """Sampling variance of the task's mean from each generation; None where no task has two trials."""


def variance_sources(generations: Sequence[Trials], families: Mapping[str, str]) -> tuple[VarianceSource, ...]:
    """Contributions to the standard error of the mean of family means; empty with fewer than two families.

    ``generations``: of the same tasks. Damage has one (differences of each reply on two paths), compensation has two (NN, and RN
    with its sign turned), because its sides are drawn independently. ``families``: task -> family.
    """
    tasks = sorted(generations[0]) if generations else []
    grouped: dict[str, list[_Task]] = {}
    drawn = [_draw_variances(trials) for trials in generations]
    told_apart = all(one is not None for one in drawn)
    for task in tasks:
        value = math.fsum(math.fsum(trials[task]) / len(trials[task]) for trials in generations)
        draws = tuple(one[task] for one in drawn if one is not None) if told_apart else None
        grouped.setdefault(families[task], []).append(_Task(value, draws))
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
    means = [math.fsum(task.value for task in tasks) / len(tasks) for tasks in families]
    total = _squares(means) / (groups - 1) / groups
    replies = _from_draws(families)
    tasks = _from_tasks(families, replies is not None)
    parts = [max(0.0, total - (tasks or 0.0) - math.fsum(replies or ()))]
    names = ["families"]
    if tasks is not None:
        names, parts = [*names, "tasks"], [*parts, tasks]
    if replies is not None:
        names, parts = [*names, *("replies", "other_replies")[: len(replies)]], [*parts, *replies]
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


def _from_tasks(families: Sequence[Sequence[_Task]], told_apart: bool) -> float | None:
    """What tasks add to the variance of the effect, draws of replies included unless ``told_apart``; None: one task a family."""
    degrees = sum(len(tasks) - 1 for tasks in families)
    if not degrees:
        return None
    squares = math.fsum(_squares([task.value for task in tasks]) for tasks in families)
    if told_apart:
        squares -= math.fsum((1 - 1 / len(tasks)) * math.fsum(task.draws or ()) for tasks in families for task in tasks)
    return max(0.0, squares / degrees) * math.fsum(1 / len(tasks) for tasks in families) / len(families) ** 2
