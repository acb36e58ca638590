"""How often the 95 % intervals hold the truth, how wide they are and what they detect, by simulation with a fixed seed.

    python benchmarks/interval_coverage.py [--draws 4000] [--seed 1]

Planted damage and compensation (``planted_evaluations.py``): 13 laws of how families differ, 6, 14 and 20 families, 1, 4 or
1 to 4 tasks a family, 1 or 5 trials a task. The intervals are computed for all draws at once (``vectorised_intervals.py``); on
a sample of each design they are compared with the product's own functions, and the script ends where they differ.

Output: Markdown tables. Coverage is the least over the designs, widths (in points) are means over them; beside each stands the
textbook method that falls short: Student's t on family means, Wilson, Newcombe.
"""

import argparse
import warnings
from collections.abc import Sequence
from fractions import Fraction
from typing import cast

import numpy as np
from planted_evaluations import LAWS, Design, Numbers, Planted, estimates, planted, truths
from vectorised_intervals import Ends, difference_ends, family_ends, newcombe_ends, plain_t, share_ends, wilson_ends

from crosspath.analysis import CandidateInput, CellInput, decompose_together, judge_control
from crosspath.analysis.family_intervals import family_interval
from crosspath.analysis.stats import difference_on_these_tasks, share_interval
from crosspath.types import CellRow

FAMILIES = (6, 14, 20)
DESIGNS = [(tasks, trials) for tasks in ("1", "4", "1 to 4") for trials in (1, 5)]
EFFECTS = ("damage", "compensation", "matched gap")
SHOWN = (*EFFECTS, "rate")
HOLDS = judge_control("encoded", {("a", 0): (True,)}, {("a", 0): (True,)})
CHECKED = 5
"""Draws of each design that are computed by the product, too."""


def dice_of(*words: object) -> np.random.Generator:
    """The same draws for the same words."""
    return np.random.default_rng(list("/".join(map(str, words)).encode()))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table."""
    for line in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(line) + " |")
    print(flush=True)


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


# -- the population of families ----------------------------------------------------------------------------------------


def bounds_of(name: str) -> tuple[int, int]:
    return (-1, 1) if name in EFFECTS else (0, 1)


def measure(law: str, design: Design, draws: int, seed: int) -> dict[str, list[tuple[str, float, float, float]]]:
    """Estimate -> method, coverage, mean width and power (share of intervals without 0)."""
    simulated = planted(law, design, draws, dice_of(seed, law, design))
    truth = truths(law)
    found: dict[str, list[tuple[str, float, float, float]]] = {}
    for name, x in estimates(simulated.family_means()).items():
        for method in (family_ends, plain_t):
            ends = method(x, *bounds_of(name))
            power = float(((ends.low > 0) | (ends.high < 0)).mean())
            shown = name if name in EFFECTS else "rate"
            row = (method.__name__, float(ends.covers(truth[name]).mean()), float(ends.width.mean()), power)
            found.setdefault(shown, []).append(row)
    check_population(simulated)
    return found


def check_population(simulated: Planted) -> None:
    """End where the product's decomposition differs from the intervals that are measured here."""
    cells = simulated.family_means()
    first = {name: values[:CHECKED] for name, values in estimates(cells).items()}
    for name, x in first.items():
        ends = family_ends(x, *bounds_of(name))
        for draw in range(len(x)):
            exact = [Fraction(float(value)).limit_denominator(1000) for value in x[draw]]
            agree(family_interval(exact, *bounds_of(name))[:2], ends, draw, name)
    (whole,) = decompose_together([candidate_input(simulated, 0)])
    ends = family_ends(first["compensation"][:1], -1, 1)
    compensation = whole.effect("compensation")
    assert compensation is not None
    agree((compensation.population.low, compensation.population.high), ends, 0, "compensation of a decomposition")


def agree(found: tuple[float | None, float | None], ends: Ends, draw: int, name: str) -> None:
    expected = (ends.low[draw], ends.high[draw])
    if not np.allclose(cast("tuple[float, float]", found), expected, atol=1e-6):
        raise SystemExit(f"{name}: the product finds {found}, the simulation {expected}")


def candidate_input(simulated: Planted, draw: int) -> CandidateInput:
    """One simulated evaluation as the product's own rows."""
    design = simulated.design

    def rows(cell: np.ndarray) -> tuple[CellRow, ...]:
        return tuple(
            CellRow(task=f"f{f:02}/t{t}", family=f"f{f:02}", index=k, passed=bool(cell[draw, f, t, k]))
            for f, size in enumerate(design.sizes)
            for t in range(size)
            for k in range(design.trials)
        )

    cells = [
        CellInput("R", "R", "raw", "raw", rows(simulated.rr)),
        CellInput("R", "N", "raw", "path", rows(simulated.rn)),
        CellInput("N", "N", "told", "path", rows(simulated.nn)),
    ]
    return CandidateInput("planted", cells, HOLDS)


def population_tables(draws: int, seed: int) -> None:
    """Coverage and width for the population of families, by law and number of families; then what is detected."""
    coverage, power, least = [], [], 1.0
    for families in FAMILIES:
        for law in LAWS:
            every = [measure(law, Design(families, *design), draws, seed) for design in DESIGNS]
            line, detected = [str(families), law], [str(families), law]
            for name in SHOWN:
                ours, before = (
                    [row for one in every for row in one[name] if row[0] == method] for method in ("family_ends", "plain_t")
                )
                held, formerly = (min(row[1] for row in rows) for rows in (ours, before))
                wide, narrow = (100 * float(np.mean([row[2] for row in rows])) for rows in (ours, before))
                line += [f"{percent(held)} ({percent(formerly)})", f"{wide:.0f} ({narrow:.0f})"]
                least = min(least, held)
                if name in ("damage", "compensation"):
                    detected.append(percent(float(np.mean([row[3] for row in ours]))))
                    detected.append(percent(float(np.mean([row[3] for row in before]))))
            coverage.append(line)
            power.append(detected)
    head = ["families", "law", *(f"{name}{column}" for name in SHOWN for column in (", %", ", width"))]
    print(f"Least coverage over {len(DESIGNS)} designs of {draws} draws each, mean width in points (t in brackets)\n")
    table(head, coverage)
    print(f"Least of all: {percent(least)} %\n")
    print("Share of intervals that exclude 0, %\n")
    table(["families", "law", "damage", "t", "compensation", "t"], power)


# -- these tasks -------------------------------------------------------------------------------------------------------


def these_tasks_table(draws: int, seed: int) -> None:
    """Rates and differences on tasks that are fixed: each task has its own chance, drawn once for ten draws of replies."""
    rows, least = [], 1.0
    for tasks in (6, 14, 24, 56):
        for trials in (1, 2, 5):
            found = [these_tasks(law, tasks, trials, draws, seed) for law in LAWS]
            columns = []
            for place in range(4 if trials == 1 else 2):
                held = min(one[place][0] for one in found)
                columns += [percent(held), f"{100 * float(np.mean([one[place][1] for one in found])):.0f}"]
                least = min(least, held) if place % 2 == 0 else least
            rows.append([str(tasks), str(trials), *columns, *([""] * (8 - len(columns)))])
    print(f"These tasks: least coverage over {len(LAWS)} laws of {draws} draws each, mean width in points\n")
    head = ["tasks", "trials", "difference, %", "width", "Newcombe, %", "width", "rate, %", "width", "Wilson, %", "width"]
    table(head, rows)
    print(f"Least of all: {percent(least)} %\n")


def these_tasks(law: str, tasks: int, trials: int, draws: int, seed: int) -> list[tuple[float, float]]:
    dice = dice_of(seed, "these", law, tasks, trials)
    right, broken, told = (np.repeat(chance, 10, axis=0) for chance in LAWS[law](dice, (draws // 10, tasks)))
    chances = told, right * (1 - broken)
    first, second = (dice.binomial(trials, chance).astype(float) for chance in chances)
    truth = (chances[0] - chances[1]).mean(axis=1)
    n = tasks * trials
    ends = [difference_ends(first, second, trials), newcombe_ends(first.sum(axis=1), second.sum(axis=1), n)]
    check_these(first, second, trials, ends[0])
    measured = [(float(one.covers(truth).mean()), float(one.width.mean())) for one in ends]
    if trials == 1:
        shares = [share_ends(first.sum(axis=1), n), wilson_ends(first.sum(axis=1), n)]
        low, high, _ = share_interval(float(first[0].sum()) / n, n)
        agree((low, high), shares[0], 0, "rate on these tasks")
        measured += [(float(one.covers(chances[0].mean(axis=1)).mean()), float(one.width.mean())) for one in shares]
    return measured


def check_these(first: Numbers, second: Numbers, trials: int, ends: Ends) -> None:
    for draw in range(CHECKED):
        sides = [[[place < passed for place in range(trials)] for passed in side[draw]] for side in (first, second)]
        agree(difference_on_these_tasks(*sides)[:2], ends, draw, "difference on these tasks")


# -- intervals that hold together --------------------------------------------------------------------------------------


def together_table(draws: int, seed: int) -> None:
    """Share of evaluations in which every interval of a report holds: Bonferroni, and each by itself."""
    rows = []
    for families in FAMILIES:
        for candidates in (1, 3):
            found = [together(law, families, candidates, draws, seed) for law in LAWS]
            joint, single = (min(one[place] for one in found) for place in (0, 1))
            widths = [100 * float(np.mean([one[place] for one in found])) for place in (2, 3)]
            effects = 3 * candidates
            rows.append([str(families), str(effects), percent(joint), percent(single), *(f"{width:.0f}" for width in widths)])
    print(f"Intervals that hold together: least over {len(LAWS)} laws of {draws} draws each, 4 tasks a family, 1 trial\n")
    table(["families", "effects", "all hold, %", "each by itself, %", "width together", "width by itself"], rows)


def together(law: str, families: int, candidates: int, draws: int, seed: int) -> tuple[float, float, float, float]:
    """All intervals hold: together, by themselves; mean widths. Candidates are independent, which is the hardest case."""
    held = [np.ones(draws, dtype=bool) for _ in range(2)]
    widths: list[list[float]] = [[], []]
    truth = truths(law)
    for candidate in range(candidates):
        simulated = planted(law, Design(families, "4", 1), draws, dice_of(seed, "together", law, families, candidates, candidate))
        for name, x in estimates(simulated.family_means()).items():
            for place, alpha in enumerate((0.05 / (3 * candidates), 0.05)) if name in EFFECTS else ():
                ends = family_ends(x, -1, 1, alpha)
                held[place] &= ends.covers(truth[name])
                widths[place].append(float(ends.width.mean()))
    return (*(float(one.mean()) for one in held), *(float(np.mean(one)) for one in widths))  # type: ignore[return-value]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--draws", type=int, default=4000)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    population_tables(options.draws, options.seed)
    these_tasks_table(options.draws, options.seed)
    together_table(options.draws, options.seed)


if __name__ == "__main__":
    warnings.simplefilter("error")
    main()
