"""What replies say without scores: exact tests, and no alarm where nothing changed."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosspath.analysis.drift_signals import new_reply_chances, signals
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


def test_a_latency_that_is_a_little_longer_is_no_change() -> None:
    """All replies take 20 % longer: no endpoint is that steady."""
    slower = [one.model_copy(update={"latency_s": 1.36}) for one in trials(10)]
    after = found(trials(10), slower)["latency"]
    assert after.p_value is not None
    assert after.p_value < 0.05
    assert not after.changed


def test_equal_lengths_are_no_change() -> None:
    """None is above the median of all, on either side."""
    same = trials(10, length=100, latency_s=1.0)
    assert {one.p_value for one in found(same, same[::2]).values()} == {1.0}


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
