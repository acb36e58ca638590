"""How far the words of a contract move compensation: numbers, words and rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.analysis import CellInput, compare, decompose, judge_control
from crosspath.analysis.wording import paragraph
from crosspath.analysis.wording_spreads import Worded, wording_spread
from crosspath.analysis.wording_tables import (
    WORDING_COLUMNS,
    beside_compensation,
    wording_lines,
    wording_rows,
    wording_section,
)
from crosspath.types import CellRow, Control, Decomposition, WordingSpread

HOLDS = judge_control("encoded", {("a", 0): (True,)}, {("a", 0): (True,)})
BROKEN = Control(kind="encoded", status="broken", compared=1, reason="it differs")
CONTRACTS = ("tell:p", "tell:p#2", "tell:p#3", "own")


def rows_of(outcomes: str, family_size: int = 2) -> tuple[CellRow, ...]:
    """One row per character: ``1`` right, ``0`` wrong, ``?`` missing, ``~`` unstable."""
    passed = {"1": True, "0": False, "?": None, "~": False}
    return tuple(
        CellRow(task=f"t{place}", family=f"f{place // family_size}", passed=passed[char], unstable=char == "~")
        for place, char in enumerate(outcomes)
    )


def decomposition(contract: str, told: str, untold: str, control: Control = HOLDS) -> Decomposition:
    """The candidate of a wording: everything right on the reference, and on the path what is given."""
    cells = [
        CellInput("R", "R", "raw", "raw", rows_of("1" * len(untold))),
        CellInput("R", "N", "raw", "p", rows_of(untold)),
        CellInput("N", "N", contract, "p", rows_of(told)),
    ]
    return decompose(f"m {contract}", cells, control)


def spread_of(*told: str, untold: str | None = None, control: Control = HOLDS, undisclosed: bool = False) -> WordingSpread:
    """The spread over one string of outcomes per wording."""
    base = untold or "0" * len(told[0])
    worded = {
        contract: Worded(
            decomposition(contract, text, base, control).model_copy(update={"undisclosed": undisclosed}),
            rows_of(text),
            rows_of(base),
        )
        for contract, text in zip(CONTRACTS, told, strict=False)
    }
    return wording_spread("p", "p", worded)


def test_a_planted_spread_is_found() -> None:
    """Compensations, rates and differences are those of the candidates themselves; the spread is highest less lowest."""
    found = spread_of("11111100", "11110000", "11111111", untold="11000000")
    assert found.candidates == {"tell:p": "m tell:p", "tell:p#2": "m tell:p#2", "tell:p#3": "m tell:p#3"}
    assert {name: estimate.value for name, estimate in found.compensation.items()} == found.common
    assert list(found.common.values()) == [0.5, 0.25, 0.75]
    assert (found.spread, found.tasks) == (0.5, 8)
    own = decomposition("tell:p#2", "11110000", "11000000")
    effect = own.effect("compensation")
    assert effect
    assert (found.compensation["tell:p#2"], found.population["tell:p#2"]) == (effect.these, effect.population)
    assert [rate.value for rate in found.rates.values()] == [0.75, 0.5, 1.0]
    assert list(found.differences) == ["tell:p#2", "tell:p#3"]
    assert found.differences["tell:p#3"] == compare("a", "b", rows_of("11111100"), rows_of("11111111")).difference


@given(st.lists(st.text("10?~", min_size=8, max_size=8), min_size=2, max_size=4), st.text("10?~", min_size=8, max_size=8))
def test_what_is_lost_never_makes_a_spread(told: list[str], untold: str) -> None:
    """Over the tasks that count everywhere, told and untold, the spread is the largest difference of two told rates; a wording in
    which no task counts takes no part; with fewer than two, or no such task, there is none.
    """
    found = spread_of(*told, untold=untold)
    counting = [text for text in told if any(a in "10" and b in "10" for a, b in zip(text, untold, strict=True))]
    common = (
        [place for place in range(8) if all(text[place] in "10" for text in [*counting, untold])] if len(counting) > 1 else []
    )
    assert found.tasks == len(common)
    passed = [sum(text[place] == "1" for place in common) for text in counting]
    assert found.spread == (pytest.approx((max(passed) - min(passed)) / len(common)) if common else None)


def test_the_order_of_wordings_changes_no_spread() -> None:
    """Only what the others are compared with depends on which wording comes first."""
    one, other = spread_of("1110", "1000", "1100"), spread_of("1100", "1110", "1000")
    assert (one.spread, one.tasks) == (other.spread, other.tasks) == (0.5, 4)


def test_no_compensation_where_it_may_not_be_used() -> None:
    """A broken control, another path that was told, nothing right on the reference: rates stay, compensation and spread go."""
    for found in (spread_of("11", "10", control=BROKEN), spread_of("11", "10", undisclosed=True)):
        assert (found.compensation, found.population, found.common, found.spread) == ({}, {}, {}, None)
        assert [rate.value for rate in found.rates.values()] == [1.0, 0.5]
        assert beside_compensation([found]) == {}
        assert wording_lines([found]) == [
            "m tell:p and 1 other wording, told about p: compensation can't be compared; pass rates 100.0 % (tell:p), 50.0 %"
            " (tell:p#2)."
        ]


def test_it_stands_beside_compensation() -> None:
    """In the paragraph of each candidate, right behind its own compensation."""
    beside = beside_compensation([spread_of("11111100", "11110000", "11111111", untold="11000000")])
    assert set(beside) == {"m tell:p", "m tell:p#2", "m tell:p#3"}
    text = paragraph(decomposition("tell:p", "11111100", "11000000"), beside["m tell:p"])
    assert "the model won back 50.0 points (compensation +50.0; three wordings: +25.0 to +75.0): 6 of 8" in text
    nothing = paragraph(decomposition("tell:p", "11000000", "11000000"), "two wordings: 0.0 each")
    assert "changed nothing (compensation 0.0; two wordings: 0.0 each)" in nothing
    undisclosed = decomposition("tell:p", "1111", "0000").model_copy(update={"undisclosed": True, "discloses": "q"})
    assert "wordings" not in paragraph(undisclosed, "three wordings: +1.0 each")


def test_words_for_equal_wordings_and_for_lost_tasks() -> None:
    """The same everywhere is said once; where tasks were lost, their number stands beside the range."""
    assert set(beside_compensation([spread_of("1100", "1010", "0110")]).values()) == {"three wordings: +50.0 each"}
    assert wording_lines([spread_of("1100", "1010")]) == [
        "m tell:p and 1 other wording, told about p: the same compensation in every wording."
    ]
    lost = spread_of("1100", "1?00", "1111", "1110")
    assert set(beside_compensation([lost]).values()) == {"4 wordings: +33.3 to +100.0 over the 3 tasks that all were scored on"}
    assert wording_lines([lost]) == [
        "m tell:p and 3 other wordings, told about p: compensation spans 66.7 points, from +33.3 (tell:p) to +100.0 (tell:p#3)."
    ]


def test_the_section_has_each_wording_and_says_what_a_spread_is() -> None:
    """A row per wording with rate, compensation in both estimands and difference, and a caution; none without a group."""
    text = wording_section([spread_of("11110000", "11111111", "????????")])
    assert text.startswith(
        "## Wordings of contracts\n\nm tell:p and 2 other wordings, told about p: compensation spans 50.0 points"
    )
    assert "| tell:p#2 | m tell:p#2 | 100.0 % (63.1 % to 100.0 %) | 0 | 0 | +100.0 (" in text
    assert "| tell:p#3 | m tell:p#3 | – | 8 | 0 | – | – | – | 0 |" in text
    assert "grows with the number of wordings" in text
    assert wording_section([]) == ""
    assert wording_lines([]) == []


def test_rows_for_a_frame() -> None:
    """One flat row per wording, all with the same columns; the first has no difference, an unusable one no compensation."""
    rows = wording_rows([spread_of("1100", "1111", "????")])
    assert all(tuple(row) == WORDING_COLUMNS for row in rows)
    assert [row["contract"] for row in rows] == ["tell:p", "tell:p#2", "tell:p#3"]
    assert [(row["rate"], row["compensation"], row["value"]) for row in rows] == [(0.5, 0.5, None), (1.0, 1.0, 0.5), (None,) * 3]
    assert {(row["first"], row["discloses"], row["transport"], row["spread"], row["tasks"]) for row in rows} == {
        ("tell:p", "p", "p", 0.5, 4)
    }
    assert [row["population_n"] for row in rows] == [4, 4, None]
