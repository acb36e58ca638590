"""What the replies of one candidate take: tokens, money and time, per reply and per right answer."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from crosspath.analysis.spend import Row, by_origin, usages
from crosspath.types import CandidateCost, Reply, Usages

PERCENTILES = (50, 90, 99)


class Counted(NamedTuple):
    """One reply of the candidate as deployed. ``passed`` None: it has no verdict that a rate counts."""

    reply: Reply
    passed: bool | None
    local: bool


def candidate_cost(candidate: str, replies: Sequence[Counted], rows: Iterable[Row]) -> CandidateCost:
    """A candidate's cost; ``rows``: the attempts and stored replies behind its trials.

    Cost per pass is what the replies with a verdict took over how many of them passed, so that replies whose verdict was lost
    make a candidate look neither dear nor cheap. Failed attempts are no part of it: they say something about an endpoint's day.
    """
    scored = [one for one in replies if one.passed is not None]
    passed = sum(bool(one.passed) for one in scored)
    counted = usages(_taken(one) for one in scored)
    latencies = [one.reply.latency_s for one in replies if one.reply.latency_s is not None]
    return CandidateCost(
        candidate=candidate,
        replies=len(replies),
        scored=len(scored),
        passed=passed,
        by_origin=by_origin(rows),
        counted=counted,
        latency_s=percentiles(latencies),
        latency_known=len(latencies),
        usd_per_pass=_per(counted.total_usd, passed),
        tokens_per_pass=_per(counted.total_tokens, passed),
    )


def _taken(one: Counted) -> Row:
    """Whoever paid: a stored reply at what it cost then; a local one at an unknown price, because nobody was asked."""
    return Row("local" if one.local else "fresh", one.reply.usage, None if one.local else one.reply.cost_usd)


def _per(total: float | None, passed: int) -> float | None:
    return None if total is None or not passed else total / passed


def percentiles(latencies: Sequence[float]) -> dict[str, float]:
    """``p50``, ``p90``, ``p99`` and ``max`` in seconds; empty without any.

    By the nearest-rank rule (type 1 of Hyndman & Fan 1996): the smallest latency that at least so many per cent do not exceed,
    so each is one that occurred, and with fewer than a hundred replies p99 is the longest one.
    """
    ordered = sorted(latencies)
    if not ordered:
        return {}
    ranks: Mapping[str, int] = {f"p{percent}": ceil(percent * len(ordered) / 100) for percent in PERCENTILES}
    return {name: ordered[rank - 1] for name, rank in ranks.items()} | {"max": ordered[-1]}


def per_reply(total: float | None, counted: Usages) -> float | None:
    """A total as a mean over its rows."""
    return None if total is None or not counted.rows else total / counted.rows
