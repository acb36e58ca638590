"""What became of a candidate's trials as deployed: kept, or lost to the path, the model, the format or the infrastructure."""

from typing import Literal

from pydantic import Field

from crosspath.types.base import Record
from crosspath.types.results import Estimate, Side

Loss = Literal["path", "model", "format", "infrastructure"]
"""Where a trial was lost, each to exactly one place; see ``crosspath.analysis.losses`` for the rule."""


class Losses(Record):
    """Every planned trial of the cell that is the candidate as deployed, in one place: ``kept + sum(lost) = attempted``."""

    candidate: str
    told: Side
    done: Side
    attempted: int
    kept: int
    """Right."""
    lost: dict[Loss, int]
    """All four places, also those that lost none."""
    kinds: dict[Loss, dict[str, int]] = Field(default_factory=dict[Loss, dict[str, int]])
    """Place -> cause, ``fault:TYPE`` or ``unstable`` -> how many."""
    tasks: dict[Loss, tuple[str, ...]] = Field(default_factory=dict[Loss, tuple[str, ...]])
    """Place -> the tasks that lost a trial there, in alphabetical order."""
    examples: dict[Loss, tuple[str, int]] = Field(default_factory=dict[Loss, tuple[str, int]])
    """Place -> task and index of one lost trial: to look at."""
    shares: dict[Loss, Estimate] = Field(default_factory=dict[Loss, Estimate])
    """Place -> share of the observed trials that is lost there, for the population of task families; only places that lost any,
    and never ``infrastructure``, which says nothing about tasks. The intervals hold together over all candidates and places."""
    made_up: int = 0
    """Kept although the path breaks the plain reply of the matched trial: the model makes up for the path."""
    not_made_up: int = 0
    """Of those lost to the path: the reply itself is wrong on the reference, too. The plain reply of the same trial is right
    there and wrong here, and what the model wrote instead, told about the path, does not make up for it."""
    told_worse: int = 0
    """Lost to the model although the matched reply that was told nothing is right on the same path: telling did it."""
    unmatched: int = 0
    """Lost to the model only because no reply that was told nothing could be compared with."""

    @property
    def cell(self) -> str:
        return self.told + self.done

    @property
    def biggest(self) -> Loss | None:
        """The place that lost most; None where nothing is lost. Of equals the one that stands first in ``Loss``."""
        place = max(self.lost, key=lambda one: self.lost[one], default=None)
        return place if place and self.lost[place] else None


class Headline(Record):
    """What a reader has to know about one candidate before anything else. Plain text: no markup, no cell codes, one line each."""

    candidate: str
    sentence: str
    """``X gets 61 of 108 tasks right as deployed: 40 are lost to the path, 7 to the model, ...``."""
    sure: str
    """How far that can be relied on, or why it can't."""
    next_step: str
    """One command or setting."""
    command: str = ""
    """The command of ``next_step`` as it is typed; empty where it is a setting or nothing."""
