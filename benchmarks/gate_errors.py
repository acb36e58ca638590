"""How often a gate is wrong, and how often it decides: simulated candidates, judged by the functions that judge real ones.

    python benchmarks/gate_errors.py [SIMULATED] [PART ...]

Four parts: `pass` (how often a rule is shown of a candidate that is inferior by exactly its margin), `fail` (how often a rule is
called violated of a candidate that just meets it, and of an equal one), `power` (how often the shipped policy lets an equal
candidate pass, by trials) and `laws` (exactly, without simulation: the highest error among many laws of three values). Default:
4,000 simulated candidates for each line, all parts; about four minutes on one core.
"""

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.stats import beta

from crosspath.analysis.family_intervals import family_interval
from crosspath.analysis.gate_bounds import Sample
from crosspath.analysis.gate_power import Law, chance_shown, power, sample_of
from crosspath.analysis.gate_rules import Measured, turned_bound, weigh
from crosspath.app.plan_power import STATED_WORDS, stated_law
from crosspath.app.resolve import read_policy
from crosspath.catalogue import catalogue_tasks
from crosspath.types import PolicyRule

ALPHA = 0.05
GROUPS = (6, 14, 20)
TASKS = 4
TRIALS = 5
WIDE = PolicyRule(metric="pass_rate", margin=0.15)
WIDEST = PolicyRule(metric="pass_rate", margin=0.45)
"""Six families that all show no difference leave room for 39 points: a margin that they can show at all."""
NARROW = PolicyRule(metric="pass_rate", margin=0.05, over="these_tasks")
POLICY = Path(__file__).parent.parent / "deploy" / "policies" / "release.yaml"

Chances = tuple[np.ndarray, np.ndarray]
"""Chance of each task to be passed: by the candidate, by the baseline."""


@dataclass(frozen=True)
class Inferior:
    """A way of being worse by exactly a margin. ``draw``: chances for so many families, whose mean loss is the margin."""

    name: str
    rule: PolicyRule
    draw: Callable[[np.random.Generator, int, float], Chances]


def equal_loss(_: np.random.Generator, groups: int, loss: float) -> Chances:
    base = np.full(groups * TASKS, 0.9)
    return base - loss, base


def few_lose_all(random: np.random.Generator, groups: int, loss: float) -> Chances:
    base = np.full(groups * TASKS, 0.9)
    lost = np.repeat(random.random(groups) < loss / 0.9, TASKS)
    return np.where(lost, 0.0, base), base


def few_lose_all_surely(random: np.random.Generator, groups: int, loss: float) -> Chances:
    base = np.full(groups * TASKS, 1.0)
    return np.where(np.repeat(random.random(groups) < loss, TASKS), 0.0, base), base


def lopsided(random: np.random.Generator, groups: int, loss: float) -> Chances:
    """Most families near 100 %, losses between nothing and all: a beta law with its mean at the loss."""
    base = np.full(groups * TASKS, 0.99)
    lost = np.repeat(random.beta(0.3, 0.3 * (0.99 / loss - 1), groups), TASKS)
    return base * (1 - lost), base


def better_but_for_a_few(random: np.random.Generator, groups: int, loss: float) -> Chances:
    """10 points better in most families, and all is lost in the others."""
    base = np.full(groups * TASKS, 0.9)
    lost = np.repeat(random.random(groups) < loss + 0.1, TASKS)
    return np.where(lost, 0.0, 1.0), base


def tasks_lose_alike(_: np.random.Generator, groups: int, loss: float) -> Chances:
    base = np.full(groups * TASKS, 0.9)
    return base - loss, base


def tasks_near_all(_: np.random.Generator, groups: int, loss: float) -> Chances:
    base = np.full(groups * TASKS, 1.0)
    return base - loss, base


def few_tasks_lose_all(_: np.random.Generator, groups: int, loss: float) -> Chances:
    """The first tasks lose all, one of them a part, so that the mean is the loss exactly."""
    tasks = groups * TASKS
    base = np.full(tasks, 0.9)
    lost = np.clip(loss * tasks - 0.9 * np.arange(tasks), 0.0, 0.9)
    return base - lost, base


def uneven_tasks(_: np.random.Generator, groups: int, loss: float) -> Chances:
    """Tasks from hard to easy, all a little harder for the candidate."""
    base = np.linspace(loss, 1.0, groups * TASKS)
    return base - loss, base


LAWS = (
    Inferior("equal loss everywhere", WIDE, equal_loss),
    Inferior("a few families lose all", WIDE, few_lose_all),
    Inferior("the same without noise", WIDE, few_lose_all_surely),
    Inferior("lopsided, near 100 %", WIDE, lopsided),
    Inferior("better but for a few families", WIDE, better_but_for_a_few),
    Inferior("equal loss everywhere", WIDEST, equal_loss),
    Inferior("a few families lose all", WIDEST, few_lose_all),
    Inferior("the same without noise", WIDEST, few_lose_all_surely),
    Inferior("lopsided, near 100 %", WIDEST, lopsided),
    Inferior("better but for a few families", WIDEST, better_but_for_a_few),
    Inferior("equal loss of tasks", NARROW, tasks_lose_alike),
    Inferior("equal loss, from 100 %", NARROW, tasks_near_all),
    Inferior("a few tasks lose all", NARROW, few_tasks_lose_all),
    Inferior("tasks from hard to easy", NARROW, uneven_tasks),
)


def design(groups: int) -> Law:
    families = tuple(f"f{number:03}" for number in range(groups) for _ in range(TASKS))
    return Law(families, ({"pass_rate": 1},), tuple((1.0,) for _ in families))


def drawn(random: np.random.Generator, chances: np.ndarray) -> np.ndarray:
    return (random.random((len(chances), TRIALS)) < chances[:, None]).astype(int)


def simulated(law: Inferior, groups: int, loss: float, number: int) -> Iterator[tuple[Law, np.ndarray, np.ndarray]]:
    random, shape = np.random.default_rng([groups, len(law.name), number]), design(groups)
    for _ in range(number):
        ours, theirs = law.draw(random, groups, loss)
        yield shape, drawn(random, ours), drawn(random, theirs)


def limit(hits: int, number: int) -> float:
    """Clopper-Pearson's upper limit, one-sided at 95 %."""
    return float(beta.ppf(0.95, hits + 1, number - hits)) if hits < number else 1.0


def measured(law: Law, values: np.ndarray) -> Measured:
    tasks = [f"t{number:04}" for number in range(len(values))]
    spans = {task: [(int(value), int(value)) for value in trials] for task, trials in zip(tasks, values, strict=True)}
    return Measured(spans, dict(zip(tasks, law.families, strict=True)))


def interval_shows(rule: PolicyRule, law: Law, ours: np.ndarray, theirs: np.ndarray) -> bool:
    """What the one-sided end of a report's interval would have said, at the same level."""
    sample = sample_of(rule, law, ours, theirs)
    means = [Fraction(value).limit_denominator(10**6) for value, count in sample.counts.items() for _ in range(int(count))]
    low = family_interval(means, -1, 1, 2 * ALPHA).low
    return low is not None and low > turned_bound(rule)


def false_passes(number: int) -> None:
    print(f"Shown although the candidate is worse by exactly the margin: {number:,} candidates each, alpha {100 * ALPHA:.0f} %,")
    print(
        f"{TASKS} tasks a family, {TRIALS} trials a task and side; in brackets an upper limit (Clopper-Pearson, 95 % one-sided)."
    )
    print(f"{'':<54}" + "".join(f"{groups:>4} families   " for groups in GROUPS))
    same = checked = 0
    worst = 0.0
    for law in LAWS:
        assert law.rule.margin is not None
        cells = []
        for groups in GROUPS:
            hits = 0
            for place, (shape, ours, theirs) in enumerate(simulated(law, groups, law.rule.margin, number)):
                p_shown = chance_shown(law.rule, shape, ours, theirs)
                hits += p_shown <= ALPHA
                if place < 5:
                    found = weigh(law.rule, ALPHA, measured(shape, ours), measured(shape, theirs)).p_shown
                    same, checked = same + (found is not None and abs(found - p_shown) < 1e-9), checked + 1
            worst = max(worst, limit(hits, number))
            cells.append(f"{100 * hits / number:5.2f} % ({100 * limit(hits, number):4.2f})")
        about = f"{law.name} ({100 * law.rule.margin:.0f} points, {'tasks' if law.rule is NARROW else 'families'})"
        print(f"{about:<54}" + "  ".join(cells))
    print(f"highest upper limit: {100 * worst:.2f} %; as judged by analysis.gate_rules.weigh: {same} of {checked} p-values")
    few = max(200, number // 10)
    print(f"\nThe same with the one-sided end of the reports' interval over families (t and empirical likelihood), {few} each:")
    for law in (law for law in LAWS if law.rule is not NARROW):
        shares = []
        for groups in GROUPS:
            draws = simulated(law, groups, law.rule.margin or 0.0, few)
            shares.append(f"{100 * sum(interval_shows(law.rule, *draw) for draw in draws) / few:5.1f} %".ljust(15))
        about = f"{law.name} ({100 * (law.rule.margin or 0):.0f} points)"
        print(f"{about:<54}" + "".join(shares))


def false_fails(number: int) -> None:
    print(
        f"\nViolated although the rule holds: {number:,} candidates each; worse by exactly the margin, and equal to the baseline."
    )
    print(f"{'':<62}" + "".join(f"{groups:>4} families   " for groups in GROUPS))
    worst = 0.0
    for law in LAWS:
        for loss, words in ((law.rule.margin or 0.0, "just allowed"), (0.0, "equal")):
            if loss == 0.0 and law.draw in (lopsided, better_but_for_a_few):
                continue
            cells = []
            for groups in GROUPS:
                hits = 0
                for shape, ours, theirs in simulated(law, groups, loss, number):
                    hits += sample_of(law.rule, shape, ours, theirs).p_not_below(turned_bound(law.rule)) <= ALPHA
                worst = max(worst, limit(hits, number))
                cells.append(f"{100 * hits / number:5.2f} % ({100 * limit(hits, number):4.2f})")
            about = f"{law.name} ({100 * (law.rule.margin or 0):.0f} points), {words}"
            print(f"{about:<62}" + "  ".join(cells))
    print(f"highest upper limit: {100 * worst:.2f} %")


def equal_candidates(number: int) -> None:
    policy = read_policy(POLICY)
    rules = [rule for rule in policy.blocking if rule.metric != "usd_per_pass"]
    tasks = [task for task in catalogue_tasks() if task.infeasible is None]
    families = len({task.family for task in tasks})
    print(
        f"\n{POLICY.name}: how often an equal candidate passes on the shipped catalogue: {len(tasks)} tasks, {families} families,"
    )
    print(f"{number} simulated gates each; {STATED_WORDS}:")
    for trials in (1, 2, 3, 4, 5, 6, 8, 12):
        found = power(rules, stated_law(tasks), trials, policy.alpha, number)
        each = ", ".join(f"{rule.title} {100 * share:.0f} %" for rule, share in zip(rules, found.by_rule, strict=True))
        print(f"  {trials:>2} trials a task: {100 * found.passes:5.1f} %   ({each})")
    for groups in (*GROUPS, 40):
        law = stated_law(tasks).among(groups)
        found = {trials: power(rules, law, trials, policy.alpha, number).passes for trials in (5, 12)}
        shares = ", ".join(f"{trials} trials {100 * passes:.1f} %" for trials, passes in found.items())
        print(f"  with {groups} of such families instead: {shares}")
    print("and one whose tasks all pass less often:")
    for points in (2, 5, 10):
        shares = []
        for trials in (3, 5, 8, 12):
            found = power(
                rules, stated_law(tasks), trials, policy.alpha, number, candidate=_worse(stated_law(tasks), points / 100)
            )
            shares.append(
                f"{trials} trials {100 * found.passes:.1f} % (up to {100 * limit(round(found.passes * number), number):.1f})"
            )
        print(f"  {points:>2} points worse: {', '.join(shares)}")


def _worse(law: Law, loss: float) -> Law:
    """Passes become replies that are lost to the model and silently wrong."""
    passing, wrong = 0, next(at for at, kind in enumerate(law.kinds) if kind["lost_to_model"] and kind["silent_wrong"])
    chances = tuple(
        tuple(one - loss * (at == passing) + loss * (at == wrong) for at, one in enumerate(task)) for task in law.chances
    )
    return replace(law, chances=chances)


def three_values() -> None:
    """For each law the chances of all samples are added up of which the test shows a mean above the true one."""
    points, shares = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0), [number / 10 for number in range(1, 9)]
    laws = [
        (values, (first, second, 1 - first - second))
        for values in combinations(points, 3)
        for first in shares
        for second in shares
        if first + second < 0.95
    ]
    print(f"\nExactly, over {len(laws)} laws of three values from 0 to 1: how often a mean above the true one is shown, at most")
    for size in GROUPS:
        samples = [(a, b, size - a - b) for a in range(size + 1) for b in range(size + 1 - a)]
        logs = [math.lgamma(size + 1) - math.fsum(math.lgamma(count + 1) for count in sample) for sample in samples]
        errors = [_error(values, chances, samples, logs) for values, chances in laws]
        worst = max(range(len(laws)), key=errors.__getitem__)
        shown = ", ".join(f"{value:g} ({100 * chance:.0f} %)" for value, chance in zip(*laws[worst], strict=True))
        print(f"  {size:>2} families: {100 * errors[worst]:.2f} %, of alpha {100 * ALPHA:.0f} % (values {shown})")


def _error(values: Sequence[float], chances: Sequence[float], samples: Sequence[Sequence[int]], logs: Sequence[float]) -> float:
    true = math.fsum(value * chance for value, chance in zip(values, chances, strict=True))
    total = 0.0
    for sample, ways in zip(samples, logs, strict=True):
        counts = {value: count for value, count in zip(values, sample, strict=True) if count}
        if Sample(counts, 0, 1).p_not_above(true) <= ALPHA:
            total += math.exp(ways + math.fsum(n * math.log(c) for n, c in zip(sample, chances, strict=True)))
    return total


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 4_000
    parts = sys.argv[2:] or ["pass", "fail", "power", "laws"]
    started = time.perf_counter()
    if "pass" in parts:
        false_passes(number)
    if "fail" in parts:
        false_fails(number)
    if "power" in parts:
        equal_candidates(min(number, 2_000))
    if "laws" in parts:
        three_values()
    print(f"\n{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
