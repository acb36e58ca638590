"""Every figure of an evaluation: which there are, what they are called, and what each of them shows.

A figure takes about 0.3 s to draw, so there are a few for the evaluation and a few for each of the first candidates.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from crosspath.reports.figures_cells import causes_by_stage, two_by_two
from crosspath.reports.figures_paths import ranked_paths
from crosspath.types import Decomposition, Facts, Judgement

MOST_WITH_FIGURES = 16
"""So many candidates at most have figures of their own."""


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
    for number, ranking in enumerate(judgement.path_rankings):
        caption = f"What each path costs {ranking.model}, told {ranking.contract}: shares of trials, best path first."
        yield PlannedFigure(f"paths-{number + 1:02d}.png", None, caption, partial(ranked_paths, ranking))


def _of_candidates(judgement: Judgement) -> Iterator[PlannedFigure]:
    if judgement.path_rankings and len(judgement.decompositions) > MOST_WITH_FIGURES:
        return  # one model on many paths: the ranking shows them all
    for number, decomposition in enumerate(judgement.decompositions[:MOST_WITH_FIGURES]):
        yield from _of_candidate(decomposition, figure_prefix(decomposition.candidate, number))


def _of_candidate(decomposition: Decomposition, prefix: str) -> Iterator[PlannedFigure]:
    name = decomposition.candidate
    caption = f"{name}: right replies in each cell, and the effects between cells in points of pass rate."
    yield PlannedFigure(f"{prefix}-two-by-two.png", name, caption, partial(two_by_two, decomposition))
    caption = f"{name}: where replies were lost in each cell, by stage; what the path reported as fine is hatched."
    yield PlannedFigure(f"{prefix}-causes.png", name, caption, partial(causes_by_stage, decomposition))
