"""The one-sided test of a gate, against values that can be had by hand."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosspath.analysis import gate_bounds
from crosspath.analysis.gate_bounds import Sample


@pytest.mark.parametrize(
    ("values", "threshold", "p"),
    [
        ([0.5], 0.25, 1 / 2),  # one exponential against another of the same weight
        ([1.0, 1.0], 0.5, 1 / 4),
        ([1.0, 0.5], 0.5, 1 / 2),  # a value at the threshold takes no part
        ([1.0, 1.0, 1.0], 0.8, 0.8**3),
        ([1.0, 0.0], 0.5, 3 / 4),  # one weight against two
        ([0.4, 0.2], 0.5, 1.0),
    ],
)
def test_p_values_of_few_values(values: list[float], threshold: float, p: float) -> None:
    """The chance that a reweighting with one unseen 0 has a mean of the threshold or less."""
    assert Sample.of(values, 0, 1).p_not_above(threshold) == pytest.approx(p)


def test_all_equal_gives_the_exact_bound_for_unseen_values() -> None:
    """20 families without a difference leave a share of 1 - 0.05^(1/20) that may lose all."""
    sample = Sample.of([0.0] * 20, -1, 1)
    assert sample.low(0.05) == pytest.approx(-(1 - 0.05 ** (1 / 20)), abs=1e-9)
    assert sample.high(0.05) == pytest.approx(1 - 0.05 ** (1 / 20), abs=1e-9)


@pytest.mark.parametrize(("passed", "n", "low"), [(17, 20, 0.65634), (99, 100, 0.95344), (1, 6, 0.00851)])
def test_shares_have_the_bound_of_clopper_and_pearson(passed: int, n: int, low: float) -> None:
    """Two values at the ends of the range: published one-sided 95 % limits."""
    assert Sample.of([1.0] * passed + [0.0] * (n - passed), 0, 1).low(0.05) == pytest.approx(low, abs=1e-5)


def test_nothing_shows_the_end_of_the_range() -> None:
    """The mean can't be below the range, and is shown by no sample to be above its end."""
    sample = Sample.of([1.0] * 50, 0, 1)
    assert (sample.p_not_above(1.0), sample.p_not_above(0.0), sample.p_not_below(0.0)) == (1.0, 0.0, 1.0)


def test_the_saddlepoint_agrees_with_the_exact_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a number of steps an approximation takes over: less than 1 % away where it decides."""
    draw = random.Random(4)
    sample = Sample.of([draw.choice([-1, 0, 0, 0, 0, 0, 1]) for _ in range(160)], -1, 1)
    near = {threshold: sample.p_not_above(threshold) for threshold in (-0.2, -0.1, -0.05, 0.0)}
    monkeypatch.setattr(gate_bounds, "_EXACT_STEPS", 10**9)
    for threshold, p in near.items():
        assert p == pytest.approx(sample.p_not_above(threshold), rel=0.01)


def test_the_saddlepoint_has_no_hole_in_the_middle() -> None:
    """Where the threshold is the mean of the reweighting, the chance is about a half."""
    sample = Sample.of([0.0, 1.0] * 200, 0, 1).grown(1.5)
    middle = sample.mean * sample.size / (sample.size + 1)
    ps = [sample.p_not_above(middle + step * 1e-5) for step in range(-3, 4)]
    assert ps == sorted(ps)
    assert all(math.isclose(p, 0.5, abs_tol=0.02) for p in ps)


@settings(max_examples=40)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=16), st.randoms(use_true_random=False))
def test_order_plays_no_part_and_bounds_and_p_values_agree(values: list[int], shuffled: random.Random) -> None:
    """The same values in another order give the same numbers to the bit; a bound is where the p-value reaches alpha."""
    sample = Sample.of((value / 4 for value in values), -1, 1)
    mixed = list(values)
    shuffled.shuffle(mixed)
    again = Sample.of((value / 4 for value in mixed), -1, 1)
    low, high = sample.low(0.05), sample.high(0.05)
    assert (low, high) == (again.low(0.05), again.high(0.05))
    assert -1 <= low <= sample.mean <= high <= 1
    if low > -1:
        assert sample.p_not_above(low) <= 0.05 <= sample.p_not_above(low + 1e-6)


@settings(max_examples=40)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=12), st.integers(0, 11), st.integers(-3, 3))
def test_a_worse_value_never_makes_a_mean_look_higher(values: list[int], place: int, threshold: int) -> None:
    """p-values rise where a value falls: so what is missing may be put at its worst."""
    place %= len(values)
    worse = [-4 if at == place else value for at, value in enumerate(values)]
    before = Sample.of((value / 4 for value in values), -1, 1).p_not_above(threshold / 4)
    assert Sample.of((value / 4 for value in worse), -1, 1).p_not_above(threshold / 4) >= before - 1e-12
