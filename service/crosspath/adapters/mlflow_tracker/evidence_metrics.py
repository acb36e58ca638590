"""Where trials are lost, how often a candidate is right each time, what it costs, and what verdicts hang on, as MLflow metrics.

All of it belongs to a candidate's matched run, except the order of models, which is about all of them: it stands on the parent.
"""

from collections.abc import Iterator, Mapping

from crosspath.adapters.mlflow_tracker.metrics import LOSS_METRICS, interval_metrics, points
from crosspath.adapters.mlflow_tracker.names import finite
from crosspath.types import CandidateCost, FormatDamage, Funnel, FunnelStage, Judgement, Losses, Reliability

FUNNEL_METRICS: Mapping[FunnelStage, str] = {
    "generated": "fun1_reply",
    "answered": "fun2_answ",
    "well_formed": "fun3_form",
    "executed": "fun4_exec",
}
"""Stage -> how many trials reached it. The last one, the right state, is ``n_passed``."""


def evidence_metrics(judgement: Judgement, candidate: str, cell: str) -> dict[str, float]:
    """Everything of this module for a candidate's matched run; ``cell``: the name of its matched cell."""
    found: dict[str, float] = {}
    for losses in judgement.losses:
        found |= loss_metrics(losses) if losses.candidate == candidate else {}
    for funnel in judgement.funnels:
        found |= funnel_metrics(funnel) if (funnel.candidate, funnel.cell) == (candidate, cell) else {}
    for damage in judgement.format_damage:
        found |= format_metrics(damage) if (damage.candidate, damage.cell) == (candidate, cell) else {}
    for repeated in judgement.reliability:
        found |= reliability_metrics(repeated) if (repeated.candidate, repeated.cell) == (candidate, cell) else {}
    for cost in judgement.costs:
        found |= cost_metrics(cost) if cost.candidate == candidate else {}
    return found | validator_metrics(judgement, candidate, cell)


def loss_metrics(losses: Losses) -> dict[str, float]:
    """Trials lost to each place, zero included."""
    return finite({LOSS_METRICS[place]: losses.lost.get(place, 0) for place in LOSS_METRICS})


def funnel_metrics(funnel: Funnel) -> dict[str, float]:
    """Trials that reached each stage before the last one."""
    return finite({name: funnel.reached.get(stage) for stage, name in FUNNEL_METRICS.items()})


def format_metrics(damage: FormatDamage) -> dict[str, float]:
    """What the format alone costs these replies (points), with an interval where it changes any reply."""
    value = damage.effect.value if damage.effect else None
    over = interval_metrics(damage.population if damage.changed else None, "fmt_pp", "fmt_low_pp", "fmt_high_pp")
    return finite(over | {"fmt_pp": points(value)})


def reliability_metrics(repeated: Reliability) -> dict[str, float]:
    """pass^k for 2 and for all trials with intervals, first trials alone, and distinct replies; nothing with one trial a task."""
    if repeated.trials < 2:
        return {}
    return finite({**dict(_pass_hat(repeated)), "first_rate": repeated.first.value, "distinct": repeated.distinct_mean})


def _pass_hat(repeated: Reliability) -> Iterator[tuple[str, float | None]]:
    for k in sorted({2, max(repeated.pass_hat, default=2)} & repeated.pass_hat.keys()):
        estimate = repeated.pass_hat[k]
        yield from ((f"passk_{k}", estimate.value), (f"passk_{k}_lo", estimate.low), (f"passk_{k}_hi", estimate.high))


def cost_metrics(cost: CandidateCost) -> dict[str, float]:
    """What a right answer costs, and how long replies take; what is unknown is left out, never 0."""
    latency = {f"lat_{part}_s": cost.latency_s.get(part) for part in ("p50", "p90", "p99")}
    return finite({"usd_pass": cost.usd_per_pass, "tok_pass": cost.tokens_per_pass, **latency})


def validator_metrics(judgement: Judgement, candidate: str, cell: str) -> dict[str, float]:
    """Verdicts that another validator would turn: those that it fails, and those that it passes; the other that turns most."""
    others = [one for one in judgement.validator_sensitivity if (one.candidate, one.cell) == (candidate, cell)]
    if not others:
        return {}
    most = max(others, key=lambda one: one.own_only + one.other_only)
    return finite({"val_stric": most.own_only, "val_laxer": most.other_only})


def order_metrics(judgement: Judgement) -> dict[str, float]:
    """Whether the order of models survives: of the first pair of arrangements, which is told nothing against as deployed."""
    if not judgement.rank_stability:
        return {}
    first = judgement.rank_stability[0]
    tau = first.tau_a
    return finite(
        {
            "tau_a": tau.value,
            "tau_a_low": tau.low,
            "tau_a_high": tau.high,
            "tau_b": first.tau_b,
            "pairs_cmp": first.comparable,
            "pairs_rev": first.reversed,
            "pairs_unam": first.unambiguous,
            "fragile": len(judgement.fragile_tasks),
        }
    )
