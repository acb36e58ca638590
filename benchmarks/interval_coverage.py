"""How often the 95 % intervals hold the truth, by simulation with a fixed seed.

    python benchmarks/interval_coverage.py [--draws 2000] [--seed 1]

Each draw is a paired evaluation: families have their own chance that a path breaks a reply, tasks scatter around it. The truth of
``task_population`` is the mean over the population of families; of ``these_tasks`` the mean over the tasks that were drawn.
"""

import argparse
import random
import warnings
from collections.abc import Sequence
from fractions import Fraction

from crosspath.analysis.stats import difference_on_these_tasks, family_interval, mean, share, wilson

SETTINGS = [(6, 4, 1), (6, 4, 3), (12, 4, 1), (30, 2, 1)]
"""(families, tasks per family, trials)"""
SCATTERS = [("families differ much", 0.8, 1.6), ("families differ little", 8.0, 16.0), ("most families tie", 0.05, 0.95)]
"""(name, a, b): a family's chance is drawn from a Beta(a, b) distribution."""

Holds = tuple[bool, bool, bool]


def one_draw(dice: random.Random, families: int, tasks: int, trials: int, a: float, b: float) -> Holds:
    """Whether t on family means, Wilson over all trials, and the interval for these tasks hold their truth."""
    first: list[list[bool]] = []
    second: list[list[bool]] = []
    chances: list[float] = []
    means: list[Fraction] = []
    for _ in range(families):
        chance = dice.betavariate(a, b)
        family: list[Fraction] = []
        for _ in range(tasks):
            task_chance = min(1.0, max(0.0, chance + dice.choice((-1, 1)) * min(chance, 1 - chance, 0.2)))
            chances.append(task_chance)
            first.append([dice.random() < task_chance for _ in range(trials)])
            second.append([dice.random() < 0.5 for _ in range(trials)])
            family.append(share(first[-1]))
        means.append(mean(family))
    low, high = _ends(family_interval(means, 0, 1))
    wilson_low, wilson_high = wilson(float(mean(means)), families * tasks * trials)
    these_low, these_high = _ends(difference_on_these_tasks(first, second))
    truth, these = a / (a + b), sum(chances) / len(chances) - 0.5
    return low <= truth <= high, wilson_low <= truth <= wilson_high, these_low <= these <= these_high


def _ends(interval: tuple[float | None, float | None, str]) -> tuple[float, float]:
    low, high, _ = interval
    assert low is not None
    assert high is not None
    return low, high


def coverage(draws: Sequence[Holds]) -> list[str]:
    return [f"{100 * sum(column) / len(draws):5.1f} %" for column in zip(*draws, strict=True)]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--draws", type=int, default=2000)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    print(f"{'families differ':<24}{'G':>3}{'tasks':>6}{'trials':>7}  t on families  Wilson, trials  these tasks")
    for name, a, b in SCATTERS:
        for families, tasks, trials in SETTINGS:
            dice = random.Random(f"{options.seed}/{name}/{families}/{tasks}/{trials}")
            draws = [one_draw(dice, families, tasks, trials, a, b) for _ in range(options.draws)]
            population, naive, these = coverage(draws)
            print(f"{name:<24}{families:>3}{tasks:>6}{trials:>7}  {population:>13}  {naive:>14}  {these:>11}")


if __name__ == "__main__":
    warnings.simplefilter("error")
    main()
