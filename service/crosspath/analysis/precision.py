"""What a number of families, tasks and trials can show: standard error, smallest detectable effect, width of the interval.

An effect over the task population has a variance that falls with what is drawn (see ``variance``):

    (families + (tasks + replies / trials) * mean over families of 1 / size) / number of families

``Spread`` holds the three variances of one family, one task and one reply. Those of an earlier evaluation come from its variance
sources; without one a few stated spreads show what is at stake.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from crosspath.analysis.family_intervals import family_interval
from crosspath.analysis.stats import ALPHA, t_quantile
from crosspath.types import VarianceSource

POWER = 0.8
_WIDEST = 2.0
"""A difference of shares lies between -1 and 1."""


@dataclass(frozen=True)
class Design:
    """How many families, how many tasks in each (``sizes``), and how many trials a task."""

    sizes: tuple[int, ...]
    trials: int

    @property
    def families(self) -> int:
        return len(self.sizes)

    @property
    def per_task(self) -> float:
        """Mean over families of 1 / number of tasks."""
        return math.fsum(1 / size for size in sorted(self.sizes)) / len(self.sizes)

    def times(self, *, families: int = 1, tasks: int = 1, trials: int = 1) -> "Design":
        """The design with so many times the families, the tasks in each, and the trials of each task."""
        return Design(tuple(tasks * size for size in self.sizes) * families, trials * self.trials)


@dataclass(frozen=True)
class Spread:
    """Variances of an effect (differences of shares, squared): of a family, of a task in it, and of one trial's draws."""

    families: float
    tasks: float
    replies: float

    def standard_error(self, design: Design) -> float:
        """Of the effect over the task population."""
        within = (self.tasks + self.replies / design.trials) * design.per_task
        return math.sqrt((self.families + within) / design.families)


_TASKS = 0.5
"""Standard deviation of the tasks in a family, as a share of that of families; see ``STATED``."""
_REPLIES = 2 * 0.9 * 0.1
"""Variance of the difference of two independent replies of a task that nine of ten replies pass."""


def _stated(share: float) -> Spread:
    """A path that breaks a share of families wholly, and no other."""
    families = share * (1 - share)
    return Spread(families, _TASKS**2 * families, _REPLIES)


STATED: Mapping[str, Spread] = {
    "1 family in 100 loses all": _stated(0.01),
    "1 family in 10 loses all": _stated(0.1),
    "half of the families lose all": _stated(0.5),
}
"""How many families lose all, the others nothing -> the spread that this makes: a standard deviation between families of 10, 30
and 50 points. Tasks of a family are taken to differ half as much as families, and a task to be passed by 9 of 10 replies."""


def spread_of(sources: Sequence[VarianceSource], design: Design) -> Spread | None:
    """The spread behind the variance sources of an evaluation of this design; None without any.

    What could not be told apart there stays with the source above it, and is taken to fall only with that.
    """
    if not sources:
        return None
    parts = {source.name: source.standard_error**2 * design.families for source in sources}
    replies = parts.get("replies", 0.0) + parts.get("other_replies", 0.0)
    return Spread(
        families=parts.get("families", 0.0),
        tasks=parts.get("tasks", 0.0) / design.per_task,
        replies=replies * design.trials / design.per_task,
    )


def detectable(spread: Spread, design: Design, alpha: float = ALPHA) -> float | None:
    """The smallest effect that a two-sided t test over families finds with 80 % power; None where not even 100 points would do.

    From the noncentral t distribution with G-1 degrees (Cohen 1988, Statistical power analysis, chapter 2); the chance of
    finding the opposite sign is left out, and is below 0.01 %.
    """
    if design.families < 2:
        return None
    from scipy.special import nctdtrinc  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    degrees = design.families - 1
    shift = float(nctdtrinc(degrees, 1 - POWER, t_quantile(degrees, alpha)))  # pyright: ignore[reportUnknownArgumentType]
    found = shift * spread.standard_error(design)
    return found if found <= 1 else None


def interval_width(spread: Spread, design: Design) -> float | None:
    """Width of the 95 % interval of an effect for a sample of families that is spread like a normal one about 0; None for one.

    The sample is made of normal scores (Blom 1958), cut to the possible range.
    """
    if design.families < 2:
        return None
    low, high, _ = family_interval(_scores(spread.standard_error(design), design.families), -1, 1)
    return None if low is None or high is None else min(_WIDEST, high - low)


def _scores(standard_error: float, families: int) -> list[Fraction]:
    from scipy.special import ndtri  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    scores = [float(ndtri((place - 0.375) / (families + 0.25))) for place in range(1, families + 1)]  # pyright: ignore
    scale = standard_error * math.sqrt(families * (families - 1) / math.fsum(score**2 for score in scores))
    return [max(Fraction(-1), min(Fraction(1), Fraction(round(1e6 * scale * score), 10**6))) for score in scores]


def narrowed(spread: Spread, design: Design, **times: int) -> float:
    """By which share the standard error falls with so many times the ``families``, ``tasks`` or ``trials``; 0 without any."""
    before = spread.standard_error(design)
    return 1 - spread.standard_error(design.times(**times)) / before if before else 0.0


def narrowing(sources: Sequence[VarianceSource]) -> dict[str, float | None]:
    """``families``, ``tasks``, ``trials`` -> by which share twice as many of them would lower the standard error.

    None where it can't be said, because the source could not be told apart from the one above it; empty without any variance.
    """
    parts = {source.name: source.standard_error**2 for source in sources}
    whole = math.fsum(parts.values())
    if not whole:
        return {}
    replies = parts.get("replies", 0.0) + parts.get("other_replies", 0.0)
    return {
        "families": _less(0.5),
        "tasks": _less(1 - (parts["tasks"] + replies) / 2 / whole) if "tasks" in parts else None,
        "trials": _less(1 - replies / 2 / whole) if "replies" in parts else None,
    }


def _less(variance_left: float) -> float:
    return 1 - math.sqrt(variance_left)


def design_of(families: Iterable[str], trials: int) -> Design:
    """The design of tasks, given by the family of each."""
    sizes: dict[str, int] = {}
    for family in families:
        sizes[family] = sizes.get(family, 0) + 1
    return Design(tuple(sizes[family] for family in sorted(sizes)), trials)
