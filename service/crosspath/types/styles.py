"""Request styles, as data: how the instruction is put to a model."""

from functools import cached_property

from crosspath.types.base import Record, digest


class RequestStyle(Record):
    """A text around the instruction. It changes neither what is asked for nor a byte of it."""

    name: str
    version: str = "1"
    summary: str = ""
    pair: str | None = None
    """Name of the style that frames the same request the other way."""
    text: str
    """Holds the place of the instruction once: see ``crosspath.styles``."""

    @cached_property
    def digest(self) -> str:
        return digest(self.model_dump(mode="json", include={"text"}))
