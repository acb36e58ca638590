"""Where it broke: how many replies reach each stage of the way to a right final state, and what stops the others."""

from typing import Literal

from pydantic import Field

from crosspath.types.base import Record
from crosspath.types.candidates import Cleanup
from crosspath.types.results import Estimate, Side

FunnelStage = Literal["generated", "answered", "well_formed", "executed", "right_state"]
"""In this order. ``generated``: a reply came back; ``answered``: it is no refusal, not cut off and not empty; ``well_formed``: it
has the shape that the contract demands and could be delivered; ``executed``: a shell took it and the sandbox observed what it
did; ``right_state``: it passes. A reply that passes has reached every stage, whatever it looks like."""
Grouping = Literal["family", "tier", "hazard"]


class Funnel(Record):
    """One cell as a funnel: every planned trial stands in exactly one place. Infeasible tasks are in none."""

    candidate: str
    told: Side
    done: Side
    contract: str
    transport: str
    attempted: int
    reached: dict[FunnelStage, int]
    """Stage -> trials that reached it, all stages in order; never more than the stage before."""
    stopped: dict[FunnelStage, dict[str, int]] = Field(default_factory=dict[FunnelStage, dict[str, int]])
    """First stage that was not reached -> cause, ``fault:TYPE``, ``AlarmKind`` or ``unstable`` -> how many; only stages that stop
    any. ``attempted`` = all of them + the trials that reached the last stage. An unstable trial stops at the last stage: on some
    replay it passed."""

    @property
    def cell(self) -> str:
        return self.told + self.done


class Breakdown(Record):
    """One group of tasks in one cell."""

    candidate: str
    told: Side
    done: Side
    by: Grouping
    group: str
    """Name of the family or hazard, or the tier as text. A task with several hazards is in several groups, one without a tier or
    a hazard in none of that kind."""
    tasks: int
    planned: int
    scored: int
    """Trials with a stable verdict."""
    passed: int
    silent_wrong: int = 0
    causes: dict[str, int] = Field(default_factory=dict[str, int])
    """As in ``Cell.causes``: causes of the scored, and ``fault:TYPE`` of what has no verdict."""
    damage: Estimate | None = None
    """This cell - the reference path for the same replies: ``these_replies``. None on the reference path, or where the same
    replies are not planned there."""

    @property
    def cell(self) -> str:
        return self.told + self.done


class FormatDamage(Record):
    """The same replies on the same path with and without a clean-up: what the format alone costs in the cell as deployed.

    Replies that the clean-up does not change have the same outcome both ways, whatever it is.
    """

    candidate: str
    told: Side
    done: Side
    own: Cleanup
    """What the candidate's harness does: one of the next two."""
    strict: Cleanup
    cleaned: Cleanup
    replies: int = 0
    """Text replies of the cell, those of tasks that can't be done left out."""
    changed: int = 0
    """Replies that come out differently by the two; only those can end differently."""
    scored: int = 0
    """Changed replies with a stable verdict both ways."""
    strict_passed: int = 0
    """Of ``scored``."""
    cleaned_passed: int = 0
    """Of ``scored``."""
    lost: int = 0
    """Right when cleaned, wrong when taken strictly."""
    gained: int = 0
    effect: Estimate | None = None
    """Strict - cleaned over all trials of the cell: ``these_replies``. None where it was not measured."""
    population: Estimate | None = None
    tasks: tuple[str, ...] = ()
    """Tasks with a trial whose verdict the clean-up decides, in the order of the tasks."""
    unmeasured: str = ""
    """Why there is no effect."""

    @property
    def cell(self) -> str:
        return self.told + self.done


class ValidatorSensitivity(Record):
    """How many verdicts of one cell hang on the validator: the stored final states judged by a laxer or stricter suite.

    Counted is the first replay of each trial, unstable ones included; tasks that can't be done are left out.
    """

    candidate: str
    told: Side
    done: Side
    own: str
    other: str
    compared: int
    own_only: int
    """Pass by the candidate's own validator alone."""
    other_only: int
    tasks: tuple[str, ...] = ()
    """Tasks with a verdict that differs, in the order of the tasks."""

    @property
    def cell(self) -> str:
        return self.told + self.done
