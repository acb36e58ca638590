import pytest

from crosspath.analysis import (
    CandidateInput,
    CellInput,
    Pair,
    compare,
    compare_together,
    decompose_together,
    decomposition_tables,
    judge_control,
)
from crosspath.reports.comparison_tables import comparison_section
from crosspath.reports.effect_tables import effects_table, source_lines
from crosspath.types import CellRow, Comparison, Control, Decomposition, Judgement, Spend

HOLDS = judge_control("encoded", {("a", 0): (True,)}, {("a", 0): (True,)})
BROKEN = Control(kind="encoded", status="broken", compared=1, differing=("a#0",), reason="it differs")


def rows_of(text: str, tasks: int = 2, trials: int = 1) -> tuple[CellRow, ...]:
    """One row per character, ``tasks`` a family and ``trials`` a task: ``1`` right, ``0`` wrong, ``?`` missing."""
    passed = {"1": True, "0": False, "?": None}
    return tuple(
        CellRow(
            task=f"t{place // trials:02}", family=f"f{place // trials // tasks}", index=place % trials, passed=passed[character]
        )
        for place, character in enumerate(text)
    )


def decomposed(tasks: int = 2, trials: int = 1, control: Control = HOLDS, **cells: str) -> Decomposition:
    """A decomposition from one string of outcomes per cell."""
    sides = {"RR": ("raw", "raw"), "RN": ("raw", "nested"), "NN": ("told", "nested")}
    inputs = [CellInput(name[0], name[1], *sides[name], rows_of(text, tasks, trials)) for name, text in cells.items()]  # type: ignore[arg-type]
    return decompose_together([CandidateInput("c", inputs, control)])[0]


def line_of(text: str, start: str) -> list[str]:
    """The cells of the first table row that starts so."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {start}"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_effects_say_how_much_of_the_plan_they_rest_on() -> None:
    """Attempted, observed, missing and unstable stand beside each value, and what the missing ones could have made of it."""
    text = effects_table(decomposed(RR="11111111", RN="1011100?", NN="11111111"), "")
    head, damage = line_of(text, "effect"), line_of(text, "damage")
    row = dict(zip(head, damage, strict=True))
    assert (row["attempted"], row["observed"], row["missing"], row["unstable"]) == ("8", "7", "1", "0")
    assert row["worst to best"] == "-50.0 to -37.5"
    assert "*Attempted*: pairs of trials that were planned" in text


def test_single_and_joint_intervals_stand_side_by_side() -> None:
    """The interval that holds together with all others is the wider one, and only the population estimate has it."""
    text = effects_table(decomposed(RR="1" * 12, RN="100011101011", NN="101011101111"), "")
    rows = [line for line in text.splitlines() if line.startswith("| damage")]
    population, these = ([cell.strip() for cell in row.strip("|").split("|")] for row in rows)
    single, joint = ([float(end) for end in population[place].split(" to ")] for place in (3, 4))
    assert joint[0] < single[0] <= single[1] <= joint[1]
    assert these[4] == "–"


def test_effects_that_may_not_be_used_have_neither() -> None:
    """A broken control has no joint interval and no sentence about what would narrow it."""
    broken = decomposed(control=BROKEN, RR="1111", RN="1010", NN="1111")
    assert line_of(effects_table(broken, ""), "damage")[4] == "–"
    assert source_lines(broken) == []


@pytest.mark.parametrize(
    ("tasks", "trials", "words"),
    [
        (2, 2, "with twice the families, "),
        (2, 1, "one trial a task: reply draws are in it"),
        (1, 2, "one task a family: tasks are in how families differ"),
        (1, 1, "one task a family and one trial a task: tasks and reply draws are in it"),
    ],
)
def test_uncertainty_has_a_sentence(tasks: int, trials: int, words: str) -> None:
    """Where it comes from in per cent, what would narrow it most, and what can't be told apart in this design."""
    found = decomposed(tasks, trials, RR="1" * 12, RN="100011101011", NN="101110101111")
    damage, compensation = source_lines(found)
    assert damage.startswith("Uncertainty of damage for families like these: ")
    assert compensation.startswith("Uncertainty of compensation")
    assert words in damage
    assert "More families narrow it most: its standard error falls by 29 % with twice the families" in damage
    assert ("reply draws of the other side" in compensation) == (trials > 1)
    assert "reply draws of the other side" not in damage


def judged(*comparisons: Comparison) -> Judgement:
    """A judgement that holds nothing but comparisons."""
    return Judgement(scores=(), decompositions=(), comparisons=comparisons, spend=Spend())


def test_comparisons_pair_what_both_sides_observed() -> None:
    """The section says so in words, and each row how much was attempted, observed in both, missing, and what that may change."""
    text = comparison_section(judged(compare("a", "b", rows_of("11?11111"), rows_of("1011?111"))))
    row = dict(zip(line_of(text, "matched"), line_of(text, "b - a"), strict=True))
    assert "over the trials that were observed on both sides" in text
    assert (row["attempted"], row["observed in both"], row["missing"]) == ("8", "6", "2")
    assert row["worst to best"] == "-25.0 to 0.0"
    assert row["95 % together"] == row["p together"] == "–"
    assert "Together" not in text


def test_comparisons_of_several_candidates_hold_together() -> None:
    """With several comparisons each has an interval that holds together with the others, and an adjusted p-value."""
    rows = {name: rows_of(text) for name, text in (("a", "1" * 12), ("b", "101011101110"), ("c", "001011100010"))}
    text = comparison_section(judged(*compare_together([Pair(x, y, rows[x], rows[y]) for x, y in ("ab", "ac", "bc")])))
    assert "*Together*: with 95 % confidence" in text
    assert " to " in line_of(text, "b - a")[2]


def test_nothing_observed_in_both_is_said() -> None:
    """Where no trial was observed on both sides there is no difference, and the reason stands in its place."""
    text = comparison_section(judged(compare("a", "b", rows_of("11??"), rows_of("??11"))))
    assert line_of(text, "b - a")[1] == "– (nothing was scored)"


def test_frames_hold_both_intervals() -> None:
    """A row of the population estimate has the interval that holds together beside its own; one of these replies has none."""
    found = decomposed(RR="1" * 12, RN="100011101011", NN="101011101111")
    rows = decomposition_tables(judged().model_copy(update={"decompositions": (found,)})).effects
    damage = {row["estimand"]: row for row in rows if row["effect"] == "damage"}
    together = found.effects[0].together
    assert together is not None
    assert (damage["task_population"]["together_low"], damage["task_population"]["together_p_value"]) == (
        together.low,
        together.p_value,
    )
    assert damage["these_replies"]["together_low"] is None
