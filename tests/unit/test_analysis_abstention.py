"""Declining: counts, precision and recall with honest intervals, and their words."""

import random

import pytest

from builders import candidate
from crosspath.analysis.abstention import Declining, Way, abstention, abstention_lines, abstention_section, way_of
from crosspath.types import Abstention, Delivery, PlannedCell, ReplayKey, Score, Side, TrialKey

FORM = "CANNOT:"
DECLINED: tuple[Way, ...] = ("form",) * 10


def cell(told: Side = "N", done: Side = "N", name: str = "adaptive") -> PlannedCell:
    """A planned cell of a candidate."""
    generation = candidate(name).generation
    return PlannedCell(
        candidate=name, told=told, done=done, generation=generation, contract="nested", transport="nested-shell", path=told + done
    )


def rows(task: str, *ways: Way | None, infeasible: bool = True) -> list[Declining]:
    """The trials of one task, its state untouched unless a reply acted."""
    return [Declining(task, infeasible, way, untouched=way != "acted") for way in ways]


def counted(*groups: list[Declining], form: str | None = FORM, told: Side = "N", done: Side = "N") -> Abstention:
    """The counts over these trials."""
    return abstention(cell(told, done), form, [row for group in groups for row in group])


FEASIBLE = rows("f/1", "acted", infeasible=False) + rows("f/2", "acted", infeasible=False) + rows("f/3", "form", infeasible=False)
MIXED = (rows("i/1", "form"), rows("i/2", "form"), rows("i/3", "otherwise"), rows("i/4", "acted"), FEASIBLE)


def test_counts_and_both_shares() -> None:
    """Right declines over all declines in the form, and over all scored trials of infeasible tasks."""
    found = counted(*MIXED)
    assert (found.planned, found.scored, found.declined, found.declined_otherwise, found.acted) == (4, 4, 2, 1, 1)
    assert (found.feasible, found.declined_feasible) == (3, 1)
    assert (found.precision.value, found.precision.n) == (pytest.approx(2 / 3), 3)
    assert (found.recall.value, found.recall.n) == (0.5, 4)
    assert (found.recall.estimand, found.recall.method) == ("these_tasks", "Clopper-Pearson over 4 tasks, one trial each")
    assert found.recall.low == pytest.approx(0.068, abs=0.001)
    assert found.recall.high == pytest.approx(0.932, abs=0.001)
    assert (found.recall.worst, found.recall.best) == (0.5, 0.5)


def test_a_decline_with_a_changed_state_is_not_right() -> None:
    """Its form counts among the declines, its deed makes it wrong."""
    found = counted([Declining("i/1", True, "form", untouched=False)], rows("i/2", "form"))
    assert (found.declined, found.declined_otherwise, found.acted) == (1, 1, 0)
    assert (found.precision.value, found.recall.value) == (0.5, 0.5)


def test_precision_without_a_task_that_can_be_done_says_so() -> None:
    """Where no decline could be wrong the number is no finding, and the method says it."""
    assert counted(rows("i/1", "form")).precision.method.endswith("; without a task that can be done no decline could be wrong")
    assert "could be wrong" not in counted(rows("i/1", "form"), FEASIBLE).precision.method


def test_nothing_to_divide_by_is_no_number() -> None:
    """No decline, no trial that was scored, no form: no value, no interval, and the method says why."""
    nobody = counted(rows("i/1", "acted"), FEASIBLE[:2])
    assert (nobody.precision.value, nobody.precision.low, nobody.precision.n) == (None, None, 0)
    assert nobody.precision.method == "nothing was declined in the form"
    assert (nobody.recall.value, nobody.recall.low) == (0.0, 0.0)
    lost = counted(rows("i/1", None))
    assert (lost.recall.value, lost.recall.method, lost.recall.missing) == (None, "nothing was scored", 1)
    formless = counted(rows("i/1", "acted"), rows("i/2", "otherwise"), form=None)
    assert (formless.precision.value, formless.recall.value, formless.recall.worst) == (None, None, None)
    assert formless.precision.method == formless.recall.method == "the contract states no form of declining"
    assert (formless.acted, formless.declined_otherwise) == (1, 1)


def test_what_was_lost_is_bounded() -> None:
    """Missing and unstable trials are counted apart; worst and best say what they could have made of the value."""
    shaky = [Declining("i/4", True, "form", unstable=True)]
    found = counted(rows("i/1", "form"), rows("i/2", "acted"), rows("i/3", None), shaky, rows("f/1", None, infeasible=False))
    assert (found.planned, found.scored) == (4, 2)
    assert (found.recall.missing, found.recall.unstable, found.recall.worst, found.recall.best) == (1, 1, 0.25, 0.75)
    assert (found.precision.missing, found.precision.unstable) == (2, 1)
    assert (found.precision.value, found.precision.worst, found.precision.best) == (1.0, 0.25, 1.0)


def test_several_trials_of_a_task_are_no_new_evidence_about_tasks() -> None:
    """Ten trials of each of four tasks give no narrower interval than one trial of each; where all agree it is not a point."""
    one, ten = (counted(*(rows(f"i/{number}", *DECLINED[:trials]) for number in range(4))) for trials in (1, 10))
    assert (one.recall.low, one.recall.high) == (pytest.approx(ten.recall.low), pytest.approx(ten.recall.high))
    assert ten.recall.n == 40
    assert ten.recall.method == "Clopper-Pearson over 4 tasks, all trials of a task as one"
    assert ten.recall.low is not None
    assert ten.recall.low < 0.6
    uneven = counted(rows("i/1", *DECLINED[:9]), rows("f/1", "form", infeasible=False))
    assert uneven.precision.value == 0.9
    assert uneven.precision.low is not None
    assert uneven.precision.low < 0.3


def test_the_interval_covers_what_it_says() -> None:
    """Tasks that differ in how often they are declined, five trials each: at least 95 % of the intervals hold the true share."""
    rng = random.Random(5)
    hits = 0
    for _ in range(400):
        groups: list[list[Declining]] = []
        for number in range(8):
            chance = rng.betavariate(0.5, 1.0)
            ways: list[Way] = ["form" if rng.random() < chance else "acted" for _ in range(5)]
            groups.append(rows(f"i/{number}", *ways))
        recall = counted(*groups).recall
        assert recall.low is not None
        assert recall.high is not None
        hits += recall.low <= 1 / 3 <= recall.high
    assert hits >= 380


def test_the_way_of_a_reply_is_in_its_delivery() -> None:
    """In the form, in other words (or withheld by the provider), or neither."""
    assert way_of(Delivery(abstained=True, problem="refusal")) == "form"
    assert way_of(Delivery(problem="refusal")) == "otherwise"
    assert way_of(Delivery(problem="contract_error")) == way_of(Delivery()) == "acted"


def test_one_sentence_per_candidate_about_what_is_deployed() -> None:
    """Counts and both shares of the cell that was told and done its own way."""
    [line] = abstention_lines([counted(rows("i/1", "form"), told="R", done="R"), counted(*MIXED)])
    assert line == (
        "adaptive on nested-shell: of 4 trials of tasks that can't be done 2 declined in the contract's form and touched"
        " nothing, 1 declined otherwise, 1 acted all the same"
        " (recall 50.0 %; 1 of 3 that can be done declined, precision 66.7 %)."
    )
    [perfect] = abstention_lines([counted(rows("i/1", "form"), FEASIBLE[:2])])
    assert perfect == (
        "adaptive on nested-shell: of 1 trial of tasks that can't be done 1 declined in the contract's form and touched nothing"
        " (recall 100.0 %; none of 2 that can be done declined, precision 100.0 %)."
    )
    [alone] = abstention_lines([counted(rows("i/1", "form"))])
    assert alone.endswith("(recall 100.0 %; no task that can be done was there to be declined wrongly).")


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (counted(rows("i/1", None)), "of 1 trial of tasks that can't be done none could be observed."),
        (counted(rows("i/1", None, "form")), "of 2 trials of tasks that can't be done 1 could be observed: 1 declined in the"),
        (counted(rows("i/1", "acted"), form=None), "1 acted; contract nested states no form of declining"),
        (
            counted(rows("i/1", "acted")),
            "none declined in the contract's form and touched nothing, 1 acted all the same (recall 0.0 %;",
        ),
    ],
)
def test_sentences_say_what_is_missing(found: Abstention, words: str) -> None:
    """Lost trials and a contract without a form."""
    [line] = abstention_lines([found])
    assert words in line


def test_without_infeasible_tasks_nothing_is_said() -> None:
    """No line and no section."""
    assert abstention_lines([]) == abstention_lines([counted(FEASIBLE)]) == []
    assert abstention_section([]) == abstention_section([counted(FEASIBLE)]) == ""


def _score(task: str, path: str, *, passed: bool = False, infeasible: bool = True) -> Score:
    key = ReplayKey(trial=TrialKey(generation=candidate("adaptive").generation.digest, task=task, index=0), path=path)
    return Score(
        key=key, state_ok=passed, reported_ok=True, passed=passed, cause=None if passed else "extra_files", infeasible=infeasible
    )


def test_the_section_has_a_row_for_every_cell_and_names_what_acted() -> None:
    """One row per candidate and cell with intervals; the tasks that should have been declined, and none that can be done."""
    cells = [cell("R", "R"), cell()]
    scores = [_score("i/1", "NN"), _score("i/1", "RR", passed=True), _score("f/1", "NN", infeasible=False)]
    text = abstention_section([counted(*MIXED, told="R", done="R"), counted(*MIXED)], cells, scores)
    assert text.startswith("## Tasks that can't be done\n")
    assert "| adaptive | RR | nested | nested-shell | 4 | 4 | 2 | 1 | 1 | 3 | 1 | 66.7 % (9.4 % to 99.2 %) |" in text
    assert "| adaptive | NN |" in text
    assert "| i/1 | declined | \\[extra_files\\] |" in text
    assert "f/1" not in text
    assert "precision Clopper-Pearson over 3 tasks, one trial each, recall Clopper-Pearson over 4 tasks, one trial each" in text
