"""Replies that were recorded elsewhere, as one line of a recording says it."""

from typing import Any

from pydantic import Field

from crosspath.types.base import Record
from crosspath.types.replies import Reply


class RecordedReply(Record):
    """One model's reply to one task under one contract, with what is known about how it came about."""

    model: str
    """The model's name as the recording gives it."""
    task: str
    contract: str = "raw"
    """Name of the contract that the model was told."""
    request_style: str = "plain"
    """Name of the style that the request was put in."""
    trial: int = Field(default=0, ge=0)
    """Which independent attempt, from 0."""
    turn: int | None = Field(default=None, ge=0)
    """Which turn of a longer conversation, from 0; None: not known, or the only one."""
    messages: tuple[dict[str, Any], ...] = ()
    """The messages that were really sent, where known."""
    reply: Reply
