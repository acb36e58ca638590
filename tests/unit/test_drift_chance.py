"""What finding nothing is worth: the chance that is said is that of the test."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.analysis.drift_chance import ASKED_DROP, chance_of_finding
from crosspath.analysis.sequential import Split, tails

LEVEL = 0.0008
MIXED = (
    [Split(20, 20, 7, 7)] * 8 + [Split(18, 20, 5, 7)] * 6 + [Split(11, 20, 4, 7)] * 6 + [Split(1, 20, 0, 7), Split(0, 20, 0, 7)]
)
THINNED = [
    Split(20, 20, 5, 5),
    Split(18, 20, 6, 7),
    Split(16, 18, 5, 6),
    Split(19, 19, 4, 4),
    Split(12, 20, 4, 7),
    Split(20, 20, 7, 7),
] * 4
UNEVEN = [Split(20, 20, 1, 1), Split(17, 20, 6, 6), Split(9, 10, 12, 14), Split(3, 4, 3, 3), Split(14, 14, 14, 14)] * 4


@pytest.mark.parametrize(
    ("splits", "apart"),
    [
        pytest.param(MIXED, 0.04, id="mixed rates"),
        pytest.param(THINNED, 0.04, id="some trials missing"),
        pytest.param(UNEVEN, 0.15, id="very different numbers of trials"),
        pytest.param([Split(20, 20, 1, 1)] * 24, 0.04, id="all pass"),
        pytest.param([Split(10, 20, 7, 14)] * 24, 0.04, id="half pass"),
    ],
)
@pytest.mark.parametrize("level", [LEVEL, 0.01])
def test_as_often_as_the_test_finds_it(splits: list[Split], apart: float, level: float) -> None:
    """Recent trials drawn with rates 15 points below those of both sides: so many of them are found, about."""
    random, number = np.random.default_rng(1), 1500
    usual = sum(one.before + one.recent for one in splits) / sum(one.before_trials + one.recent_trials for one in splits)
    rates = np.array(
        [(one.before + one.recent + usual) / (one.before_trials + one.recent_trials + 1) - ASKED_DROP for one in splits]
    )
    drawn = random.binomial([one.recent_trials for one in splits], np.maximum(rates, 0), (number, len(splits))).tolist()
    found = sum(tails([one._replace(recent=n) for one, n in zip(splits, row, strict=True)]).low <= level for row in drawn)
    assert chance_of_finding(splits, level) == pytest.approx(found / number, abs=apart)


def test_without_trials_nothing_is_found() -> None:
    """No task, or none with trials on both sides."""
    assert chance_of_finding([], LEVEL) == chance_of_finding([Split(0, 0, 3, 7), Split(9, 10, 0, 0)], LEVEL) == 0.0


def a_split() -> st.SearchStrategy[Split]:
    sizes = st.tuples(st.integers(0, 12), st.integers(0, 12))
    return sizes.flatmap(
        lambda most: st.builds(Split, st.integers(0, most[0]), st.just(most[0]), st.integers(0, most[1]), st.just(most[1]))
    )


@given(st.lists(a_split(), max_size=6), st.floats(1e-6, 0.2), st.floats(0.05, 0.3))
def test_more_is_found_with_more_to_spend(splits: list[Split], level: float, drop: float) -> None:
    """A chance, whatever the trials; a larger part of alpha never lowers it."""
    chance = chance_of_finding(splits, level, drop)
    assert 0 <= chance <= 1
    assert chance_of_finding(splits, min(0.9, 2 * level), drop) >= chance - 1e-12


def test_many_trials() -> None:
    """A month of a hundred trials a day, of tasks that always, mostly or never pass."""
    splits = [Split(2000, 2000, 2800, 2800), Split(1800, 2000, 2500, 2800), Split(0, 2000, 0, 2800)]
    assert chance_of_finding(splits, LEVEL) == pytest.approx(1)


def test_tasks_that_never_pass_take_no_passes() -> None:
    """Half of a watch at 0 % neither hides nor adds a drop of the other half."""
    able, never = [Split(20, 20, 3, 3)] * 12, [Split(0, 20, 0, 3)] * 12
    assert chance_of_finding([*able, *never], LEVEL) == pytest.approx(chance_of_finding(able, LEVEL), abs=0.08)
    some_fail = [Split(19, 20, 12, 14)] * 8
    beside = [*some_fail, *[Split(0, 20, 0, 14)] * 16]
    assert chance_of_finding(beside, LEVEL) == pytest.approx(chance_of_finding(some_fail, LEVEL), abs=0.05)
