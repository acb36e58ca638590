"""The test that may be looked at every day: exact against counting by hand, and spending no more than it has."""

import math
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from crosspath.analysis.sequential import DROPS, WINDOWS, Split, Tails, Window, looks, spent, tails


def a_split(most: int = 4) -> st.SearchStrategy[Split]:
    trials = st.integers(0, most)
    return st.tuples(trials, trials).flatmap(
        lambda sizes: st.builds(Split, st.integers(0, sizes[0]), st.just(sizes[0]), st.integers(0, sizes[1]), st.just(sizes[1]))
    )


def by_counting(splits: list[Split]) -> Tails:
    """Every way to say which of a task's trials are the recent ones, one by one."""
    sums: list[int] = []
    for chosen in product(
        *(list(combinations(range(one.before_trials + one.recent_trials), one.recent_trials)) for one in splits)
    ):
        sums.append(sum(place < one.before + one.recent for one, places in zip(splits, chosen, strict=True) for place in places))
    seen = sum(one.recent for one in splits)
    return Tails(sum(one <= seen for one in sums) / len(sums), sum(one >= seen for one in sums) / len(sums))


@settings(max_examples=150)
@given(st.lists(a_split(), max_size=3))
def test_tails_are_what_counting_all_ways_gives(splits: list[Split]) -> None:
    """Given each task's passes, any of its trials may be the recent ones; missing trials and unequal numbers included."""
    assert tails(splits) == pytest.approx(by_counting(splits))


@given(st.integers(0, 20), st.integers(0, 14))
def test_one_task_is_fishers_exact_test(before: int, recent: int) -> None:
    """One-sided, on both sides."""
    table = [[recent, 14 - recent], [before, 20 - before]]
    found = tails([Split(before, 20, recent, 14)])
    assert found.low == pytest.approx(fisher_exact(table, alternative="less")[1])
    assert found.high == pytest.approx(fisher_exact(table, alternative="greater")[1])


@given(st.lists(a_split(12), max_size=12), st.randoms())
def test_neither_the_order_of_tasks_nor_those_that_cannot_vary_play_a_part(splits: list[Split], random: object) -> None:
    """A task that always passes, or never, or has no trial on one side says nothing."""
    mixed = [*splits, Split(20, 20, 7, 7), Split(0, 20, 0, 7), Split(0, 0, 3, 7), Split(12, 20, 0, 0)]
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert tails(mixed) == pytest.approx(tails(splits))


@given(st.lists(a_split(12), min_size=1, max_size=8), st.data())
def test_fewer_recent_passes_never_look_better(splits: list[Split], data: st.DataObject) -> None:
    """One recent pass less: the p-value of a drop is no greater, that of a rise no smaller."""
    able = [at for at, one in enumerate(splits) if one.recent]
    if not able:
        return
    at = data.draw(st.sampled_from(able))
    fewer = [one._replace(recent=one.recent - 1) if place == at else one for place, one in enumerate(splits)]
    assert tails(fewer).low <= tails(splits).low * (1 + 1e-9)
    assert tails(fewer).high >= tails(splits).high * (1 - 1e-9)


def test_all_equal_shows_nothing() -> None:
    """Where no task varies both tails are 1, and without any task too."""
    assert tails([Split(20, 20, 7, 7)] * 24) == tails([]) == Tails(1.0, 1.0)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(0, 5)), min_size=1, max_size=3))
def test_a_small_p_value_is_as_rare_as_it_says(sizes: list[tuple[int, int, int]]) -> None:
    """Over all ways to split the same passes, p <= a has a chance of at most a, for every a."""
    laws = [
        [(passed, before, recent) for passed in range(min(passes, recent) + 1) if passes - passed <= before]
        for before, recent, passes in [(b, r, min(p, b + r)) for b, r, p in sizes]
    ]
    passes = [min(p, b + r) for b, r, p in sizes]
    outcomes: list[tuple[float, float]] = []
    for chosen in product(*laws):
        splits = [Split(whole - hit, before, hit, recent) for (hit, before, recent), whole in zip(chosen, passes, strict=True)]
        ways = math.prod(
            math.comb(recent, hit) * math.comb(before, whole - hit)
            for (hit, before, recent), whole in zip(chosen, passes, strict=True)
        )
        outcomes.append((tails(splits).low, ways))
    whole = sum(ways for _, ways in outcomes)
    for level, _ in outcomes:
        assert sum(ways for low, ways in outcomes if low <= level) / whole <= level * (1 + 1e-9)


def test_the_parts_of_a_horizon_are_no_more_than_alpha() -> None:
    """Shares of windows add up to 1, and over any stretch of a horizon's days no more is spent, whichever days are used."""
    assert sum(window.share for window in WINDOWS) == pytest.approx(1)
    for days in (range(200), range(0, 200, 3), [day for day in range(200) if day % 7 < 5]):
        for horizon in (1, 7, 30, 60):
            found = [(list(days)[look.at], look.window.part(horizon)) for look in looks(list(days))]
            assert max(sum(part for day, part in found if start <= day < start + horizon) for start in range(140)) <= 1 + 1e-9


@given(st.lists(st.integers(0, 400), min_size=1, max_size=60, unique=True))
def test_a_window_holds_the_days_that_it_says(days: list[int]) -> None:
    """Used days of the last so many calendar days, the newest included; two looks of a window are far enough apart."""
    days = sorted(days)
    last: dict[Window, int] = {}
    for look in looks(days):
        assert days[look.at] - days[look.start] < look.window.days
        assert look.start == 0 or days[look.at] - days[look.start - 1] >= look.window.days
        assert look.window not in last or days[look.at] - last[look.window] >= look.window.every
        last[look.window] = days[look.at]


def test_an_alarm_is_a_p_value_within_its_part() -> None:
    """A tail at its part of alpha comes out as alpha, for drops and rises apart."""
    window = Window(14, 2, 0.6)
    part = 0.05 * 0.6 / 30
    assert spent(Tails(DROPS * part, (1 - DROPS) * part), window, 60) == pytest.approx((0.05, 0.05))
    assert spent(Tails(0.9, 0.9), window, 60) == (1.0, 1.0)
