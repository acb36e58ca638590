"""What the format of replies costs: the same replies on the same path, taken as they are and with a code fence taken off.

Nothing else differs, so the effect is the format's alone and exact for these replies. It is over all trials of the cell, as
damage is: replies that the clean-up leaves as they are have the same outcome both ways and count as no difference.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from crosspath.analysis.effects import changed, population, these_replies
from crosspath.analysis.same_replies import same_replies
from crosspath.types import CellRow, FormatDamage


@dataclass(frozen=True)
class Taken:
    """One planned trial both ways. ``changed``: the clean-up makes something else of its reply."""

    strict: CellRow
    cleaned: CellRow
    changed: bool

    @property
    def scored(self) -> bool:
        """Whether it has a stable verdict both ways."""
        return not any(row.unstable or row.passed is None for row in (self.strict, self.cleaned))

    @property
    def decided(self) -> bool:
        """Whether the clean-up decides its verdict."""
        return self.scored and self.strict.passed != self.cleaned.passed


def with_effect(found: FormatDamage, trials: Sequence[Taken]) -> FormatDamage:
    """``found`` with what the trials show: counts over those that changed, effect and population over all.

    Raises:
        ValueError: two trials are the same, or a task is in two families.
    """
    contrast = same_replies([one.strict for one in trials], [one.cleaned for one in trials])
    lost, gained = changed(contrast)
    scored = [one for one in trials if one.changed and one.scored]
    return found.model_copy(
        update={
            "scored": len(scored),
            "strict_passed": sum(bool(one.strict.passed) for one in scored),
            "cleaned_passed": sum(bool(one.cleaned.passed) for one in scored),
            "lost": lost,
            "gained": gained,
            "effect": these_replies(contrast),
            "population": population(contrast),
            "tasks": tuple(dict.fromkeys(one.strict.task for one in trials if one.decided)),
        }
    )
