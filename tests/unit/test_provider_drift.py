"""Provider drift: what is compared, what is found when, and what is said of it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosspath.analysis.drift_change import Lost, change_interval, change_of
from crosspath.analysis.drift_power import drawn, first_found, power
from crosspath.analysis.provider_drift import Day, provider_drift
from crosspath.analysis.sequential import Split
from crosspath.analysis.watch_counts import NO_REFERENCE_VERDICT
from crosspath.types.drift import SeriesEntry, WatchRules
from series import TASKS, entry, reference, unmeasured


def day_of(one: SeriesEntry) -> str:
    return datetime.fromtimestamp(one.created_at, UTC).date().isoformat()


def day(number: int, passes: float | Mapping[str, float] = 1.0, *, used: bool = True, why: str = "", **changes: Any) -> Day:
    one = entry(number, passes, **{"trials": 4, **changes})
    return Day(day_of(one), (one,), used, why)


def test_a_drop_is_found_on_its_first_day_and_stays_found() -> None:
    """All that passed fail from day 4 on: found on that day, and still told when all passes again."""
    days = [*(day(number) for number in range(1, 4)), *(day(number, 0.25) for number in range(4, 6))]
    found = provider_drift(reference(), days, {})
    assert (found.status, found.direction, found.found_on) == ("drift", "worse", days[3].day)
    again = provider_drift(reference(), [*days, *(day(number) for number in range(6, 30))], {})
    assert (again.status, again.found_on) == ("drift", days[3].day)
    assert "100.0 % over the last 7 days" in again.sentence
    assert "those days by themselves don't show it" in again.sentence


def test_a_rise_is_found_too() -> None:
    """What failed passes now: better."""
    found = provider_drift(reference(0.2), [day(number) for number in range(1, 8)], {})
    assert (found.status, found.direction) == ("drift", "better")


def test_of_a_rise_and_a_drop_the_drop_is_told() -> None:
    """First all passes, then nothing: worse, found when it dropped."""
    days = [*(day(number, 1.0) for number in range(1, 8)), *(day(number, 0.0) for number in range(8, 20))]
    found = provider_drift(reference(0.5), days, {})
    assert found.direction == "worse"
    assert found.found_on is not None
    assert found.found_on >= days[7].day


def test_the_sentence_has_both_rates_in_points() -> None:
    """Both rates, and the difference with its interval. How often such an alarm is false is said by the report, once."""
    found = provider_drift(reference(), [day(1, 0.25)], {})
    assert "pass rate 25.0 % over the last 7 days (25.0 % on 2026-10-03), 100.0 % in the reference: -75.0 points [" in (
        found.sentence
    )
    assert "false alarm" not in found.sentence


def test_no_change_is_no_drift_where_a_drop_would_have_been_seen() -> None:
    """A fortnight of the same replies; the interval has a width although no task ever varied."""
    found = provider_drift(reference(trials=20), [day(number) for number in range(1, 15)], {})
    assert found.status == "no drift"
    assert found.change is not None
    assert (found.change.value, found.change.estimand) == (0.0, "these_tasks")
    assert found.change.low is not None
    assert found.change.high is not None
    assert -0.06 < found.change.low < 0
    assert "would be found with a chance of about" in found.sentence


def test_too_little_is_not_enough() -> None:
    """One day of eight trials can't show a drop of 15 points, and the sentence says so with its chance."""
    found = provider_drift(reference(0.7), [day(1, 1.0, trials=1)], {})
    assert found.status == "not enough"
    assert "too little was observed" in found.sentence
    assert found.why == "too little"
    assert "50 % is asked for" in found.sentence


def test_without_a_used_day_there_is_not_enough() -> None:
    """Days that are no measurement are listed with the reason, and have neither change nor p-value."""
    lost = Day("2026-10-03", (unmeasured(entry(1)),), False, "all 8 trials have no verdict")
    found = provider_drift(reference(), [lost], {})
    assert found.status == "not enough"
    assert found.sentence == "no day since the reference can be used: 2026-10-03: all 8 trials have no verdict"
    (line,) = found.days
    assert (line.used, line.scored, line.rate, line.change, line.p_drop) == (False, 0, None, None, None)
    assert provider_drift(reference(), [], {}).status == "not enough"


def test_tasks_set_apart_play_no_part() -> None:
    """What is lost in a task that is set apart is no drop; such tasks, and those without a verdict before, are named."""
    ref = reference(trials=20)
    blank = [
        one.model_copy(update={"passed": None, "cause": "fault:timeout"}) if one.task == TASKS[1] else one for one in ref.trials
    ]
    ref = ref.model_copy(update={"trials": tuple(blank)})
    worse = {task: 0.0 if task in TASKS[:2] else 1.0 for task in TASKS}
    left = [without(day(number, worse), TASKS[0]) for number in range(1, 15)]
    found = provider_drift(ref, left, {TASKS[0]: "flipped"})
    assert found.status == "no drift"
    assert found.set_apart == {TASKS[0]: "flipped", TASKS[1]: NO_REFERENCE_VERDICT}
    assert found.tasks == len(TASKS) - 2
    assert {one.task for one in found.task_changes} == set(TASKS[2:])
    assert found.days[0].planned == 4 * (len(TASKS) - 2)


def without(day: Day, task: str) -> Day:
    """The same day, on which a task is not compared."""
    (found,) = day.entries
    trials = tuple(one for one in found.trials if one.task != task)
    tasks = {one: digest for one, digest in found.tasks.items() if one != task}
    return Day(day.day, (found.model_copy(update={"tasks": tasks, "trials": trials}),), True, "")


def test_a_reference_without_a_verdict_leaves_nothing_to_compare() -> None:
    """Not enough, and the sentence says why."""
    found = provider_drift(unmeasured(reference()), [day(1)], {})
    assert (found.status, found.tasks) == ("not enough", 0)
    assert found.sentence == "no task is left that can be compared with the reference"


def test_two_evaluations_of_a_day_are_pooled() -> None:
    """Twice 4 trials are 8 trials of that day; the reference among them is not compared with itself."""
    one, two, ref = entry(1, trials=4), entry(1, 0.5, trials=4), reference()
    found = provider_drift(ref, [Day("2026-10-03", (one, two, ref), True, "")], {})
    assert (found.days[0].planned, found.days[0].scored) == (64, 64)
    assert found.days[0].rate is not None
    assert found.days[0].rate.value == 0.75


def test_trials_without_a_verdict_are_missing_not_wrong() -> None:
    """A quarter of the trials is lost: counted as missing, bounded, and no drop."""
    days = [Day(one.day, (unmeasured(one.entries[0], 0.25),), True, "") for one in (day(number) for number in range(1, 8))]
    found = provider_drift(reference(trials=20), days, {})
    assert found.change is not None
    assert (found.change.value, found.change.missing, found.change.n) == (0.0, 56, 168)
    assert found.change.worst == pytest.approx(-0.25)
    assert found.change.best == 0.0


def test_task_changes_stand_with_the_largest_first() -> None:
    """Each with both rates and numbers of trials."""
    shares = {task: number / 8 for number, task in enumerate(TASKS)}
    found = provider_drift(reference(), [day(1, shares, trials=8)], {})
    sizes = [one.reference - one.recent for one in found.task_changes]
    assert sizes == sorted(sizes, reverse=True)
    assert found.task_changes[0].model_dump() == {
        "task": TASKS[0], "reference": 1.0, "recent": 0.0, "reference_trials": 10, "recent_trials": 8,
    }  # fmt: skip


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3]))
def test_simulated_watches_are_judged_like_real_ones(seed: int, drop: float) -> None:
    """The counts of a simulation and the entries of a series lead to the same first day."""
    random = np.random.default_rng(seed)
    before = random.random(len(TASKS))
    counted = drawn(before, np.maximum(before - drop, 0), 5, 25, 4, 10, random)
    shares = [dict(zip(TASKS, (row / 4).tolist(), strict=True)) for row in counted.passed]
    ref = reference(dict(zip(TASKS, (counted.before / 10).tolist(), strict=True)))
    days = [day(number + 1, share) for number, share in enumerate(shares)]
    found = provider_drift(ref, days, {})
    first = min((one.day for one in found.days if min(one.p_drop or 1, one.p_rise or 1) <= 0.05), default=None)
    simulated = first_found(counted, WatchRules(), margin=float("inf"))
    assert first == (days[simulated.at].day if simulated else None)


def test_power_grows_with_the_sample_and_is_the_same_each_time() -> None:
    """More tasks or trials find more; the same seed finds as much again."""
    few, many = (power([0.7] * tasks, 1, 20, WatchRules(), simulated=60) for tasks in (6, 30))
    assert few.found < 0.5 < 0.8 < many.found
    assert power([0.7] * 6, 1, 20, WatchRules(), simulated=60) == few
    assert power([0.7] * 6, 8, 40, WatchRules(), simulated=60).found > few.found


# -- the interval ----------------------------------------------------------------------------------------------------------


def a_pair() -> st.SearchStrategy[Split]:
    sizes = st.tuples(st.integers(1, 30), st.integers(1, 30))
    return sizes.flatmap(
        lambda both: st.builds(Split, st.integers(0, both[0]), st.just(both[0]), st.integers(0, both[1]), st.just(both[1]))
    )


@given(st.lists(a_pair(), min_size=1, max_size=20))
def test_an_interval_holds_its_estimate_and_has_a_width(splits: list[Split]) -> None:
    """Also where no task varies; turning passes into failures turns the interval."""
    found = change_of({f"t{at}": split for at, split in enumerate(splits)}, {})
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert -1 <= found.low <= found.value + 1e-12
    assert found.value - 1e-12 <= found.high <= 1
    assert found.high - found.low > 0.01
    turned = [
        Split(one.before_trials - one.before, one.before_trials, one.recent_trials - one.recent, one.recent_trials)
        for one in splits
    ]
    assert change_interval(turned) == pytest.approx((-found.high, -found.low))


def test_the_interval_carries_the_variance_of_both_samples() -> None:
    """With ever more recent trials it stays as wide as the reference makes it, and the other way round."""
    widths = {sizes: _width(*sizes) for sizes in ((10, 10), (10, 10_000), (10_000, 10), (10_000, 10_000))}
    assert widths[10, 10] > widths[10, 10_000] > 0.1 > widths[10_000, 10_000]
    assert widths[10, 10] > widths[10_000, 10] > 0.1


def _width(before: int, recent: int) -> float:
    low, high = change_interval([Split(before // 2, before, recent // 2, recent)] * 24)
    return high - low


def test_the_interval_covers_where_a_day_has_one_trial_a_task() -> None:
    """Tasks that always passed lose 15 points each: held in 93 % of 600 samples at least."""
    random = np.random.default_rng(1)
    held = 0
    for _ in range(600):
        low, high = change_interval([Split(20, 20, int(one), 1) for one in random.binomial(1, 0.85, 24)])
        held += low <= -0.15 <= high
    assert held / 600 > 0.93


def test_without_a_common_task_there_is_no_change() -> None:
    """No number, and the method says why."""
    found = change_of({"a": Split(1, 2, 0, 0)}, {"a": Lost(3, 1)})
    assert (found.value, found.low, found.n, found.missing, found.unstable) == (None, None, 0, 3, 1)
    assert found.method == "no task has trials on both sides"
