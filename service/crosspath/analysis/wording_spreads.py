"""How far the words that tell about a path move compensation: candidates that differ in nothing else, side by side.

All wordings are told about the same path and share the replies that were told nothing (RN), so that their compensations differ by
what their own replies do there (NN). Each wording is a generation of its own: differences are paired by task, over the tasks that
count on both sides, for the population of families. The *spread* (highest - lowest compensation) is no estimate of anything: it
holds the chance of every draw and can only grow with the number of wordings. It is taken over the tasks that count in every
wording, told and untold, so that none stands out by what it lacks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crosspath.analysis.compare import paired
from crosspath.analysis.effects import rate_of
from crosspath.analysis.outcomes import Outcomes, arrange
from crosspath.types import CellRow, Decomposition, Effect, WordingSpread


@dataclass(frozen=True)
class Worded:
    """A candidate that was told about its path in one wording: every planned trial on that path."""

    decomposition: Decomposition
    told: Sequence[CellRow]
    """Rows of NN."""
    untold: Sequence[CellRow]
    """Rows of RN."""


def wording_spread(discloses: str, transport: str, worded: Mapping[str, Worded]) -> WordingSpread:
    """At least two wordings of one contract.

    Args:
        discloses: the path that all of them tell about.
        transport: the path that the replies run on.
        worded: contract -> its candidate; all are compared with the first.

    Raises:
        ValueError: two rows of one side are the same trial, or two sides disagree about a task's family.
    """
    first, *others = worded
    effects = {name: effect for name, one in worded.items() if (effect := usable_compensation(one.decomposition))}
    compensation, tasks = _over_common({name: worded[name] for name in effects})
    return WordingSpread(
        candidates={name: one.decomposition.candidate for name, one in worded.items()},
        discloses=discloses,
        transport=transport,
        rates={name: rate_of(arrange(one.told)) for name, one in worded.items()},
        differences={name: paired(worded[name].told, worded[first].told) for name in others},
        compensation={name: effect.these for name, effect in effects.items()},
        population={name: effect.population for name, effect in effects.items()},
        common=compensation,
        spread=max(compensation.values()) - min(compensation.values()) if compensation else None,
        tasks=tasks,
    )


def usable_compensation(decomposition: Decomposition) -> Effect | None:
    """Compensation; None where there is none, another path was told, damage can't be seen, or the control does not hold."""
    effect = decomposition.effect("compensation")
    unusable = decomposition.blind or decomposition.undisclosed or decomposition.control.status != "holds"
    return None if effect is None or effect.these.value is None or unusable else effect


def _over_common(worded: Mapping[str, Worded]) -> tuple[dict[str, float], int]:
    """Each compensation over the tasks that count in all, and how many these are; nothing for fewer than two wordings."""
    sides = {name: (arrange(one.told), arrange(one.untold)) for name, one in worded.items()}
    common = (
        set[str].intersection(*({*told.used()} & {*untold.used()} for told, untold in sides.values())) if sides else set[str]()
    )
    if len(sides) < 2 or not common:
        return {}, 0
    return {name: _rate(told, common) - _rate(untold, common) for name, (told, untold) in sides.items()}, len(common)


def _rate(outcomes: Outcomes, tasks: set[str]) -> float:
    """The rate over exactly these tasks, of which each has a trial that counts."""
    means = [sum(trials) / len(trials) for task, trials in outcomes.used().items() if task in tasks]
    return sum(means) / len(means)
