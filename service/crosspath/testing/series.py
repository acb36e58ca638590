"""A deployment's series in memory: for tests of what is found in it."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from crosspath.dates import day_of
from crosspath.errors import ConfigError, StoreError, TrackerError
from crosspath.store.bundle import read_bundle, read_judgement
from crosspath.testing.tracker import MemoryRef, MemoryRun, MemoryTracker
from crosspath.types import Facts, Judgement
from crosspath.types.drift import Drift, SeriesEntry, SeriesHistory, UnreadableEntry


@dataclass(frozen=True)
class MemoryLook:
    """One look, with a copy of its directory."""

    drift: Drift
    directory: Path


@dataclass
class MemorySeries:
    """The series of the evaluations of a :class:`MemoryTracker`, which also says whether it is reachable."""

    tracker: MemoryTracker
    entry_of: Callable[[Facts, Judgement], SeriesEntry | None]
    """What an evaluation says of its deployment; usually ``crosspath.pipeline.series.entry_of``."""
    looks: dict[tuple[str, str, str], MemoryLook] = field(default_factory=dict[tuple[str, str, str], MemoryLook])
    """Deployment, experiment and UTC day -> the look of that day."""

    def history(self, deployment: str, experiment: str | None = None) -> SeriesHistory:
        """All evaluations of a deployment, oldest first; what can't be read says why.

        Raises:
            ConfigError: there is no such deployment or experiment, or it is in several and none is named.
            TrackerError: the tracker is not reachable.
        """
        self.tracker.check()
        found = [(run, self._entry(run)) for run in self.tracker.runs.values() if run.bundle and run.parent is None]
        own = [(run, one) for run, one in found if isinstance(one, UnreadableEntry) or (one and one.deployment == deployment)]
        places = sorted({run.experiment or "" for run, one in own if isinstance(one, SeriesEntry)})
        place = _place(deployment, experiment, places, [one.deployment for _, one in found if isinstance(one, SeriesEntry)])
        here = [one for run, one in own if run.experiment == place]
        entries = sorted((one for one in here if isinstance(one, SeriesEntry)), key=lambda one: (one.created_at, one.evaluation))
        unreadable = tuple(one for one in here if isinstance(one, UnreadableEntry))
        return SeriesHistory(deployment=deployment, experiment=place, entries=tuple(entries), unreadable=unreadable)

    def _entry(self, run: MemoryRun) -> SeriesEntry | UnreadableEntry | None:
        try:
            entry = self.entry_of(read_bundle(run.bundle or Path()), read_judgement(run.bundle or Path()))
        except StoreError as error:
            return UnreadableEntry(run=run.run_id, evaluation=run.evaluation or "", problem=str(error))
        return entry and entry.model_copy(update={"run": run.run_id})

    def last_look(self, deployment: str, experiment: str) -> Drift | None:
        """What the newest look found; None where there was none."""
        self.tracker.check()
        return max(self._looks(deployment, experiment), key=lambda drift: drift.created_at, default=None)

    def _looks(self, deployment: str, experiment: str) -> Iterator[Drift]:
        yield from (look.drift for key, look in self.looks.items() if key[:2] == (deployment, experiment))

    def log_look(self, drift: Drift, directory: Path) -> MemoryRef:
        """Keep a look in the place of an earlier one of its UTC day; the same one again changes nothing.

        Raises:
            TrackerError: the tracker is not reachable, or there is no ``drift.json`` in the directory.
        """
        self.tracker.check()
        if not (directory / "drift.json").is_file():
            raise TrackerError(f"nothing to log: {directory / 'drift.json'} can't be read (No such file or directory)")
        key = (drift.deployment, drift.experiment, day_of(drift.created_at))
        there = self.looks.get(key)
        if there is None or (there.drift.created_at, there.drift.id) < (drift.created_at, drift.id):
            copy = self.tracker.directory / "looks" / drift.id
            self.looks[key] = there = MemoryLook(drift, Path(shutil.copytree(directory, copy, dirs_exist_ok=True)))
        return MemoryRef(f"memory-{there.drift.id}", f"memory:/memory-{there.drift.id}")


def _place(deployment: str, experiment: str | None, places: list[str], deployments: list[str]) -> str:
    if not places:
        known = ", ".join(sorted(set(deployments)))
        raise ConfigError(f"there is no deployment {deployment!r}; " + (f"known: {known}" if known else "none is known"))
    if experiment is None and len(places) > 1:
        raise ConfigError(
            f"evaluations of deployment {deployment!r} are in several experiments: {', '.join(places)};"
            " name one of them with --experiment"
        )
    if experiment is not None and experiment not in places:
        raise ConfigError(f"experiment {experiment!r} has no evaluation of deployment {deployment!r}; those are in: {places[0]}")
    return experiment or places[0]
