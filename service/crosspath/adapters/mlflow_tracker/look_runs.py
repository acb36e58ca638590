"""A look at a deployment as a run of its own, and the run of its whole series, as plain data."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import TypeGuard

from crosspath.adapters.mlflow_tracker.addresses import evaluation_url
from crosspath.adapters.mlflow_tracker.gate_runs import KIND_TAG
from crosspath.adapters.mlflow_tracker.metrics import EFFECT_VALUES, points
from crosspath.adapters.mlflow_tracker.names import MAX_PARAM, NOTE_TAG, finite, fit_name, fit_note, shown
from crosspath.adapters.mlflow_tracker.runs import EXPERIMENT_TAGS
from crosspath.adapters.mlflow_tracker.series_entries import DEPLOYMENT_TAG
from crosspath.analysis.drift_signals import RECENT_DAYS
from crosspath.dates import day_of
from crosspath.escaping import markdown
from crosspath.types.drift import Drift, PartStatus, SeriesPoint

LOOK, SERIES = "drift", "drift-series"
"""Values of ``crosspath.kind``."""
DRIFT_TAG, DAY_TAG, STATUS_TAG = "crosspath.drift", "crosspath.day", "crosspath.status"
FIRST_DAY_TAG = "crosspath.first_day"
"""The day of step 0 in the series run's charts. It stays what it was when that run was made."""
NEWEST_TAG = "crosspath.newest_look"
"""Run that the series run's description is of."""
NUMBERS_TAG = "crosspath.numbers"
"""A look's numbers as JSON, from which the series run's charts are made. As metrics they would be columns: MLflow's table has
those of the newest runs first, and the evaluations' own would be pushed out of sight."""
REPORT = "drift.md"
MOST_IN_BANNER = 4_500
"""Characters; MLflow keeps 5,000 of an experiment's description."""


@dataclass(frozen=True)
class LookRun:
    """Everything that is written to a run, but for its artifacts."""

    name: str
    tags: dict[str, str]
    params: dict[str, str]
    metrics: dict[str, float]
    """Of the series run, on this day."""


def step_of(day: str, first_day: str) -> int:
    """Days between two UTC dates."""
    return (date.fromisoformat(day) - date.fromisoformat(first_day)).days


def state_words(drift: Drift) -> str:
    """``no drift``, ``DRIFT: configuration, provider``, ``could not measure: toolchain``, ``not enough: provider``."""
    parts: dict[str, PartStatus] = {
        "configuration": drift.configuration.status,
        "toolchain": drift.toolchain.status,
        "provider": drift.provider.status,
    }
    status = drift.status
    if status == "no drift":
        return status
    which = ", ".join(part for part, found in parts.items() if found == status)
    return f"{'DRIFT' if status == 'drift' else status}: {which}"


def look_run(drift: Drift, experiment_id: str) -> LookRun:
    """The run of a look."""
    day = day_of(drift.created_at)
    metrics = look_metrics(drift)
    tags = {
        KIND_TAG: LOOK,
        DEPLOYMENT_TAG: shown(drift.deployment),
        DRIFT_TAG: drift.id,
        DAY_TAG: day,
        STATUS_TAG: drift.status,
        **_source(drift),
        NUMBERS_TAG: json.dumps(metrics),
        NOTE_TAG: fit_note(look_note(drift, experiment_id), REPORT),
    }
    return LookRun(fit_name(f"{day} · {state_words(drift)}"), tags, _params(drift), metrics)


def series_tags(drift: Drift) -> dict[str, str]:
    """What a series run is made with."""
    first = min((point.created_at for point in drift.points), default=drift.created_at)
    return {
        KIND_TAG: SERIES,
        DEPLOYMENT_TAG: shown(drift.deployment),
        FIRST_DAY_TAG: day_of(min(first, drift.created_at)),
        **_source(drift),
    }


def series_name(deployment: str, state: str = "") -> str:
    """``drift NAME · STATE``, of the newest look."""
    return fit_name(" · ".join(part for part in (f"drift {deployment}", state) if part))


def series_note(look: str, link: str, first_day: str) -> str:
    """The description of the series run: that of its newest look, and how to read the charts."""
    where = (
        f"Newest look: [open it]({link}). *Model metrics* has a chart of each number: step 0 is {first_day}, one step a day."
        f" `pass_rate` is that day's, of all its tasks; `change_pp` is the last {RECENT_DAYS} days less the reference,"
        " without tasks that are set apart.\n"
    )
    return fit_note(f"{where}\n{look}", f"{REPORT} of the newest look")


def _source(drift: Drift) -> dict[str, str]:
    # MLflow shows it as the run's source: a command that gives all of it anew.
    return {"mlflow.source.name": f"crosspath drift {shown(drift.deployment)}", "mlflow.source.type": "LOCAL"}


def _params(drift: Drift) -> dict[str, str]:
    params = {
        "status": drift.status,
        "configuration": drift.configuration.status,
        "toolchain": drift.toolchain.status,
        "provider": drift.provider.status,
        "candidate": drift.candidate,
    }
    return {key: shown(value)[:MAX_PARAM] or "(empty)" for key, value in params.items()}


def look_metrics(drift: Drift) -> dict[str, float]:
    """What the charts have a line of; what was not measured on that day is left out."""
    newest, reference, provider = _of_today(drift), drift.reference_point, drift.provider
    today = next((day for day in provider.days if day.day == day_of(drift.created_at)), None)
    known = not provider.unmeasured_today and (today is None or today.used)
    # What is deployed with another configuration has a pass rate, which is compared with nothing.
    measured = newest if _is_measured(newest) and (known or provider.why == "configuration") else None
    change = provider.change if today and known else None
    numbers: dict[str, float | int | None] = {
        "pass_rate": measured.rate.value if measured else None,
        "reference_rate": reference.rate.value if _is_measured(reference) else None,
        "change_pp": points(change.value) if change else None,
        "change_lo": points(change.low) if change else None,
        "change_hi": points(change.high) if change else None,
        "alarms": sum(alarm.level == "alarm" for alarm in drift.alarms),
        "flips": len(drift.toolchain.flips) if drift.toolchain.status in ("drift", "no drift") else None,
        "fields_changed": len(drift.configuration.since_reference),
        "missing": newest.missing if newest else None,
        "requests": newest.requests if newest else None,
        "cost_usd": newest.cost_usd if newest else None,
    }
    effects = {one.effect: one.estimate.value for one in measured.effects} if measured else {}
    return finite(numbers | {name: points(effects[effect]) for effect, name in EFFECT_VALUES.items() if effect in effects})


def _is_measured(point: SeriesPoint | None) -> TypeGuard[SeriesPoint]:
    """Whether an evaluation is a measurement by itself: a rate of what little was scored would be a point like any other."""
    return point is not None and not point.why_not


def _of_today(drift: Drift) -> SeriesPoint | None:
    """The newest evaluation, if it was made on the UTC date of the look: every number is of that date, or is left out."""
    newest = max(drift.points, key=lambda point: point.created_at, default=None)
    return newest if newest and day_of(newest.created_at) == day_of(drift.created_at) else None


def look_note(drift: Drift, experiment_id: str) -> str:
    """What a look found, as Markdown: the alarms first, then a line for each part, then where it comes from."""
    alarms = [
        f"- **{alarm.cause}**: {markdown(alarm.sentence.removeprefix(f'{alarm.cause}: '))} {_next_step(alarm.next_step)}".rstrip()
        for alarm in drift.alarms
    ]
    parts = (("configuration", drift.configuration), ("toolchain", drift.toolchain), ("provider", drift.provider))
    lines = [f"- {name}, {part.status}: {markdown(part.sentence.removeprefix(f'{part.status}: '))}" for name, part in parts]
    blocks = [
        f"# {markdown(state_words(drift))}",
        "\n".join(alarms),
        "\n".join(lines),
        "\n".join(_links(drift, experiment_id)),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _next_step(text: str) -> str:
    return f"*Next: {markdown(text)}*" if text else ""


def _links(drift: Drift, experiment_id: str) -> Iterator[str]:
    newest = max(drift.points, key=lambda point: point.created_at, default=None)
    for word, point in (("newest evaluation", newest), ("reference", drift.reference_point)):
        if point and point.run:
            yield f"- {word}: [{markdown(point.evaluation)}]({_within(evaluation_url('', experiment_id, point.run))})"
    yield f"- everything: `{REPORT}` and `drift.json` under *Artifacts*"


def run_link(experiment_id: str, run_id: str) -> str:
    """The page of a run from any other page of the same MLflow, wherever that is served."""
    return f"#/experiments/{experiment_id}/runs/{run_id}"


def _within(url: str) -> str:
    return url[url.index("#") :]


def banner(text: str, deployment: str, state: str, day: str, link: str) -> str | None:
    """The experiment's description, which MLflow shows above its runs, with a line for this deployment.

    None: it is somebody else's text, or there is no room left.
    """
    start = f"Drift of **{markdown(deployment)}**: "
    line = f"{start}{markdown(state)} on {day}, [charts and looks]({link}).  "
    lines = text.split("\n")
    place = next((number for number, one in enumerate(lines) if one.startswith(start)), None)
    if place is not None:
        lines[place] = line
    elif not text or EXPERIMENT_TAGS[NOTE_TAG] in text:
        last = max((number + 1 for number, one in enumerate(lines) if one.startswith("Drift of **")), default=0)
        lines[last:last] = [line] if last else [line, ""]
    else:
        return None
    found = "\n".join(lines)
    return found if len(found) <= MOST_IN_BANNER else None
