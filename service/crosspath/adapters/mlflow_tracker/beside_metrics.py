"""What is kept apart from pass rates and effects as MLflow metrics: declining, held-out tasks, styles, wordings, paths, spend."""

from crosspath.adapters.mlflow_tracker.metrics import interval_metrics, points
from crosspath.adapters.mlflow_tracker.names import finite
from crosspath.types import Abstention, Judgement, PartitionGap, PathCost, StyleSpread, WordingSpread


def abstention_metrics(found: Abstention) -> dict[str, float]:
    """Precision and recall of declining, and both mistakes, apart from every pass rate; intervals are in the description."""
    if not found.planned:
        return {}
    return finite(
        {
            "abst_prec": found.precision.value,
            "abst_recl": found.recall.value,
            "abst_acted": found.acted,
            "abst_overd": found.declined_feasible,
        }
    )


def partition_metrics(found: PartitionGap) -> dict[str, float]:
    """Public and held-out pass rates, their difference with its interval, and the alarm."""
    difference = found.difference
    return finite(
        {
            "pub_rate": found.public.value,
            "held_rate": found.heldout.value,
            **interval_metrics(difference, "cont_gap_pp", "cont_low_pp", "cont_high_pp"),
            "cont_alarm": None if difference.value is None else int(found.alarm),
        }
    )


def style_metrics(found: StyleSpread, candidate: str) -> dict[str, float]:
    """The candidate's own difference to the first style, how far all lie apart, and exam - production with its interval."""
    own = [estimate for style, estimate in found.differences.items() if found.candidates[style] == candidate]
    return finite(
        {
            "style_diff": points(own[0].value) if own else None,
            "style_sprd": points(found.spread),
            **interval_metrics(found.framing, "framing_pp", "frame_low", "frame_high"),
        }
    )


def wording_metrics(found: WordingSpread, candidate: str) -> dict[str, float]:
    """How far the compensations of all wordings lie apart, and this wording's own difference to the first, in points."""
    own = [estimate for contract, estimate in found.differences.items() if found.candidates[contract] == candidate]
    return finite({"wording_pp": points(found.spread), "word_diff": points(own[0].value) if own else None})


def path_metrics(found: PathCost) -> dict[str, float]:
    """Its place among the paths that carried the same replies, and its difference to the first with its interval."""
    return finite({"rank_path": found.rank, **interval_metrics(found.to_best, "best_pp", "best_lo_pp", "best_hi_pp")})


def spend_metrics(judgement: Judgement) -> dict[str, float]:
    """What generation took. An unknown total cost is left out; ``known_usd`` is the part that is known."""
    spend = judgement.spend
    return finite(
        {
            "cost_usd": spend.cost_usd,
            "known_usd": spend.cost_known_usd if spend.cost_usd is None and spend.cost_known_usd else None,
            "requests": spend.requests,
            "failed_req": spend.requests_failed,
            "replies": spend.replies,
            "reused": spend.replies_reused,
            "bought_2x": spend.bought_again,
            "tokens_in": spend.prompt_tokens,
            "tokens_out": spend.completion_tokens,
            "no_usage": spend.usage_unknown,
            "gener_s": spend.generation_s,
            "sessions": spend.sessions,
        }
    )
