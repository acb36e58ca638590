"""What an evaluation will take, before a cent is spent."""

from dataclasses import dataclass

from crosspath.app.resolve import Resolved
from crosspath.pipeline.answers import provider, unanswered
from crosspath.pipeline.budget import ASSUMED_OUTPUT_TOKENS, Amount, worst_case
from crosspath.pipeline.plan import Plan
from crosspath.types import Request

REPLAYS_PER_CORE_S = 60.0
"""Rough rate of sandboxed replays on one core, for the estimate of the duration only; see benchmarks/."""
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
    """Answered by a baseline or a recording: they reach no endpoint and cost nothing."""
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
    concurrency = resolved.spec.executor.model_concurrency
    replays = resolved.plan.replay_count
    return PlanCosts(
        requests=len(paid),
        local_requests=len(requests) - len(paid),
        unanswered=sum(1 for _ in unanswered(requests, resolved.answers)),
        replays=replays,
        expected_usd=sum(expected_usd(request) for request in paid),
        worst=worst,
        unpriced=unpriced(resolved.plan),
        duration_s=len(paid) * TYPICAL_LATENCY_S / concurrency + replays / (REPLAYS_PER_CORE_S * cores),
    )


def cost_sentence(resolved: Resolved) -> str:
    """What will be bought, in one sentence; empty where nothing reaches an endpoint."""
    costs = plan_costs(resolved, cores=1)
    if not costs.requests:
        return ""
    if costs.unpriced:
        return f"up to {costs.requests} requests; what they cost is not known (no price for {', '.join(costs.unpriced)})"
    limit = resolved.limits.max_cost_usd
    bound = "" if limit is None else f", stopping at {limit:g} USD"
    return f"up to {costs.requests} requests: about {costs.expected_usd:.4f} USD, {costs.worst.cost_usd:.4f} USD at worst{bound}"


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
