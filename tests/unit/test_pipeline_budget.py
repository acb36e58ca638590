"""The budget: never overshot, whatever requests really take and in whatever order they end."""

import asyncio
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from crosspath.pipeline.budget import Amount, Budget, Limits, failed, settled, spent_before, worst_case
from crosspath.types import Attempt, Fault, Reply, Request, TrialKey, Usage

REQUEST = Request(
    key="k",
    trial=TrialKey(generation="g", task="t", index=0),
    contract="raw",
    endpoint=None,
    model="m",
    messages=({"role": "user", "content": "é" * 100},),
    params={"max_tokens": 50},
    timeout_s=36,
    input_usd_per_mtok=1.0,
    output_usd_per_mtok=2.0,
)
amounts = st.builds(Amount, st.floats(0, 1, allow_subnormal=False), st.just(1), st.integers(0, 1000))
limits = st.builds(
    Limits,
    max_cost_usd=st.none() | st.floats(0, 5),
    max_requests=st.none() | st.integers(0, 12),
    max_tokens=st.none() | st.integers(0, 4000),
)


async def _spend(budget: Budget, worst: list[Amount], shares: list[float], seed: int) -> tuple[Amount, list[str]]:
    """All at once: reserve, work for a random time, settle at a share of the worst case. Returns the spent and the refusals."""
    rng, total, refused = random.Random(seed), [Amount()], []

    async def one(amount: Amount, share: float) -> None:
        if limit := await budget.reserve(amount):
            refused.append(limit)
            return
        for _ in range(rng.randrange(4)):
            await asyncio.sleep(0)
        real = Amount(amount.cost_usd * share, 1, int(amount.tokens * share))
        total[0] += real
        await budget.settle(amount, real)

    await asyncio.gather(*(one(amount, share) for amount, share in zip(worst, shares, strict=True)))
    return total[0], refused


@given(limits, st.lists(st.tuples(amounts, st.floats(0, 1)), max_size=20), st.integers(0, 99))
@settings(max_examples=150)
def test_no_limit_is_overshot(bounds: Limits, work: list[tuple[Amount, float]], seed: int) -> None:
    """Concurrent requests together never take more than the limit, everybody is answered, and refusals name a limit."""
    spent, refused = asyncio.run(_spend(Budget(bounds), [w for w, _ in work], [s for _, s in work], seed))
    crumbs = 1e-9
    assert bounds.max_cost_usd is None or spent.cost_usd <= bounds.max_cost_usd + crumbs
    assert bounds.max_requests is None or spent.requests <= bounds.max_requests
    assert bounds.max_tokens is None or spent.tokens <= bounds.max_tokens
    assert spent.requests + len(refused) == len(work)
    assert all(getattr(bounds, limit) is not None for limit in refused)


def test_a_limit_is_used_up() -> None:
    """What in-flight requests don't need in the end is given to those that wait: ten of ten fit, one after the other."""
    spent, refused = asyncio.run(_spend(Budget(Limits(max_tokens=1000)), [Amount(0, 1, 550)] * 10, [0.1] * 10, 1))
    assert (spent.tokens, spent.requests, refused) == (495 + 0, 9, ["max_tokens"])


def test_what_earlier_sessions_spent_counts() -> None:
    """Raising a limit gives the difference only."""
    budget = Budget(Limits(max_requests=10), spent=Amount(requests=8))
    _, refused = asyncio.run(_spend(budget, [Amount(requests=1)] * 5, [1.0] * 5, 0))
    assert refused == ["max_requests"] * 3


def test_wall_time_ends_by_the_clock() -> None:
    """After ``max_wall_s`` nothing is reserved any more, not even while something is in flight."""
    now = [0.0]
    budget = Budget(Limits(max_wall_s=10), clock=lambda: now[0])

    async def ask() -> list[str | None]:
        first = await budget.reserve(Amount(requests=1))
        now[0] = 10.0
        return [first, await budget.reserve(Amount(requests=1))]

    assert asyncio.run(ask()) == [None, "max_wall_s"]
    assert budget.remaining_s() == 0.0


def test_the_worst_case_has_no_more_tokens_than_bytes() -> None:
    """200 bytes of text are at least 200 tokens in the bound, beside the reply's ``max_tokens`` at its own price."""
    worst = worst_case(REQUEST)
    assert worst.tokens >= 200 + 50
    assert worst.cost_usd == ((worst.tokens - 50) * 1.0 + 50 * 2.0) / 1e6
    assert worst_case(REQUEST.model_copy(update={"gpu_usd_per_hour": 100.0})).cost_usd == worst.cost_usd + 1.0


def test_unknown_usage_counts_at_its_worst() -> None:
    """A server that says nothing, or half, is taken to have used everything; one that says it is believed
    (https://github.com/promptfoo/promptfoo/issues/4673).
    """
    worst = Amount(1.0, 1, 100)
    assert settled(worst, Reply(text="x")) == worst
    assert settled(worst, Reply(text="x", usage=Usage(prompt_tokens=10), cost_usd=0.25)) == Amount(0.25, 1, 100)
    assert settled(worst, Reply(text="x", usage=Usage(prompt_tokens=10, completion_tokens=5))) == Amount(1.0, 1, 15)


def test_a_refusal_is_free_and_a_broken_connection_is_not() -> None:
    """Only where the server certainly did no work is nothing spent but the request."""
    worst = Amount(1.0, 1, 100)
    assert failed(worst, Fault(boundary="model", type="rate_limit", message="")) == Amount(0.0, 1, 0)
    for kind in ("timeout", "connection", "bad_response", "executor", "model", "unknown"):
        assert failed(worst, Fault(boundary="model", type=kind, message="")) == worst


def test_a_killed_request_counts_at_its_worst() -> None:
    """An attempt whose end nobody saw may have been paid; a look-up never is."""
    open_row = Attempt(request_key="k", number=1, session=1, started_at=0)
    local = open_row.model_copy(update={"local": True})
    assert spent_before({"k": REQUEST}, [open_row, local]) == worst_case(REQUEST)
