"""How often what is said about an order of models holds, by simulation with a fixed seed.

    python benchmarks/rank_interval_coverage.py [--draws 4000] [--resampled 400] [--seed 1]

Each draw is an evaluation of several models in two arrangements: families of one to seven tasks share what is hard about them,
and suit each model and arrangement differently; tasks scatter within their family, trials within their task. The truth is each
model's chance over the population of families (Gauss-Hermite quadrature); the true tau-a follows from it. In the last world each
model fails wholly on a share of the families of its own, and the more it fails on, the better it is elsewhere; in the first
arrangement the models are told apart plainly.

Columns: how often the interval of tau-a holds it, and its mean width; how often any pair is called surely kept or reversed that
is not; how often any two models are told apart in the wrong order. Beside it, on the first draws, what resampling tau-a itself
would give: percentiles of its bootstrap over families, and its jackknife (t with G - 1 degrees).
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, stdtrit

from crosspath.analysis.mean_tests import p_values, student_p_values
from crosspath.analysis.rank_resampling import signs, support, taus
from crosspath.analysis.told_apart import PairTests, sure

Numbers = NDArray[np.float64]
FAMILY, SUITS, TASK = 1.0, 0.7, 1.0
"""Standard deviations of logits: of a family, of how it suits a model in an arrangement, of a task."""
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
WORLDS: dict[str, tuple[float, float]] = {
    "same order, models close": (0.1, 1.0),
    "same order, models apart": (1.5, 1.0),
    "near order, models apart": (1.5, 0.9),
    "new order, models apart": (1.5, 0.0),
    "near order, far apart": (3.0, 0.9),
}
"""Name -> standard deviation of the models' logits, correlation of both arrangements."""
CORNER, FEW = "apart, then all equal", "few families decide"
"""Models far apart in the first arrangement and in the second as good as equal, in the reverse order; and the last world."""


@dataclass(frozen=True)
class Setting:
    """One line of the table."""

    world: str
    models: int
    families: int
    trials: int


def abilities(dice: np.random.Generator, setting: Setting) -> Numbers:
    """2 x models: logits."""
    if setting.world == CORNER:
        return 0.5 + np.stack([np.linspace(4, -4, setting.models), np.linspace(-1e-6, 1e-6, setting.models)])
    spread, correlation = WORLDS[setting.world]
    first, other = dice.normal(size=(2, setting.models))
    return 0.5 + spread * np.stack([first, correlation * first + np.sqrt(1 - correlation**2) * other])


def evaluated(dice: np.random.Generator, setting: Setting) -> tuple[Numbers, Numbers]:
    """One evaluation: family means (families x 2 x models), and the true pass rates (2 x models)."""
    groups, models = setting.families, setting.models
    sizes = dice.integers(1, 8, groups)
    family = np.repeat(np.arange(groups), sizes)
    if setting.world == FEW:
        lost, elsewhere, plain = np.linspace(0.05, 0.3, models), np.linspace(0.72, 0.95, models), np.linspace(0.98, 0.1, models)
        second = np.where(dice.random((groups, models)) < lost, 0.0, elsewhere)
        chance = np.stack([np.tile(plain, (groups, 1)), second], axis=1)[family]
        truth = np.stack([plain, (1 - lost) * elsewhere])
    else:
        logits = abilities(dice, setting)
        hard = dice.normal(0, FAMILY, groups)[family] + dice.normal(0, TASK, len(family))
        chance = expit(logits + hard[:, None, None] + dice.normal(0, SUITS, (groups, 2, models))[family])
        scatter = np.sqrt(FAMILY**2 + SUITS**2 + TASK**2)
        truth = np.asarray((expit(logits[..., None] + scatter * NODES) * WEIGHTS).sum(-1) / WEIGHTS.sum())
    right = np.zeros((groups, 2, models))
    np.add.at(right, family, dice.binomial(setting.trials, chance))
    return right / (sizes * setting.trials)[:, None, None], truth


def all_draws(dice: np.random.Generator, setting: Setting, draws: int, resampled: int) -> list[dict[str, float]]:
    """What held in each draw; the p-values of all draws are found at once."""
    left, right = np.triu_indices(setting.models, 1)
    rates, truths = zip(*(evaluated(dice, setting) for _ in range(draws)), strict=True)
    differences = np.stack(rates, axis=1)[..., left] - np.stack(rates, axis=1)[..., right]
    true_signs = np.sign(np.stack(truths)[..., left] - np.stack(truths)[..., right])
    interval, student = p_values(differences), student_p_values(differences)
    return [
        one_draw(
            differences[:, draw],
            true_signs[draw],
            PairTests(interval[draw], student[draw], setting.families),
            resampled=draw < resampled,
        )
        for draw in range(draws)
    ]


def one_draw(differences: Numbers, truth: Numbers, tests: PairTests, *, resampled: bool) -> dict[str, float]:
    """What held, 1 or 0, and the width of tau's interval."""
    order = signs(differences.sum(axis=0))
    claims = np.array([{"kept": 1, "reversed": -1, None: 0}[claim] for claim in sure(order, tests)])
    low, high = 2 * np.mean(claims == 1) - 1, 1 - 2 * np.mean(claims == -1)
    tau = float(taus(truth))
    apart = np.array([tests.apart(side) for side in (0, 1)])
    found = {
        "tau": low <= tau + 1e-9 and tau <= high + 1e-9,
        "width": high - low,
        "wrong": bool((claims * truth.prod(axis=0) < 0).any()),
        "misplaced": bool((apart & (order * truth < 0)).any()),
    }
    itself = of_tau_itself(differences, order, tau) if resampled else {}
    return {name: float(value) for name, value in (found | itself).items()}


def of_tau_itself(differences: Numbers, order: Numbers, truth: float) -> dict[str, bool]:
    """The bootstrap of tau over families, and its jackknife."""
    found = support(differences)
    assert found is not None
    low, high = found.tau_resampled
    without = taus(signs(differences.sum(axis=0) - differences))
    groups = len(differences)
    error = np.sqrt((groups - 1) / groups * ((without - without.mean()) ** 2).sum())
    return {
        "bootstrap": low - 1e-9 <= truth <= high + 1e-9,
        "jackknife": abs(float(taus(order)) - truth) <= stdtrit(groups - 1, 0.975) * error + 1e-9,
    }


def average(draws: list[dict[str, float]], name: str, form: Callable[[float], str]) -> str:
    known = [draw[name] for draw in draws if name in draw]
    return form(float(np.mean(known))) if known else "-"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--draws", type=int, default=4000)
    arguments.add_argument("--resampled", type=int, default=400, help="draws on which tau itself is resampled, too")
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    print(f"{'models':<25}{'n':>3}{'G':>4}{'trials':>7}   tau-a holds  width  wrongly sure  misplaced  bootstrap  jackknife")
    settings = [
        Setting(world, models, families, 1 if models == 2 else 3)
        for world in (*WORLDS, CORNER, FEW)
        for models in (2, 8)
        for families in (6, 14, 20)
    ]
    for number, setting in enumerate(settings):
        dice = np.random.default_rng([options.seed, number])
        draws = all_draws(dice, setting, options.draws, options.resampled)
        names = ("tau", "wrong", "misplaced", "bootstrap", "jackknife")
        share = {name: average(draws, name, lambda value: f"{100 * value:.1f} %") for name in names}
        width = average(draws, "width", lambda value: f"{value:.2f}")
        print(
            f"{setting.world:<25}{setting.models:>3}{setting.families:>4}{setting.trials:>7}{share['tau']:>14}{width:>7}"
            f"{share['wrong']:>14}{share['misplaced']:>11}{share['bootstrap']:>11}{share['jackknife']:>11}",
            flush=True,
        )


if __name__ == "__main__":
    warnings.simplefilter("error")
    main()
