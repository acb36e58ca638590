"""Published counts: shown beside what was measured, never pooled with it."""

from typing import Literal

from pydantic import Field

from crosspath.types.base import Record

CellName = Literal["RR", "RN", "NR", "NN"]


class PublishedModel(Record):
    """One model's counts in the four cells, of ``n`` tasks each; cells that were not published are left out."""

    model: str
    n: int = Field(gt=0)
    passed: dict[CellName, int]
    stated: dict[str, float] = Field(default_factory=dict[str, float])
    """Effects as the source prints them, in points: they follow from the counts, or the table was refused."""


class Published(Record):
    """A published table with its citation."""

    name: str
    citation: str
    models: tuple[PublishedModel, ...]
    sha256: str
    """Of the file that it was read from."""
    imported_at: float
    """Seconds since 1970."""
