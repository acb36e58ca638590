"""Rankings without one family, and over sets of families that are drawn anew: how much of an order hangs on which families."""

from dataclasses import dataclass

import numpy as np

from crosspath.analysis.shared_tasks import NOTHING, Numbers

RESAMPLES = 2000
"""Sets of families that are drawn, always with the same seed."""
_AT_ONCE = 2_000_000
"""So many resampled differences are held in memory together."""
_MIDDLE = (0.025, 0.975)


@dataclass(frozen=True)
class Support:
    """How the rankings of other sets of families compare with the observed ones."""

    reversed_without: Numbers
    """Per pair: in how many of the leave-one-family-out rankings it is reversed."""
    tau_without: tuple[float, float]
    """Lowest and highest tau-a of those."""
    reversed_share: Numbers
    """Per pair: share of resampled sets of families in which it is reversed."""
    tau_resampled: tuple[float, float]
    """2.5 and 97.5 % of tau-a over resampled sets."""


def support(differences: Numbers) -> Support | None:
    """Leave-one-family-out and cluster bootstrap (Efron and Tibshirani 1993, ch. 8: families are drawn with replacement); None
    for fewer than two families. ``differences``: families x 2 x pairs."""
    if len(differences) < 2:
        return None
    without = signs(differences.sum(axis=0) - differences)
    share, drawn = _resampled(differences)
    low, high = np.quantile(drawn, _MIDDLE, method="closest_observation")
    kept = taus(without)
    return Support(
        reversed_without=np.asarray((without.prod(axis=1) < 0).sum(axis=0)),
        tau_without=(float(kept.min()), float(kept.max())),
        reversed_share=share,
        tau_resampled=(float(low), float(high)),
    )


def _resampled(differences: Numbers) -> tuple[Numbers, Numbers]:
    """Per pair the share of draws that reverse it, and tau-a of each draw."""
    families, _, pairs = differences.shape
    dice = np.random.default_rng(0)
    weights = dice.multinomial(families, np.full(families, 1 / families), RESAMPLES).astype(np.float64)
    reversed_ = np.zeros(pairs)
    drawn: list[Numbers] = []
    for part in np.array_split(weights, 1 + RESAMPLES * 2 * pairs // _AT_ONCE):
        order = signs(np.tensordot(part, differences, (1, 0)))
        reversed_ += (order.prod(axis=1) < 0).sum(axis=0)
        drawn.append(taus(order))
    return reversed_ / RESAMPLES, np.concatenate(drawn)


def signs(differences: Numbers) -> Numbers:
    """-1, 0 or 1 for each sum of differences."""
    return np.sign(np.where(np.abs(differences) < NOTHING, 0.0, differences))


def taus(order: Numbers) -> Numbers:
    """Tau-a of each ... x 2 x pairs: concordant - discordant of all pairs (Kendall 1938)."""
    return np.asarray((order[..., 0, :] * order[..., 1, :]).mean(axis=-1))
