"""Rates, effects and causes of one cell as MLflow metrics; what stands beside them is in ``beside_metrics`` and
``evidence_metrics``.

A column's header is cut after about ten letters, so names differ within those. MLflow shows columns in the order in which they
are given here: the answer first, then the evidence.
"""

from collections.abc import Callable, Mapping

from crosspath.adapters.mlflow_tracker.names import finite
from crosspath.types import Cell, Decomposition, Effect, Estimate, Loss

EFFECT_METRICS = {"damage": "dmg", "compensation": "comp", "matched_gap": "gap", "contract_effect": "told"}
"""Effect -> stem of the metrics of its intervals."""
EFFECT_VALUES = {"damage": "damage_pp", "compensation": "compens_pp", "matched_gap": "gap_pp", "contract_effect": "told_pp"}

LOSS_METRICS: Mapping[Loss, str] = {
    "path": "lost_path",
    "model": "lost_model",
    "format": "lost_form",
    "infrastructure": "lost_infra",
}
"""Place -> its count of trials. What was kept is ``n_passed``."""


def cell_metrics(cell: Cell, decomposition: Decomposition | None = None) -> dict[str, float]:
    """Rates (0 to 1) and counts of one cell, and the effects of its decomposition; what is unknown is left out."""
    values = _effects(decomposition, EFFECT_VALUES, lambda effect: effect.these.value) if decomposition else {}
    bounds = _bounds(decomposition) if decomposition else {}
    causes = {f"cause.{cause}": count for cause, count in cell.causes.items() if not cause.startswith("fault:")}
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
            **dict(sorted(tiers.items())),
            "low_rate": cell.rate.low,
            "high_rate": cell.rate.high,
            "worst_rate": cell.rate.worst,
            "best_rate": cell.rate.best,
            "silent_lo": cell.silent_wrong.low,
            "silent_hi": cell.silent_wrong.high,
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
        names[effect.name]: points(value(effect))
        for effect in decomposition.effects
        if effect.name in names and not (effect.name == "compensation" and decomposition.undisclosed)
    }


def _bounds(decomposition: Decomposition) -> dict[str, float | int | None]:
    """The effects for the population of task families with both their intervals, and the control.

    The contract effect has none: it is no part of the identity, and its interval is in the report.
    """
    stems = {name: stem for name, stem in EFFECT_METRICS.items() if name != "contract_effect"}
    parts: tuple[tuple[str, Callable[[Effect], float | None]], ...] = (
        ("pop_pp", lambda one: one.population.value),
        ("low_pp", lambda one: one.population.low),
        ("high_pp", lambda one: one.population.high),
        ("all_lo", lambda one: one.together.low if one.together else None),
        ("all_hi", lambda one: one.together.high if one.together else None),
    )
    found: dict[str, float | int | None] = {}
    for ending, value in parts:
        found |= _effects(decomposition, {name: f"{stem}_{ending}" for name, stem in stems.items()}, value)
    control = decomposition.control
    if control.kind == "none":  # nothing was needed that could hold
        return found
    return found | {
        "ctrl_holds": None if control.status == "missing" else int(control.status == "holds"),
        "ctrl_diff": len(control.differing),
    }


def in_reading_order(metrics: Mapping[str, float]) -> dict[str, float]:
    """The answer first: the pass rate, the effects, where trials were lost; then everything else as it was given."""
    first = [name for name in ("pass_rate", *EFFECT_VALUES.values(), *LOSS_METRICS.values()) if name in metrics]
    return {name: metrics[name] for name in (*first, *(name for name in metrics if name not in first))}


def interval_metrics(estimate: Estimate | None, value: str, low: str, high: str) -> dict[str, float | None]:
    """A difference of shares with its interval, in points, by the given names."""
    if estimate is None:
        return {}
    return {value: points(estimate.value), low: points(estimate.low), high: points(estimate.high)}


def points(share: float | None) -> float | None:
    """Percentage points."""
    return None if share is None else 100 * share
