import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosspath.analysis import stats

differences = st.lists(st.fractions(-1, 1, max_denominator=12), min_size=2, max_size=6)
outcomes = st.lists(st.lists(st.booleans(), min_size=1, max_size=4), min_size=1, max_size=6)


@pytest.mark.parametrize(("passed", "n"), [(0, 1), (0, 24), (6, 24), (23, 24), (24, 24), (53, 56)])
def test_wilson_equals_scipy(passed: int, n: int) -> None:
    """Our closed form of Wilson's interval gives SciPy's numbers."""
    from scipy.stats import binomtest

    theirs = binomtest(passed, n).proportion_ci(method="wilson")
    assert stats.wilson(passed / n, n) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize(("lost", "gained"), [(0, 0), (1, 0), (3, 9), (18, 0), (5, 5)])
def test_mcnemar_equals_the_binomial_test(lost: int, gained: int) -> None:
    """McNemar's exact p is the two-sided binomial test on the pairs that differ."""
    from scipy.stats import binomtest

    expected = binomtest(min(lost, gained), lost + gained).pvalue if lost + gained else 1.0
    assert stats.mcnemar_p(lost, gained) == pytest.approx(expected)


def test_t_interval_equals_scipy() -> None:
    """The interval on family means is Student's t with G-1 degrees."""
    from scipy.stats import t

    families = [Fraction(-1, 4), Fraction(0), Fraction(-1, 2), Fraction(-1, 4)]
    centre, spread = -0.25, math.sqrt(2 * 0.25**2 / 3)
    low, high, method = stats.family_interval(families, -1, 1)
    assert (low, high) == pytest.approx(t.interval(0.95, 3, centre, spread / 2))
    assert method == "t on 4 family means"


@given(differences)
def test_sign_flip_counts_every_pattern(values: list[Fraction]) -> None:
    """The exact test equals counting all sign patterns one by one."""
    observed = abs(sum(values))
    sums = [
        abs(sum(sign * value for sign, value in zip(signs, values, strict=True)))
        for signs in product((-1, 1), repeat=len(values))
    ]
    assert stats.sign_flip_p(values) == pytest.approx(sum(total >= observed for total in sums) / len(sums))


def test_sign_flip_of_many_families_is_drawn_and_repeatable() -> None:
    """Where patterns are too many to count, drawn ones give the same p each time, and never zero."""
    values = [Fraction(index, 1009 + index) for index in range(40)]
    first = stats.sign_flip_p(values)
    assert first == stats.sign_flip_p(values)
    assert first is not None
    assert 0 < first < 0.01


@pytest.mark.parametrize("groups", [2, 3, 4, 6, 14, 30])
def test_tie_share_keeps_its_promise(groups: int) -> None:
    """With no value above the tie share, families agree by chance in at most one case of twenty."""
    share = stats.tie_share(groups)
    whole = math.floor(1 / share)
    assert whole * share**groups + max(0.0, 1 - whole * share) ** groups == pytest.approx(0.05, abs=1e-6)
    assert 0.05 ** (1 / (groups - 1)) - 1e-9 <= share <= 0.05 ** (1 / groups) + 1e-9


@pytest.mark.parametrize("value", [Fraction(0), Fraction(-3, 4), Fraction(1), Fraction(-1)])
def test_ties_never_give_zero_width(value: Fraction) -> None:
    """Equal family means give a bound that holds the value and is wider than nothing."""
    low, high, method = stats.family_interval([value] * 6, -1, 1)
    assert low is not None
    assert high is not None
    assert -1 <= low <= value <= high <= 1
    assert high - low > 0.5
    assert "exact bound" in method


def test_one_family_has_no_interval() -> None:
    """One family can't say how families differ, and the method says so."""
    assert stats.family_interval([Fraction(1, 2)], 0, 1) == (
        None,
        None,
        "no interval: one family says nothing about how families differ",
    )
    assert stats.sign_flip_p([Fraction(1, 2)]) is None


@given(differences)
def test_family_interval_holds_the_mean_in_any_order(values: list[Fraction]) -> None:
    """The interval holds the mean, stays inside of the possible range, and doesn't depend on order."""
    low, high, _ = stats.family_interval(values, -1, 1)
    assert low is not None
    assert high is not None
    assert -1 <= low <= float(stats.mean(values)) <= high <= 1
    assert stats.family_interval(values[::-1], -1, 1) == pytest.approx((low, high, _))


@settings(deadline=None)
@given(outcomes, st.data())
def test_interval_on_these_tasks_holds_the_difference(first: list[list[bool]], data: st.DataObject) -> None:
    """Two generations on the same tasks: the interval holds the difference, has width and stays in range."""
    second = data.draw(st.lists(st.lists(st.booleans(), min_size=1, max_size=4), min_size=len(first), max_size=len(first)))
    low, high, _ = stats.difference_on_these_tasks(first, second)
    value = float(stats.mean([stats.share(one) - stats.share(other) for one, other in zip(first, second, strict=True)]))
    assert low is not None
    assert high is not None
    assert -1 <= low <= value + 1e-12
    assert value - 1e-12 <= high <= 1
    assert low < high
