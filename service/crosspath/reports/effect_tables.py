"""The effects of one candidate as a table, and what their uncertainty comes from in words."""

from collections.abc import Sequence

from crosspath.analysis.precision import narrowing
from crosspath.analysis.wording import (
    NONE,
    effect_label,
    p_text,
    points,
    span,
    table,
)
from crosspath.escaping import markdown
from crosspath.types import Decomposition, Effect, Estimate

_HEAD = (
    "effect", "estimand", "value", "95 % interval", "95 % together", "attempted", "observed", "missing", "unstable",
    "worst to best", "p", "p together", "method",
)  # fmt: skip
_NOTE = """\
*Attempted*: pairs of trials that were planned; *observed*: those that are in the value, because both sides were observed and are
stable. *Worst to best*: the value if all others had turned out so. *Together*: with 95 % confidence all intervals of that column
hold at once, over all candidates of this report; p adjusted by Holm.
"""
_SOURCES = {
    "families": "how families differ",
    "tasks": "tasks within a family",
    "replies": "reply draws",
    "other_replies": "reply draws of the other side",
}


def effects_table(decomposition: Decomposition, wordings: str) -> str:
    """The effects of one candidate with their intervals; empty without any."""
    if not decomposition.effects:
        return ""
    heading = _effects_heading(decomposition)
    rows = [
        [
            f"{effect_label(decomposition, effect.name)} ({effect.minuend} - {effect.subtrahend})",
            *_effect_row(estimate, joint, seen),
        ]
        for effect in decomposition.effects
        for seen in (effect.name != "damage" or not decomposition.blind,)
        for estimate, joint in ((effect.population, effect.together), (effect.these, None))
    ]
    beside = f"\nCompensation in {markdown(wordings)}.\n" if wordings else ""
    sources = "".join(f"\n{markdown(line)}\n" for line in source_lines(decomposition))
    return f"{heading}\n\n{table(_HEAD, rows)}\n{_NOTE}{beside}{sources}"


def _effects_heading(decomposition: Decomposition) -> str:
    if decomposition.control.status == "broken":
        return "Effects: NOT TO BE USED, the control is broken"
    if decomposition.blind:
        return "Effects, in percentage points: DAMAGE CAN'T BE SEEN, no reply passes on the reference"
    return "Effects, in percentage points"


def _effect_row(estimate: Estimate, joint: Estimate | None, seen: bool) -> list[object]:
    """``seen`` False: the number is no finding, and is not shown as one."""
    counts = [estimate.attempted, estimate.n, estimate.missing, estimate.unstable]
    if not seen:
        return [estimate.estimand, "can't be seen", NONE, NONE, *counts, NONE, NONE, NONE, NONE]
    together = (NONE, NONE) if joint is None else (span(joint.low, joint.high, signed=True), p_text(joint))
    return [
        estimate.estimand, points(estimate.value),
        span(estimate.low, estimate.high, signed=True), together[0], *counts,
        span(estimate.worst, estimate.best, signed=True), p_text(estimate), together[1], estimate.method,
    ]  # fmt: skip


# -- where the uncertainty comes from ------------------------------------------------------------------------------------


def source_lines(decomposition: Decomposition) -> list[str]:
    """One sentence each for damage and compensation: what makes them uncertain as effects on families like these, and what
    would narrow them; nothing where they may not be used or do not vary."""
    usable = [effect for name in ("damage", "compensation") if (effect := decomposition.effect(name)) and effect.together]
    return [line for effect in usable if (line := _source_line(effect_label(decomposition, effect.name), effect))]


def _source_line(label: str, effect: Effect) -> str:
    less = narrowing(effect.sources)
    if not less:
        return ""
    shares = [f"{100 * (source.share or 0.0):.0f} % from {_SOURCES[source.name]}" for source in effect.sources]
    twice = [f"{100 * share:.0f} % with twice the {_twice(name)}" for name, share in less.items() if share is not None]
    return (
        f"Uncertainty of {label} for families like these: {_listed(shares)}{_mixed(effect)}. More families narrow it most: its"
        f" standard error falls by {_listed(twice)}."
    )


def _twice(name: str) -> str:
    return {"families": "families", "tasks": "tasks in each family", "trials": "trials of each task"}[name]


def _mixed(effect: Effect) -> str:
    """What could not be told apart."""
    names = [source.name for source in effect.sources]
    if names == ["families"]:
        return " (one task a family and one trial a task: tasks and reply draws are in it)"
    if "replies" not in names:
        return " (one trial a task: reply draws are in it)"
    return " (one task a family: tasks are in how families differ)" if "tasks" not in names else ""


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
