"""How likely a candidate that is as good as its baseline is to be let through: both are drawn from the same law, again and again.

All blocking rules of a policy are judged on the same draws, so that their joint probability comes out, and not only that of each.
A law says for each task how likely each kind of trial is; a kind holds the values of all metrics at once (a trial that is lost to
the path is no pass). Draws become the same samples that ``gate_rules`` makes of an evaluation.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosspath.analysis.gate_bounds import Sample
from crosspath.analysis.gate_rules import turned_bound, turned_range
from crosspath.types import HIGHER_IS_BETTER, Metric, PolicyRule

SEED = 20_261_130
_ROUNDED = 12
"""Decimals to which means are equal, so that ties are ties."""

Array = NDArray[Any]


@dataclass(frozen=True)
class Law:
    """Kinds of trials, and how likely each is for each task."""

    families: tuple[str, ...]
    """Of each task."""
    kinds: tuple[Mapping[Metric, int], ...]
    chances: tuple[tuple[float, ...], ...]
    """Of each task: the chance of each kind; they add up to 1."""

    def among(self, families: int) -> "Law":
        """The law with so many families: those there are, over and over."""
        names = sorted(set(self.families))
        found = [
            (f"{names[number % len(names)]}/{number}", chances)
            for number in range(families)
            for family, chances in zip(self.families, self.chances, strict=True)
            if family == names[number % len(names)]
        ]
        return replace(self, families=tuple(family for family, _ in found), chances=tuple(chances for _, chances in found))

    @cached_property
    def _order(self) -> list[int]:
        return sorted(range(len(self.families)), key=lambda at: self.families[at])

    @cached_property
    def starts(self) -> list[int]:
        """Where each family begins in the order of the tasks."""
        ordered = [self.families[at] for at in self._order]
        return [at for at, family in enumerate(ordered) if not at or ordered[at - 1] != family]

    @cached_property
    def cumulated(self) -> Array:
        """Cumulated chances of each task, those of a family next to each other."""
        return np.cumsum([self.chances[at] for at in self._order], axis=1)


@dataclass(frozen=True)
class Power:
    """Shares of simulated gates."""

    passes: float
    """All rules are shown."""
    by_rule: tuple[float, ...]
    simulated: int


def power(
    rules: Sequence[PolicyRule],
    law: Law,
    trials: int,
    alpha: float,
    simulated: int = 400,
    seed: int = SEED,
    candidate: Law | None = None,
) -> Power:
    """How often rules about shares are shown of a candidate and a baseline that both follow ``law``.

    The same seed draws the same trials, and fewer trials are the first of more. ``candidate``: another law of the same tasks and
    kinds for it.
    """
    sides = (candidate or law, law)
    shown = [list(_shown(rules, sides, trials, alpha, number, seed)) for number in range(simulated)]
    by_rule = tuple(sum(one[place] for one in shown) / simulated for place in range(len(rules)))
    return Power(sum(all(one) for one in shown) / simulated, by_rule, simulated)


def _shown(
    rules: Sequence[PolicyRule], sides: Sequence[Law], trials: int, alpha: float, number: int, seed: int
) -> Iterator[bool]:
    candidate, baseline = (_drawn(law, trials, np.random.default_rng([seed, number, at])) for at, law in enumerate(sides))
    law = sides[0]
    for rule in rules:
        p_shown = chance_shown(rule, law, _values(rule, law, candidate), _values(rule, law, baseline))
        yield p_shown <= alpha


def _drawn(law: Law, trials: int, random: Any) -> Array:
    """The kind of each trial of each task."""
    uniform = np.stack([random.random(len(law.families)) for _ in range(trials)], axis=1)
    return (uniform[:, :, None] > law.cumulated[:, None, :-1]).sum(axis=2)


def _values(rule: PolicyRule, law: Law, kinds: Array) -> Array:
    """Turned so that more is better."""
    sign = 1 if rule.metric in HIGHER_IS_BETTER else -1
    return np.array([sign * kind[rule.metric] for kind in law.kinds])[kinds]


def chance_shown(rule: PolicyRule, law: Law, candidate: Array, baseline: Array) -> float:
    """The p-value of a rule for values of trials (tasks in the order of the families, trials), as ``gate_rules.weigh`` has it."""
    sample = sample_of(rule, law, candidate, baseline)
    if rule.generalises_to == "these_replies":
        return float(sample.mean < turned_bound(rule))
    return sample.p_not_above(turned_bound(rule))


def sample_of(rule: PolicyRule, law: Law, candidate: Array, baseline: Array) -> Sample:
    """What is tested: means of families, or trials; differences where the rule is against the baseline."""
    units = _over_families if rule.generalises_to == "task_population" else _over_trials
    values = units(rule, law, candidate)
    if rule.against_baseline:
        values = values - units(rule, law, baseline)
    rounded: list[float] = np.round(values, _ROUNDED).tolist()
    return Sample.of(rounded, *turned_range(rule))


def _over_families(rule: PolicyRule, law: Law, values: Array) -> Array:
    trials = values.shape[1]
    if rule.k is None:
        tasks = values.mean(axis=1)
    else:
        table = np.array([comb(passed, rule.k) / comb(trials, rule.k) for passed in range(trials + 1)])
        tasks = table[values.sum(axis=1)]
    sizes = np.diff([*law.starts, len(tasks)])
    return np.add.reduceat(tasks, law.starts) / sizes


def _over_trials(rule: PolicyRule, law: Law, values: Array) -> Array:
    if rule.k is None:
        return values.ravel()
    runs = values.shape[1] // rule.k
    return values[:, : runs * rule.k].reshape(len(values), runs, rule.k).min(axis=2).ravel()
