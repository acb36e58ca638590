"""Where it broke: how many replies reach each stage of the way to a right final state, and what stops the others."""

from typing import Literal

from pydantic import Field

from crosspath.types.base import Record
from crosspath.types.candidates import Cleanup
from crosspath.types.results import Estimate, Side

FunnelStage = Literal["generated", "answered", "well_formed", "executed", "right_state"]
"""In this order. ``generated``: a reply came back; ``answered``: it is no refusal, not cut off and not empty; ``well_formed``: it
has the shape that the contract demands and could be delivered; ``executed``: the shell took it and the sandbox observed it;
``right_state``: it passes."""
Grouping = Literal["family", "tier", "hazard"]


class Funnel(Record):
    """One cell as a funnel. Infeasible tasks are in none."""

    candidate: str
    told: Side
    done: Side
    contract: str
    transport: str
    attempted: int
    reached: dict[FunnelStage, int]
    """Stage -> trials that reached it, all stages in order; never more than the stage before."""
    stopped: dict[FunnelStage, dict[str, int]] = Field(default_factory=dict[FunnelStage, dict[str, int]])
    """Stage that was not reached -> cause, ``fault:TYPE`` or ``unstable`` -> how many."""

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
    """Name of the family or hazard, or the tier as text. A task with several hazards is in several groups."""
    tasks: int
    planned: int
    scored: int
    passed: int
    silent_wrong: int = 0
    causes: dict[str, int] = Field(default_factory=dict[str, int])
    damage: Estimate | None = None
    """This cell - the reference path for the same replies, where both are there: ``these_replies``."""


class FormatDamage(Record):
    """The same replies with and without the harness's clean-up, on the same path: what the format alone costs."""

    candidate: str
    told: Side
    done: Side
    own: Cleanup
    """What the candidate's harness does."""
    cleaned: Cleanup
    """The clean-up that ``none`` is compared with."""
    replies: int
    changed: int
    """Replies that the clean-up changes; only those can turn out otherwise."""
    strict_passed: int
    cleaned_passed: int
    scored: int
    """Trials with a verdict both ways."""
    lost: int
    """Right when cleaned, wrong when taken strictly."""
    gained: int
    effect: Estimate
    """Strict - cleaned, for exactly these replies."""
    population: Estimate
    tasks: tuple[str, ...] = ()
    """Tasks whose outcome the clean-up decides."""


class ValidatorSensitivity(Record):
    """How many verdicts of one cell hang on the validator: the stored final states judged by a laxer or stricter suite."""

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
    """Tasks whose verdict differs."""
