import math
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from crosspath.analysis import family_intervals as intervals

differences = st.lists(st.fractions(-1, 1, max_denominator=12), min_size=2, max_size=8)
rates = st.lists(st.fractions(0, 1, max_denominator=12), min_size=2, max_size=8)


def ends(values: Sequence[Fraction], lowest: int = -1, highest: int = 1, alpha: float = 0.05) -> tuple[float, float]:
    """Both ends, where there are some."""
    low, high, _ = intervals.family_interval(values, lowest, highest, alpha)
    assert low is not None
    assert high is not None
    return low, high


def test_spread_samples_have_the_t_interval() -> None:
    """Where families differ evenly the interval is that of Student's t with G-1 degrees, or up to 1 % wider."""
    from scipy.stats import t

    families = [Fraction(place, 20) for place in range(-10, 11)]
    spread = math.sqrt(sum(float(value) ** 2 for value in families) / 20)
    low, high = t.interval(0.95, 20, 0, spread / math.sqrt(21))
    assert ends(families) == pytest.approx((low, high), rel=0.01)
    assert ends(families)[0] <= low < high <= ends(families)[1]
    assert intervals.family_interval(families, -1, 1).method == "t and empirical likelihood on 21 family means"


@pytest.mark.parametrize(("hits", "groups"), [(1, 6), (3, 14), (10, 20)])
def test_all_or_nothing_families_have_a_likelihood_interval(hits: int, groups: int) -> None:
    """Families that are 0 or 1: no proportion inside has too small a binomial likelihood ratio, and its ends have just that."""
    from scipy.stats import t

    sample = [Fraction(1)] * hits + [Fraction(0)] * (groups - hits)
    loss = intervals.likelihood_loss(float(t.ppf(0.975, groups - 1)), groups)
    high = 1 - intervals.least_mean([1 - float(value) for value in sample], loss)
    seen = hits / groups
    ratio = hits * math.log(seen / high) + (groups - hits) * math.log((1 - seen) / (1 - high))
    assert 2 * ratio == pytest.approx(loss, abs=1e-6)
    assert ends(sample, 0, 1)[1] >= high


def test_near_tie_leaves_room_for_unseen_families() -> None:
    """One family that differs a little does not make the interval collapse: t alone would be one point wide."""
    families = [Fraction(0)] * 13 + [Fraction(-1, 20)]
    low, high = ends(families)
    tied_low, tied_high = ends([Fraction(0)] * 14)
    assert high - low > 0.25
    assert tied_high - tied_low > high - low


def test_one_direction_keeps_the_power_of_t() -> None:
    """Where all families that differ lose, and five at least do, an unseen family that gains is not thought of: t decides."""
    from scipy.stats import t

    losing = [Fraction(-place, 20) for place in (0, 0, 1, 2, 3, 3, 2, 1)]
    centre = float(sum(losing)) / 8
    spread = math.sqrt(sum((float(value) - centre) ** 2 for value in losing) / 7)
    low, high = ends(losing)
    assert high == pytest.approx(centre + t.ppf(0.975, 7) * spread / math.sqrt(8))
    assert high < 0
    assert low < centre - t.ppf(0.975, 7) * spread / math.sqrt(8) - 0.1
    assert ends([*losing[:4], *[Fraction(0)] * 4])[1] > 0.1  # two families are no direction
    assert ends([*losing, Fraction(1, 20)])[1] > 0.1
    assert ends(losing, alpha=0.001)[1] > 0.1  # six are too few for so small an error


def test_no_distribution_within_reach_has_a_smaller_mean() -> None:
    """The least mean equals what a general optimiser finds over weights of the sample and a mass at the end of the range."""
    import numpy as np
    from scipy.optimize import minimize

    sample = np.array([0.1, 0.4, 0.4, 0.9, 1.0])

    def lost(weights: np.ndarray) -> float:
        return float(-2 * np.log(5 * weights[:5]).sum())

    rules = ({"type": "eq", "fun": lambda w: w.sum() - 1}, {"type": "ineq", "fun": lambda w: 3.0 - lost(w)})
    start = np.array([0.19] * 5 + [0.05])
    found = minimize(lambda w: float(w[:5] @ sample), start, bounds=[(1e-6, 1)] * 5 + [(0, 1)], constraints=rules, tol=1e-12)
    assert intervals.least_mean(list(sample), 3.0) == pytest.approx(found.fun, abs=1e-5)


@pytest.mark.parametrize("groups", [2, 3, 4, 6, 14, 30])
def test_tie_share_keeps_its_promise(groups: int) -> None:
    """With no value above the tie share, families agree by chance in at most one case of twenty."""
    share = intervals.tie_share(groups)
    whole = math.floor(1 / share)
    assert whole * share**groups + max(0.0, 1 - whole * share) ** groups == pytest.approx(0.05, abs=1e-6)
    assert 0.05 ** (1 / (groups - 1)) - 1e-9 <= share <= 0.05 ** (1 / groups) + 1e-9


@pytest.mark.parametrize("value", [Fraction(0), Fraction(-3, 4), Fraction(1), Fraction(-1)])
def test_ties_never_give_zero_width(value: Fraction) -> None:
    """Equal family means give a bound that holds the value and is wider than nothing."""
    low, high = ends([value] * 6)
    assert -1 <= low <= value <= high <= 1
    assert high - low > 0.5
    assert "exact bound" in intervals.family_interval([value] * 6, -1, 1).method


def test_one_family_has_no_interval() -> None:
    """One family can't say how families differ, and the method says so."""
    assert intervals.family_interval([Fraction(1, 2)], 0, 1) == (
        None,
        None,
        "no interval: one family says nothing about how families differ",
    )
    assert intervals.family_interval([], 0, 1) == (None, None, "nothing was scored")


@given(differences)
def test_interval_holds_the_mean_in_any_order(values: list[Fraction]) -> None:
    """The interval holds the mean, stays inside of the possible range, and doesn't depend on order."""
    low, high = ends(values)
    assert -1 <= low <= float(sum(values) / len(values)) <= high <= 1
    assert ends(values[::-1]) == (low, high)
    assert ends(sorted(values)) == (low, high)


@given(differences, st.sampled_from((0.2, 0.05, 0.01, 0.0005)))
def test_less_risk_makes_a_wider_interval(values: list[Fraction], alpha: float) -> None:
    """A smaller alpha never narrows either end."""
    low, high = ends(values, alpha=alpha)
    wide_low, wide_high = ends(values, alpha=alpha / 4)
    assert wide_low <= low + 1e-9
    assert high <= wide_high + 1e-9


@given(differences)
def test_turned_signs_turn_the_interval(values: list[Fraction]) -> None:
    """Which candidate is the minuend means nothing: -x has the interval of x, turned about."""
    low, high = ends(values)
    assert ends([-value for value in values]) == pytest.approx((-high, -low), abs=1e-9)


@given(rates, st.integers(0, 7), st.fractions(0, 1, max_denominator=12))
def test_better_families_never_lower_the_far_end(values: list[Fraction], place: int, better: Fraction) -> None:
    """The likelihood bound is monotone: where one family does better, the least mean that is in reach does not fall."""
    place %= len(values)
    raised = [max(value, better) if index == place else value for index, value in enumerate(values)]
    assume(any(values))
    loss = 4.0
    bounds = [intervals.least_mean([float(value) for value in sample], loss) for sample in (values, raised)]
    assert bounds[0] <= bounds[1] + 1e-9
