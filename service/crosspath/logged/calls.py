"""One model call of a log, whatever wrote the log."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from crosspath.types import Reply

Kind = Literal["mlflow", "inspect", "openai", "langfuse", "recorded"]
KINDS: tuple[Kind, ...] = ("mlflow", "inspect", "openai", "langfuse", "recorded")

ARGUMENTS_PARSED = "arguments of a tool call were logged as an object, not as the text that came"
BY_LITELLM = "a tool call went through litellm, which may have written its arguments anew"
JOINED = "several text parts were joined"
NO_FINISH_REASON = "no finish reason"
NO_USAGE = "no usage"
STORED_APART = "a text that the log stores apart is not in it"
CUT = "cut off or left out by whatever wrote the log"


@dataclass(frozen=True)
class LoggedCall:
    """A call with its reply, or why it has none. What the log does not say is None or empty, never a guess."""

    place: str
    """File and line, or file, sample and call, for messages to a person."""
    entry: Mapping[str, Any]
    """The call as it was logged: what an expression such as ``metadata.task`` looks at."""
    reply: Reply | None = None
    problem: str | None = None
    """Why there is no reply; None where there is one."""
    losses: tuple[str, ...] = ()
    """What the log has lost of the reply, or re-written, each in the same words for all calls."""
    model: str | None = None
    """The model that was asked."""
    messages: tuple[dict[str, Any], ...] = ()
    """The messages that were sent, without whatever else a request holds (headers, keys)."""
    conversation: str | None = None
    """What calls of one conversation share: a trace, or a sample's epoch."""
    task: str | None = None
    """Only recorded replies say it by themselves."""
    contract: str | None = None
    """As for ``task``."""


@dataclass(frozen=True)
class Reading:
    """What a response says: a reply with what is lost of it, or why there is none."""

    reply: Reply | None = None
    problem: str | None = None
    losses: tuple[str, ...] = field(default=())
