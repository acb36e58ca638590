"""Published counts: shown beside what was measured, never pooled with it."""

from typing import Literal

from pydantic import Field

from crosspath.types.base import Record


class PublishedModel(Record):
    """One model's counts in the four cells, of ``n`` tasks each; cells that were not published are left out."""

    model: str
    n: int = Field(gt=0)
    passed: dict[Literal["RR", "RN", "NR", "NN"], int]
    stated: dict[str, float] = Field(default_factory=dict)
    """Effects as the source prints them, in points with one decimal: checked against the counts when imported."""


class Published(Record):
    """A published table with its citation."""

    name: str
    citation: str
    trials: int | None = None
    models: tuple[PublishedModel, ...]
    sha256: str
    """Of the file that it was read from."""
    imported_at: float
