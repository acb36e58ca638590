"""What an evaluation will take, before a cent is spent."""

import math
from dataclasses import dataclass

from crosspath.app.resolve import Resolved
from crosspath.pipeline.answers import provider, unanswered
from crosspath.pipeline.budget import ASSUMED_OUTPUT_TOKENS, Amount, worst_case
from crosspath.pipeline.plan import Plan
from crosspath.types import Request

REPLAYS_PER_CORE_S = 40.0
"""Rate of sandboxed replays on one core of a small machine, for the estimate of the duration only; see benchmarks/."""
START_S = {"ray": 8.0, "local": 2.0}
"""Time until workers run, as measured on two cores; the slow part is importing."""
CONCLUSION_S = 10.0
"""Time to start Great Expectations and MLflow, and to write to the embedded store."""
TYPICAL_LATENCY_S = 3.0
"""Rough time of one request."""
TYPICAL_BYTES_PER_TOKEN = 4
TYPICAL_REPLY_TOKENS = 200
"""For the expected cost only; the worst case assumes one byte a token and replies as long as allowed."""


@dataclass(frozen=True)
class PlanCosts:
    """Requests, replays, worst-case cost and a rough duration."""

    requests: int
    local_requests: int
    """Answered by a baseline or a recording: they reach no endpoint and cost nothing. Those without an answer don't count."""
    unanswered: int
    """Local requests without an answer: they will be missing."""
    replays: int
    expected_usd: float
    worst: Amount
    unpriced: tuple[str, ...]
    duration_s: float


def plan_costs(resolved: Resolved, *, cores: int) -> PlanCosts:
    """Count what the plan holds and price it at its worst case."""
    requests = resolved.plan.requests
    paid = [request for request in requests if provider(request.model) is None]
    worst = sum((worst_case_at_known_price(request) for request in paid), Amount())
    lacking = sum(1 for _ in unanswered(requests, resolved.answers))
    return PlanCosts(
        requests=len(paid),
        local_requests=len(requests) - len(paid) - lacking,
        unanswered=lacking,
        replays=resolved.plan.replay_count,
        expected_usd=sum(expected_usd(request) for request in paid),
        worst=worst,
        unpriced=unpriced(resolved.plan),
        duration_s=_duration_s(resolved, len(paid), cores),
    )


def _duration_s(resolved: Resolved, paid: int, cores: int) -> float:
    executor = resolved.spec.executor
    asking = paid * TYPICAL_LATENCY_S / executor.model_concurrency
    replaying = resolved.plan.replay_count / (REPLAYS_PER_CORE_S * cores)
    return START_S.get(executor.kind or "ray", 0.0) + asking + replaying + CONCLUSION_S


def cost_sentence(resolved: Resolved) -> str:
    """What will be bought, in one sentence; empty where nothing reaches an endpoint."""
    costs = plan_costs(resolved, cores=1)
    if not costs.requests:
        return ""
    if costs.unpriced:
        return f"up to {costs.requests} requests; what they cost is not known (no price for {', '.join(costs.unpriced)})"
    limit = resolved.limits.max_cost_usd
    bound = "" if limit is None else f", stopping at {money(limit)} USD"
    about, worst = money(costs.expected_usd), money(costs.worst.cost_usd)
    return f"up to {costs.requests} requests: about {about} USD, {worst} USD at worst{bound}"


def money(usd: float) -> str:
    """US dollars without an exponent: cents where there are some, else two digits that count (0.000012)."""
    if usd == 0 or usd >= 1:
        return f"{usd:.2f}"
    places = max(2, 1 - math.floor(math.log10(usd)))
    return f"{usd:.{places}f}"


def with_known_price(request: Request) -> Request:
    """The request with litellm's own price where the spec gives none."""
    if _priced(request) or provider(request.model):
        return request
    from crosspath.adapters.litellm_model import known_prices

    known = known_prices(request.model)
    if known is None:
        return request
    return request.model_copy(update={"input_usd_per_mtok": known[0], "output_usd_per_mtok": known[1]})


def worst_case_at_known_price(request: Request) -> Amount:
    """Upper bound of one attempt, at the spec's price or litellm's own."""
    return worst_case(with_known_price(request))


def expected_usd(request: Request) -> float:
    """What one request costs if it is like most: at the spec's price or litellm's own; 0 where neither is known."""
    priced = with_known_price(request)
    prompt = worst_case(request).tokens - (request.params.get("max_tokens") or ASSUMED_OUTPUT_TOKENS)
    reply = min(TYPICAL_REPLY_TOKENS, request.params.get("max_tokens") or TYPICAL_REPLY_TOKENS)
    by_tokens = prompt / TYPICAL_BYTES_PER_TOKEN * (priced.input_usd_per_mtok or 0) + reply * (priced.output_usd_per_mtok or 0)
    return by_tokens / 1e6 + TYPICAL_LATENCY_S * (priced.gpu_usd_per_hour or 0) / 3600


def unpriced(plan: Plan) -> tuple[str, ...]:
    """Models of the plan that reach an endpoint and have no price."""
    by_model = {request.model: request for request in plan.requests if provider(request.model) is None}
    return tuple(sorted(name for name, request in by_model.items() if not _priced(with_known_price(request))))


def _priced(request: Request) -> bool:
    tokens = request.input_usd_per_mtok is not None and request.output_usd_per_mtok is not None
    return tokens or request.gpu_usd_per_hour is not None
