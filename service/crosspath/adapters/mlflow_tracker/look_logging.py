"""Looks on their way to MLflow: one run a UTC day, nested below one run of their series.

A look is written whole first; then the series run gets its numbers, then an older look of that day is deleted. Each step can be
made again, and whoever looks next makes those that a killed program or another one at the same time left undone.
"""

import json
import time
from collections import Counter
from contextlib import suppress
from datetime import date
from pathlib import Path

from tenacity import retry, retry_if_exception, stop_after_attempt

from crosspath.adapters.mlflow_tracker.gate_runs import KIND_TAG
from crosspath.adapters.mlflow_tracker.layout import LOGGED_TAG
from crosspath.adapters.mlflow_tracker.look_runs import (
    DAY_TAG,
    DRIFT_TAG,
    FIRST_DAY_TAG,
    LOOK,
    NEWEST_TAG,
    NUMBERS_TAG,
    SERIES,
    STATUS_TAG,
    LookRun,
    banner,
    look_run,
    run_link,
    series_name,
    series_note,
    series_tags,
    step_of,
)
from crosspath.adapters.mlflow_tracker.names import NOTE_TAG, check_run, chunks
from crosspath.adapters.mlflow_tracker.runs import PARENT_TAG, Store
from crosspath.adapters.mlflow_tracker.series_entries import DEPLOYMENT_TAG, entry_digest
from crosspath.adapters.mlflow_tracker.series_reading import all_runs
from crosspath.adapters.mlflow_tracker.vendor import Metric, MlflowException, Param, Run, RunTag, ViewType
from crosspath.dates import day_of
from crosspath.errors import TrackerError
from crosspath.types.drift import Drift

RECORD = "drift.json"
BEGAN_TAG = "crosspath.began"
"""When a look was begun to be logged, in seconds since 1970."""
DEAD_AFTER_S = 600
"""A look that was begun so long ago and is not complete is nobody's any more."""
NEWEST = 50
"""So many of the newest looks are looked through for what was left undone."""
ATTEMPTS = 5
"""Another program may delete or move what is just being written to."""
METRICS_IN_A_CALL = 1000
_RACED = ("INVALID_PARAMETER_VALUE", "RESOURCE_DOES_NOT_EXIST")
"""What MLflow calls a run that was deleted a moment ago, and one that is gone. It waits for a locked database itself."""


def _is_somebody_elses_doing(error: BaseException) -> bool:
    return isinstance(error, MlflowException) and error.error_code in _RACED


class LookLogger:
    """Writes looks at one deployment to one experiment of a store."""

    def __init__(self, store: Store, drift: Drift, directory: Path) -> None:
        self._client = store.client
        self._drift = drift
        self._directory = directory
        self._place = store.experiment(drift.experiment)
        self._digest = _digest(directory)
        self._content = look_run(drift, self._place)

    def log(self) -> tuple[str, str]:
        """Experiment and run of the look, or of the newer one of its day that is there already.

        Raises:
            TrackerError: MLflow did not keep what was logged.
        """
        check_run(self._content.name, self._content.params, self._content.metrics, self._content.tags)
        return self._place, self._attempt()

    @retry(retry=retry_if_exception(_is_somebody_elses_doing), stop=stop_after_attempt(ATTEMPTS), reraise=True)
    def _attempt(self) -> str:
        if not self._is_there():
            self._write(self._series().info.run_id)
        return self._settle()

    def _is_there(self) -> bool:
        """Whether this look, or a newer one of its day, is complete; what an interrupted attempt at it left is deleted."""
        mine = (round(self._drift.created_at * 1000), self._drift.id)
        found = False
        for run in self._looks(f"tags.`{DAY_TAG}` = '{day_of(self._drift.created_at)}'"):
            digest = run.data.tags.get(LOGGED_TAG)
            if digest is None and run.data.tags.get(DRIFT_TAG) == self._drift.id:
                self._client.delete_run(run.info.run_id)
            elif digest is not None:
                found = found or _order(run) > mine or (_order(run) == mine and digest == self._digest)
        return found

    # -- writing one look --------------------------------------------------------------------------------------------------

    def _write(self, series: str) -> None:
        content, at_ms = self._content, round(self._drift.created_at * 1000)
        tags = content.tags | {PARENT_TAG: series, BEGAN_TAG: f"{time.time():.0f}"}
        run_id = self._client.create_run(self._place, at_ms, tags, content.name).info.run_id
        self._client.log_batch(run_id, params=[Param(key, value) for key, value in content.params.items()])
        self._client.log_artifacts(run_id, str(self._directory))
        self._require_kept(run_id, content)
        self._client.set_tag(run_id, LOGGED_TAG, self._digest)

    def _require_kept(self, run_id: str, content: LookRun) -> None:
        data = self._client.get_run(run_id).data
        for kind, wanted, kept in (("tag", content.tags, data.tags), ("param", content.params, data.params)):
            if lost := [key for key, value in wanted.items() if kept.get(key) != value]:
                raise TrackerError(f"run {content.name!r}: MLflow did not keep {kind} {lost[0]!r} as it was logged")
        files = [path.relative_to(self._directory) for path in self._directory.rglob("*") if path.is_file()]
        folders = {path.parent.as_posix() for path in files}
        listed = [self._client.list_artifacts(run_id, None if one == "." else one) for one in folders]
        there = {entry.path for entries in listed for entry in entries}
        if missing := sorted({path.as_posix() for path in files} - there):
            raise TrackerError(f"run {content.name!r}: MLflow did not keep the artifact {missing[0]}")

    # -- the series run, and what was left undone --------------------------------------------------------------------------

    def _settle(self) -> str:
        """Make undone steps until nothing changes any more; the run of this look's day."""
        own = day_of(self._drift.created_at)
        series = self._series()
        self._adopt(series)
        newest = self._looks(limit=NEWEST)
        often = Counter(run.data.tags.get(DAY_TAG, "") for run in newest)
        undone = {run.data.tags.get(DAY_TAG, "") for run in newest if run.info.status != "FINISHED"}
        for day in sorted({own, *undone, *(day for day, times in often.items() if times > 1)}):
            self._settle_day(series, day)
        kept = self._logged(own)
        if not kept:
            raise TrackerError(f"run {self._content.name!r} was deleted while it was logged")
        self._show_newest(series)
        return kept[0].info.run_id

    def _series(self) -> Run:
        """The one run of the series; made where there is none, and the first of several where two programs made one at once."""
        wanted = f"tags.`{KIND_TAG}` = '{SERIES}' and tags.`{DEPLOYMENT_TAG}` = '{self._drift.deployment}'"
        found = self._search(wanted)
        if not found:
            at_ms = round(self._drift.created_at * 1000)
            self._client.create_run(self._place, at_ms, series_tags(self._drift), series_name(self._drift.deployment))
            found = self._search(wanted)
        first, *others = sorted(found, key=lambda run: (run.info.start_time, run.info.run_id))
        for run in others:
            self._client.delete_run(run.info.run_id)
        if first.info.status != "FINISHED":
            self._client.set_terminated(first.info.run_id, "FINISHED", first.info.start_time)
        return first

    def _adopt(self, series: Run) -> None:
        """Looks of a series run that is gone."""
        elsewhere = self._looks(f"tags.`{LOGGED_TAG}` != '' and tags.`{PARENT_TAG}` != '{series.info.run_id}'")
        points = [point for run in elsewhere if run.info.status == "FINISHED" for point in _points(run, series)]
        for batch in chunks(points, METRICS_IN_A_CALL):
            self._client.log_batch(series.info.run_id, metrics=list(batch))
        for run in elsewhere:
            self._client.set_tag(run.info.run_id, PARENT_TAG, series.info.run_id)

    def _settle_day(self, series: Run, day: str) -> None:
        """The newest complete look of a day is the one that stays; its numbers are the series' of that day."""
        complete = self._logged(day)
        if complete and complete[0].info.status != "FINISHED":
            kept, *older = complete
            known = {(key, value) for run in older if run.info.status == "FINISHED" for key, value in _numbers(run).items()}
            new = [one for one in _points(kept, series) if (one.key, one.value) not in known]
            self._client.log_batch(series.info.run_id, metrics=new)
            self._client.set_terminated(kept.info.run_id, "FINISHED", kept.info.start_time)
        for run in (*complete[1:], *self._dead(day)):
            self._client.delete_run(run.info.run_id)

    def _show_newest(self, series: Run) -> None:
        """The newest look is the series run's description; somebody else may have logged a newer one meanwhile."""
        for _ in range(ATTEMPTS):
            newest = self._looks(f"tags.`{LOGGED_TAG}` != ''", limit=1)[0]
            if self._client.get_run(series.info.run_id).data.tags.get(NEWEST_TAG) == newest.info.run_id:
                return
            state, own = (newest.info.run_name or "").partition(" · ")[2], series.info.run_id
            self._announce(state, newest.data.tags[DAY_TAG], own)
            link = run_link(self._place, newest.info.run_id)
            tags = {key: newest.data.tags[key] for key in (DAY_TAG, STATUS_TAG)} | {
                NOTE_TAG: series_note(newest.data.tags[NOTE_TAG], link, _first_day(series)),
                NEWEST_TAG: newest.info.run_id,
            }
            self._client.update_run(own, name=series_name(self._drift.deployment, state))
            self._client.log_batch(own, tags=[RunTag(key, value) for key, value in tags.items()])

    def _announce(self, state: str, day: str, series: str) -> None:
        """Above all runs of the experiment: the series run itself is as old as the first look, far down a list of days."""
        before = self._client.get_experiment(self._place).tags.get(NOTE_TAG, "")
        text = banner(before, self._drift.deployment, state, day, run_link(self._place, series))
        if text not in (None, before):
            self._client.set_experiment_tag(self._place, NOTE_TAG, text)

    def _logged(self, day: str) -> list[Run]:
        """Complete looks of a day, the newest first."""
        found = self._looks(f"tags.`{DAY_TAG}` = '{day}' and tags.`{LOGGED_TAG}` != ''")
        return sorted(found, key=_order, reverse=True)

    def _dead(self, day: str) -> list[Run]:
        unfinished = [run for run in self._looks(f"tags.`{DAY_TAG}` = '{day}'") if LOGGED_TAG not in run.data.tags]
        return [run for run in unfinished if float(run.data.tags.get(BEGAN_TAG, 0)) < time.time() - DEAD_AFTER_S]

    def _looks(self, more: str = "", limit: int | None = None) -> list[Run]:
        wanted = looks_of(self._drift.deployment) + (f" and {more}" if more else "")
        return self._search(wanted, limit)

    def _search(self, wanted: str, limit: int | None = None) -> list[Run]:
        if limit is None:
            return list(all_runs(self._client, [self._place], wanted))
        order = ["attributes.start_time DESC"]
        return list(self._client.search_runs([self._place], wanted, ViewType.ACTIVE_ONLY, limit, order))


def looks_of(deployment: str) -> str:
    """What finds the looks at a deployment."""
    return f"tags.`{KIND_TAG}` = '{LOOK}' and tags.`{DEPLOYMENT_TAG}` = '{deployment}'"


def _order(run: Run) -> tuple[int, str]:
    """The later look of a day has the larger one."""
    return run.info.start_time, run.data.tags.get(DRIFT_TAG, "")


def _points(look: Run, series: Run) -> list[Metric]:
    """A look's numbers as the series run has them: the step is the day, the time that of the look."""
    step = step_of(look.data.tags[DAY_TAG], _first_day(series))
    return [Metric(key, value, look.info.start_time, step) for key, value in _numbers(look).items()]


def _first_day(series: Run) -> str:
    """The day that its charts begin with; where somebody took the tag away, or edited it, the day that the run began."""
    tagged = series.data.tags.get(FIRST_DAY_TAG, "")
    with suppress(ValueError):
        return date.fromisoformat(tagged).isoformat()
    return day_of(series.info.start_time / 1000)


def _numbers(look: Run) -> dict[str, float]:
    return json.loads(look.data.tags.get(NUMBERS_TAG, "{}"))


def _digest(directory: Path) -> str:
    try:
        return entry_digest((directory / RECORD).read_bytes())
    except OSError as error:
        raise TrackerError(f"nothing to log: {directory / RECORD} can't be read ({error.strerror})") from error
