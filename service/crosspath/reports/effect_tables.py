"""The effects of one candidate as a table."""

from crosspath.analysis.wording import (
    NONE,
    effect_label,
    p_text,
    points,
    span,
    table,
)
from crosspath.escaping import markdown
from crosspath.types import Decomposition, Estimate


def effects_table(decomposition: Decomposition, wordings: str) -> str:
    """The effects of one candidate with their intervals; empty without any."""
    if not decomposition.effects:
        return ""
    heading = _effects_heading(decomposition)
    head = ["effect", "estimand", "value", "95 % interval", "n", "missing", "unstable", "worst to best", "p", "method"]
    rows = [
        [f"{effect_label(decomposition, effect.name)} ({effect.minuend} - {effect.subtrahend})", *_effect_row(estimate, seen)]
        for effect in decomposition.effects
        for seen in (effect.name != "damage" or not decomposition.blind,)
        for estimate in (effect.population, effect.these)
    ]
    beside = f"\nCompensation in {markdown(wordings)}.\n" if wordings else ""
    return f"{heading}\n\n" + table(head, rows) + beside


def _effects_heading(decomposition: Decomposition) -> str:
    if decomposition.control.status == "broken":
        return "Effects: NOT TO BE USED, the control is broken"
    if decomposition.blind:
        return "Effects, in percentage points: DAMAGE CAN'T BE SEEN, no reply passes on the reference"
    return "Effects, in percentage points"


def _effect_row(estimate: Estimate, seen: bool) -> list[object]:
    """``seen`` False: the number is no finding, and is not shown as one."""
    if not seen:
        return [estimate.estimand, "can't be seen", NONE, estimate.n, estimate.missing, estimate.unstable, NONE, NONE, NONE]
    return [
        estimate.estimand, points(estimate.value),
        span(estimate.low, estimate.high, signed=True), estimate.n, estimate.missing, estimate.unstable,
        span(estimate.worst, estimate.best, signed=True), p_text(estimate), estimate.method,
    ]  # fmt: skip
