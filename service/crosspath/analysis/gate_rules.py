"""One rule of a gate, weighed: how well the evidence shows that it holds, and how well that it does not.

Each metric of a side is a least and a greatest value per planned trial: the same where the trial was observed, the ends of the
range where it was not. A rule is shown with the candidate's values at their worst and the baseline's at their best, and violated
the other way round, so what is missing can only leave a rule undecided.

What the values are depends on what the rule generalises to:

- ``task_population``: means of families (of task means), as if the families were drawn from many;
- ``these_tasks``: single trials, given the tasks; against a baseline the differences of its trials and the candidate's, paired
  by task and index, so that what tasks differ by plays no part;
- ``these_replies``: no test at all. The mean is known up to what is missing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from crosspath.analysis.gate_bounds import Sample
from crosspath.analysis.outcomes import family_means
from crosspath.analysis.reliability import all_pass
from crosspath.analysis.stats import mean
from crosspath.types import HIGHER_IS_BETTER, Estimate, PolicyRule

Span = tuple[int, int]
"""Least and greatest value of a trial."""
Values = Mapping[str, Sequence[Fraction]]
"""Task -> values of its trials."""


@dataclass(frozen=True)
class Measured:
    """A share, or a difference of shares, of one side."""

    spans: Mapping[str, Sequence[Span]]
    """Task -> its planned trials, in the order of their indices."""
    families: Mapping[str, str]
    known: str = ""
    """Why nothing has to be observed to know it; empty where it has to be."""


@dataclass(frozen=True)
class Amount:
    """A cost or a latency of one side's replies, as far as it is known."""

    value: float | None
    """Of the replies that have a verdict; None: nothing passed."""
    best: float | None
    """The least that it can be; None: nothing passed and nothing is missing, so that there is no end to it."""
    worst: float | None
    """The most that it can be; None: there is no end to it."""
    replies: int
    missing: int
    """Planned trials without a reply, or whose reply has no verdict."""


Evidence = Measured | Amount | str
"""Of one metric and side; a text says why there is none."""


@dataclass(frozen=True)
class Weighed:
    """A rule with the evidence for and against it. Samples and ``threshold`` are turned so that more is better."""

    rule: PolicyRule
    bound: float
    estimate: Estimate | None = None
    p_shown: float | None = None
    p_violated: float | None = None
    unusable: str = ""
    threshold: float = 0.0
    observed: Sample | None = None
    hopeful: Sample | None = None
    trials: tuple[Values, ...] = ()
    """Observed trials: the candidate's, and the baseline's with their sign turned."""
    families: Mapping[str, str] | None = None

    @property
    def sign(self) -> int:
        return 1 if self.rule.metric in HIGHER_IS_BETTER else -1


def weigh(rule: PolicyRule, alpha: float, candidate: Evidence, baseline: Evidence | None = None) -> Weighed:
    """The rule with its estimate and both p-values; ``unusable`` says why there are none.

    ``baseline``: of the same metric; it plays a part only for rules against it.
    """
    against = baseline if rule.against_baseline else None
    bound = _bound(rule)
    why = _unusable(rule, candidate, against)
    if why:
        return Weighed(rule, bound, unusable=why)
    if isinstance(candidate, Amount):
        return _weigh_amount(rule, bound, candidate, against if isinstance(against, Amount) else None)
    assert isinstance(candidate, Measured)
    return _weigh_shares(rule, alpha, _Sides(rule, candidate, against if isinstance(against, Measured) else None))


def _bound(rule: PolicyRule) -> float:
    """Of the estimate as it is shown: a value, a difference to the baseline's, or a multiple of it."""
    if rule.margin is not None:
        return -rule.margin if rule.metric in HIGHER_IS_BETTER else rule.margin
    return next(value for value in (rule.at_least, rule.at_most, rule.times_baseline) if value is not None)


def turned_bound(rule: PolicyRule) -> float:
    """The bound of a share with its sign turned so that more is better."""
    return _bound(rule) if rule.metric in HIGHER_IS_BETTER else -_bound(rule)


def turned_range(rule: PolicyRule) -> tuple[int, int]:
    """Between which values what the rule compares lies, turned likewise; against a baseline: of a difference."""
    sign = 1 if rule.metric in HIGHER_IS_BETTER else -1
    low, high = sorted((sign * rule.lowest, sign))
    return (low - high, high - low) if rule.against_baseline else (low, high)


def _unusable(rule: PolicyRule, candidate: Evidence, baseline: Evidence | None) -> str:
    if isinstance(candidate, str):
        return candidate
    if rule.against_baseline and baseline is None:
        return "there is no baseline to compare with"
    if isinstance(baseline, str):
        return f"of the baseline: {baseline}"
    sides = [side for side in (candidate, baseline) if isinstance(side, Measured)]
    if sides and not any(all(task in side.spans for side in sides) for task in sides[0].spans):
        return "no task was planned" if len(sides) == 1 else "no task was planned on both sides"
    fewest = min((len(spans) for side in sides for spans in side.spans.values()), default=0)
    if rule.k is not None and fewest < rule.k:
        return f"it takes {rule.k} trials a task, and there {'is' if fewest == 1 else 'are'} {fewest}"
    return ""


# -- shares and differences of shares -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sides:
    """What is compared: the tasks that both sides planned."""

    rule: PolicyRule
    candidate: Measured
    baseline: Measured | None

    @cached_property
    def tasks(self) -> frozenset[str]:
        tasks = frozenset(self.candidate.spans)
        return tasks & frozenset(self.baseline.spans) if self.baseline else tasks

    @property
    def sign(self) -> int:
        return 1 if self.rule.metric in HIGHER_IS_BETTER else -1

    @property
    def exact(self) -> bool:
        sides = [side for side in (self.candidate, self.baseline) if side]
        return self.rule.generalises_to == "these_replies" or all(side.known for side in sides)

    @cached_property
    def families(self) -> Mapping[str, str]:
        return {task: self.candidate.families[task] for task in self.tasks}

    def sample(self, hopeful: bool) -> Sample:
        """With everything that is missing at its best for the candidate, or at its worst."""
        candidate = self._turned(self.candidate, hopeful)
        return self._sample(candidate, self._turned(self.baseline, not hopeful) if self.baseline else None)

    def _turned(self, side: Measured, high: bool) -> Values:
        choose = max if high else min
        return {
            task: [Fraction(choose(self.sign * least, self.sign * most)) for least, most in side.spans[task]]
            for task in sorted(self.tasks)
        }

    @cached_property
    def observed(self) -> tuple[Values, Values | None]:
        """Only the trials that were observed; of a pair of trials (these tasks) only where both were."""
        candidate = self._observed(self.candidate)
        if self.baseline is None:
            return _filled(candidate, candidate), None
        baseline = self._observed(self.baseline)
        if self.rule.generalises_to == "these_tasks" and self.rule.k is None:
            pairs = {
                t: [(a, b) for a, b in zip(candidate[t], baseline[t], strict=False) if None not in (a, b)] for t in candidate
            }
            candidate = {task: [pair[0] for pair in found] for task, found in pairs.items()}
            baseline = {task: [pair[1] for pair in found] for task, found in pairs.items()}
        return _filled(candidate, baseline), _filled(baseline, candidate)

    def _observed(self, side: Measured) -> dict[str, list[Fraction | None]]:
        return {
            task: [Fraction(self.sign * low) if low == high else None for low, high in side.spans[task]]
            for task in sorted(self.tasks)
        }

    def _sample(self, candidate: Values, baseline: Values | None) -> Sample:
        values = self._by_family(candidate, baseline) if self._over_families else self._by_trial(candidate, baseline)
        return Sample.of((float(value) for value in values), *turned_range(self.rule))

    @property
    def _over_families(self) -> bool:
        return self.rule.generalises_to == "task_population"

    def _by_family(self, candidate: Values, baseline: Values | None) -> Sequence[Fraction]:
        ours = {task: self._of_task(values) for task, values in candidate.items()}
        if baseline is not None:
            ours = {task: value - self._of_task(baseline[task]) for task, value in ours.items()}
        return family_means(ours, self.families)

    def _of_task(self, values: Sequence[Fraction]) -> Fraction:
        k = self.rule.k
        return mean(values) if k is None else all_pass(int(sum(values)), len(values), k)

    def _by_trial(self, candidate: Values, baseline: Values | None) -> Iterator[Fraction]:
        for task, values in candidate.items():
            ours = self._blocks(values)
            if baseline is None:
                yield from ours
            else:
                yield from (one - other for one, other in zip(ours, self._blocks(baseline[task]), strict=False))

    def _blocks(self, values: Sequence[Fraction]) -> Sequence[Fraction]:
        """Trials, or for pass^k whether each k of them in a row passed all: independent, where all k-subsets are not."""
        k = self.rule.k
        return values if k is None else [min(values[at : at + k]) for at in range(0, len(values) - k + 1, k)]

    def observed_sample(self) -> Sample | None:
        """Of the observed trials alone; None where there are none."""
        needed = self.rule.k or 1
        candidate, baseline = self.observed
        enough = [t for t in candidate if len(candidate[t]) >= needed and (baseline is None or len(baseline[t]) >= needed)]
        if not enough:
            return None
        kept = {task: candidate[task] for task in enough}
        return self._sample(kept, {task: baseline[task] for task in enough} if baseline is not None else None)

    @property
    def counts(self) -> tuple[int, int]:
        """Trials (pairs) that were observed, and all that were planned."""
        candidate, baseline = self.observed
        n = sum(min(len(values), len(baseline[t]) if baseline is not None else len(values)) for t, values in candidate.items())
        return n, sum(self._planned(task) for task in self.tasks)

    def _planned(self, task: str) -> int:
        own = len(self.candidate.spans[task])
        if self.baseline is None:
            return own
        other = len(self.baseline.spans[task])
        return min(own, other)


def _filled(values: Mapping[str, Sequence[Fraction | None]], beside: Mapping[str, Sequence[Fraction | None]]) -> Values:
    """Tasks with an observed trial on both sides, and what was observed of them."""
    found = {task: [value for value in trials if value is not None] for task, trials in values.items()}
    return {task: trials for task, trials in found.items() if trials and any(value is not None for value in beside[task])}


def _weigh_shares(rule: PolicyRule, alpha: float, sides: _Sides) -> Weighed:
    bound, sign = _bound(rule), sides.sign
    threshold = turned_bound(rule)
    worst, best, observed = sides.sample(hopeful=False), sides.sample(hopeful=True), sides.observed_sample()
    if sides.exact:
        ends = worst.mean, best.mean
        p_shown, p_violated = float(ends[0] < threshold), float(ends[1] >= threshold)
    else:
        ends = worst.low(alpha), best.high(alpha)
        p_shown, p_violated = worst.p_not_above(threshold), best.p_not_below(threshold)
    n, planned = sides.counts
    estimate = Estimate(
        value=_positive(sign * observed.mean) if observed else None,
        low=_positive(min(sign * ends[0], sign * ends[1])), high=_positive(max(sign * ends[0], sign * ends[1])),
        n=n, missing=max(0, planned - n), worst=_positive(sign * worst.mean), best=_positive(sign * best.mean),
        estimand=rule.generalises_to, method=_method(sides, worst), p_value=p_shown,
    )  # fmt: skip
    trials = [values for values in sides.observed if values is not None]
    if len(trials) == 2:
        trials[1] = {task: [-value for value in values] for task, values in trials[1].items()}
    return Weighed(
        rule, bound, estimate, p_shown, p_violated,
        threshold=threshold, observed=observed, hopeful=best, trials=tuple(trials), families=sides.families,
    )  # fmt: skip


def _positive(value: float) -> float:
    """Without a zero that has a sign."""
    return value + 0.0


def _method(sides: _Sides, sample: Sample) -> str:
    if sides.exact:
        return sides.candidate.known or "exact for these replies"
    units = {"task_population": "family means", "these_tasks": "pairs of trials" if sides.baseline else "trials"}
    if sides.rule.k is not None and sides.rule.generalises_to == "these_tasks":
        units["these_tasks"] = f"runs of {sides.rule.k} trials"
    return f"Gaffke's one-sided test on {sample.size:.0f} {units[sides.rule.generalises_to]}"


# -- costs and latencies ------------------------------------------------------------------------------------------------


def _weigh_amount(rule: PolicyRule, bound: float, candidate: Amount, baseline: Amount | None) -> Weighed:
    value, best, worst = candidate.value, candidate.best, candidate.worst
    missing, replies = candidate.missing, candidate.replies
    if baseline is not None:
        if not baseline.value:
            return Weighed(rule, bound, unusable="the baseline's is 0, or nothing of it passed: there is no multiple of that")
        value = None if value is None else value / baseline.value
        best = None if best is None else best / baseline.worst if baseline.worst is not None else 0.0
        worst = worst / baseline.best if worst is not None and baseline.best else None
        missing += baseline.missing
        replies += baseline.replies
    exact = best == worst
    estimate = Estimate(
        value=value, low=best, high=worst, n=replies, missing=missing, worst=worst, best=best,
        estimand="these_replies", method="exact for these replies" if exact else "bounds over what is missing",
    )  # fmt: skip
    violated = best is None or best > bound
    return Weighed(rule, bound, estimate, float(worst is None or worst > bound), float(not violated), threshold=-bound)
