import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosspath.analysis import CellInput, compare, decompose, judge_control
from crosspath.types import CellRow, Decomposition, Estimate

HOLDS = judge_control("encoded", {("a", 0): (True,)}, {("a", 0): (True,)})
CELLS = (("R", "R", "raw", "raw"), ("R", "N", "raw", "nested"), ("N", "R", "told", "raw"), ("N", "N", "told", "nested"))
TASKS = [(f"f{family}", f"f{family}/t{task}") for family in range(3) for task in range(2)]


@st.composite
def cell_rows(draw: st.DrawFn, trials: int) -> tuple[CellRow, ...]:
    """Rows of all tasks, some missing, some unstable."""
    rows: list[CellRow] = []
    for family, task in TASKS:
        for index in range(trials):
            passed = draw(st.sampled_from((True, False, True, False, None)))
            unstable = draw(st.sampled_from((False, False, False, True)))
            silent = passed is False and draw(st.booleans())
            cause = {None: "fault:rate_limit", False: "wrong_state", True: None}[passed]
            rows.append(
                CellRow(task=task, family=family, index=index, passed=passed, unstable=unstable, silent_wrong=silent, cause=cause)
            )
    return tuple(rows)


@st.composite
def cell_inputs(draw: st.DrawFn) -> list[CellInput]:
    """All four cells with one to three trials a task."""
    trials = draw(st.integers(1, 3))
    return [CellInput(*place, draw(cell_rows(trials))) for place in CELLS]  # type: ignore[arg-type]


def rows_of(outcomes: str, family_size: int = 4) -> tuple[CellRow, ...]:
    """One row per character: ``1`` right, ``0`` wrong, ``?`` missing, ``~`` unstable."""
    passed = {"1": True, "0": False, "?": None, "~": False}
    return tuple(
        CellRow(task=f"t{place}", family=f"f{place // family_size}", passed=passed[char], unstable=char == "~")
        for place, char in enumerate(outcomes)
    )


def observed(row: CellRow, passed: bool) -> CellRow:
    """The row as it is, or with ``passed`` where it was lost."""
    lost = row.passed is None or row.unstable
    return row.model_copy(update={"passed": passed, "unstable": False}) if lost else row


def decomposition(**cells: str) -> Decomposition:
    """A decomposition from one string of outcomes per cell."""
    inputs = [CellInput(*place, rows_of(cells[place[0] + place[1]])) for place in CELLS if place[0] + place[1] in cells]  # type: ignore[arg-type]
    return decompose("x", inputs, HOLDS)


def estimates(result: Decomposition) -> list[Estimate]:
    """Every estimate for which high is good."""
    rates = [estimate for cell in result.cells for estimate in (cell.rate, cell.population) if estimate]
    return rates + [estimate for effect in result.effects for estimate in (effect.these, effect.population)]


@settings(max_examples=60)
@given(cell_inputs())
def test_matched_gap_is_damage_plus_compensation(cells: list[CellInput]) -> None:
    """Whatever is missing or unstable, the identity holds for both estimands wherever all three have a value."""
    result = decompose("x", cells, HOLDS)
    for estimand in ("these", "population"):
        values = [getattr(result.effect(name), estimand).value for name in ("damage", "compensation", "matched_gap")]
        if None not in values:
            assert values[0] + values[1] == pytest.approx(values[2], abs=1e-12)
    assert len(result.effects) == 4


@settings(max_examples=60)
@given(cell_inputs())
def test_estimates_lie_between_their_bounds(cells: list[CellInput]) -> None:
    """Worst <= value <= best, low <= value <= high, and n + missing + unstable is what was planned."""
    for estimate in estimates(decompose("x", cells, HOLDS)):
        assert estimate.n + estimate.missing + estimate.unstable == len(cells[0].rows)
        if estimate.value is not None:
            assert estimate.worst is not None
            assert estimate.best is not None
            assert estimate.worst <= estimate.value <= estimate.best
        if estimate.low is not None and estimate.high is not None and estimate.value is not None:
            assert estimate.low - 1e-12 <= estimate.value <= estimate.high + 1e-12


@settings(max_examples=60)
@given(cell_inputs(), st.randoms(use_true_random=False))
def test_order_of_rows_and_cells_means_nothing(cells: list[CellInput], dice: random.Random) -> None:
    """Shuffled rows and cells give the same decomposition."""
    mixed = [replace(cell, rows=tuple(dice.sample(cell.rows, len(cell.rows)))) for cell in dice.sample(cells, len(cells))]
    assert decompose("x", mixed, HOLDS) == decompose("x", cells, HOLDS)


@settings(max_examples=60)
@given(cell_inputs(), st.randoms(use_true_random=False))
def test_bounds_hold_whatever_the_lost_rows_were(cells: list[CellInput], dice: random.Random) -> None:
    """If every lost row had ended in some way, the exact difference would lie between worst and best."""
    before = decompose("x", cells, HOLDS)
    filled = [replace(cell, rows=tuple(observed(row, dice.random() < 0.5) for row in cell.rows)) for cell in cells]
    for effect in decompose("x", filled, HOLDS).effects:
        bounds = before.effect(effect.name)
        assert bounds is not None
        for known, truth in ((bounds.these, effect.these), (bounds.population, effect.population)):
            assert known.worst is not None
            assert known.best is not None
            assert truth.value is not None
            assert known.worst - 1e-12 <= truth.value <= known.best + 1e-12


def test_damage_is_exact_for_these_replies() -> None:
    """With nothing missing damage has no error for these replies; for the population it has."""
    damage = decomposition(RR="11111111", RN="10001010").effect("damage")
    assert damage is not None
    assert (damage.these.low, damage.these.value, damage.these.high) == (-0.625, -0.625, -0.625)
    assert damage.these.estimand == "these_replies"
    assert damage.population.estimand == "task_population"
    assert damage.population.low is not None
    assert damage.population.low < -0.625
    assert (damage.lost, damage.gained) == (5, 0)


def test_compensation_with_one_trial_names_its_limits() -> None:
    """One trial a task: the method says that variation within tasks was not seen and that McNemar ignores families."""
    effect = decomposition(RR="1111", RN="0000", NN="1101").effect("compensation")
    assert effect is not None
    assert "one trial a task" in effect.these.method
    assert "ignores families" in effect.these.method
    assert effect.these.p_value == 0.25
    assert (effect.population.low, effect.population.high) == (None, None)


def test_lost_cell_does_not_empty_the_others() -> None:
    """A cell of faults only leaves damage as it is; the effects that need it have no value but bounds."""
    result = decomposition(RR="1111", RN="0001", NN="????")
    damage, gap = result.effect("damage"), result.effect("matched_gap")
    assert damage is not None
    assert gap is not None
    assert damage.these.value == -0.75
    assert (gap.these.value, gap.these.worst, gap.these.best) == (None, -1.0, 0.0)
    assert gap.these.missing == 4


def test_unstable_rows_are_left_out_and_counted() -> None:
    """An unstable row is no failure and no success: it is in neither rate, and widens the bounds."""
    cell = decomposition(RR="11~?").cell("RR")
    assert cell is not None
    assert (cell.planned, cell.scored, cell.passed, cell.faults, cell.unstable) == (4, 2, 2, 1, 1)
    assert (cell.rate.value, cell.rate.worst, cell.rate.best) == (1.0, 0.5, 1.0)


def test_same_contract_means_same_replies() -> None:
    """Where the candidate is told what the reference is told, NN - RN compares the same replies and needs no interval."""
    rows = rows_of("1011")
    cells = [CellInput("R", "N", "raw", "nested", rows), CellInput("N", "N", "raw", "nested", rows)]
    effect = decompose("x", cells, HOLDS).effect("compensation")
    assert effect is not None
    assert effect.these.estimand == "these_replies"
    assert effect.these.value == effect.these.low == effect.these.high == 0


def test_duplicate_rows_are_a_bug_of_the_caller() -> None:
    """Two rows of one trial raise instead of counting twice."""
    with pytest.raises(ValueError, match="two rows"):
        decompose("x", [CellInput("R", "R", "raw", "raw", rows_of("1") * 2)], HOLDS)


def test_missing_rows_never_win() -> None:
    """B: [1, missing] does not rank above A: [1, 0]; the comparison says what is missing."""
    comparison = compare("A", "B", rows_of("10"), rows_of("1?"))
    assert comparison.difference.value == 0
    assert (comparison.difference.n, comparison.difference.missing) == (1, 1)
    assert "1 of 2 trials" in comparison.warning
    assert "neither ranks above" in comparison.warning
    assert compare("A", "B", rows_of("10"), rows_of("11")).warning == ""


def test_false_alarms_are_a_rate_of_what_was_scored() -> None:
    """Right or not passed, a false alarm counts once; lost trials widen its bounds, at worst as alarms."""
    rows = list(rows_of("1111?~00"))
    for place, kind in ((0, "timeout"), (1, "timeout"), (6, "masked"), (5, "status")):
        rows[place] = rows[place].model_copy(update={"false_alarm": kind})
    cell = decompose("x", [CellInput("R", "R", "raw", "raw", tuple(rows))], HOLDS).cells[0]
    assert cell.alarm_kinds == {"masked": 1, "timeout": 2}
    assert cell.false_alarm is not None
    assert (cell.false_alarm.value, cell.false_alarm.n) == (0.5, 6)
    assert (cell.false_alarm.worst, cell.false_alarm.best) == (5 / 8, 3 / 8)
    assert cell.causes["masked"] == 1
