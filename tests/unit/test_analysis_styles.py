"""How far the request style alone moves a pass rate: numbers, words and rows."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.analysis import CellInput, compare, decompose, judge_control
from crosspath.analysis.style_spreads import style_spread
from crosspath.analysis.styles import STYLE_COLUMNS, beyond_zero, style_lines, style_rows, style_section
from crosspath.pipeline.style_groups import style_groups
from crosspath.types import Candidate, CellRow, Control, Decomposition, Generation, ModelSpec, Prices, StyleSpread

HOLDS = judge_control("encoded", {("a", 0): (True,)}, {("a", 0): (True,)})
BROKEN = Control(kind="encoded", status="broken", compared=1, reason="it differs")


def rows_of(outcomes: str, family_size: int = 2) -> tuple[CellRow, ...]:
    """One row per character: ``1`` right, ``0`` wrong, ``?`` missing, ``~`` unstable."""
    passed = {"1": True, "0": False, "?": None, "~": False}
    return tuple(
        CellRow(task=f"t{place}", family=f"f{place // family_size}", passed=passed[char], unstable=char == "~")
        for place, char in enumerate(outcomes)
    )


def decomposition(style: str, outcomes: str, done: str | None = None, control: Control = HOLDS) -> Decomposition:
    """The candidate of a style, with RR, and RN where ``done`` gives it."""
    cells = [CellInput("R", "R", "raw", "raw", rows_of(outcomes))]
    cells += [CellInput("R", "N", "raw", "nested-shell", rows_of(done))] if done else []
    return decompose(f"m {style}", cells, control)


def spread_of(
    *, done: str | None = None, control: Control = HOLDS, named: Mapping[str, str] | None = None, **outcomes: str
) -> StyleSpread:
    """The spread in RR over one string of outcomes per style."""
    texts = {**outcomes, **(named or {})}
    decompositions = {style: decomposition(style, text, done, control) for style, text in texts.items()}
    return style_spread(decompositions, {style: rows_of(text) for style, text in texts.items()}, "R", "R")


def test_rates_and_differences_are_those_of_any_two_candidates() -> None:
    """A style's rate is that of its cell, and its difference to the first style that of a comparison, with interval and p."""
    found = spread_of(plain="11111100", terse="11110000", chatty="11111111")
    assert found.candidates == {"plain": "m plain", "terse": "m terse", "chatty": "m chatty"}
    assert [rate.value for rate in found.rates.values()] == [0.75, 0.5, 1.0]
    assert found.rates["terse"] == decomposition("terse", "11110000").cells[0].rate
    assert list(found.differences) == ["terse", "chatty"]
    expected = compare("a", "b", rows_of("11111100"), rows_of("11110000")).difference
    assert found.differences["terse"] == expected
    assert (expected.value, expected.estimand) == (-0.25, "task_population")
    assert (found.spread, found.tasks, found.framing) == (0.5, 8, None)


def test_the_framing_is_exam_minus_production() -> None:
    """The pair is compared with each other, wherever the two stand, and not with the plain style."""
    found = spread_of(production="11000000", plain="00000000", exam="11111111")
    assert found.framing == compare("p", "e", rows_of("11000000"), rows_of("11111111")).difference
    assert found.framing is not None
    assert found.framing.value == 0.75
    assert spread_of(plain="1111", exam="0000").framing is None


@given(st.lists(st.text("10?~", min_size=8, max_size=8), min_size=2, max_size=5))
def test_what_is_lost_never_makes_a_spread(outcomes: list[str]) -> None:
    """Over the tasks that count in every style the spread is the largest difference of two rates; a style without any takes no
    part; with fewer than two such styles, or no such task, there is none.
    """
    found = spread_of(named={f"s{number}": text for number, text in enumerate(outcomes)})
    counting = [text for text in outcomes if set(text) & set("10")]
    common = [place for place in range(8) if all(text[place] in "10" for text in counting)] if len(counting) > 1 else []
    assert found.tasks == len(common)
    passed = [sum(text[place] == "1" for place in common) for text in counting]
    assert found.spread == (pytest.approx((max(passed) - min(passed)) / len(common)) if common else None)


def test_a_style_that_lacks_the_easy_tasks_does_not_stand_out() -> None:
    """Half of its trials are lost, and its rate is lower for that alone: the spread is zero, and the sentence names the tasks."""
    found = spread_of(plain="11110000", terse="????0000")
    assert [rate.value for rate in found.rates.values()] == [0.5, 0.0]
    assert (found.spread, found.tasks) == (0.0, 4)
    assert found.rates["terse"].missing == 4
    assert found.differences["terse"].value == 0.0
    assert found.differences["terse"].missing == 4
    [line] = style_lines([found])
    assert line.endswith("in RR the pass rate spans 0.0 points over the 4 tasks that were scored in every style.")


def test_nothing_to_compare_is_said() -> None:
    """Where only one style has scores there is no spread and no difference, and nothing is shown as zero."""
    found = spread_of(plain="1111", terse="????")
    assert (found.spread, found.rates["terse"].value, found.differences["terse"].value) == (None, None, None)
    assert "the styles can't be compared, because no task was scored in two of them" in style_lines([found])[0]
    assert "| terse | m terse | – | 4 | 0 | – |" in style_section([found])


def test_damage_stands_beside_where_it_may_be_used() -> None:
    """The exact damage of each candidate; none where the control is broken or nothing passes on the reference."""
    found = spread_of(done="11000000", plain="11111100", terse="11110000")
    assert {style: damage.value for style, damage in found.damage.items()} == {"plain": -0.5, "terse": -0.25}
    [line] = style_lines([found])
    assert line.endswith("from 50.0 % (terse) to 75.0 % (plain); beside them the path: damage -50.0 to -25.0 points.")
    assert spread_of(done="1100", control=BROKEN, plain="1111", terse="1111").damage == {}
    assert list(spread_of(done="1100", plain="1111", terse="0000").damage) == ["plain"]
    assert spread_of(plain="1111", terse="0000").damage == {}


def test_equal_styles_in_one_sentence() -> None:
    """Where every style has the same rate, the sentence says so, and the damage once."""
    found = spread_of(done="11110000", plain="1" * 8, terse="1" * 8, chatty="1" * 8)
    assert style_lines([found]) == [
        "m plain and 2 other request styles: in RR every style passes 100.0 %; beside them the path: damage -50.0 points."
    ]


@pytest.mark.parametrize(
    ("exam", "production", "words", "differs"),
    [
        ("1" * 12, "0" * 12, "+100.0 points (95 %: ", True),
        ("111111111100", "100010000000", "+66.7 points (95 %: +23.8 to +100.0: the framing makes a difference) in RR", True),
        ("100010000000", "111111111100", "-66.7 points (95 %: -100.0 to -23.8: the framing makes a difference) in RR", True),
        ("111111111100", "111111000011", "+16.7 points (95 %: -62.3 to +95.7: no difference is shown) in RR", False),
        ("1?????????", "?1????????", "not known in RR", False),
        ("11", "00", "+100.0 points (no interval: one family says nothing about how families differ) in RR", False),
    ],
)
def test_whether_the_framing_makes_a_difference(exam: str, production: str, words: str, differs: bool) -> None:
    """Only an interval that leaves out zero is called a difference; without an interval the method says why there is none."""
    found = spread_of(exam=exam, production=production)
    assert found.framing is not None
    assert beyond_zero(found.framing) is differs
    [line] = style_lines([found])
    assert f"Framed as an exam instead of as production work: {words}" in line
    assert ("the framing makes a difference" in line) is differs


def test_one_group_is_one_line() -> None:
    """Reference cell and matched cell of the same candidates stand in one line, another group in another."""
    first = spread_of(plain="1111", terse="1100")
    second = first.model_copy(update={"told": "N", "done": "N"})
    other = first.model_copy(update={"candidates": {"plain": "n plain", "terse": "n terse"}})
    lines = style_lines([first, second, other])
    assert len(lines) == 2
    assert lines[0].count("the pass rate spans 50.0 points") == 2
    assert "; in NN the pass rate" in lines[0]


def test_the_section_has_each_style_and_says_what_a_spread_is() -> None:
    """A table per cell with rates, differences and damage, the framing with its method, and a caution; none without a group."""
    text = style_section([spread_of(plain="11110000", exam="11111111", production="11000000", done="1" * 8)])
    assert text.startswith("## Request styles\n\nm plain and 2 other request styles: in RR")
    assert "cell RR (told R, done R)" in text
    assert "| exam | m exam | 100.0 % (63.1 % to 100.0 %) | 0 | 0 | +50.0 (" in text
    assert "exam - production: +75.0 (" in text
    assert "grows with the number of styles" in text
    assert style_section([]) == ""
    assert style_lines([]) == []


def test_hostile_names_stay_in_their_cells() -> None:
    """A style that is called like markup is shown as it is called."""
    found = spread_of(plain="1111", named={"a|b\n# *c*": "1100"})
    assert "| a\\|b\\n# \\*c\\* | m a\\|b\\n# \\*c\\* |" in style_section([found])


def test_rows_for_a_frame() -> None:
    """One flat row per cell and style with rate, difference and damage, and one for the framing; all with the same columns."""
    rows = style_rows([spread_of(plain="1100", exam="1111", production="1000", done="1111")])
    assert [row["style"] for row in rows] == ["plain", "exam", "production", "exam - production"]
    assert all(tuple(row) == STYLE_COLUMNS for row in rows)
    assert [(row["rate"], row["value"]) for row in rows] == [(0.5, None), (1.0, 0.5), (0.25, -0.25), (None, 0.75)]
    assert [(row["damage"], row["spread"]) for row in rows] == [(0.5, 0.75), (0.0, 0.75), (0.75, 0.75), (None, None)]


# -- groups --------------------------------------------------------------------------------------------------------------


def candidate(name: str, style: str, transport: str = "nested-shell", **model: object) -> Candidate:
    """A candidate that is told about the path."""
    named = ModelSpec.model_validate({"name": "openai/m", **model})
    return Candidate(
        name=name, generation=Generation(model=named, contract="nested-shell", request_style=style), transport=transport
    )


def test_groups_differ_in_nothing_but_the_style() -> None:
    """Another path, model or parameter is another group; alone in it is none; plain comes first, the rest in the spec's order."""
    found = style_groups(
        [
            candidate("a", "terse"),
            candidate("b", "exam"),
            candidate("c", "plain"),
            candidate("d", "chatty", "raw"),
            candidate("e", "terse", params={"user": "x"}),
            candidate("f", "plain", params={"user": "x"}),
            candidate("g", "plain", api_base="http://127.0.0.1:1/v1"),
        ]
    )
    assert [{style: one.name for style, one in group.items()} for group in found] == [
        {"plain": "c", "terse": "a", "exam": "b"},
        {"plain": "f", "terse": "e"},
    ]
    assert [list(group) for group in found] == [["plain", "terse", "exam"], ["plain", "terse"]]


def test_twins_and_prices_make_no_group() -> None:
    """Of two candidates that are alike the first stands for both; a price or the name of a key's variable changes no reply."""
    twins = [candidate("a", "plain"), candidate("b", "plain")]
    assert style_groups(twins) == ()
    priced = candidate("c", "terse", prices=Prices(gpu_usd_per_hour=1), api_key_env="KEY")
    [group] = style_groups([*twins, priced])
    assert {style: one.name for style, one in group.items()} == {"plain": "a", "terse": "c"}
