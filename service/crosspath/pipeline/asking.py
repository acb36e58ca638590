"""One request until it has a reply, or a fault that stays: the one place that reserves, retries and gives up.

Whatever happens is told to a sink of records: an attempt before it is sent, then its end, and with that the trial which it
settles. So it is known what was in flight when a program was killed. The only retries of the program are here: for retryable
faults, before a reply exists.
"""

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from tenacity import AsyncRetrying, RetryCallState, retry_if_result, stop_after_attempt, wait_exponential, wait_random
from tenacity.wait import wait_base

from crosspath.pipeline.answers import provider
from crosspath.pipeline.breaker import Breaker
from crosspath.pipeline.budget import Amount, Budget, failed, settled, worst_case
from crosspath.types import Attempt, Fault, Reply, Request, Trial

Send = Callable[[Request], Awaitable[Reply | Fault]]
"""One attempt, wherever it is made. Never raises for what an endpoint did."""


class Write(Protocol):
    """Keeps records; they are durable when it returns."""

    async def __call__(self, *records: Attempt | Trial) -> None: ...


@dataclass(frozen=True)
class Retries:
    """How often, and how long at most between two attempts."""

    max_attempts: int = 5
    max_wait_s: float = 60.0


USUAL_RETRIES = Retries()


class Asker:
    """Asks for replies within one budget; what it learns about endpoints that nobody serves holds as long as it lives."""

    def __init__(
        self,
        send: Send,
        budget: Budget,
        session: int,
        *,
        worst_of: Callable[[Request], Amount] = worst_case,
        retries: Retries = USUAL_RETRIES,
        retried: Callable[[], None] = lambda: None,
    ) -> None:
        """``session``: which start of the program this is; ``retried``: told of each retry."""
        self._send = send
        self._budget = budget
        self._session = session
        self._worst_of = worst_of
        self._retries = retries
        self._retried = retried
        self._breaker = Breaker()
        self._attempts: Counter[str] = Counter()
        """Request key -> attempts so far."""

    def remember(self, attempts: Iterable[Attempt]) -> None:
        """Attempts of earlier starts, so that numbers go on."""
        self._attempts.update(attempt.request_key for attempt in attempts)

    async def ask(self, request: Request, write: Write) -> Trial:
        """A reply, or the last fault; ``write`` has the trial when this returns."""
        retrying = AsyncRetrying(
            retry=retry_if_result(lambda trial: trial.fault is not None and trial.fault.retryable),
            stop=stop_after_attempt(self._retries.max_attempts),
            wait=_WaitAsTold(self._retries.max_wait_s, self._budget.remaining_s),
            retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
        )
        number = 0

        async def attempt() -> Trial:
            nonlocal number
            number += 1
            if number > 1:
                self._retried()
            return await self._attempt(request, number, write)

        return await retrying(attempt)

    async def _attempt(self, request: Request, tries: int, write: Write) -> Trial:
        """One request, from its reservation to the end of its row."""
        local = provider(request.model) is not None
        worst = Amount() if local else self._worst_of(request)
        if forbidden := await self._forbidden(request, worst):
            trial = Trial(key=request.trial, request=request, fault=forbidden.model_copy(update={"attempts": tries - 1}))
            await write(trial)
            return trial
        spent = worst
        try:
            row = self._new_row(request, local)
            await write(row)
            outcome = await self._send(request)
            if not local:
                self._breaker.note(request, outcome)
            if isinstance(outcome, Reply):
                outcome = _with_gpu_cost(request, outcome)
            if not local:
                spent = settled(worst, outcome) if isinstance(outcome, Reply) else failed(worst, outcome)
        finally:
            await self._budget.settle(worst, spent)
        return await self._settle(request, row, outcome, tries, write)

    async def _forbidden(self, request: Request, worst: Amount) -> Fault | None:
        """Why this attempt must not be made; None: ``worst`` is reserved for it."""
        if limit := await self._budget.reserve(worst):
            return over_budget(limit)
        if given_up := self._breaker.refusal(request):
            await self._budget.settle(worst, Amount())
            return given_up
        return None

    def _new_row(self, request: Request, local: bool) -> Attempt:
        self._attempts[request.key] += 1
        return Attempt(
            request_key=request.key,
            number=self._attempts[request.key],
            session=self._session,
            started_at=time.time(),
            local=local,
        )

    async def _settle(self, request: Request, row: Attempt, outcome: Reply | Fault, tries: int, write: Write) -> Trial:
        """Write the end of the attempt and, if it settles the trial, the trial in the same transaction."""
        ended = {"ended_at": time.time()}
        if isinstance(outcome, Fault):
            fault = outcome.model_copy(update={"attempts": tries})
            trial = Trial(key=request.trial, request=request, fault=fault)
            again = fault.retryable and tries < self._retries.max_attempts
            await write(row.model_copy(update={**ended, "fault": fault}), *(() if again else (trial,)))
            return trial
        took = {"usage": outcome.usage, "cost_usd": outcome.cost_usd, "served_model": outcome.served_model}
        trial = Trial(key=request.trial, request=request, reply=outcome)
        await write(row.model_copy(update={**ended, **took}), trial)
        return trial


class _WaitAsTold(wait_base):
    """Exponential backoff with jitter, but never shorter than the server's own Retry-After; both bounded, also by the budget."""

    def __init__(self, longest_s: float, remaining_s: Callable[[], float]) -> None:
        self._longest_s = longest_s
        self._remaining_s = remaining_s
        self._backoff = wait_exponential(multiplier=0.5, max=longest_s) + wait_random(0, 0.5)

    def __call__(self, retry_state: RetryCallState) -> float:
        trial: Trial | None = retry_state.outcome.result() if retry_state.outcome else None
        told = trial.fault.retry_after_s if trial and trial.fault else None
        return min(max(told or 0.0, self._backoff(retry_state)), self._longest_s, self._remaining_s())


def over_budget(limit: str) -> Fault:
    """What stands where a limit forbade to go on."""
    return Fault(boundary="budget", type="budget", message=f"limit {limit} reached")


def _with_gpu_cost(request: Request, reply: Reply) -> Reply:
    """The cost of a model that is paid by the hour: its latency at the machine's price, as if it served one request at a time."""
    if request.gpu_usd_per_hour is None or reply.latency_s is None:
        return reply
    return reply.model_copy(update={"cost_usd": reply.latency_s * request.gpu_usd_per_hour / 3600})
