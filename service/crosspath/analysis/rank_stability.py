"""Whether the order of models is the same in two arrangements of a configuration.

**What is observed**: pairs of models that change order, by their mean over families (``analysis/shared_tasks.py``).

**What is sure**: a pair's order is kept, or reversed, for families like these if both arrangements tell the two models apart
(``analysis/told_apart.py``), with 95 % confidence over all pairs together. So K pairs surely kept and R surely reversed of P
leave 2 K / P - 1 .. 1 - 2 R / P for tau-a: what simultaneous tests of all pairs allow (as Mogstad, Romano, Shaikh and Wilhelm
2024, Inference for ranks, Rev. Econ. Stud. 91). A bootstrap or jackknife of tau itself does not hold its truth where models are
close, because every draw reverses some of their pairs (``benchmarks/rank_interval_coverage.py``); its range only describes.
"""

from collections.abc import Mapping
from typing import Literal

import numpy as np

from crosspath.analysis.outcomes import Outcomes
from crosspath.analysis.rank_resampling import signs, support, taus
from crosspath.analysis.shared_tasks import Numbers, SharedTasks, shared_tasks
from crosspath.analysis.told_apart import PairTests, sure, tied_sets
from crosspath.types import Arrangement, Estimate, ModelRates, PairOrder, RankStability, Sureness

Arranged = tuple[Arrangement, Mapping[str, Outcomes]]
"""An arrangement, and model -> outcomes in it."""


def rank_stability(first: Arranged, second: Arranged, left_out: Mapping[str, str] | None = None) -> RankStability | None:
    """Two arrangements of the same models, whatever order models and rows come in; None for fewer than two models.

    ``left_out``: model -> why it takes no part.

    Raises:
        ValueError: a model is on one side only, or a task in two families.
    """
    if first[1].keys() != second[1].keys():
        raise ValueError("both arrangements need the same models")
    if len(first[1]) < 2:
        return None
    shared = shared_tasks(first[1], second[1])
    order = signs(shared.differences.sum(axis=0))
    tests = PairTests.of(shared.differences)
    claims = sure(order, tests)
    supported = support(shared.differences)
    pairs = _pairs(shared, order, claims)
    if supported:
        chances = zip(pairs, supported.reversed_without.tolist(), supported.reversed_share.tolist(), strict=True)
        pairs = [_supported(pair, int(without), share) for pair, without, share in chances]
    return RankStability(
        first=first[0],
        second=second[0],
        models=shared.models,
        left_out=dict(left_out or {}),
        tasks=shared.tasks,
        missing=shared.missing,
        families=shared.families,
        rates=_rates(shared),
        pairs=tuple(pairs),
        comparable=sum(pair.order != "tied" for pair in pairs),
        reversed=sum(pair.order == "reversed" for pair in pairs),
        unambiguous=sum(pair.unambiguous for pair in pairs),
        tau_a=_tau_a(shared, float(taus(order)), claims),
        tau_b=_tau_b(order),
        tau_a_leave_one_out=supported.tau_without if supported else None,
        tau_a_resampled=supported.tau_resampled if supported else None,
        tied_first=tied_sets(shared, 0, tests),
        tied_second=tied_sets(shared, 1, tests),
    )


def _rates(shared: SharedTasks) -> tuple[ModelRates, ...]:
    return tuple(
        ModelRates(model=model, first=shared.estimate(first, 0), second=shared.estimate(second, 0))
        for model, (first, second) in zip(shared.models, shared.rates, strict=True)
    )


def _pairs(shared: SharedTasks, order: Numbers, claims: list[Sureness | None]) -> list[PairOrder]:
    found: list[PairOrder] = []
    for place, (a, b, (first, second), wide) in enumerate(shared.pairs()):
        what = _order(float(order[:, place].prod()))
        found.append(
            PairOrder(
                a=a, b=b, first=shared.estimate(first, -1), second=shared.estimate(second, -1), order=what,
                unambiguous=what == "reversed" and wide, sure=claims[place],
            )
        )  # fmt: skip
    return found


def _order(product: float) -> Literal["kept", "reversed", "tied"]:
    return "tied" if product == 0 else "kept" if product > 0 else "reversed"


def _supported(pair: PairOrder, without: int, share: float) -> PairOrder:
    found = without if pair.order == "reversed" else None
    return pair.model_copy(update={"leave_one_out": found, "reversal_probability": share})


def _tau_a(shared: SharedTasks, value: float, claims: list[Sureness | None]) -> Estimate:
    pairs = len(claims)
    low = high = None
    method = "no interval: one family says nothing about how families differ"
    if shared.families > 1:
        low, high = 2 * claims.count("kept") / pairs - 1, 1 - 2 * claims.count("reversed") / pairs
        method = f"pairs whose order is sure on both sides: {shared.families} families, Holm over {pairs} pairs"
    return Estimate(
        value=value if shared.tasks else None, low=low, high=high, n=shared.tasks, missing=shared.missing,
        estimand="task_population", method=method,
    )  # fmt: skip


def _tau_b(order: Numbers) -> float | None:
    """Kendall (1945): pairs that a side ties are taken out of that side's number of pairs."""
    untied = np.abs(order).sum(axis=-1)
    return float((order[0] * order[1]).sum() / np.sqrt(untied[0] * untied[1])) if untied.all() else None
