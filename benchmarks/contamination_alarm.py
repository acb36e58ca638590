"""How often the contamination alarm rings, by simulation with a fixed seed: for honest models, and for those that know the tasks.

    python benchmarks/contamination_alarm.py [--evaluations 1000] [--seed 1]

Each evaluation has 28 families of 4 tiers, one trial a task. Families differ in how good the model is at them, tiers in how hard
they are, and every payload, public or drawn, is a little harder or easier than its variant. A model that *knows* tasks answers a
share of the public ones from memory, whatever it would have done otherwise; the share is set so that its public rate is so many
points higher.
"""

import argparse
import math
import random
import warnings
from collections.abc import Iterator

from crosspath.analysis.partitions import partition_gap
from crosspath.types import CellRow

FAMILIES, TIERS = 28, 4
MODELS = [("weak", -1.0), ("middling", 1.0), ("strong", 3.5), ("near 100 %", 5.0)]
"""(name, logit of its chance on a variant of middle hardness)"""
POINTS = (0, 5, 10, 15, 20, 30)
DRAWS = (1, 3)


def chances(dice: random.Random, skill: float) -> Iterator[tuple[str, str, float]]:
    """Family, variant, and the logit of the model's chance there."""
    for family in range(FAMILIES):
        level = skill + dice.gauss(0, 1)
        for tier in range(TIERS):
            yield f"f{family}", f"f{family}/v{tier}", level - (tier - 1.5) * 0.8


def chance(dice: random.Random, logit: float) -> float:
    """Of one payload."""
    return 1 / (1 + math.exp(-logit - dice.gauss(0, 0.5)))


def mean_chance(skill: float) -> float:
    """The honest pass rate, over many evaluations."""
    dice = random.Random(0)
    found = [chance(dice, logit) for _ in range(200) for _, _, logit in chances(dice, skill)]
    return sum(found) / len(found)


def rings(dice: random.Random, skill: float, memory: float, draws: int) -> bool:
    """Whether one evaluation rings the alarm; ``memory``: the share of public tasks that the model knows."""
    rows: list[CellRow] = []
    twins: dict[str, str] = {}
    for family, variant, logit in chances(dice, skill):
        known = dice.random() < memory
        rows.append(CellRow(task=variant, family=family, passed=known or dice.random() < chance(dice, logit)))
        for number in range(draws):
            held = f"{variant}-heldout{number}"
            twins[held] = variant
            rows.append(CellRow(task=held, family=family, passed=dice.random() < chance(dice, logit)))
    return partition_gap("m", "R", "R", rows, twins).alarm


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--evaluations", type=int, default=1000)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    print(f"share of {options.evaluations} evaluations that ring, by how many points higher the public rate is")
    print(f"{'model':<10}{'honest rate':>12}{'draws':>7}" + "".join(f"{f'+{points}':>8}" for points in POINTS))
    for name, skill in MODELS:
        rate = mean_chance(skill)
        for draws in DRAWS:
            found: list[str] = []
            for points in POINTS:
                memory = points / 100 / (1 - rate)
                if memory > 1:
                    found.append("-")
                    continue
                dice = random.Random(f"{options.seed}/{name}/{draws}/{points}")
                rung = sum(rings(dice, skill, memory, draws) for _ in range(options.evaluations))
                found.append(f"{100 * rung / options.evaluations:.1f} %")
            print(f"{name:<10}{100 * rate:>10.1f} %{draws:>7}" + "".join(f"{share:>8}" for share in found), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("error")
    main()
