"""What is found about one row of somebody else's evaluation."""

from crosspath.types.base import Record


class RowFinding(Record):
    """One named verdict on a reply. With ``error`` it has no value: what could not be observed is never False."""

    name: str
    value: bool | int | str | None = None
    rationale: str = ""
    error: str = ""
    """Short and stable: the type of a fault, ``no_such_task``, ``no_reply``."""
