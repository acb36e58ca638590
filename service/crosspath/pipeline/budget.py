"""Money, requests, tokens and wall time: reserved before each request at its worst price.

Concurrent requests can't overshoot a limit together, because each one holds its worst case until its true cost is known. At the
limit nothing more is sent; what is missing is a fault of type ``budget``.
"""

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from crosspath.analysis.spend import MAY_BE_BILLED
from crosspath.types import Attempt, Fault, Reply, Request, canonical_json

ASSUMED_OUTPUT_TOKENS = 4096
"""What a reply without ``max_tokens`` is taken to cost at worst. Stated in the plan."""


@dataclass(frozen=True)
class Limits:
    """Bounds of one evaluation (of one start of the program, for ``max_wall_s``); None: unbounded."""

    max_cost_usd: float | None = None
    max_requests: int | None = None
    max_tokens: int | None = None
    max_wall_s: float | None = None


@dataclass(frozen=True)
class Amount:
    """What one request takes, or may take at worst."""

    cost_usd: float = 0.0
    requests: int = 0
    tokens: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.cost_usd + other.cost_usd, self.requests + other.requests, self.tokens + other.tokens)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.cost_usd - other.cost_usd, self.requests - other.requests, self.tokens - other.tokens)


def worst_case(request: Request) -> Amount:
    """Upper bound of one attempt: no tokeniser gives more tokens than bytes, and no reply is longer than ``max_tokens``."""
    body = canonical_json([*request.messages, *request.tools])
    prompt = len(body.encode("utf-8"))
    completion = request.params.get("max_tokens") or ASSUMED_OUTPUT_TOKENS
    cost = (prompt * (request.input_usd_per_mtok or 0.0) + completion * (request.output_usd_per_mtok or 0.0)) / 1e6
    cost += request.timeout_s * (request.gpu_usd_per_hour or 0.0) / 3600
    return Amount(cost, 1, prompt + completion)


def settled(worst: Amount, reply: Reply) -> Amount:
    """What one reply really took; the worst case stands in for what the server did not say."""
    usage = reply.usage
    if usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        tokens = worst.tokens
    else:
        tokens = usage.prompt_tokens + usage.completion_tokens
    return Amount(worst.cost_usd if reply.cost_usd is None else reply.cost_usd, 1, tokens)


def failed(worst: Amount, fault: Fault) -> Amount:
    """What a failed attempt may have taken: nothing if the server refused it, the worst case if nobody knows."""
    return worst if fault.type in MAY_BE_BILLED else Amount(requests=1)


def spent_before(
    requests: Mapping[str, Request], attempts: Iterable[Attempt], worst_of: Callable[[Request], Amount] = worst_case
) -> Amount:
    """What earlier sessions of the same evaluation took; an attempt whose end nobody saw counts at its worst."""
    total = Amount()
    for attempt in (attempt for attempt in attempts if not attempt.local):
        worst = worst_of(requests[attempt.request_key])
        if attempt.fault is not None:
            total += failed(worst, attempt.fault)
        elif attempt.ended_at is None:
            total += worst
        else:
            total += settled(worst, Reply(usage=attempt.usage, cost_usd=attempt.cost_usd))
    return total


class Budget:
    """Shared by all requests of one evaluation, in the driver."""

    def __init__(self, limits: Limits, *, spent: Amount = Amount(), clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._spent = spent
        self._reserved = Amount()
        self._clock = clock
        self._deadline = None if limits.max_wall_s is None else clock() + limits.max_wall_s
        self._changed = asyncio.Condition()

    async def reserve(self, amount: Amount) -> str | None:
        """Hold ``amount``; returns the limit that forbids it, once nothing in flight can free enough of it."""
        async with self._changed:
            while limit := self._exceeded(self._spent + self._reserved + amount):
                if self._reserved == Amount() or self._exceeded(self._spent + amount) or limit == "max_wall_s":
                    return limit
                await self._changed.wait()
            self._reserved += amount
            return None

    def remaining_s(self) -> float:
        """Wall time until ``max_wall_s``; infinite without such a limit."""
        return math.inf if self._deadline is None else max(0.0, self._deadline - self._clock())

    async def settle(self, reserved: Amount, spent: Amount) -> None:
        """Give the reservation back and book what was really spent."""
        async with self._changed:
            self._reserved -= reserved
            if self._reserved.requests == 0:
                self._reserved = Amount()  # sums of floats leave crumbs
            self._spent += spent
            self._changed.notify_all()

    def _exceeded(self, total: Amount) -> str | None:
        limits = self._limits
        if self.remaining_s() == 0.0:
            return "max_wall_s"
        if limits.max_cost_usd is not None and total.cost_usd > limits.max_cost_usd:
            return "max_cost_usd"
        if limits.max_requests is not None and total.requests > limits.max_requests:
            return "max_requests"
        if limits.max_tokens is not None and total.tokens > limits.max_tokens:
            return "max_tokens"
        return None
