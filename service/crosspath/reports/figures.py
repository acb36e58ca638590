"""Every figure of an evaluation: which there are, what they are called, and what each of them shows.

A figure takes about 0.3 s to draw, so there are a few for the evaluation and a few for each of the first candidates.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from crosspath.analysis.decompose import as_deployed
from crosspath.reports.figures_cells import causes_by_stage, two_by_two
from crosspath.reports.figures_costs import cost_against_rate, cost_caption, price_of
from crosspath.reports.figures_effects import effects_with_intervals
from crosspath.reports.figures_families import cell_columns, family_map, path_columns
from crosspath.reports.figures_funnel import funnel_figure
from crosspath.reports.figures_paths import ranked_paths
from crosspath.reports.figures_rank_shift import rank_shift
from crosspath.types import Decomposition, Facts, Judgement, RankStability

MOST_WITH_FIGURES = 16
"""So many candidates at most have figures of their own."""
MOST_SHIFTS, MOST_RANKINGS = 2, 4
"""So many comparisons of rankings of models, those with most reversals, and rankings of paths have a figure."""
FEWEST_FAMILIES = 3
"""Fewer families need no map."""
FEWEST_CELLS = 2
"""Fewer cells with numbers need no 2x2."""


@dataclass(frozen=True)
class PlannedFigure:
    """One figure, before it is drawn."""

    name: str
    """File name: stable for the same evaluation, with nothing in it that a file system or a link minds."""
    candidate: str | None
    """Whose figure it is; None: of the whole evaluation."""
    caption: str
    """One sentence that says what is shown; also for readers who don't see it. Plain text: names in it are foreign."""
    draw: Callable[[], bytes]
    """Gives the PNG."""


def evaluation_figures(facts: Facts, judgement: Judgement) -> dict[str, bytes]:
    """File name -> PNG: all figures of an evaluation, the same bytes for the same judgement and version of Matplotlib."""
    return {figure.name: figure.draw() for figure in planned_figures(facts, judgement)}


def planned_figures(facts: Facts, judgement: Judgement) -> tuple[PlannedFigure, ...]:
    """What :func:`evaluation_figures` draws, in the order in which people read it: of the evaluation, then of candidates."""
    return (*_of_evaluation(judgement), *_of_candidates(judgement))


def figure_prefix(candidate: str, number: int) -> str:
    """Start of the file names of a candidate's figures; ``number`` is its place in the judgement, from 0."""
    safe = "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "_" for char in candidate)[:60]
    return f"{number + 1:02d}-{safe}"


def _of_evaluation(judgement: Judgement) -> Iterator[PlannedFigure]:
    yield from _overview(judgement)
    for number, stability in enumerate(_most_reversed(judgement.rank_stability)[:MOST_SHIFTS]):
        caption = f"Order of {len(stability.models)} models, {stability.first.label} against {stability.second.label}."
        yield PlannedFigure(f"rank-shift-{number + 1:02d}.png", None, caption, partial(rank_shift, stability))
    for number, ranking in enumerate(judgement.path_rankings[:MOST_RANKINGS]):
        caption = f"What each path costs {ranking.model}, told {ranking.contract}: shares of trials, best path first."
        yield PlannedFigure(f"paths-{number + 1:02d}.png", None, caption, partial(ranked_paths, ranking))


def _overview(judgement: Judgement) -> Iterator[PlannedFigure]:
    shown = judgement.decompositions[:MOST_WITH_FIGURES]
    if not _paths_instead(judgement) and any(one.effects for one in shown):
        caption = "Damage, compensation and matched gap of each candidate for tasks like these, with 95 % intervals."
        draw = partial(effects_with_intervals, shown, len(judgement.decompositions))
        yield PlannedFigure("effects.png", None, caption, draw)
    if price := price_of(judgement):
        caption = cost_caption(judgement, price)
        yield PlannedFigure("cost-against-rate.png", None, caption, partial(cost_against_rate, judgement, price))
    yield from _family_maps(judgement)


def _family_maps(judgement: Judgement) -> Iterator[PlannedFigure]:
    if len({one.group for one in judgement.breakdowns if one.by == "family"}) < FEWEST_FAMILIES:
        return
    if not _paths_instead(judgement):
        title, columns = "Right of scored trials by family and cell", cell_columns(judgement)
        draw = partial(family_map, columns, judgement.breakdowns, title)
        yield PlannedFigure("families.png", None, f"{title}; darker where fewer are right, hatched below half.", draw)
        return
    for number, ranking in enumerate(judgement.path_rankings[:MOST_RANKINGS]):
        title = f"Right of scored trials of {ranking.model} by family and path, told {ranking.contract}"
        draw = partial(family_map, path_columns(ranking), judgement.breakdowns, title)
        yield PlannedFigure(f"families-{number + 1:02d}.png", None, f"{title}; darker where fewer are right.", draw)


def _most_reversed(stabilities: Sequence[RankStability]) -> list[RankStability]:
    """Those in which a pair changes places; where none does, the table says all."""
    return sorted((one for one in stabilities if one.reversed), key=lambda one: (-one.unambiguous, -one.reversed))


def _paths_instead(judgement: Judgement) -> bool:
    """Whether there are so many candidates through so many paths that rankings of paths are shown in place of candidates."""
    return bool(judgement.path_rankings) and len(judgement.decompositions) > MOST_WITH_FIGURES


def _of_candidates(judgement: Judgement) -> Iterator[PlannedFigure]:
    if _paths_instead(judgement):
        return
    for number, decomposition in enumerate(judgement.decompositions[:MOST_WITH_FIGURES]):
        yield from _of_candidate(judgement, decomposition, figure_prefix(decomposition.candidate, number))


def _of_candidate(judgement: Judgement, decomposition: Decomposition, prefix: str) -> Iterator[PlannedFigure]:
    name = decomposition.candidate
    if sum(cell.scored > 0 for cell in decomposition.cells) >= FEWEST_CELLS:
        caption = f"{name}: right replies in each cell, and the effects between cells in points of pass rate."
        yield PlannedFigure(f"{prefix}-two-by-two.png", name, caption, partial(two_by_two, decomposition))
    caption = f"{name}: where replies were lost in each cell, by stage; what the path reported as fine is hatched."
    yield PlannedFigure(f"{prefix}-causes.png", name, caption, partial(causes_by_stage, decomposition))
    if funnels := [one for one in judgement.funnels if one.candidate == name]:
        own = as_deployed(decomposition)
        caption = f"{name}: how far trials get in each cell, from an attempt to a right final state, and what stops the others."
        yield PlannedFigure(
            f"{prefix}-funnel.png", name, caption, partial(funnel_figure, name, funnels, own.name if own else None)
        )
