"""Configuration and results of an evaluation as MLflow params and metrics: pure functions of the records."""

from collections import Counter
from collections.abc import Callable, Mapping

from crosspath.adapters.mlflow_tracker.names import UNSET, finite, flatten, value_text
from crosspath.types import (
    Abstention,
    AlarmKind,
    Candidate,
    Cell,
    Decomposition,
    Effect,
    Estimate,
    Facts,
    Judgement,
    Lock,
    PartitionGap,
    PathCost,
    StyleSpread,
    Text,
    WordingSpread,
    digest,
)

EFFECT_METRICS = {"damage": "dmg", "compensation": "comp", "matched_gap": "gap", "contract_effect": "told"}
"""Effect -> stem of its metrics. Column headers are cut after about ten letters, so names differ before that."""
EFFECT_VALUES = {"damage": "damage_pp", "compensation": "compens_pp", "matched_gap": "gap_pp", "contract_effect": "told_pp"}

ALARM_METRICS: Mapping[AlarmKind, str] = {
    "timeout": "alarm_time",
    "status": "alarm_stat",
    "output": "alarm_outp",
    "masked": "alarm_mask",
    "delivery": "alarm_dlvr",
}
"""Kind of false alarm -> its count."""


def shared_params(facts: Facts) -> dict[str, str]:
    """What all runs of the evaluation have in common: tasks, reference, toolchain, packages, code."""
    lock = facts.lock
    toolchain = lock.toolchain.model_dump(mode="json") if lock.toolchain else {"sandbox": None}
    values: dict[str, object] = {
        "reference": {"contract": lock.reference.contract, "transport": lock.reference.transport},
        "trials": lock.trials,
        "tasks": {"count": len(lock.tasks), "digest": digest(dict(lock.tasks)), **_partitions(facts)},
        "kind": facts.head.kind,
        "spec.digest": facts.head.spec_digest,
        "lock.digest": lock.digest,
        "toolchain": toolchain,
        "packages": dict(lock.packages),
        "commit": lock.commit or None,
        "dirty": lock.dirty,
    }
    return _texts(values)


def _partitions(facts: Facts) -> dict[str, object]:
    """Which partitions there are, how many tasks are held out, and how many draws of a variant at most."""
    draws = Counter(task.twin or task.id for task in facts.tasks if task.partition == "heldout")
    kinds = sorted({task.partition for task in facts.tasks})
    partition = "both" if len(kinds) == 2 else "".join(kinds)
    return {"partition": partition, "heldout": draws.total(), "heldout_draws": max(draws.values(), default=0)}


def parent_params(facts: Facts) -> dict[str, str]:
    """The shared part and the names of the candidates; each candidate's own fields are on its nested runs."""
    return _texts({"candidates": ", ".join(one.name for one in facts.lock.candidates)}) | shared_params(facts)


def cell_params(facts: Facts, candidate: Candidate, cell: Cell) -> dict[str, str]:
    """Every configuration field of one nested run. ``contract`` and ``transport`` are the cell's, so that columns line up."""
    generation, lock = candidate.generation, facts.lock
    point = {key: UNSET if value is None else value for key, value in generation.operating_point.model_dump(mode="json").items()}
    model = generation.model
    values: dict[str, object] = {
        "candidate": candidate.name,
        "candidate.contract": generation.contract,
        "candidate.transport": candidate.transport,
        "model": model.name,
        "model.served": ", ".join(lock.served_models.get(model.name, ())) or None,
        "model.fingerprint": ", ".join(lock.fingerprints.get(model.name, ())) or None,
        "model.api_base": model.api_base,
        "model.api_key_env": model.api_key_env,
        "model.params": model.params,
        "model.prices": model.prices.model_dump(mode="json") if model.prices else None,
        "op": point,
        "harness": candidate.harness,
        "request_style": generation.request_style,
        "request_style.version": _version(facts.styles, generation.request_style),
        "request_style.digest": lock.styles.get(generation.request_style),
        "tools": ", ".join(generation.tools) if generation.tools is not None else "all",
        "validator": candidate.validator,
        "validator.digest": lock.suites.get(candidate.validator),
        "contract": cell.contract,
        "contract.version": _version(facts.contracts, cell.contract),
        "contract.digest": lock.contracts.get(cell.contract),
        "transport": cell.transport,
        "transport.version": _version(facts.transports, cell.transport),
        "transport.digest": lock.transports.get(cell.transport),
    }
    return _texts(values) | shared_params(facts)


def cell_metrics(cell: Cell, decomposition: Decomposition | None = None) -> dict[str, float]:
    """Rates (0 to 1) and counts of one cell, and the effects of its decomposition; what is unknown is left out.

    MLflow shows columns in this order: the answer first, then the evidence.
    """
    values = _effects(decomposition, EFFECT_VALUES, lambda effect: effect.these.value) if decomposition else {}
    bounds = _bounds(decomposition) if decomposition else {}
    causes = {f"cause.{cause}": count for cause, count in cell.causes.items() if not cause.startswith("fault:")}
    alarms = {name: count for kind, name in ALARM_METRICS.items() if (count := cell.alarm_kinds.get(kind))}
    tiers = {f"tier{tier}_rate": passed / scored for tier, (passed, scored) in cell.tiers.items() if scored}
    return finite(
        {
            "pass_rate": cell.rate.value,
            **values,
            "silent_wr": cell.silent_wrong.value,
            "false_alrm": cell.false_alarm.value if cell.false_alarm else None,
            "n_passed": cell.passed,
            "n_scored": cell.scored,
            "n_faults": cell.faults,
            **dict(sorted(causes.items())),
            **alarms,
            **dict(sorted(tiers.items())),
            "low_rate": cell.rate.low,
            "high_rate": cell.rate.high,
            "worst_rate": cell.rate.worst,
            "best_rate": cell.rate.best,
            "n_planned": cell.planned,
            "n_unstable": cell.unstable,
            **bounds,
        }
    )


def _effects(
    decomposition: Decomposition, names: Mapping[str, str], value: Callable[[Effect], float | None]
) -> dict[str, float | None]:
    """Effects in percentage points. ``damage_pp + compens_pp = gap_pp``: differences of the cells' rates for these replies.

    A column is read without its footnotes, so it holds no effect that may not be used: none where damage can't be seen or the
    control is broken, and no compensation where the model was told about another path.
    """
    if decomposition.blind or decomposition.control.status == "broken":
        return {}
    return {
        names[effect.name]: _points(value(effect))
        for effect in decomposition.effects
        if not (effect.name == "compensation" and decomposition.undisclosed)
    }


def _bounds(decomposition: Decomposition) -> dict[str, float | int | None]:
    """The effects for the population of task families with their interval, and the control."""
    stems = EFFECT_METRICS
    found: dict[str, float | int | None] = {}
    found |= _effects(decomposition, {name: f"{stem}_pop_pp" for name, stem in stems.items()}, lambda one: one.population.value)
    found |= _effects(decomposition, {name: f"{stem}_low_pp" for name, stem in stems.items()}, lambda one: one.population.low)
    found |= _effects(decomposition, {name: f"{stem}_high_pp" for name, stem in stems.items()}, lambda one: one.population.high)
    control = decomposition.control
    return found | {
        "ctrl_holds": None if control.status == "missing" else int(control.status == "holds"),
        "ctrl_tasks": control.compared,
        "ctrl_diff": len(control.differing),
    }


def abstention_metrics(found: Abstention) -> dict[str, float]:
    """Precision and recall of declining and the counts behind them, apart from every pass rate; intervals: the description."""
    if not found.planned:
        return {}
    return finite(
        {
            "abst_prec": found.precision.value,
            "abst_recl": found.recall.value,
            "abst_right": found.declined,
            "abst_other": found.declined_otherwise,
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
            "cont_gap_pp": _points(difference.value),
            "cont_low_pp": _points(difference.low),
            "cont_high_pp": _points(difference.high),
            "cont_alarm": None if difference.value is None else int(found.alarm),
        }
    )


def style_metrics(found: StyleSpread, candidate: str) -> dict[str, float]:
    """The candidate's own difference to the first style, how far all lie apart, and exam - production with its interval."""
    own = [estimate for style, estimate in found.differences.items() if found.candidates[style] == candidate]
    framing = found.framing
    return finite(
        {
            "style_diff": _points(own[0].value) if own else None,
            "style_sprd": _points(found.spread),
            "framing_pp": _points(framing.value) if framing else None,
            "frame_low": _points(framing.low) if framing else None,
            "frame_high": _points(framing.high) if framing else None,
        }
    )


def wording_metrics(found: WordingSpread, candidate: str) -> dict[str, float]:
    """How far the compensations of all wordings lie apart, and this wording's own difference to the first, in points."""
    own = [estimate for contract, estimate in found.differences.items() if found.candidates[contract] == candidate]
    return finite({"wording_pp": _points(found.spread), "word_diff": _points(own[0].value) if own else None})


def path_metrics(found: PathCost) -> dict[str, float]:
    """Its place among the paths that carried the same replies, and its difference to the first with its interval."""
    difference = found.to_best
    return finite(
        {
            "rank_path": found.rank,
            "best_pp": _points(difference.value) if difference else None,
            "best_lo_pp": _points(difference.low) if difference else None,
            "best_hi_pp": _points(difference.high) if difference else None,
        }
    )


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


def estimate_text(estimate: Estimate, unit: str = "%") -> str:
    """``64 % [51, 77] (t on family means, n = 24)``; says so where nothing could be estimated."""
    if estimate.value is None:
        return f"unknown ({estimate.method}, n = {estimate.n})"
    sign = "+" if unit == "pp" else ""
    interval = ""
    if estimate.low is not None and estimate.high is not None:
        interval = f" [{100 * estimate.low:{sign}.1f}, {100 * estimate.high:{sign}.1f}]"
    return f"{100 * estimate.value:{sign}.1f} {unit}{interval} ({estimate.method}, n = {estimate.n})"


def lock_candidate(lock: Lock, name: str) -> Candidate | None:
    """The candidate of that name."""
    return next((one for one in lock.candidates if one.name == name), None)


def _points(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _version(texts: tuple[Text, ...], name: str) -> str | None:
    return next((text.version or None for text in texts if text.name == name), None)


def _texts(values: Mapping[str, object]) -> dict[str, str]:
    return {name: value_text(value) for name, value in flatten(values)}
