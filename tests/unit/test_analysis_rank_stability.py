"""The order of models in two arrangements: what was observed, what other families would say, and what is sure."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosspath.analysis.family_intervals import family_interval
from crosspath.analysis.mean_tests import p_values
from crosspath.analysis.outcomes import Outcomes, arrange
from crosspath.analysis.rank_stability import rank_stability
from crosspath.analysis.rankings import RankRow, rank
from crosspath.analysis.told_apart import ENOUGH, PairTests, sure
from crosspath.types import Arrangement, CellRow, PairOrder, RankStability

FIRST, SECOND = Arrangement(label="told raw, run on raw"), Arrangement(label="told nested, run on nested-shell")
Verdicts = Mapping[str, Sequence[Sequence[bool | None]]]
"""Model -> per family the verdicts of its tasks, one trial each."""


def outcomes(families: Sequence[Sequence[bool | None]]) -> Outcomes:
    return arrange(
        CellRow(task=f"f{f:02}/t{t}", family=f"f{f:02}", passed=passed)
        for f, family in enumerate(families)
        for t, passed in enumerate(family)
    )


def stability(first: Verdicts, second: Verdicts) -> RankStability:
    found = rank_stability(
        (FIRST, {name: outcomes(rows) for name, rows in first.items()}),
        (SECOND, {name: outcomes(rows) for name, rows in second.items()}),
    )
    assert found is not None
    return found


def counts(passed: Sequence[int], tasks: int = 4) -> list[list[bool]]:
    """So many right tasks in each family."""
    return [[place < right for place in range(tasks)] for right in passed]


def pair(found: RankStability, a: str, b: str) -> PairOrder:
    return next(one for one in found.pairs if {one.a, one.b} == {a, b})


ALWAYS, OFTEN, SELDOM, NEVER = counts([4] * 12), counts([3, 4] * 6), counts([0, 1] * 6), counts([0] * 12)


def test_a_plain_reversal_is_sure() -> None:
    """Two models that swap places in every family are reversed, by more than one task, in every ranking without a family, in all
    resampled ones, and surely so."""
    found = stability({"a": OFTEN, "b": SELDOM}, {"a": SELDOM, "b": OFTEN})
    one = pair(found, "a", "b")
    assert (one.order, one.unambiguous, one.sure, one.leave_one_out) == ("reversed", True, "reversed", 12)
    assert one.reversal_probability == 1
    assert (found.comparable, found.reversed, found.unambiguous, found.families, found.tasks) == (1, 1, 1, 12, 48)
    assert (found.tau_a.value, found.tau_a.low, found.tau_a.high, found.tau_b) == (-1, -1, -1, -1)
    assert found.tied_first == found.tied_second == ()


def test_a_kept_order_is_sure() -> None:
    """Models far apart on both sides keep their order, and tau's interval leaves no room for anything else."""
    found = stability({"a": ALWAYS, "b": SELDOM}, {"a": OFTEN, "b": NEVER})
    assert pair(found, "a", "b").sure == "kept"
    assert (found.tau_a.low, found.tau_a.high) == (1, 1)


def test_a_reversal_by_one_task_proves_nothing() -> None:
    """One task more here and one less there is a strict reversal; it is ambiguous, hangs on the family, and tau stays open."""
    better = [[True, True], *counts([1] * 11, 2)]
    found = stability({"a": better, "b": counts([1] * 12, 2)}, {"a": counts([1] * 12, 2), "b": better})
    one = pair(found, "a", "b")
    assert (one.order, one.unambiguous, one.sure) == ("reversed", False, None)
    assert one.leave_one_out == 11
    assert one.reversal_probability is not None
    assert 0.5 < one.reversal_probability < 0.8  # the family is drawn in 1 - (11/12)^12 = 65 % of the sets
    assert (found.tau_a.low, found.tau_a.high) == (-1, 1)
    assert found.tau_a_leave_one_out == (-1, 0)
    assert found.tied_first == (("a", "b"),)


def test_tied_sets_overlap() -> None:
    """Of three models in a row the ends can be told apart and the middle from neither: two groups, best first."""
    low, middle, high = counts([0, 1, 2] * 4), counts([4, 0, 2] * 4), counts([2, 3, 4] * 4)
    found = stability({"high": high, "low": low, "middle": middle}, {"high": high, "low": low, "middle": middle})
    assert found.tied_first == (("high", "middle"), ("middle", "low"))
    assert found.models == ("high", "middle", "low")


def test_only_tasks_that_all_models_have() -> None:
    """A task without a verdict for one model in one arrangement takes no part for any, and is counted."""
    holes: list[list[bool | None]] = [[None, *row[1:]] for row in OFTEN]
    found = stability({"a": OFTEN, "b": holes}, {"a": OFTEN, "b": OFTEN})
    assert (found.tasks, found.missing) == (36, 12)
    assert pair(found, "a", "b").order == "tied"
    assert found.rates[0].first.missing == 12


def test_no_task_is_shared() -> None:
    """Models that have no task in common have no order: nothing is made up."""
    left: list[list[bool | None]] = [[True, None]] * 3
    right: list[list[bool | None]] = [[None, True]] * 3
    found = stability({"a": left, "b": right}, {"a": left, "b": right})
    assert (found.tasks, found.missing, found.comparable) == (0, 6, 0)
    assert found.tau_a.value is None
    assert found.tau_a.low is None
    assert found.rates[0].first.value is None


def test_one_family_has_no_interval() -> None:
    """One family says nothing about how families differ: no interval, no probability, no group that is told apart."""
    found = stability({"a": counts([4]), "b": counts([0])}, {"a": counts([0]), "b": counts([4])})
    one = pair(found, "a", "b")
    assert (one.order, one.unambiguous) == ("reversed", True)
    assert (one.sure, one.leave_one_out, one.reversal_probability, one.first.low) == (None, None, None, None)
    assert found.tau_a.value == -1
    assert found.tau_a.low is None
    assert "one family" in found.tau_a.method
    assert found.tied_first == (("a", "b"),)


def test_a_model_alone_has_no_order() -> None:
    """One model gives no record, and models of one side only are refused."""
    assert rank_stability((FIRST, {"a": outcomes(OFTEN)}), (SECOND, {"a": outcomes(OFTEN)})) is None
    with pytest.raises(ValueError, match="same models"):
        rank_stability((FIRST, {"a": outcomes(OFTEN)}), (SECOND, {}))


def test_a_task_in_two_families_is_refused() -> None:
    """Models that disagree about a task's family can't be compared."""
    other = arrange(CellRow(task=f"f{f:02}/t0", family="other", passed=True) for f in range(12))
    with pytest.raises(ValueError, match="two families"):
        rank_stability((FIRST, {"a": outcomes(OFTEN), "b": other}), (SECOND, {"a": outcomes(OFTEN), "b": other}))


def _drawn(models: int, tasks: int) -> st.SearchStrategy[list[list[list[list[bool]]]]]:
    both = st.lists(st.booleans(), min_size=2, max_size=2)
    family = st.lists(st.lists(both, min_size=models, max_size=models), min_size=tasks, max_size=tasks)
    return st.lists(family, min_size=2, max_size=7)


VERDICTS = st.tuples(st.integers(2, 5), st.integers(1, 3)).flatmap(lambda size: _drawn(*size))
"""Families of equally many tasks of models of two verdicts."""


@settings(max_examples=25)
@given(VERDICTS)
def test_agrees_with_counts_and_ignores_order(drawn: list[list[list[list[bool]]]]) -> None:
    """Pairs, reversals and both taus equal those of the counts alone; neither the order of models nor of rows changes a byte."""
    names = [f"m{place}" for place in range(len(drawn[0][0]))]
    sides = [
        {name: [[task[place][side] for task in family] for family in drawn] for place, name in enumerate(names)}
        for side in (0, 1)
    ]
    found = stability(*sides)
    assert found == stability(*({name: side[name] for name in reversed(names)} for side in sides))
    totals = [{name: sum(map(sum, rows)) for name, rows in side.items()} for side in sides]
    counted = rank([RankRow(name, totals[0][name], totals[1][name]) for name in names])
    assert (found.comparable, found.reversed, found.unambiguous) == (
        counted.comparable_pairs, len(counted.reversals), counted.unambiguous,
    )  # fmt: skip
    assert found.tau_a.value == pytest.approx(counted.tau_a)
    assert found.tau_b == (counted.tau_b if counted.tau_b is None else pytest.approx(counted.tau_b))
    assert found.tau_a.low is not None
    assert found.tau_a.value is not None
    assert found.tau_a.high is not None
    assert found.tau_a.low <= found.tau_a.value <= found.tau_a.high


@settings(max_examples=25)
@given(VERDICTS)
def test_tied_sets_are_complete(drawn: list[list[list[list[bool]]]]) -> None:
    """No group is part of another one, and every two models stand in one group together or are told apart."""
    names = [f"m{place}" for place in range(len(drawn[0][0]))]
    side = {name: [[task[place][0] for task in family] for family in drawn] for place, name in enumerate(names)}
    groups = stability(side, side).tied_first
    assert not any(set(one) < set(other) for one, other in combinations(groups, 2))
    together = {frozenset(two) for group in groups for two in combinations(group, 2)}
    sure = {frozenset((one.a, one.b)) for one in stability(side, side).pairs if one.sure}
    assert together.isdisjoint(sure)
    assert together | sure == {frozenset(two) for two in combinations(names, 2)}


@settings(max_examples=60)
@given(st.lists(st.integers(-6, 6), min_size=2, max_size=12))
def test_p_value_and_interval_agree(sixths: list[int]) -> None:
    """A difference has a p-value of at most 5 % exactly where its 95 % interval leaves out zero."""
    differences = [Fraction(value, 6) for value in sixths]
    low, high, _ = family_interval(differences, -1, 1)
    (p,) = p_values(np.array([[float(value)] for value in differences]))
    assert low is not None
    assert high is not None
    if min(abs(low), abs(high)) > 1e-6:
        assert (p <= 0.05) == (low > 0 or high < 0)
    assert 0 <= p <= 1


def test_p_values_are_of_each_column() -> None:
    """Columns are tested apart: a plain difference, none, one that all families share, and one that hangs on a single family."""
    plain, none = [0.5, 0.4, 0.6, 0.5, 0.3, 0.5, 0.7, 0.5], [0.2, -0.2, 0.1, -0.1, 0.3, -0.3, 0.0, 0.0]
    shared, single = [0.25] * 8, [1.0, *[0.0] * 7]
    p = p_values(np.array([plain, none, shared, single]).T)
    assert p[0] < 0.05
    assert p[1] == pytest.approx(1)
    assert p[2] == pytest.approx(0.8**8 + 0.2**8)
    assert p[3] > 0.3


def test_few_families_are_judged_more_strictly() -> None:
    """With few families the interval that allows for unseen ones is adjusted over pairs, too; with enough it is not."""
    t_small, interval = np.full((2, 6), 1e-6), np.full((2, 6), 0.03)
    assert not any(PairTests(interval, t_small, ENOUGH - 1).apart(0))
    assert all(PairTests(interval, t_small, ENOUGH).apart(0))
    assert not any(PairTests(np.full((2, 6), 0.06), t_small, ENOUGH).apart(0))
    assert PairTests.of(np.zeros((1, 2, 6))) is None


def test_both_sides_have_to_tell_apart() -> None:
    """The order of a pair is sure only where both arrangements tell its models apart."""
    p = np.array([[0.001, 0.001], [0.001, 0.4]])
    assert sure(np.array([[1.0, 1.0], [-1.0, -1.0]]), PairTests(p, p, ENOUGH)) == ["reversed", None]


def test_families_weigh_the_same() -> None:
    """Many tasks of one family don't outweigh the others: the order is that of the means over families."""
    large: list[list[bool]] = [[True] * 20, [False], [False]]
    small: list[list[bool]] = [[False] * 20, [True], [True]]
    found = stability({"large": large, "small": small}, {"large": large, "small": small})
    assert found.models == ("small", "large")
    assert found.rates[0].first.value == pytest.approx(2 / 3)


def test_many_models_are_bounded_in_memory_and_agree() -> None:
    """Forty models have 780 pairs, all of them judged; resampling goes through them in parts."""
    dice = np.random.default_rng(4)
    side = {f"m{place:02}": counts(dice.integers(0, 5, 10).tolist()) for place in range(40)}
    found = stability(side, side)
    assert len(found.pairs) == 780
    assert found.reversed == 0
    assert all(one.reversal_probability == 0 for one in found.pairs)
