"""Generation: requests, replies, attempts and faults."""

from typing import Any, Literal

from pydantic import Field

from crosspath.types.base import Record

Fidelity = Literal["raw", "reserialised"]
Boundary = Literal["model", "sandbox", "executor", "budget", "recording"]


class TrialKey(Record):
    """One independent attempt of one generation configuration at one task."""

    generation: str
    """Digest of the ``Generation``."""
    task: str
    index: int = Field(ge=0)


class Request(Record):
    """Our own canonical request. ``key`` is computed before it is sent, from all that could change the reply; ``contract`` and
    ``request_style`` are names of texts that the messages hold."""

    key: str
    trial: TrialKey
    contract: str
    request_style: str = "plain"
    endpoint: str | None
    model: str
    messages: tuple[dict[str, Any], ...]
    tools: tuple[dict[str, Any], ...] = ()
    params: dict[str, Any]
    """Every parameter, the unset ones as None."""
    timeout_s: float
    api_key_env: str | None = None
    input_usd_per_mtok: float | None = None
    output_usd_per_mtok: float | None = None
    gpu_usd_per_hour: float | None = None


class ToolCall(Record):
    """A native tool call; ``arguments`` exactly as received."""

    id: str
    name: str
    arguments: str


class Usage(Record):
    """Tokens as the server counted them; None where it did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None


class Reply(Record):
    """Exactly what came back."""

    text: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    fidelity: Fidelity = "raw"
    finish_reason: str | None = None
    usage: Usage | None = None
    """None: unknown, never zero."""
    cost_usd: float | None = None
    latency_s: float | None = None
    served_model: str | None = None
    fingerprint: str | None = None
    sent_body: dict[str, Any] | None = None
    """The request body that really left, without secrets."""
    raw_response: str | None = None
    """The body of the response before any parsing, where the provider lets us see it."""
    scrubbed: bool = False
    """The endpoint repeated the API key: it was replaced in every field, so the texts are not the model's own to the letter."""


class Fault(Record):
    """Something that could not be observed: never a cause, never a zero."""

    boundary: Boundary
    type: str
    """Short and stable: ``rate_limit``, ``server_error``, ``connection``, ``timeout``, ``budget``, ``start_failed``, ..."""
    message: str
    retryable: bool = False
    attempts: int = 0
    retry_after_s: float | None = None


class Attempt(Record):
    """One request, or one look-up of a baseline's or recorded reply. Written before it is sent, completed after."""

    request_key: str
    number: int
    session: int
    """Which start of the program sent it."""
    started_at: float
    ended_at: float | None = None
    fault: Fault | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    served_model: str | None = None
    local: bool = False
    """Answered by a baseline or a recording: no endpoint was asked, nothing was spent."""


class Trial(Record):
    """A trial's single step: its request, and a reply or a fault."""

    key: TrialKey
    request: Request
    reply: Reply | None = None
    fault: Fault | None = None


class LoggedTrials(Record):
    """The trials of one evaluation that a tracker holds."""

    run: str
    evaluation: str
    trials: tuple[Trial, ...] = ()
    problem: str = ""
    """Why they can't be read."""
