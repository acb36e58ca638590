"""pass^k and what stands beside it: unbiased, falling in k, and honest about lost trials."""

from fractions import Fraction
from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.analysis.effects import population_rate
from crosspath.analysis.outcomes import arrange
from crosspath.analysis.reliability import Distinct, Repeated, all_pass, reliability_of
from crosspath.types import CellRow, Estimate, Reliability

TRIALS = 4
Seen = bool | None
chances = st.fractions(0, 1, max_denominator=20)
tasks = st.lists(st.lists(st.sampled_from([True, True, False, None]), min_size=TRIALS, max_size=TRIALS), min_size=1, max_size=9)


def rows_of(seen: list[list[Seen]]) -> list[CellRow]:
    """One row per trial; every third task is of one family."""
    return [
        CellRow(task=f"t{number}", family=f"f{number % 3}", index=index, passed=passed)
        for number, trials in enumerate(seen)
        for index, passed in enumerate(trials)
    ]


def reliable(seen: list[list[Seen]], trials: int = TRIALS, replies: dict[str, list[Distinct]] | None = None) -> Reliability:
    """The reliability of these trials."""
    return reliability_of(Repeated("c", "N", "N", trials, rows_of(seen), replies or {}))


@given(st.integers(1, 7), st.integers(1, 7), chances)
def test_the_estimate_is_unbiased(n: int, k: int, chance: Fraction) -> None:
    """Over every outcome of n trials, weighted by its probability, the estimate is the chance to the k-th power, exactly."""
    if k > n:
        with pytest.raises(ValueError, match=r"pass\^"):
            all_pass(0, n, k)
        return
    weights = [comb(n, c) * chance**c * (1 - chance) ** (n - c) for c in range(n + 1)]
    assert sum(weight * all_pass(c, n, k) for c, weight in enumerate(weights)) == chance**k


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.integers(1, 8))
def test_it_is_the_share_of_subsets_that_pass_whole(outcomes: list[bool], k: int) -> None:
    """All k-subsets of the trials, one by one, give the same number."""
    if k > len(outcomes):
        return
    subsets = [all(subset) for subset in combinations(outcomes, k)]
    assert all_pass(sum(outcomes), len(outcomes), k) == Fraction(sum(subsets), len(subsets))


@given(tasks)
def test_pass_1_is_the_rate(seen: list[list[Seen]]) -> None:
    """With k = 1 nothing new is said: value, interval, n, missing and bounds are those of the cell's rate over families."""
    assert reliable(seen).pass_hat[1] == population_rate(arrange(rows_of(seen)))


@given(tasks)
def test_more_trials_are_never_easier(seen: list[list[Seen]]) -> None:
    """Within a task, at worst, and in the value where no trial is lost, pass^k falls with k."""
    for trials in seen:
        counting = [passed for passed in trials if passed is not None]
        chain = [all_pass(sum(counting), len(counting), k) for k in range(1, len(counting) + 1)]
        assert chain == sorted(chain, reverse=True)
    worst = [estimate.worst for estimate in reliable(seen).pass_hat.values() if estimate.worst is not None]
    assert worst == sorted(worst, reverse=True)
    whole = reliable([[bool(passed) for passed in trials] for trials in seen])
    values = [estimate.value for estimate in whole.pass_hat.values() if estimate.value is not None]
    assert len(values) == TRIALS
    assert values == sorted(values, reverse=True)


@given(tasks)
def test_the_bounds_hold_whatever_was_lost(seen: list[list[Seen]]) -> None:
    """Whichever way lost trials would have ended, pass^k over all of them lies between worst and best, and so does the value."""
    found = reliable(seen).pass_hat
    for missing in (True, False):
        filled = reliable([[missing if passed is None else passed for passed in trials] for trials in seen]).pass_hat
        for k in found:
            _within(filled[k].value, found[k])
    for estimate in found.values():
        if estimate.value is not None:
            _within(estimate.value, estimate)


def _within(value: float | None, bounds: Estimate) -> None:
    assert value is not None
    assert bounds.worst is not None
    assert bounds.best is not None
    assert bounds.worst - 1e-12 <= value <= bounds.best + 1e-12


def test_a_task_with_lost_trials_gives_what_it_can() -> None:
    """Two of four trials lost: the task counts in pass^1 and pass^2 and not in pass^3, and is called incomplete."""
    found = reliable([[True, True, None, None], [True, False, True, True]])
    assert found.tasks == {1: 2, 2: 2, 3: 1, 4: 1}
    assert found.pass_hat[2].value == pytest.approx((1 + 0.5) / 2)
    assert found.pass_hat[3].value == pytest.approx(0.25)
    assert (found.pass_hat[2].n, found.pass_hat[2].missing) == (6, 2)
    assert (found.pass_hat[3].n, found.pass_hat[3].missing) == (4, 4)
    assert (found.always, found.sometimes, found.never, found.incomplete) == (0, 1, 0, 1)
    assert found.pass_hat[4].worst == 0
    assert found.pass_hat[4].best == 0.5


def test_where_nothing_was_seen_there_is_no_number() -> None:
    """Without a verdict there is no value, no interval, and bounds from 0 to 1."""
    found = reliable([[None] * TRIALS])
    estimate = found.pass_hat[2]
    assert (estimate.value, estimate.low, estimate.high, estimate.n) == (None, None, None, 0)
    assert (estimate.worst, estimate.best) == (0.0, 1.0)
    assert found.first_minus_every.value is None
    assert found.distinct_mean is None


def test_unstable_trials_are_left_out_and_counted() -> None:
    """A trial whose replays disagree is neither passed nor failed."""
    rows = rows_of([[True, True]])
    found = reliability_of(Repeated("c", "R", "R", 2, [rows[0], rows[1].model_copy(update={"unstable": True})], {}))
    assert (found.pass_hat[1].n, found.pass_hat[1].unstable, found.pass_hat[1].missing) == (1, 1, 0)
    assert (found.tasks[2], found.incomplete, found.always) == (0, 1, 0)


def test_tasks_by_how_often_they_pass() -> None:
    """Always, sometimes and never add up to the complete tasks; those that pass and fail are named with their counts."""
    found = reliable([[True] * 4, [False] * 4, [True, False, False, False], [True, True, None, False]])
    assert (found.always, found.sometimes, found.never, found.incomplete) == (1, 1, 1, 1)
    assert found.unsteady == {"t2": (1, 4), "t3": (2, 3)}


def test_first_trials_stand_beside_all() -> None:
    """The rate of first trials, that of all, their paired difference, and what each trial alone would have counted."""
    found = reliable([[True, False, False, False], [True, True, True, True], [True, True, False, None]])
    assert found.first.value == 1.0
    assert found.every.value == pytest.approx((0.25 + 1 + 2 / 3) / 3)
    assert found.first_minus_every.value == pytest.approx((0.75 + 0 + 1 / 3) / 3)
    assert found.first_minus_every.n == 3
    assert found.by_trial == {0: (3, 3), 1: (2, 3), 2: (1, 3), 3: (1, 2)}


def test_distinct_replies_are_counted_to_the_byte() -> None:
    """One more blank is another reply; tasks with a single reply say nothing and are left out."""
    replies: dict[str, list[Distinct]] = {
        "t0": [("ls", ()), ("ls", ()), ("ls ", ())],
        "t1": [(None, (("run", "{}"),)), (None, (("run", "{ }"),)), (None, ())],
        "t2": [("ls", ()), ("ls", ())],
        "t3": [("ls", ())],
    }
    found = reliable([[True] * 4] * 4, replies=replies)
    assert found.distinct == {1: 1, 2: 1, 3: 1}
    assert found.distinct_mean == 2.0
