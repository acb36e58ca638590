"""Which path to take: planted bests, ties, broken controls, contracts, known and unknown costs, and the words for it."""

import random
import shlex
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosspath.analysis.path_costs import PathOption
from crosspath.analysis.recommendation import Candidature, recommend, unit
from crosspath.cli.recommend_command import exit_code
from crosspath.types import CellRow, Choice, Control, Recommendation

HOLDS = Control(kind="encoded", status="holds", compared=3, trials=3)
BROKEN = Control(kind="benign", status="broken", compared=3, trials=3, reason="2 differ every time")
UNPROVEN = Control(kind="benign", status="missing", compared=0, reason="no replays to compare")
MARKS = {"1": True, "0": False, "s": False, "?": None, "!": None}
RIGHT = "1" * 24


def rows_of(outcomes: str) -> tuple[CellRow, ...]:
    """One row per character, two to a family: ``1`` right, ``0`` wrong, ``s`` silently so, ``?`` missing, ``!`` no program."""
    causes = {"0": "tool_error", "s": "wrong_state", "?": "fault:timeout", "!": "fault:missing_program"}
    return tuple(
        CellRow(
            task=f"family-{n // 2}/t{n:02}", family=f"family-{n // 2}", passed=MARKS[char], silent_wrong=char == "s",
            cause=causes.get(char),
        )
        for n, char in enumerate(outcomes)
    )  # fmt: skip


def choice(
    path: str,
    outcomes: str,
    *,
    contract: str = "raw",
    control: Control = HOLDS,
    tokens: int | None = None,
    usd: float | None = None,
    reference: bool = False,
) -> Candidature:
    """A choice whose replies are all right on the reference path."""
    option = PathOption(
        path=path,
        candidate=f"m via {path}",
        told="R" if contract == "raw" else "N",
        done="R" if reference else "N",
        contract=contract,
        generation=contract,
        rows=rows_of(outcomes),
        on_reference=None if reference else rows_of("1" * len(outcomes)),
        control=Control(kind="none", status="holds", compared=0) if reference else control,
        reference=reference,
        needs="no tmux" if "!" in outcomes else "",
    )
    return Candidature(option, tokens, usd)


def raw(outcomes: str = RIGHT) -> Candidature:
    """The reference."""
    return choice("raw", outcomes, reference=True)


def advice(*asked: Candidature) -> Recommendation:
    return recommend("few-1", "m", "exact", asked)


def by_path(found: Recommendation) -> dict[str, Choice]:
    return {f"{one.path.path}/{one.contract}": one for one in found.choices}


class TestAdvice:
    def test_a_planted_best(self) -> None:
        """The best is taken, and those that break most are warned against with how many and how silently."""
        found = advice(raw("0" * 4 + "1" * 20), choice("good", RIGHT), choice("bad", "s" * 9 + "0" * 13 + "11"))
        assert found.conclusive
        assert found.advice.startswith("Take good: 24 of 24 right; ")
        assert "avoid bad (22 of 24 wrong, 9 of them silently)" in found.advice
        assert [one.path.path for one in found.choices] == ["good", "raw", "bad"]

    def test_what_is_as_good_is_said(self) -> None:
        """Paths on which no task differs are as good; one that differs by little is not told apart, with its interval."""
        found = advice(raw(), choice("same", RIGHT), choice("close", "0" + RIGHT[1:]))
        assert "same is as good (difference 0.0, the same on every task)" in found.advice
        assert "not told apart from it: close (difference -4.2 [" in found.advice
        assert "avoid" not in found.advice

    def test_worse_on_these_replies_only(self) -> None:
        """Where few families can't tell, what is worse on the very same replies is still warned against, with that limit."""
        found = advice(raw("1111"), choice("x", "s1s1"))
        assert found.choices[1].path.standing == "not_told_apart"
        assert "avoid x (2 of 4 wrong, 2 of them silently; on these tasks, not told apart over families)" in found.advice
        assert "not told apart from it" not in found.advice

    def test_nothing_to_compare(self) -> None:
        """One path alone gives no advice, nor do paths on which nothing passes."""
        assert advice(raw()).advice.startswith("No advice: raw is the only one that could be ranked")
        nothing = advice(raw("0" * 4), choice("x", "0" * 4))
        assert nothing.advice == "No advice: no reply is right on any path (best raw, 0 of 4)."
        assert not nothing.conclusive

    def test_a_broken_control_is_apart(self) -> None:
        """However well it looks, a path with a broken control is neither taken nor ranked."""
        found = advice(raw("0" + RIGHT[1:]), choice("shiny", RIGHT, control=BROKEN), choice("x", "00" + RIGHT[2:]))
        assert found.advice.startswith("Take raw: 23 of 24 right")
        assert "shiny" not in found.advice
        assert (found.choices[-1].path.path, found.choices[-1].path.rank) == ("shiny", None)

    def test_a_missing_control_is_said(self) -> None:
        """A best path that nothing proves is taken with that said."""
        found = advice(raw("0" + RIGHT[1:]), choice("own", RIGHT, control=UNPROVEN))
        assert found.advice.startswith("Take own: 24 of 24 right, but its control is missing")

    def test_what_could_not_be_tried(self) -> None:
        """Where all but nothing could be tried, the reason is the advice."""
        found = advice(choice("tmux", "!" * 4))
        assert found.advice == "No advice: could not be tried (no tmux): tmux."


class TestContracts:
    def test_several_contracts_are_ranked_together(self) -> None:
        """Paths told in another way are choices of their own, and are named with what the model is told."""
        told = choice("nested", RIGHT, contract="nested")
        found = advice(raw(), choice("nested", "s" * 20 + "1111"), told)
        assert found.generations == 2
        assert found.advice.startswith("Take raw told raw: ")
        assert "not told apart from it: nested told nested (difference 0.0 [" in found.advice
        assert "avoid nested told raw (20 of 24 wrong" in found.advice
        assert by_path(found)["nested/nested"].path.changed is None

    def test_other_replies_are_worse_by_more_than_chance(self) -> None:
        """Of another generation only what its rate's interval keeps apart is warned against on these tasks."""
        clear, close = (choice("x", text, contract="other") for text in ("000000", "011111"))
        assert "avoid x told other (6 of 6 wrong; on these tasks" in advice(raw("111111"), clear).advice
        assert "not told apart from it: x told other" in advice(raw("111111"), close).advice

    def test_the_same_choice_twice(self) -> None:
        """A choice that is given twice is a mistake of the caller."""
        with pytest.raises(ValueError, match="given twice"):
            advice(raw(), choice("x", RIGHT), choice("x", RIGHT))


class TestCost:
    def test_by_right_reply(self) -> None:
        """What generation cost is shared by the replies that are right; none right has no price."""
        found = by_path(
            advice(raw(), choice("x", "1" * 12 + "0" * 12, tokens=2400, usd=0.75), choice("y", "0" * 24, tokens=2400))
        )
        assert (found["x/raw"].tokens_per_pass, found["x/raw"].usd_per_pass) == (200.0, 0.0625)
        assert (found["y/raw"].tokens_per_pass, found["y/raw"].usd_per_pass) == (None, None)

    def test_unknown_stays_unknown(self) -> None:
        """Where the price of one choice is not known, nothing is weighed against it."""
        found = advice(raw(), choice("x", RIGHT, tokens=2400))
        assert (found.price, [one.frontier for one in found.choices]) == (None, [False, False])
        assert unit("tokens", None) == "unknown"

    def test_rate_and_cost_conflict(self) -> None:
        """What passes less often for less is on the frontier, what another beats in both is not; the advice says it."""
        dear = choice("dear", RIGHT, contract="long", tokens=24_000)
        cheap = choice("cheap", "0" * 4 + "1" * 20, contract="short", tokens=2_000)
        both = choice("worse", "0" * 8 + "1" * 16, contract="long", tokens=24_000)
        found = advice(dear, cheap, both)
        assert found.price == "tokens"
        assert {one.path.path: one.frontier for one in found.choices} == {"dear": True, "cheap": True, "worse": False}
        assert "cheaper by right reply: cheap told short (100 tokens)" in found.advice

    def test_money_counts_before_tokens(self) -> None:
        """Where money is known for all it is what is weighed."""
        found = advice(choice("a", RIGHT, tokens=10, usd=2.4), choice("b", "0" + RIGHT[1:], tokens=5, usd=0.23))
        assert (found.price, unit("usd", 0.0123456)) == ("usd", "0.01235 USD")


class TestExamples:
    def test_the_most_telling_task(self) -> None:
        """The example is a silent failure that the path made; of what passes, any; with the command that shows it."""
        found = by_path(advice(raw(), choice("my path", "1" * 10 + "00s0" + "1" * 10)))
        example = found["my path/raw"].example
        assert example is not None
        assert (example.task, example.silent, example.cause) == ("family-6/t12", True, "wrong_state")
        words = ["crosspath", "show", "few-1", "family-6/t12", "--candidate", "m via my path", "--cell", "RN"]
        assert shlex.split(example.command) == words
        assert (found["raw/raw"].example and found["raw/raw"].example.passed) is True

    def test_a_later_trial(self) -> None:
        """A trial other than the first is named in the command."""
        one = choice("x", "10")
        rows = tuple(row.model_copy(update={"index": 2}) for row in one.option.rows)
        found = advice(raw("11"), Candidature(replace(one.option, rows=rows, on_reference=rows), None, None))
        example = by_path(found)["x/raw"].example
        assert example is not None
        assert example.command.endswith("--trial 2")


class TestExitCodes:
    def test_enough_evidence(self) -> None:
        """0 where each model has an advice, 3 where one has none, 4 where no control holds."""
        sure, alone = advice(raw(), choice("x", RIGHT)), advice(raw())
        broken = advice(raw(), choice("x", RIGHT, control=BROKEN))
        assert [exit_code(found) for found in ([sure], [sure, alone], [alone], [broken], [sure, broken])] == [0, 3, 3, 4, 3]


@settings(max_examples=40)
@given(st.lists(st.text("01s?", min_size=8, max_size=8), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_the_order_given_plays_no_part(outcomes: list[str], shuffler: random.Random) -> None:
    """Choices in another order give the same recommendation, word for word."""
    asked = [choice(f"p{n}", text, tokens=100 * n) for n, text in enumerate(outcomes)]
    shuffled = list(asked)
    shuffler.shuffle(shuffled)
    assert advice(*shuffled) == advice(*asked)
