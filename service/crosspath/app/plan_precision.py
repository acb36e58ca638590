"""What a plan can show about families like its own: smallest effect that it detects, width of the interval, what narrows both."""

from collections.abc import Iterator, Mapping
from typing import Any

from crosspath.analysis import effect_label
from crosspath.analysis.precision import (
    POWER,
    STATED,
    Design,
    Spread,
    design_of,
    detectable,
    interval_width,
    narrowed,
    narrowing,
    spread_of,
)
from crosspath.analysis.wording import points
from crosspath.app.evaluation import Evaluation
from crosspath.errors import ConfigError
from crosspath.pipeline.plan import Plan
from crosspath.types import Decomposition, Effect, Task

_MULTIPLES = ("families", "tasks", "trials")


def precision_document(plan: Plan, like: Evaluation | None = None) -> dict[str, Any]:
    """What may be expected of an effect over the task population. Standard errors, effects and widths are differences of shares.

    ``like``: an earlier evaluation whose variance is expected again, instead of the stated spreads.

    Raises:
        ConfigError: ``like`` has no effect whose variance is known.
    """
    design = _design(plan.tasks.values(), plan.trials)
    found: dict[str, Any] = {"families": design.families, "tasks": sum(design.sizes), "trials": design.trials, "power": POWER}
    if design.families < 2:
        return found | {"like": None, "expected": [], "narrowed_by_twice": {}}
    expected = list(_as_in(like, design) if like else _as_stated(design))
    widest = max(expected, key=lambda one: one["standard_error"]) if like else expected[len(expected) // 2]
    return found | {
        "like": like.id if like else None,
        "expected": [_rounded({key: value for key, value in one.items() if key != "twice"}) for one in expected],
        "narrowed_by_twice": _rounded(widest["twice"]),
    }


def _rounded(numbers: Mapping[str, Any]) -> dict[str, Any]:
    return {key: round(value, 6) if isinstance(value, float) else value for key, value in numbers.items()}


def _design(tasks: Any, trials: int) -> Design:
    feasible: list[Task] = [task for task in tasks if task.infeasible is None]
    return design_of((task.family for task in feasible), trials)


def _as_stated(design: Design) -> Iterator[dict[str, Any]]:
    for name, spread in STATED.items():
        twice = {one: narrowed(spread, design, **{one: 2}) for one in _MULTIPLES}
        yield {"case": f"if {name}", "families_sd": spread.families**0.5, **_expected(spread, design), "twice": twice}


def _as_in(like: Evaluation, design: Design) -> Iterator[dict[str, Any]]:
    """Damage, compensation and matched gap, each as in the candidate in which it varied most."""
    before = _design(like.facts.tasks, like.facts.lock.trials)
    found = False
    for name in ("damage", "compensation", "matched_gap"):
        varied = [(one, effect) for one in like.judgement.decompositions if (effect := one.effect(name)) and _varies(effect)]
        if varied:
            found = True
            decomposition, effect = max(varied, key=lambda pair: _variance(pair[1]))
            yield _as_effect(decomposition, effect, before, design)
    if not found:
        raise ConfigError(
            f"--like {like.id}: no effect there has a known variance (that takes families that differ, and a control that holds);"
            " leave --like out for stated spreads"
        )


def _varies(effect: Effect) -> bool:
    return effect.together is not None and _variance(effect) > 0


def _variance(effect: Effect) -> float:
    return sum(source.standard_error**2 for source in effect.sources)


def _as_effect(decomposition: Decomposition, effect: Effect, before: Design, design: Design) -> dict[str, Any]:
    spread = spread_of(effect.sources, before)
    assert spread is not None
    told_apart = narrowing(effect.sources)
    twice = {one: narrowed(spread, design, **{one: 2}) if told_apart[one] is not None else None for one in _MULTIPLES}
    words = f"{effect_label(decomposition, effect.name)} as of {decomposition.candidate}"
    return {"case": words, "families_sd": spread.families**0.5, **_expected(spread, design), "twice": twice}


def _expected(spread: Spread, design: Design) -> dict[str, float | None]:
    return {
        "standard_error": spread.standard_error(design),
        "detectable": detectable(spread, design),
        "interval_width": interval_width(spread, design),
    }


def precision_lines(document: Mapping[str, Any]) -> list[str]:
    """The document in plain words, for a terminal."""
    if document["families"] < 2:
        return ["precision               one family says nothing about others: effects are exact for these tasks only"]
    given = f", as in {document['like']}" if document["like"] else ""
    head = f"precision               over families like these {document['families']} ({document['tasks']} tasks){given}:"
    return [head, *map(_expected_line, document["expected"]), _twice_line(document["narrowed_by_twice"])]


def _expected_line(one: Mapping[str, Any]) -> str:
    found = one["detectable"]
    power = f"with {100 * POWER:.0f} % power"
    detects = f"not even 100 points are detected {power}" if found is None else f"{_points(found)} points are detected {power}"
    return f"  {one['case']}: {detects}; 95 % interval about {_points(one['interval_width'])} points wide"


def _points(value: float) -> str:
    return points(value).lstrip("+")


def _twice_line(twice: Mapping[str, float | None]) -> str:
    words = {"families": "twice the families", "tasks": "twice the tasks in each", "trials": "twice the trials of each"}
    known = [f"{100 * share:.0f} % with {words[name]}" for name, share in twice.items() if share is not None]
    return f"  narrower by {', '.join(known)}"
