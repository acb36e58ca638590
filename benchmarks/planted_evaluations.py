"""Evaluations with planted damage and compensation, many at once: trials in tasks in families.

A reply passes on the reference with its task's chance; the path breaks a passing reply with the task's chance of breaking, so
that RR and RN hold the same replies; NN is another generation. Families draw their chances from a law (``LAWS``), tasks scatter
around their family's: as often above as below, by at most 15 points, so that the mean over the population of families is known.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Dice = np.random.Generator
Law = Callable[[Dice, tuple[int, ...]], tuple[Numbers, Numbers, Numbers]]
"""Draws for families: chance on the reference, chance that the path breaks what passes, chance when told and run on the path."""
SCATTER = 0.15
FAMILY_SIZES = {"1": (1,), "4": (4,), "1 to 4": (1, 2, 4, 1, 3)}
"""Tasks per family, repeated over the families."""


def _all_or_nothing(share: float, breaks: float, otherwise: float) -> Law:
    """A share of families loses nearly all, the others nearly nothing."""

    def law(dice: Dice, shape: tuple[int, ...]) -> tuple[Numbers, Numbers, Numbers]:
        hit = dice.random(shape) < share
        return dice.beta(19, 1, shape), np.where(hit, breaks, otherwise), np.where(hit, 0.6, 0.95)

    return law


def _betas(right: tuple[float, float], broken: tuple[float, float], told: tuple[float, float]) -> Law:
    return lambda dice, shape: (dice.beta(*right, shape), dice.beta(*broken, shape), dice.beta(*told, shape))


def _same(right: float, broken: float, told: float) -> Law:
    return lambda dice, shape: (np.full(shape, right), np.full(shape, broken), np.full(shape, told))


LAWS: dict[str, Law] = {
    "families differ much": _betas((8, 2), (0.8, 1.6), (6, 2)),
    "families differ little": _betas((40, 10), (8, 16), (36, 12)),
    "every trial a coin": _same(0.5, 0.1, 0.5),
    "1 family in 10 loses all": _all_or_nothing(0.1, 0.97, 0.0),
    "1 in 5 loses all, all noisy": _all_or_nothing(0.2, 0.9, 0.03),
    "half of the families lose all": _all_or_nothing(0.5, 0.97, 0.0),
    "skewed: most little, few much": _betas((9, 1), (0.2, 1.8), (9, 1.5)),
    "skewed more": _betas((97, 3), (0.1, 0.9), (9, 1)),
    "nearly tied": _same(0.95, 0.01, 0.945),
    "all alike, near 100 %": _same(0.993, 0.003, 0.99),
    "near 100 %": _betas((30, 0.6), (0.3, 15), (30, 0.9)),
    "near 0 %": _betas((0.6, 20), (1, 1), (0.4, 20)),
    "nearly all is lost": _betas((9, 1), (18, 1), (1, 6)),
}


@dataclass(frozen=True)
class Design:
    """How many families, of how many tasks, with how many trials each."""

    families: int
    tasks: str
    """A key of ``FAMILY_SIZES``."""
    trials: int

    @property
    def sizes(self) -> NDArray[np.intp]:
        return np.resize(np.array(FAMILY_SIZES[self.tasks]), self.families)

    @property
    def present(self) -> NDArray[np.bool_]:
        """Families x largest size: which tasks there are."""
        sizes = self.sizes
        return np.arange(sizes.max())[None, :] < sizes[:, None]


@dataclass(frozen=True)
class Planted:
    """Simulated evaluations: arrays of draws x families x tasks x trials, and the chances behind RN and NN (without trials)."""

    design: Design
    rr: NDArray[np.bool_]
    rn: NDArray[np.bool_]
    nn: NDArray[np.bool_]

    def family_means(self) -> dict[str, Numbers]:
        """Cell -> draws x families."""
        present, sizes = self.design.present, self.design.sizes
        return {
            name: (cell.mean(axis=-1) * present).sum(axis=-1) / sizes
            for name, cell in (("RR", self.rr), ("RN", self.rn), ("NN", self.nn))
        }


def planted(law: str, design: Design, draws: int, dice: Dice) -> Planted:
    """``draws`` evaluations of one law and design."""
    shape = (draws, *design.present.shape)
    right, broken, told = (_scattered(chance, shape, dice) for chance in LAWS[law](dice, shape[:2]))
    trials = (*shape, design.trials)
    rr = dice.random(trials) < right[..., None]
    rn = rr & (dice.random(trials) >= broken[..., None])
    return Planted(design, rr, rn, dice.random(trials) < told[..., None])


def _scattered(chance: Numbers, shape: tuple[int, ...], dice: Dice) -> Numbers:
    reach = np.minimum(np.minimum(chance, 1 - chance), SCATTER)
    return chance[..., None] + reach[..., None] * dice.choice((-1.0, 1.0), shape)


@cache
def truths(law: str) -> dict[str, float]:
    """What the estimates estimate: means over the population of families, from so many draws that their error is below 0.0003."""
    right, broken, told = LAWS[law](np.random.default_rng(0), (4_000_000,))
    rr, rn, nn = float(right.mean()), float((right * (1 - broken)).mean()), float(told.mean())
    return {"RR": rr, "RN": rn, "NN": nn, "damage": rn - rr, "compensation": nn - rn, "matched gap": nn - rr}


def estimates(cells: dict[str, Numbers]) -> dict[str, Numbers]:
    """Cells and effects by name, from cells by name."""
    effects = {"damage": ("RN", "RR"), "compensation": ("NN", "RN"), "matched gap": ("NN", "RR")}
    return cells | {name: cells[first] - cells[second] for name, (first, second) in effects.items()}
