"""What each figure shows, in words and numbers: for readers who don't see it."""

from collections.abc import Callable, Mapping

from crosspath.analysis.stages import by_stage
from crosspath.analysis.wording import counts, effect_label, points, with_interval
from crosspath.escaping import one_line
from crosspath.reports.figures import PlannedFigure
from crosspath.reports.funnel_tables import STAGE_WORDS
from crosspath.types import Decomposition, Judgement

MOST_EFFECTS = 24
"""Effects that are read out; the rest stand in the tables."""


def figure_alt(figure: PlannedFigure, judgement: Judgement) -> str:
    """The figure's caption and its numbers as one line of text."""
    ending = next((end for end in _NUMBERS if figure.name.endswith(end)), None)
    numbers = _NUMBERS[ending](judgement, figure.candidate) if ending else ""
    return one_line(f"{figure.caption} {numbers or 'The numbers stand in the tables of this report'}.")


def _two_by_two(judgement: Judgement, candidate: str | None) -> str:
    one = _of(judgement, candidate)
    if one is None:
        return ""
    cells = [f"{cell.name}, told {cell.contract} and run on {cell.transport}: {counts(cell)} right" for cell in one.cells]
    effects = [f"{effect_label(one, effect.name)} {points(effect.these.value)} points" for effect in one.effects]
    return "; ".join([*cells, *([] if one.blind else effects)])


def _causes(judgement: Judgement, candidate: str | None) -> str:
    one = _of(judgement, candidate)
    found = [(cell, by_stage(cell.causes)) for cell in one.cells] if one else []
    return "; ".join(
        f"{cell.name}: {', '.join([f'{cell.passed} right', *(f'{count} {stage}' for stage, count in stages.items())])}"
        for cell, stages in found
    )


def _funnel(judgement: Judgement, candidate: str | None) -> str:
    found = [one for one in judgement.funnels if one.candidate == candidate]
    return "; ".join(
        f"{one.cell}: {one.attempted} attempted, {', '.join(f'{n} {STAGE_WORDS[stage]}' for stage, n in one.reached.items())}"
        for one in found
    )


def _effects(judgement: Judgement, _: str | None) -> str:
    found = [
        f"{one.candidate}, {effect_label(one, effect.name)} {with_interval(effect.population, signed=True)}"
        for one in judgement.decompositions
        for effect in one.effects
        if not one.blind and one.control.status != "broken"
    ]
    rest = [f"{len(found) - MOST_EFFECTS} more in the tables"] if len(found) > MOST_EFFECTS else []
    return "; ".join([*found[:MOST_EFFECTS], *rest])


def _of(judgement: Judgement, candidate: str | None) -> Decomposition | None:
    return next((one for one in judgement.decompositions if one.candidate == candidate), None)


_NUMBERS: Mapping[str, Callable[[Judgement, str | None], str]] = {
    "-two-by-two.png": _two_by_two,
    "-causes.png": _causes,
    "-funnel.png": _funnel,
    "effects.png": _effects,
}
"""End of a figure's name -> its numbers."""
