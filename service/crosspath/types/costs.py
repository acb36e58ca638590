"""What generation took, from one row per request: fresh, stored, retried and local kept apart."""

from typing import Literal

from pydantic import Field

from crosspath.types.base import Record

Origin = Literal["fresh", "stored", "retried", "local"]
"""``fresh``: a request of this evaluation that was answered; ``retried``: attempts that failed and were sent again, or were given
up; ``stored``: replies taken from an earlier evaluation; ``local``: baselines and recordings."""


class Usages(Record):
    """Totals over rows. A total is None where no row says anything, and the sum of what is known otherwise; ``unknown_*`` counts
    the rows that it lacks."""

    rows: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    """A part of ``completion_tokens``, where the server tells it apart."""
    cached_tokens: int | None = None
    """A part of ``prompt_tokens``, where the server tells it apart."""
    unknown_usage: int = 0
    """Rows that lack ``prompt_tokens`` or ``completion_tokens``."""
    cost_usd: float | None = None
    unknown_cost: int = 0

    @property
    def total_tokens(self) -> int | None:
        """Prompt and completion tokens together; None where one row or more is unknown."""
        if self.unknown_usage or self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return self.prompt_tokens + self.completion_tokens

    @property
    def total_usd(self) -> float | None:
        """The cost; None where one row or more is unknown."""
        return None if self.unknown_cost else self.cost_usd


class SessionSpend(Record):
    """What one start of the program asked for."""

    number: int
    """Counted from 1."""
    started_at: float | None = None
    """Seconds since 1970; None where that was not kept."""
    ended_at: float | None = None
    """None: it was killed, or that was not kept."""
    requests: int = 0
    failed: int = 0
    in_flight: int = 0
    """Requests whose end nobody saw."""
    usages: Usages = Usages()
    """Over all its requests."""


class CandidateCost(Record):
    """What the replies of a candidate as deployed take, whoever paid for them. Tasks that can't be done are left out, as from
    every rate."""

    candidate: str
    replies: int
    scored: int
    """Of those: with a verdict that its pass rate counts."""
    passed: int
    by_origin: dict[Origin, Usages] = Field(default_factory=dict[Origin, Usages])
    """Attempts (``fresh``, ``retried``) and replies (``stored``, ``local``) behind its trials. Candidates that share replies each
    count them, so these don't add up to the spend of the evaluation."""
    counted: Usages = Usages()
    """Totals over the ``scored`` replies; retries left out. What a local reply costs is unknown: nothing was paid for it."""
    latency_s: dict[str, float] = Field(default_factory=dict[str, float])
    """``p50``, ``p90``, ``p99``, ``max``: over replies whose latency is known, in seconds; each is a latency that occurred."""
    latency_known: int = 0
    usd_per_pass: float | None = None
    """Cost of the ``scored`` replies over ``passed``; None where one of them is unknown or nothing passed."""
    tokens_per_pass: float | None = None
    """Prompt and completion tokens, likewise."""
