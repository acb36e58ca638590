from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.analysis import stats

differences = st.lists(st.fractions(-1, 1, max_denominator=12), min_size=2, max_size=6)
outcomes = st.lists(st.lists(st.booleans(), min_size=1, max_size=4), min_size=1, max_size=6)


@pytest.mark.parametrize(("passed", "n"), [(0, 14), (0, 24), (6, 24), (23, 24), (24, 24), (53, 56)])
def test_share_interval_is_never_narrower_than_wilson(passed: int, n: int) -> None:
    """Agresti-Coull has Wilson's centre, cut to the possible range, and holds Wilson's interval."""
    from scipy.stats import binomtest

    wilson = binomtest(passed, n).proportion_ci(method="wilson")
    low, high, method = stats.share_interval(passed / n, n)
    assert method == "Agresti-Coull"
    assert 0 <= low <= wilson.low + 1e-12
    assert wilson.high - 1e-12 <= high <= 1
    if low > 0 and high < 1:
        assert low + high == pytest.approx(wilson.low + wilson.high)


@pytest.mark.parametrize("n", [1, 4, 13])
def test_few_trials_have_the_exact_interval(n: int) -> None:
    """Below 14 trials the interval is Clopper-Pearson's."""
    from scipy.stats import binomtest

    for passed in (0, n // 2, n):
        exact = binomtest(passed, n).proportion_ci(method="exact")
        low, high, method = stats.share_interval(passed / n, n)
        assert ((low, high), method) == (pytest.approx((exact.low, exact.high)), "Clopper-Pearson")


@pytest.mark.parametrize("n", [14, 24, 56])
def test_share_interval_covers_every_chance(n: int) -> None:
    """Counted exactly, the interval holds every chance of success in at least 93 % of samples; Wilson's does not."""
    from scipy.stats import binom, binomtest

    counts = range(n + 1)
    ours = [stats.share_interval(count / n, n)[:2] for count in counts]
    wilson = [tuple(binomtest(count, n).proportion_ci(method="wilson")) for count in counts]
    chances = [place / 2000 for place in range(1, 1000)]
    least = [
        min(sum(binom.pmf(k, n, chance) for k in counts if ends[k][0] <= chance <= ends[k][1]) for chance in chances[:120:3])
        for ends in (ours, wilson)
    ]
    assert least[0] >= 0.93 > 0.9 > least[1]


@given(st.floats(1, 400), st.floats(0, 1))
def test_share_interval_takes_fractional_counts(n: float, rate: float) -> None:
    """An effective number of trials need not be whole; the interval holds the rate and stays in range."""
    low, high, _ = stats.share_interval(rate, n)
    assert 0 <= low <= rate <= high <= 1
    assert low < high


@pytest.mark.parametrize(("lost", "gained"), [(0, 0), (1, 0), (3, 9), (18, 0), (5, 5)])
def test_mcnemar_equals_the_binomial_test(lost: int, gained: int) -> None:
    """McNemar's exact p is the two-sided binomial test on the pairs that differ."""
    from scipy.stats import binomtest

    expected = binomtest(min(lost, gained), lost + gained).pvalue if lost + gained else 1.0
    assert stats.mcnemar_p(lost, gained) == pytest.approx(expected)


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


def test_one_family_has_no_test() -> None:
    """One family has no sign pattern to compare with."""
    assert stats.sign_flip_p([Fraction(1, 2)]) is None


def test_within_tasks_is_taken_where_it_is_narrower() -> None:
    """Tasks that always end the same way have little chance in them: several trials show it, one can't."""
    steady = [[True] * 5] * 12 + [[False] * 5] * 11
    first, second = [*steady, [True, False, True, True, True]], [*steady, [True] * 5]
    several, one = (
        stats.difference_on_these_tasks(*([trials[:number] for trials in side] for side in (first, second))) for number in (5, 1)
    )
    assert several.method == "variance between trials of the same task, t"
    assert one.method == "Agresti-Caffo; one trial a task, so variation within tasks was not seen"
    assert several.high is not None
    assert one.high is not None
    assert several.high < one.high / 3


def test_equal_trials_have_no_variance_of_their_own() -> None:
    """Where no trial disagrees within its task the interval still has width, and the method says why it is another."""
    low, high, method = stats.difference_on_these_tasks([[True, True]] * 8, [[True, True]] * 8)
    assert low is not None
    assert high is not None
    assert low < 0 < high
    assert "too few trials disagree" in method


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
