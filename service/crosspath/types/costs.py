"""What generation took, from one row per request: fresh, stored and retried kept apart."""

from typing import Literal

from pydantic import Field

from crosspath.types.base import Record

Origin = Literal["fresh", "stored", "retried", "local"]
"""``fresh``: a request of this evaluation that was answered; ``retried``: attempts that failed and were sent again, or were given
up; ``stored``: replies taken from an earlier evaluation; ``local``: baselines and recordings."""


class Usages(Record):
    """Totals over rows. None: known of no row; ``unknown_*`` counts the rows for which it is not known."""

    rows: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    unknown_usage: int = 0
    cost_usd: float | None = None
    """The known part."""
    unknown_cost: int = 0


class CandidateCost(Record):
    """What the replies of a candidate as deployed take, whoever paid for them."""

    candidate: str
    replies: int
    passed: int
    by_origin: dict[Origin, Usages] = Field(default_factory=dict[Origin, Usages])
    per_reply: Usages
    """Totals over the replies that a right answer is bought with: fresh and stored ones, retries left out."""
    latency_s: dict[str, float] = Field(default_factory=dict[str, float])
    """``p50``, ``p90``, ``p99``, ``max``: over replies whose latency is known, in seconds."""
    latency_known: int = 0
    usd_per_pass: float | None = None
    """None where the cost of a reply is unknown or nothing passed."""
    tokens_per_pass: float | None = None
