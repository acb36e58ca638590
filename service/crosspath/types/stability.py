"""Whether an order of models survives a change of configuration."""

from typing import Literal

from pydantic import Field

from crosspath.types.base import Record
from crosspath.types.results import Estimate

Sureness = Literal["kept", "reversed"]


class Arrangement(Record):
    """What models share when they are compared: one side of a comparison of rankings."""

    label: str
    """In words: ``told raw, run on raw``."""
    fields: tuple[tuple[str, str], ...] = ()
    """Configuration fields that tell it from the other side: name, value."""


class ModelRates(Record):
    """One model's pass rate in two arrangements, over the tasks that count for all models: the mean over families."""

    model: str
    first: Estimate
    second: Estimate


class PairOrder(Record):
    """Two models in two arrangements. Positive differences: ``a`` is better."""

    a: str
    b: str
    first: Estimate
    """``a`` - ``b`` in the first arrangement, the mean over families. The interval is of this pair alone."""
    second: Estimate
    order: Literal["kept", "reversed", "tied"]
    """Of what was observed. ``tied``: equal in at least one arrangement, so there is no order that could change."""
    unambiguous: bool = False
    """Reversed, by more than one passed task on both sides."""
    sure: Sureness | None = None
    """What holds for families like these, with 95 % confidence over all pairs together; None: not known."""
    leave_one_out: int | None = None
    """Of a reversed pair: in how many of the leave-one-family-out rankings it is still reversed."""
    reversal_probability: float | None = None
    """Share of resampled sets of families in which the order is reversed; None: fewer than two families."""


class RankStability(Record):
    """Two arrangements across the same models."""

    first: Arrangement
    second: Arrangement
    models: tuple[str, ...]
    left_out: dict[str, str] = Field(default_factory=dict[str, str])
    """Model -> why it takes no part, in words."""
    tasks: int
    """Tasks that every model has a verdict on in both arrangements."""
    missing: int = 0
    """Tasks left out because some model lacks a verdict."""
    families: int
    rates: tuple[ModelRates, ...]
    """Best first in the first arrangement."""
    pairs: tuple[PairOrder, ...]
    comparable: int
    """Pairs that neither arrangement ties."""
    reversed: int
    unambiguous: int
    tau_a: Estimate
    """Kendall's tau-a of the two rankings, -1 to 1; ``n`` counts tasks, the interval is for families like these."""
    tau_b: float | None = None
    """None: an arrangement ties all models."""
    tau_a_leave_one_out: tuple[float, float] | None = None
    """Lowest and highest tau-a of the leave-one-family-out rankings."""
    tau_a_resampled: tuple[float, float] | None = None
    """2.5 and 97.5 % of tau-a over resampled sets of families. It describes; it is no interval that holds its truth."""
    tied_first: tuple[tuple[str, ...], ...] = ()
    """Groups of models that can't be told apart in the first arrangement, best first; they may overlap."""
    tied_second: tuple[tuple[str, ...], ...] = ()


class FragileTask(Record):
    """A task whose verdict depends on the configuration, for one model: right in every trial here, wrong in every trial there."""

    task: str
    family: str
    model: str
    passes: int
    """Arrangements in which it passes."""
    fails: int
    wavers: int = 0
    """Arrangements in which its trials disagree."""
    passed: tuple[str, ...]
    """Labels of the first few arrangements in which it passes."""
    failed: tuple[str, ...]
