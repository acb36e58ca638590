"""How far the request style alone moves a pass rate: candidates that differ in nothing else, side by side.

Every style is a generation of its own, so differences are taken as between any two candidates: paired by task, over the tasks
that count on both sides, for the population of families. The *spread* (highest - lowest rate) is no estimate of anything: it
holds the chance of every draw and can only grow with the number of styles. It is taken over the tasks that count in every style,
so that a style never stands out by what it lacks.
"""

from collections.abc import Mapping, Sequence

from crosspath.analysis.compare import paired
from crosspath.analysis.effects import rate_of
from crosspath.analysis.outcomes import arrange
from crosspath.types import CellRow, Decomposition, Estimate, Side, StyleSpread

FRAMINGS = ("exam", "production")
"""The pair of styles that frame the same request in two ways: the first - the second."""


def style_spread(
    decompositions: Mapping[str, Decomposition], rows: Mapping[str, Sequence[CellRow]], told: Side, done: Side
) -> StyleSpread:
    """One cell, given by its two sides, in at least two styles.

    Args:
        decompositions: style -> its candidate's; all are compared with the first.
        rows: style -> every planned trial of that cell of its candidate.

    Raises:
        ValueError: two rows of one style are the same trial, or two styles disagree about a task's family.
    """
    first, *others = decompositions
    spread, tasks = _spread(rows)
    damages = ((style, usable_damage(decomposition)) for style, decomposition in decompositions.items())
    return StyleSpread(
        candidates={style: decomposition.candidate for style, decomposition in decompositions.items()},
        told=told,
        done=done,
        rates={style: rate_of(arrange(rows[style])) for style in decompositions},
        differences={style: paired(rows[style], rows[first]) for style in others},
        framing=paired(rows[FRAMINGS[0]], rows[FRAMINGS[1]]) if decompositions.keys() >= set(FRAMINGS) else None,
        spread=spread,
        tasks=tasks,
        damage={style: damage for style, damage in damages if damage is not None},
    )


def usable_damage(decomposition: Decomposition) -> Estimate | None:
    """Damage for these replies; None where there is none, it can't be seen, or the control does not hold."""
    effect = decomposition.effect("damage")
    if effect is None or decomposition.blind or decomposition.control.status != "holds":
        return None
    return effect.these


def _spread(rows: Mapping[str, Sequence[CellRow]]) -> tuple[float | None, int]:
    """The spread and the number of tasks behind it; a style in which nothing counts takes no part."""
    used = {style: found for style in rows if (found := arrange(rows[style]).used())}
    common = set[str].intersection(*(set(found) for found in used.values())) if len(used) > 1 else set[str]()
    if not common:
        return None, 0
    shared = (arrange(row for row in rows[style] if row.task in common) for style in used)
    rates = [value for outcomes in shared if (value := rate_of(outcomes).value) is not None]
    return max(rates) - min(rates), len(common)
