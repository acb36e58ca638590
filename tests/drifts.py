"""Drifts for tests of what is made of them, without a look at a deployment."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from crosspath.types import Estimate
from crosspath.types.drift import (
    ConfigurationChange,
    ConfigurationDrift,
    Drift,
    EntryEffect,
    Flip,
    ProviderDrift,
    SeriesPoint,
    Signal,
    TaskChange,
    ToolchainDrift,
    WatchDay,
)
from crosspath.types.explaining import FieldDifference

FIRST = date(2026, 10, 2)
"""The day of the reference."""
REFERENCE = "bot-watch-20261002-1"


def day(number: int) -> str:
    """The n-th day after the reference."""
    return (FIRST + timedelta(days=number)).isoformat()


def at(number: int) -> float:
    """Noon of that day."""
    there = FIRST + timedelta(days=number)
    return datetime(there.year, there.month, there.day, 12, tzinfo=UTC).timestamp()


def evaluation(number: int) -> str:
    return f"bot-watch-{day(number).replace('-', '')}-1"


def share(value: float | None, half: float = 0.06, n: int = 24) -> Estimate:
    """A rate or a change with a symmetric interval."""
    low, high = (None, None) if value is None else (round(value - half, 4), round(value + half, 4))
    return Estimate(value=value, low=low, high=high, n=n, estimand="these_tasks", method="test")


def difference(field: str = "op.temperature", a: str = "0.0", b: str = "0.7", axis: str = "operating point") -> FieldDifference:
    return FieldDifference.model_validate({"axis": axis, "field": field, "a": a, "b": b})


def change(number: int, one: FieldDifference, bearing: str) -> ConfigurationChange:
    values = {"at": at(number), "evaluation": evaluation(number), "before_evaluation": evaluation(number - 1)}
    return ConfigurationChange.model_validate({**values, "difference": one, "bearing": bearing})


SERVED = difference("model.served", "x-0501", "x-1101", "served model")
AWK = difference("toolchain.programs.awk", "mawk 1.3.4", "gawk 5.2.1", "toolchain")


def configuration(*breaking: FieldDifference, on: int = 20, **fields: Any) -> ConfigurationDrift:
    values: dict[str, Any] = {
        "status": "drift" if breaking else "no drift",
        "sentence": f"{len(breaking)} fields changed." if breaking else "nothing that matters changed.",
        "timeline": tuple(change(on, one, "breaking") for one in breaking),
        "since_reference": breaking,
        "breaking": breaking,
    }
    return ConfigurationDrift(**values | fields)


def served_changed(on: int = 48) -> ConfigurationDrift:
    """The endpoint calls its model otherwise since that day."""
    return configuration(timeline=(change(on, SERVED, "provider"),), since_reference=(SERVED,))


def flips(task: str, times: int, passed_now: bool = False) -> tuple[Flip, ...]:
    return tuple(
        Flip(
            task=task, index=index, passed_before=not passed_now, passed_now=passed_now, times=6,
            cause_now=None if passed_now else "wrong_state", reason="prices.txt has other bytes",
        )
        for index in range(times)
    )  # fmt: skip


def toolchain(*flipped: Flip, **fields: Any) -> ToolchainDrift:
    values: dict[str, Any] = {
        "status": "drift" if flipped else "no drift",
        "sentence": f"{'4 of 240 come out otherwise' if flipped else 'all 240 come out as before'}; no request was sent.",
        "frozen": REFERENCE,
        "replayed_as": "bot-watch-frozen-1",
        "replies": 240,
        "compared": 240,
        "flips": flipped,
        "changed": (AWK,) if flipped else (),
    }
    return ToolchainDrift(**values | fields)


def provider(
    value: float | None = 0.0,
    found: int | None = None,
    length: int = 60,
    tasks: Sequence[str] = ("quoting/a", "heredoc/b"),
    **fields: Any,
) -> ProviderDrift:
    moved = 0.9 + 3 * (value or 0)
    changed = [TaskChange(task=task, reference=0.9, recent=moved, reference_trials=10, recent_trials=7) for task in tasks]
    values: dict[str, Any] = {
        "status": "no drift" if found is None else "drift",
        "sentence": "no change was found." if found is None else "a change was found.",
        "reference": REFERENCE,
        "reference_trials": 10,
        "tasks": 24,
        "window_days": 7,
        "change": share(value, 0.07),
        "found_on": None if found is None else day(found),
        "direction": None if found is None else ("worse" if (value or 0) < 0 else "better"),
        "days": tuple(watch_day(number, value) for number in range(1, length + 1)),
        "task_changes": () if found is None else tuple(changed),
    }
    return ProviderDrift(**values | fields)


def watch_day(number: int, value: float | None = 0.0, **fields: Any) -> WatchDay:
    rates = {"rate": share(0.8), "change": share(value, 0.07), "p_drop": 0.3, "p_rise": 0.7}
    values: dict[str, Any] = {"day": day(number), "evaluations": (evaluation(number),), "planned": 24, "scored": 24, **rates}
    return WatchDay(**values | fields)


def signal(name: str = "reply length", changed: bool = True) -> Signal:
    values = {"unit": "characters", "reference": 61.0, "recent": 104.0, "p_value": 0.001, "sentence": "Replies are longer."}
    return Signal.model_validate({"name": name, "changed": changed, **values})


def point(number: int, rate: float | None = 0.8, effects: Sequence[tuple[str, float]] = (), role: str = "day") -> SeriesPoint:
    entry_effects = tuple(EntryEffect(effect=name, estimate=share(value)) for name, value in effects)
    values = {"evaluation": evaluation(number), "run": "a" * 32, "created_at": at(number), "role": role}
    money = {"requests": 24, "cost_usd": 0.0031}
    return SeriesPoint.model_validate({**values, **money, "rate": share(rate), "effects": entry_effects})


def drift(**fields: Any) -> Drift:
    """A whole look, 60 days after the reference; nothing changed unless ``fields`` say otherwise."""
    from crosspath.analysis.drift_alarms import alarms

    parts = {"configuration": configuration(), "toolchain": toolchain(), "provider": provider()} | fields
    values: dict[str, Any] = {
        "id": "drift-20261201-060000-abcdef",
        "deployment": "support-bot",
        "candidate": "bot",
        "experiment": "support-bot watch",
        "created_at": at(60) + 3600,
        "points": (point(0, 0.85, role="reference"), *(point(number) for number in range(1, 61))),
        "crosspath": "0.1.0",
        "alarms": alarms(parts["configuration"], parts["toolchain"], parts["provider"], "support-bot"),
    }
    return Drift(**values | parts)
