"""Figures: any name and any number of rows, the same bytes each time, bounded in number, and nothing drawn that is not known."""

import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise

import pytest

from builders import estimate, evaluation
from crosspath.analysis import CellInput, decompose, judge_control
from crosspath.analysis.outcomes import arrange
from crosspath.analysis.rank_stability import rank_stability
from crosspath.reports.figures import MOST_WITH_FIGURES, evaluation_figures, figure_prefix, planned_figures
from crosspath.reports.figures_cells import causes_by_stage, two_by_two
from crosspath.reports.figures_costs import Point, cost_against_rate, cost_caption, cost_points, frontier, price_of, together
from crosspath.reports.figures_drawing import MARKERS, OKABE_ITO, series_style, spread
from crosspath.reports.figures_effects import effects_with_intervals
from crosspath.reports.figures_families import MOST_COLUMNS, Column, cell_columns, family_map
from crosspath.reports.figures_funnel import funnel_figure
from crosspath.reports.figures_rank_shift import MOST_MODELS, rank_shift
from crosspath.types import (
    Arrangement,
    Breakdown,
    CandidateCost,
    CellRow,
    Control,
    Decomposition,
    Facts,
    Funnel,
    Judgement,
    RankStability,
    Usages,
)

PNG = b"\x89PNG\r\n\x1a\n"
NAMES = ["plain", "$x_{$ \\frac", "日本語 \x00 \ud800", "long-" * 60]


def decomposition(name: str, n: int) -> Decomposition:
    """Two cells of ``n`` rows, the first of them a fault, and one that is not applicable."""
    rows = tuple(
        CellRow(
            task=f"t{i}", family=f"f{i % 3}", passed=None if i == 0 else i % 2 == 0, cause="fault:budget" if i == 0 else "timeout"
        )
        for i in range(n)
    )
    cells = [CellInput("R", "R", name, "raw", rows), CellInput("R", "N", name, name, rows)]
    return decompose(name, cells, judge_control("none", {}, {}), {"NN": "the reply's shape does not fit " * 5})


def funnel(name: str, attempted: int = 9) -> Funnel:
    reached = {"generated": attempted, "answered": attempted, "well_formed": attempted, "executed": 4, "right_state": 2}
    stopped = {"executed": {"shell_syntax": attempted - 4}, "right_state": {name: 1, "fault:sandbox": 1}}
    cell = {"candidate": name, "told": "N", "done": "N", "contract": name, "transport": name}
    return Funnel.model_validate({**cell, "attempted": attempted, "reached": reached, "stopped": stopped})


def breakdown(family: str, candidate: str = "c", scored: int = 4, passed: int = 1) -> Breakdown:
    return Breakdown(
        candidate=candidate, told="R", done="N", by="family", group=family, tasks=4, planned=4, scored=scored, passed=passed
    )


def stability(models: Sequence[str]) -> RankStability:
    """Each model one task better than the next in the first arrangement, and one worse in the second."""
    count = len(models)
    sides = [
        {
            model: arrange(
                CellRow(task=f"t{task}", family=f"f{task % 4}", passed=task < (place if turned else count - place))
                for task in range(count)
            )
            for place, model in enumerate(models)
        }
        for turned in (False, True)
    ]
    found = rank_stability((Arrangement(label=models[0]), sides[0]), (Arrangement(label=models[-1]), sides[1]))
    assert found is not None
    return found


def cost(candidate: str, usd: float | None, tokens: int = 100) -> CandidateCost:
    usages = Usages(rows=4, prompt_tokens=tokens, completion_tokens=0, cost_usd=usd, unknown_cost=0 if usd is not None else 4)
    return CandidateCost(candidate=candidate, replies=4, scored=4, passed=2, counted=usages)


def costly(*usd: float | None) -> Judgement:
    """As many candidates as prices, all with the same pass rate."""
    _, made = evaluation()
    names = [f"c{number}" for number in range(len(usd))]
    decompositions = tuple(decomposition(name, 4).model_copy(update={"candidate": name}) for name in names)
    costs = tuple(cost(name, price) for name, price in zip(names, usd, strict=True))
    return made.model_copy(update={"decompositions": decompositions, "costs": costs})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [0, 1, 24])
def test_figures_are_drawn_the_same_each_time(name: str, n: int) -> None:
    """Any name and any number of rows gives a PNG without warnings, byte for byte the same again."""
    drawn = decomposition(name, n)
    for figure in (two_by_two, causes_by_stage):
        picture = figure(drawn)
        assert picture.startswith(PNG)
        assert picture == figure(drawn)


@pytest.mark.parametrize("name", NAMES)
def test_the_other_figures_survive_any_name(name: str) -> None:
    """Names of candidates, models, families, causes and paths can't stop a figure, nor warn."""
    assert effects_with_intervals([decomposition(name, 24)]).startswith(PNG)
    assert funnel_figure(name, [funnel(name)]).startswith(PNG)
    assert family_map([Column("c", "R", "N", name)], [breakdown(name)], name).startswith(PNG)
    assert rank_shift(stability([name, "b", f"{name}c"])).startswith(PNG)


def test_figures_without_cells() -> None:
    """A candidate without any cell, effect, funnel or family still has figures that say so."""
    empty = decompose("x", [], judge_control("none", {}, {}))
    assert two_by_two(empty).startswith(PNG)
    assert causes_by_stage(empty).startswith(PNG)
    assert effects_with_intervals([empty]).startswith(PNG)
    assert funnel_figure("x", []).startswith(PNG)
    assert family_map([], [], "x").startswith(PNG)
    assert family_map([Column("c", "R", "N", "c")], [breakdown("f", scored=0, passed=0)], "x").startswith(PNG)


def test_a_broken_control_is_shown_otherwise() -> None:
    """Effects that may not be used don't look like those that may."""
    held = decomposition("x", 24)
    broken = held.model_copy(update={"control": Control(kind="encoded", status="broken", compared=24)})
    assert effects_with_intervals([held]) != effects_with_intervals([broken])


# -- cost ------------------------------------------------------------------------------------------------------------------


def test_an_unknown_price_is_not_drawn_as_zero() -> None:
    """Who has no known price is listed beside; with fewer than two known ones there is nothing to compare by."""
    points = cost_points(costly(0.4, None, 0.0), "usd")
    assert [point.price for point in points] == [100.0, None, 0.0]
    assert price_of(costly(0.4, None, 0.0)) == "usd"
    assert price_of(costly(0.4, None)) == "tokens"
    without = costly(None, None)
    unknown = without.model_copy(update={"costs": tuple(one.model_copy(update={"counted": Usages()}) for one in without.costs)})
    assert price_of(unknown) is None
    assert cost_against_rate(costly(0.4, None, 0.0), "usd").startswith(PNG)


def test_the_caption_claims_only_what_is_drawn() -> None:
    """The dashed line and the list of unknown prices are named where there are such, and nowhere else."""
    assert "unknown" not in cost_caption(costly(0.4, 0.4), "usd")
    assert "dashed" not in cost_caption(costly(0.4, 0.4), "usd")
    assert "without a known price are listed beside" in cost_caption(costly(0.4, None, 0.0), "usd")
    made = costly(0.4, 0.1)
    better = {"population": estimate(0.9, rate=True)}
    first = made.decompositions[0]
    first = first.model_copy(update={"cells": tuple(cell.model_copy(update=better) for cell in first.cells)})
    made = made.model_copy(update={"decompositions": (first, made.decompositions[1])})
    assert "dashed line" in cost_caption(made, "usd")
    assert "mean over families" in cost_caption(made, "usd")


def test_points_on_each_other_share_a_label() -> None:
    """Candidates that cost and pass alike would have labels that cover each other."""
    points = [Point(name, price, estimate(0.5, rate=True), True) for name, price in (("a", 10.0), ("b", 10.1), ("c", 5.0))]
    assert together(points) == [[0, 1], [2]]


def test_the_frontier() -> None:
    """Cheapest first, each better than all cheaper ones; a broken control is never on it."""
    rates = {"cheap": (1.0, 0.5), "dear": (3.0, 0.4), "good": (2.0, 0.9), "broken": (0.5, 1.0), "as-good": (2.5, 0.9)}
    points = [Point(name, price, estimate(rate, rate=True), name != "broken") for name, (price, rate) in rates.items()]
    assert [point.candidate for point in frontier(points)] == ["cheap", "good"]


# -- which there are -------------------------------------------------------------------------------------------------------


def full(count: int) -> tuple[Facts, Judgement]:
    """An evaluation with everything that can be drawn."""
    names = tuple(f"model {number}" for number in range(count))
    facts, judgement = evaluation(names=names)
    more = {
        "funnels": tuple(funnel(name) for name in names),
        "breakdowns": tuple(breakdown(family, name) for name in names for family in "fgh"),
        "costs": tuple(cost(name, 0.1) for name in names),
        "rank_stability": (stability(names),) * 5,
    }
    return facts, judgement.model_copy(update=more)


def test_names_are_stable_and_safe() -> None:
    """The plan names each figure once, with a caption, and nothing in a name that a file system or a link minds."""
    facts, judgement = full(3)
    planned = planned_figures(facts, judgement)
    names = [figure.name for figure in planned]
    assert names == [
        "effects.png", "cost-against-rate.png", "families.png", "rank-shift-01.png", "rank-shift-02.png",
        *(f"{number:02d}-model_{number - 1}-{kind}.png" for number in (1, 2, 3) for kind in ("two-by-two", "causes", "funnel")),
    ]  # fmt: skip
    assert all(figure.caption.endswith(".") for figure in planned)
    assert [figure.candidate for figure in planned[:5]] == [None] * 5
    assert figure_prefix("a/b <c> é", 0) == "01-a_b__c___"


def test_what_shows_nothing_is_not_planned() -> None:
    """An order that holds, a map of two families, and prices that are not known have no figure."""
    facts, judgement = full(3)
    held = stability(["a", "b"]).model_copy(update={"reversed": 0})
    less = {"rank_stability": (held,), "breakdowns": judgement.breakdowns[:2], "costs": ()}
    names = [figure.name for figure in planned_figures(facts, judgement.model_copy(update=less)) if figure.candidate is None]
    assert names == ["effects.png"]


def test_a_single_cell_has_no_two_by_two() -> None:
    """With fewer than two cells that have numbers there is nothing to set side by side."""
    facts, judgement = full(2)
    one = judgement.decompositions[0]
    unseen = [cell.model_copy(update={"scored": 0}) for cell in one.cells[1:]]
    for cells in (one.cells[:1], (one.cells[0], *unseen)):
        less = judgement.model_copy(update={"decompositions": (one.model_copy(update={"cells": cells}),)})
        names = [figure.name for figure in planned_figures(facts, less)]
        assert "01-model_0-two-by-two.png" not in names
        assert "01-model_0-causes.png" in names


def test_all_are_drawn_as_planned() -> None:
    """What is drawn is what is planned, a PNG each, and the same for the same judgement."""
    facts, judgement = full(2)
    drawn = evaluation_figures(facts, judgement)
    assert list(drawn) == [figure.name for figure in planned_figures(facts, judgement)]
    assert all(picture.startswith(PNG) for picture in drawn.values())
    assert drawn == evaluation_figures(facts, judgement)


def test_many_candidates_have_a_bounded_number() -> None:
    """Beyond sixteen candidates only the first ones have figures of their own."""
    facts, judgement = full(MOST_WITH_FIGURES + 4)
    planned = planned_figures(facts, judgement)
    assert sum(figure.candidate is not None for figure in planned) == 3 * MOST_WITH_FIGURES
    assert sum(figure.candidate is None for figure in planned) == 5


def test_large_figures_are_cut() -> None:
    """Many columns are those as deployed and at most a few, and of many models those that change places are drawn first."""
    _, judgement = full(MOST_COLUMNS)
    assert {column.candidate for column in cell_columns(judgement)} == {f"model {number}" for number in range(MOST_COLUMNS)}
    assert {(column.told, column.done) for column in cell_columns(judgement)} == {("N", "N")}
    assert rank_shift(stability([f"m{number:02}" for number in range(MOST_MODELS + 4)])).startswith(PNG)


# -- drawing ---------------------------------------------------------------------------------------------------------------


def test_labels_are_moved_apart_in_order() -> None:
    """Labels of close values keep their order and do not overlap."""
    moved = spread([50.0, 50.0, 49.0, 90.0], 4.0)
    assert moved[3] == 90.0
    assert sorted(moved) == [moved[2], moved[0], moved[1], moved[3]]
    assert all(high - low >= 4.0 - 1e-5 for low, high in pairwise(sorted(moved)))


def test_series_differ_without_colour() -> None:
    """Eight series differ in their marker; 64 in marker or colour."""
    assert len({series_style(number)[1] for number in range(8)}) == len(MARKERS) == 8
    assert len({series_style(number) for number in range(64)}) == len(MARKERS) * len(OKABE_ITO)


def test_importing_the_analysis_loads_no_vendor() -> None:
    """Neither SciPy nor Matplotlib nor NumPy is imported before it is needed."""
    check = "import sys, crosspath.analysis; print([name for name in ('scipy', 'matplotlib', 'numpy') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout.strip() == "[]"
