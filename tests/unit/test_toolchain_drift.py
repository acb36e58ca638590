"""What counts as a flip of a frozen reply, what is racy, and how evidence of earlier looks decides."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.analysis.toolchain_drift import (
    AGAIN,
    MOST_TOOLCHAINS,
    REPLAYS,
    FrozenReply,
    Look,
    Outcome,
    not_measured,
    toolchain_drift,
    updated,
)
from crosspath.types.drift import FrozenOutcome, ToolchainDrift

RIGHT = Outcome(True, None, False)
WRONG = Outcome(False, "wrong_state", True, "prices.txt: has\nother bytes")
LOUD = Outcome(False, "wrong_status", False)


def reply(before: Sequence[Outcome], now: Sequence[Outcome], task: str = "t", index: int = 0, racy: bool = False) -> FrozenReply:
    return FrozenReply(task, index, tuple(before), tuple(now), racy)


def look(*replies: FrozenReply, now: str = "new") -> Look:
    return Look(replies, "old", now)


def seen(toolchain: str, passes: int, fails: int, task: str = "t", index: int = 0) -> FrozenOutcome:
    return FrozenOutcome(task=task, index=index, toolchain=toolchain, passes=passes, fails=fails)


def steady(number: int) -> list[FrozenReply]:
    return [reply([RIGHT], [RIGHT], "steady", index) for index in range(number)]


class TestFlips:
    def test_flip(self) -> None:
        """A reply that passed and now fails each of six times is a flip: task, causes, times and the validator's words."""
        found = toolchain_drift(look(reply([RIGHT], [WRONG] * REPLAYS), *steady(4)), ())
        (flip,) = found.flips
        assert (found.status, flip.task, flip.passed_before, flip.passed_now, flip.times) == ("drift", "t", True, False, 6)
        assert (flip.cause_before, flip.cause_now, flip.reason) == (None, "wrong_state", "prices.txt: has other bytes")
        assert (found.replies, found.compared, found.missing, found.unstable) == (5, 5, 0, ())
        assert found.sentence == (
            "1 of 5 frozen replies, of 1 task (t), come out otherwise each of at least 6 times (1 no longer pass);"
            " no request was sent."
        )

    def test_better(self) -> None:
        """One that failed and now passes is a flip as well, with what was said before."""
        found = toolchain_drift(look(reply([WRONG], [RIGHT] * REPLAYS)), ())
        assert (found.status, found.flips[0].passed_now, found.flips[0].reason) == ("drift", True, "prices.txt: has other bytes")
        assert "(1 pass now)" in found.sentence

    def test_not_each_time(self) -> None:
        """Where one of the replays of now comes out as before, the reply is racy: listed, set apart, no drift."""
        found = toolchain_drift(look(reply([RIGHT], [WRONG] * AGAIN + [RIGHT]), *steady(4)), ())
        assert (found.status, found.flips, found.unstable, found.compared) == ("no drift", (), (("t", 0),), 4)
        assert "1 reply of 1 task set apart, which came out both ways with the same programs" in found.sentence

    def test_unstable_before(self) -> None:
        """What its own evaluation found unstable is never a flip."""
        for one in (reply([RIGHT], [WRONG] * REPLAYS, racy=True), reply([RIGHT, WRONG], [WRONG] * REPLAYS)):
            assert toolchain_drift(look(one), ()).unstable == (("t", 0),)

    def test_same_toolchain(self) -> None:
        """With the very toolchain of before another outcome is no doing of a toolchain: the reply is racy."""
        found = toolchain_drift(Look((reply([RIGHT], [WRONG] * REPLAYS), *steady(3)), "old", "old"), ())
        assert (found.status, found.unstable) == ("no drift", (("t", 0),))

    def test_what_is_not_recorded(self) -> None:
        """Where replies of several tasks turn at once with the very toolchain of before, there is no answer: not the next day."""
        replies = [reply([RIGHT], [WRONG] * REPLAYS, f"t{number}") for number in range(3)]
        found = toolchain_drift(Look((*replies, *steady(9)), "old", "old"), ())
        assert (found.status, len(found.unstable)) == ("could not measure", 3)
        assert found.why == "sudden"
        assert "3 of these came out otherwise each time in this look, though no recorded program differs" in found.sentence
        assert toolchain_drift(Look((*replies, *steady(9)), "old", "old"), found.evidence).status == "no drift"

    def test_otherwise(self) -> None:
        """The same verdict for another cause, or told otherwise each time, is listed and no drift; not each time is neither."""
        found = toolchain_drift(look(reply([WRONG], [LOUD] * REPLAYS), reply([WRONG], [LOUD] * AGAIN + [WRONG], "u")), ())
        assert (found.status, [one.task for one in found.otherwise], found.compared) == ("no drift", ["t"], 2)
        assert (found.otherwise[0].cause_before, found.otherwise[0].cause_now) == ("wrong_state", "wrong_status")
        assert "1 reply with the same verdict for another cause or told otherwise" in found.sentence


class TestStatus:
    def test_nothing(self) -> None:
        """Without replies there is nothing to compare."""
        found = toolchain_drift(look(), ())
        assert (found.status, found.sentence) == ("not enough", "There are no stored replies that could be executed again.")

    def test_missing(self) -> None:
        """Faults now, no verdict before, and replays that were cut short are missing; more than a fifth is no measurement."""
        missing = [reply([RIGHT], [], "a"), reply([], [RIGHT], "b"), reply([RIGHT], [WRONG] * AGAIN, "c")]
        found = toolchain_drift(look(*missing, *steady(12)), ())
        assert (found.status, found.missing, found.compared) == ("no drift", 3, 12)
        assert "3 replies without a verdict" in found.sentence
        assert toolchain_drift(look(*missing, *steady(11)), ()).status == "could not measure"
        assert toolchain_drift(look(*missing), ()).status == "could not measure"

    def test_flips_beside_missing(self) -> None:
        """What flipped each time flipped, whatever is missing beside it."""
        assert toolchain_drift(look(reply([RIGHT], [WRONG] * REPLAYS), reply([RIGHT], [], "a")), ()).status == "drift"

    def test_only_unstable(self) -> None:
        """Where every reply is racy nothing was compared."""
        found = toolchain_drift(look(reply([RIGHT], [WRONG, RIGHT])), ())
        assert (found.status, found.compared) == ("not enough", 0)
        assert found.sentence.startswith("None of 1 frozen replies could be compared; 1 reply of 1 task set apart")

    def test_not_measured(self) -> None:
        """What was seen before stays, so that a day without a sandbox forgets nothing."""
        evidence = (seen("old", 1, 0),)
        found = not_measured("bubblewrap is not installed.", evidence, "few-1")
        assert (found.status, found.evidence, found.frozen) == ("could not measure", evidence, "few-1")
        assert found.sentence == "bubblewrap is not installed; no request was sent."


class TestEvidence:
    def test_counts(self) -> None:
        """The evaluation's own replays count once, those of each look add up, each under its toolchain."""
        first = toolchain_drift(look(reply([RIGHT], [WRONG] * REPLAYS)), ())
        assert first.evidence == (seen("old", 1, 0), seen("new", 0, 6))
        second = toolchain_drift(look(reply([RIGHT], [WRONG] * REPLAYS)), first.evidence)
        assert (second.status, second.evidence) == ("drift", (seen("old", 1, 0), seen("new", 0, 12)))
        back = toolchain_drift(look(reply([RIGHT], [RIGHT]), now="old"), second.evidence)
        assert (back.status, back.evidence) == ("no drift", (seen("new", 0, 12), seen("old", 2, 0)))

    def test_racy_for_good(self) -> None:
        """A reply that one toolchain ever showed both ways is set apart, also where it agrees now."""
        found = toolchain_drift(look(reply([RIGHT], [RIGHT])), [seen("another", 2, 1)])
        assert found.unstable == (("t", 0),)

    def test_taken_for_a_flip(self) -> None:
        """A racy reply that was taken for a flip is found out by the next look that sees it pass with the same toolchain."""
        first = toolchain_drift(look(reply([RIGHT], [WRONG] * REPLAYS), *steady(3)), ())
        second = toolchain_drift(look(reply([RIGHT], [RIGHT]), *steady(3)), first.evidence)
        assert (first.status, second.status, second.unstable) == ("drift", "no drift", (("t", 0),))

    def test_compacted(self) -> None:
        """After many toolchains the oldest are forgotten, but for what shows that a reply is racy."""
        found = toolchain_drift(look(reply([RIGHT], [WRONG, RIGHT]), reply([RIGHT], [RIGHT], "u"), now="first"), ())
        for number in range(MOST_TOOLCHAINS):
            one = look(reply([RIGHT], [RIGHT]), reply([RIGHT], [RIGHT], "u"), now=f"day-{number}")
            found = toolchain_drift(one, found.evidence)
        assert found.unstable == (("t", 0),)
        assert {one.task for one in found.evidence if one.toolchain == "first"} == {"t"}
        assert len({one.toolchain for one in found.evidence}) <= MOST_TOOLCHAINS + 1

    @given(st.lists(st.lists(st.booleans(), min_size=1, max_size=3), min_size=1, max_size=5), st.booleans())
    def test_every_replay_counts_once(self, looks: list[list[bool]], same: bool) -> None:
        """However often it is looked, the evidence holds the frozen evaluation's replay once and every later one."""
        evidence: tuple[FrozenOutcome, ...] = ()
        for results in looks:
            now = [RIGHT if passed else WRONG for passed in results]
            evidence = updated(evidence, look(reply([RIGHT], now), now="old" if same else "new"))
        assert sum(one.passes for one in evidence) == 1 + sum(map(sum, looks))
        assert sum(one.fails for one in evidence) == sum(not passed for results in looks for passed in results)

    @given(st.randoms(use_true_random=False), st.integers(2, 6))
    def test_order(self, chance: random.Random, number: int) -> None:
        """What is found does not depend on the order of replies or evidence."""
        outcomes = [[RIGHT], [WRONG] * REPLAYS, [WRONG, RIGHT], []]
        replies = [reply([RIGHT], chance.choice(outcomes), f"t{index}") for index in range(number)]
        evidence = [seen("earlier", chance.randint(0, 1), chance.randint(0, 1), f"t{index}") for index in range(number)]
        first = toolchain_drift(look(*replies), evidence)
        chance.shuffle(replies)
        chance.shuffle(evidence)
        second = toolchain_drift(look(*replies), evidence)
        assert first.status == second.status
        for part in ("flips", "unstable", "otherwise"):
            assert set(getattr(first, part)) == set(getattr(second, part))

    @given(st.lists(st.sampled_from([(), (True,), (False,), (False,) * REPLAYS, (False, True)]), max_size=12))
    def test_everything_is_somewhere(self, results: list[tuple[bool, ...]]) -> None:
        """Each reply is compared, missing or unstable, and a flip is among those compared."""
        replies = [
            reply([RIGHT], [RIGHT if passed else WRONG for passed in now], "t", index) for index, now in enumerate(results)
        ]
        found = toolchain_drift(look(*replies), ())
        assert found.compared + found.missing + len(found.unstable) == found.replies == len(results)
        assert not {(one.task, one.index) for one in found.flips} & set(found.unstable)
        assert (found.status == "drift") == bool(found.flips)


def false_flip(before: int, passes: float) -> float:
    """The chance that a racy reply is taken for a flip at the first look with another toolchain."""
    return passes**before * (1 - passes) ** REPLAYS + (1 - passes) ** before * passes**REPLAYS


@pytest.mark.parametrize(("before", "at_most"), [(1, 0.057), (2, 0.0113), (3, 0.0040), (6, 0.00049), (14, 0.000005)])
def test_false_flips(before: int, at_most: float) -> None:
    """The largest chances that the module states."""
    largest = max(false_flip(before, number / 1000) for number in range(1001))
    assert 0.95 * at_most < largest <= at_most


@pytest.mark.parametrize(("passes", "looks"), [(1 / 7, 0), (0.5, 0), (0.5, 4), (0.9, 2)])
def test_false_flips_simulated(passes: float, looks: int) -> None:
    """Racy replies, looked at for some days with one toolchain and then with another: as many flips as that says, and no more."""
    chance, number = random.Random(7), 4000

    def replays(before: Outcome) -> tuple[Outcome, ...]:
        first = RIGHT if chance.random() < passes else WRONG
        more = AGAIN if first != before else 0
        return (first, *(RIGHT if chance.random() < passes else WRONG for _ in range(more)))

    before = [RIGHT if chance.random() < passes else WRONG for _ in range(number)]
    evidence: tuple[FrozenOutcome, ...] = ()
    found = ToolchainDrift(status="not enough", sentence="")
    for day in range(looks + 1):
        replies = [reply([one], replays(one), "t", index) for index, one in enumerate(before)]
        found = toolchain_drift(look(*replies, now="new" if day == looks else "old"), evidence)
        evidence = found.evidence
        assert day == looks or not found.flips
    wanted = number * false_flip(1 + looks, passes)
    assert abs(len(found.flips) - wanted) <= 5 * max(1.0, wanted) ** 0.5
