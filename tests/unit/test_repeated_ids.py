"""Evaluations of one id: each fresh runner begins the day's ids anew, so a day and a new reference can have the same one."""

from typing import Any

import series
from crosspath.adapters.mlflow_tracker.look_runs import look_metrics, look_note
from crosspath.pipeline.drift import Material, judge_drift
from crosspath.reports.drift_words import about
from crosspath.reports.figures_drift_time import unused_points
from crosspath.types.drift import Drift, SeriesEntry, SeriesHistory

ID = "watch-20261012-1"
RUN = "f" * 32


def look(*entries: SeriesEntry) -> Drift:
    """A look an hour after the last of these evaluations."""
    history = SeriesHistory(deployment="bot", experiment="watch", entries=entries)
    return judge_drift(Material(history, series.executed(), entries[-1].created_at + 3600), "drift-1")


def hours(day: int, later: float) -> dict[str, Any]:
    return {"evaluation": ID, "created_at": series.NOON + day * series.DAY_S + 3600 * later}


def accepted(**changes: Any) -> tuple[SeriesEntry, ...]:
    """A day on which everything fails, then a new reference of the same day and id, and three quiet days."""
    first = series.reference(trials=20), *(series.entry(day) for day in range(1, 10))
    new = series.reference(0.6, trials=20, run=RUN, **hours(10, 2))
    days = (series.entry(day, 0.6, **changes) for day in range(11, 14))
    return *first, series.entry(10, 0.0, evaluation=ID), new, *days


def test_the_reference_is_the_one_of_its_time() -> None:
    """In words, in the charts and in links it is the reference, not the day's run of its id."""
    found = look(*accepted())
    assert found.reference_point
    assert (found.reference_point.role, found.reference_point.run) == ("reference", RUN)
    assert f"reference {ID} of 2026-10-12 (60.0 %, 20 trials a task), in place of watch-000" in about(found)
    assert look_metrics(found)["reference_rate"] == 0.6
    assert f"reference: [{ID}](#/experiments/7/evaluation-runs?selectedRunUuid={RUN})" in look_note(found, "7")


def test_a_look_from_before_times_were_kept() -> None:
    """Of several with its id the reference is what was measured as one."""
    found = look(*accepted())
    earlier = found.model_copy(update={"provider": found.provider.model_copy(update={"reference_at": None})})
    assert earlier.reference_point == found.reference_point
    assert look(*accepted()[:10]).reference_point == found.points[0]


def test_a_command_names_the_run() -> None:
    """Where the id is that of two evaluations, the next step of an alarm names the reference's run; else its id."""
    edited = series.configured(contract__digest="edited")
    assert look(*accepted(configuration=edited)).alarms[0].next_step.count(f"--baseline {RUN}") == 1
    assert look(*accepted()[:10], series.entry(11, configuration=edited)).alarms[0].next_step.count("--baseline watch-000") == 1


def test_an_unusable_run_of_a_used_day() -> None:
    """Of two runs of a day and id the one that failed is no measurement, also in the figure."""
    failed = series.unmeasured(series.entry(3, **hours(3, 1)))
    found = look(series.reference(trials=20), series.entry(1), series.entry(3, evaluation=ID), failed)
    assert found.provider.days[-1].used
    assert [point.key for point in unused_points(found)] == [failed.key]


def test_before_the_reference_of_its_day() -> None:
    """Runs of the reference's day that were made before it are of the watch before; the watch's own run of that day counts."""
    new = series.reference(trials=20, **hours(5, 1))
    later = series.entry(5, **hours(5, 2)).model_copy(update={"evaluation": "later"})
    found = look(series.reference(trials=20), *(series.entry(day) for day in range(1, 6)), new, later)
    assert [day.evaluations for day in found.provider.days] == [("later",)]
    assert unused_points(found) == []
