"""Whether an order of models survives a change of configuration."""

from typing import Literal

from crosspath.types.base import Record
from crosspath.types.results import Estimate


class Arrangement(Record):
    """What two models share when they are compared: one side of a comparison of rankings."""

    label: str
    """In words: ``told raw, run on raw``."""
    fields: tuple[tuple[str, str], ...] = ()
    """Configuration fields that tell it from the other side: name, value."""


class PairOrder(Record):
    """Two models in two arrangements. Positive differences: ``a`` is better."""

    a: str
    b: str
    first: Estimate
    """``a`` - ``b`` in the first arrangement, paired by task."""
    second: Estimate
    order: Literal["kept", "reversed", "tied"]
    """``tied``: equal in at least one arrangement, so there is no order that could change."""
    unambiguous: bool = False
    """Reversed, by more than one task on both sides."""
    families_kept: int | None = None
    """Of a reversed pair: how many of the leave-one-family-out rankings still reverse it."""
    families: int | None = None
    reversal_probability: float | None = None
    """Share of resampled family sets in which the order is reversed; None without task data."""


class RankStability(Record):
    """Two arrangements across the same models."""

    first: Arrangement
    second: Arrangement
    models: tuple[str, ...]
    tasks: int
    """Tasks that every model has a verdict on in both arrangements."""
    families: int | None = None
    pairs: tuple[PairOrder, ...]
    comparable: int
    reversed: int
    unambiguous: int
    tau_a: Estimate
    tau_b: Estimate
    tied_first: tuple[tuple[str, ...], ...] = ()
    """Groups of models that can't be told apart in the first arrangement, best first."""
    tied_second: tuple[tuple[str, ...], ...] = ()
    missing: int = 0
    """Tasks left out because some model lacks a verdict."""


class FragileTask(Record):
    """A task whose verdict depends on the configuration, for one model."""

    task: str
    family: str
    model: str
    passed: tuple[str, ...]
    """Labels of the arrangements in which it passes."""
    failed: tuple[str, ...]
