"""How often what is said about an order of models holds, by simulation with a fixed seed.

    python benchmarks/rank_interval_coverage.py [--draws 4000] [--resampled 400] [--seed 1]

Each draw is an evaluation of several models in two arrangements: families of one to seven tasks share what is hard about them,
and suit each model and arrangement differently; tasks scatter within their family, trials within their task. The truth is each
model's chance over the population of families (Gauss-Hermite quadrature); the true tau-a follows from it. In the last world each
model fails wholly on a share of the families of its own, and the more it fails on, the better it is elsewhere.

Columns: how often the interval of tau-a holds it, and its mean width; how often any pair is called surely kept or reversed that
is not; how often any two models are told apart in the wrong order. Beside it, on the first draws, what resampling tau-a itself
would give: percentiles of its bootstrap over families, and its jackknife (t with G - 1 degrees).
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, stdtrit

from crosspath.analysis.rank_resampling import signs, support, taus
from crosspath.analysis.shared_tasks import SharedTasks
from crosspath.analysis.told_apart import pair_p_values, sure, tied_sets

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


def evaluated(dice: np.random.Generator, setting: Setting) -> tuple[SharedTasks, Numbers]:
    """One evaluation, and the true pass rates (2 x models)."""
    groups, models = setting.families, setting.models
    sizes = dice.integers(1, 8, groups)
    family = np.repeat(np.arange(groups), sizes)
    if setting.world == FEW:
        lost, elsewhere = np.linspace(0.05, 0.3, models), np.linspace(0.72, 0.95, models)
        chance = np.where(dice.random((groups, models)) < lost, 0.0, elsewhere)[family][:, None, :].repeat(2, axis=1)
        truth = np.stack([(1 - lost) * elsewhere] * 2)
    else:
        logits = abilities(dice, setting)
        hard = dice.normal(0, FAMILY, groups)[family] + dice.normal(0, TASK, len(family))
        chance = expit(logits + hard[:, None, None] + dice.normal(0, SUITS, (groups, 2, models))[family])
        scatter = np.sqrt(FAMILY**2 + SUITS**2 + TASK**2)
        truth = np.asarray((expit(logits[..., None] + scatter * NODES) * WEIGHTS).sum(-1) / WEIGHTS.sum())
    right = np.zeros((groups, 2, models), dtype=np.int64)
    np.add.at(right, family, dice.binomial(setting.trials, chance))
    return arranged(right, sizes * setting.trials), truth


def arranged(right: NDArray[np.int64], trials: NDArray[np.int64]) -> SharedTasks:
    """Counts (families x 2 x models) as the analysis holds them."""
    models = range(right.shape[2])
    rates = [[[Fraction(int(k), int(n)) for k, n in zip(right[:, a, m], trials, strict=True)] for a in (0, 1)] for m in models]
    return SharedTasks(
        models=tuple(f"m{model}" for model in models),
        rates=tuple((tuple(first), tuple(second)) for first, second in rates),
        passed=tuple((Fraction(0), Fraction(0)) for _ in models),
        tasks=1,
        missing=0,
    )


def one_draw(dice: np.random.Generator, setting: Setting, resampled: bool) -> dict[str, float]:
    """What held, 1 or 0, and the width of tau's interval."""
    shared, rates = evaluated(dice, setting)
    left, right = np.triu_indices(setting.models, 1)
    truth = np.sign(rates[:, left] - rates[:, right])
    order, p = signs(shared.differences.sum(axis=0)), pair_p_values(shared)
    claims = np.array([{"kept": 1, "reversed": -1, None: 0}[claim] for claim in sure(order, p)])
    low, high = 2 * np.mean(claims == 1) - 1, 1 - 2 * np.mean(claims == -1)
    tau = float(taus(truth))
    found = {
        "tau": low <= tau + 1e-9 and tau <= high + 1e-9,
        "width": high - low,
        "wrong": bool((claims * truth.prod(axis=0) < 0).any()),
        "misplaced": any(misplaced(shared, side, p, order[side] * truth[side] < 0) for side in (0, 1)),
    }
    return {name: float(value) for name, value in (found | (of_tau_itself(shared, order, tau) if resampled else {})).items()}


def misplaced(shared: SharedTasks, side: int, p: Numbers | None, wrong: NDArray[np.bool_]) -> bool:
    """Whether two models are told apart in the wrong order."""
    groups = [set(group) for group in tied_sets(shared, side, p)]
    pairs = zip(*np.triu_indices(len(shared.models), 1), strict=True)
    names = [{shared.models[a], shared.models[b]} for (a, b), is_wrong in zip(pairs, wrong, strict=True) if is_wrong]
    return any(not any(pair <= group for group in groups) for pair in names)


def of_tau_itself(shared: SharedTasks, order: Numbers, truth: float) -> dict[str, bool]:
    """The bootstrap of tau over families, and its jackknife."""
    found = support(shared)
    assert found is not None
    low, high = found.tau_resampled
    without = taus(signs(shared.differences.sum(axis=0) - shared.differences))
    groups = shared.families
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
        draws = [one_draw(dice, setting, draw < options.resampled) for draw in range(options.draws)]
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
