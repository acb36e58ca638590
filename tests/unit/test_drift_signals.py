"""What replies say without scores: exact tests, and no alarm where nothing changed."""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosspath.analysis.drift_signals import median_tails, new_reply_chances, signals
from crosspath.types.drift import EntryTrial, Signal, WatchRules

RULES = WatchRules()


def trials(number: int, **changes: object) -> list[EntryTrial]:
    """Two texts in turn, lengths and latencies that vary a little."""
    return [
        EntryTrial.model_validate(
            {
                "task": f"t{task}", "index": index, "passed": True, "reply": f"r{(index + task) % 2}", "length": 100 + index % 5,
                "latency_s": 1 + index % 3 / 10, **changes,
            }
        )
        for task in range(6)
        for index in range(number)
    ]  # fmt: skip


def found(before: list[EntryTrial], recent: list[EntryTrial]) -> dict[str, Signal]:
    return {one.name: one for one in signals(before, recent, RULES)}


def test_the_same_replies_change_nothing() -> None:
    """All five are there, none changed, each with a sentence."""
    all_of_them = found(trials(10), trials(10))
    assert list(all_of_them) == ["reply length", "refusals", "truncated replies", "new replies", "latency"]
    assert not any(one.changed for one in all_of_them.values())
    assert all_of_them["reply length"].sentence == (
        "reply length: no change found; median 102 characters over the last 7 days, 102 characters in the reference"
        " (adjusted p = 1.000)"
    )


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("reply length", {"length": 130}),
        ("refusals", {"refused": True}),
        ("truncated replies", {"truncated": True}),
        ("new replies", {"reply": "another text"}),
        ("latency", {"latency_s": 3.0}),
    ],
)
def test_each_signal_sees_its_own_change_and_no_other(name: str, changes: dict[str, object]) -> None:
    """One thing is changed in all recent replies: that signal alone is raised."""
    after = found(trials(10), trials(5, **changes))
    assert [one.name for one in after.values() if one.changed] == [name]
    assert f"{name}: changed; " in after[name].sentence
    p_value = after[name].p_value
    assert p_value is not None
    assert p_value < 0.05


@pytest.mark.parametrize(
    ("usual", "now", "changed"),
    [(2.0, 2.9, False), (2.0, 3.0, True), (3.0, 2.0, True), (0.002, 0.049, False), (0.0, 0.3, True), (0.3, 0.5, False)],
)
def test_a_latency_has_to_differ_by_a_factor_and_by_a_time(usual: float, now: float, changed: bool) -> None:
    """However sure it is that it differs: less than a factor of 1.5 or a quarter of a second is no change."""
    before, recent = ([one.model_copy(update={"latency_s": value}) for one in trials(10)] for value in (usual, now))
    after = found(before, recent)["latency"]
    assert after.p_value is not None
    assert after.p_value < 0.001
    assert after.changed is changed
    assert after.sentence.endswith(
        "; latency depends on how much is asked at once, a factor of 1.5 and 0.25 s is the least that counts"
    )


@pytest.mark.parametrize(("usual", "now"), [(100, 4), (4, 100)])
@pytest.mark.parametrize("number", [1, 7, 14, 20, 40])
def test_replies_that_were_always_alike_and_are_all_of_another_length_changed(usual: int, now: int, number: int) -> None:
    """As at temperature 0: the median is one of the two lengths, whichever side has more trials."""
    lengths = found(trials(20, length=usual), trials(number, length=now))["reply length"]
    assert lengths.changed
    assert (lengths.reference, lengths.recent) == (usual, now)


def test_lengths_that_went_up_in_some_tasks_and_down_in_others_changed() -> None:
    """Where replies are alike, one does not hide the other."""
    recent = [one.model_copy(update={"length": 90 if one.task < "t3" else 110}) for one in trials(7, length=100)]
    assert found(trials(20, length=100), recent)["reply length"].changed


def test_equal_lengths_are_no_change() -> None:
    """None is above the median of all, on either side."""
    same = trials(10, length=100, latency_s=1.0)
    assert {one.p_value for one in found(same, same[::2]).values()} == {1.0}


VALUES = st.lists(st.integers(-3, 3), min_size=1, max_size=9)
PAIRS = st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=5)
"""Of each task the values before and the recent ones: nearly all tied."""
Pairs = list[tuple[list[int], list[int]]]


def p_value(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> float:
    """Of either direction, adjusted for both counts and both of their sides."""
    return min(1.0, 4 * min(map(min, median_tails(pairs))))


def mapped(pairs: Pairs, of: Callable[[int], float]) -> list[tuple[list[float], list[float]]]:
    return [([of(value) for value in before], [of(value) for value in recent]) for before, recent in pairs]


def test_the_p_value_is_paid_for_both_counts_both_sides_all_signals_and_days() -> None:
    """Of 21 trials of each of six tasks the recent one is the short one: 1 / 21 each, 5 signals, 60 days, 4 tails."""
    lengths = found(trials(20, length=100), trials(1, length=4))["reply length"]
    assert lengths.p_value == pytest.approx(5 * 60 * 4 / 21**6)


@given(PAIRS)
def test_values_the_other_way_round_give_the_other_tails(pairs: Pairs) -> None:
    """Shorter is found as well as longer: what was above is below."""
    above, below = median_tails(pairs)
    assert median_tails(mapped(pairs, lambda value: -value)) == (below, above)


@given(PAIRS)
def test_only_the_order_of_values_counts(pairs: Pairs) -> None:
    """Characters, their cube, or steps so small that a mean of two neighbours is one of them: all the same."""
    for of in (lambda value: value**3 + 7.0, lambda value: math.exp(3 * value), lambda value: 1 + value * 2.0**-52):
        assert median_tails(mapped(pairs, of)) == median_tails(pairs)


@given(st.lists(VALUES, min_size=1, max_size=5), st.integers(1, 3), st.integers(1, 3))
def test_the_same_values_as_often_are_never_a_change(tasks: list[list[int]], before: int, recent: int) -> None:
    """Both samples in the same proportions: nothing is less likely than even."""
    assert p_value([(values * before, values * recent) for values in tasks]) == 1.0


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=5), st.sampled_from([-7, 7]))
def test_values_that_are_all_lower_or_all_higher_are_as_unlikely_as_can_be(pairs: Pairs, move: int) -> None:
    """No other choice of the recent trials is further from the reference: with many tasks that is always found."""
    apart = [(before, [value + move for value in recent]) for before, recent in pairs]
    many = apart * 40
    assert p_value(many) < 1e-6
    # Above and below are never both without a difference, and it has the direction of the move.
    above, below = median_tails(many)
    assert (min(above.low, below.high) if move < 0 else min(above.high, below.low)) < 1e-6


@settings(max_examples=60)
@given(st.lists(st.integers(0, 2), min_size=2, max_size=9), st.data())
def test_it_is_exact_whatever_is_tied(values: list[int], data: st.DataObject) -> None:
    """Over every way to say which trials are the recent ones, p is at most any level no more often than that level says."""
    recent = data.draw(st.integers(1, len(values) - 1))
    p_values = sorted(
        p_value([([values[at] for at in range(len(values)) if at not in chosen], [values[at] for at in chosen])])
        for chosen in combinations(range(len(values)), recent)
    )
    for level in p_values:
        assert bisect_right(p_values, level) / len(p_values) <= level + 1e-9


def test_without_replies_there_is_nothing_to_compare() -> None:
    """Faults have no reply: no value, no p-value, no change."""
    for one in found(trials(10), trials(5, reply="", length=None, latency_s=None)).values():
        assert (one.recent, one.p_value, one.changed) == (None, None, False)
        assert one.sentence.endswith("nothing to compare")


def test_one_new_text_that_each_trial_would_give_is_nothing_new() -> None:
    """Where every reply of the reference is unlike all others, so may be those of a day."""
    before, recent = (
        [one.model_copy(update={"reply": f"{side} {place}"}) for place, one in enumerate(trials(10))] for side in ("a", "b")
    )
    new = found(before, recent)["new replies"]
    assert (new.reference, new.recent, new.changed) == (1.0, 1.0, False)


@settings(max_examples=100)
@given(st.lists(st.sampled_from("abcd"), max_size=5), st.lists(st.sampled_from("abcd"), max_size=4))
def test_chances_of_new_replies_are_what_counting_gives(before: list[str], recent: list[str]) -> None:
    """Every way to say which of all replies are the recent ones, one by one."""
    replies = [*before, *recent]
    counts = [0] * (len(recent) + 1)
    ways = list(combinations(range(len(replies)), len(recent)))
    for chosen in ways:
        old = {reply for place, reply in enumerate(replies) if place not in chosen}
        counts[sum(replies[place] not in old for place in chosen)] += 1
    assert new_reply_chances(before, recent).tolist() == pytest.approx([count / len(ways) for count in counts])
