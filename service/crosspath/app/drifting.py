"""``crosspath drift``: what changed in a deployment over time: its configuration, its toolchain, or its provider.

The history is read from MLflow, the frozen replies are executed again here; no model is asked anything.
"""

import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from crosspath.analysis.drift_tables import (
    CHANGE_COLUMNS,
    DAY_COLUMNS,
    FLIP_COLUMNS,
    SIGNAL_COLUMNS,
    change_rows,
    day_rows,
    flip_rows,
    signal_rows,
)
from crosspath.app import adapters
from crosspath.app.evaluation import framed
from crosspath.app.finding import find_facts, open_ledger
from crosspath.app.frozen import frozen_replays
from crosspath.app.gating_replays import Place
from crosspath.app.placing import fresh_place, put_in_place, require_place
from crosspath.app.readiness import require_executor
from crosspath.app.resolve import Own, read_own
from crosspath.errors import BoundaryError, ConfigError, CrosspathError, StoreError, TrackerError, boundary
from crosspath.pipeline.drift import Material, frozen_of, judge_drift, reference_of
from crosspath.pipeline.evaluate import Progress
from crosspath.pipeline.text_changes import changed_kinds, text_changes
from crosspath.ports import Series
from crosspath.reports.drift_markdown import drift_markdown
from crosspath.reports.figures_drift import drift_figures
from crosspath.types.drift import Drift, FrozenOutcome, SeriesEntry, TextChange, ToolchainDrift

if TYPE_CHECKING:
    import pandas as pd

DOCUMENT, MARKDOWN = "drift.json", "drift.md"
EXIT_INFRASTRUCTURE = 5


@dataclass(frozen=True)
class Look:
    """One look at a deployment, and where it is kept."""

    drift: Drift
    directory: Path | None = None
    """Where it was asked to be written to."""
    run: str | None = None
    """MLflow run of the day."""
    url: str | None = None
    opens_with: str | None = None
    """The command that serves ``url``; None where a server runs already."""
    tracking_error: str | None = None
    """Why MLflow does not hold it."""

    @cached_property
    def days(self) -> "pd.DataFrame":
        """One row per day of the watch: pass rate (0 to 1), change against the reference (-1 to 1), what its looks found."""
        return framed(day_rows(self.drift), DAY_COLUMNS)

    @cached_property
    def changes(self) -> "pd.DataFrame":
        """One row per field of the configuration that changed between two evaluations, oldest first."""
        return framed(change_rows(self.drift), CHANGE_COLUMNS)

    @cached_property
    def flips(self) -> "pd.DataFrame":
        """One row per frozen reply that comes out otherwise with the programs of now, each time."""
        return framed(flip_rows(self.drift), FLIP_COLUMNS)

    @cached_property
    def signals(self) -> "pd.DataFrame":
        """One row for each thing about replies that needs no score."""
        return framed(signal_rows(self.drift), SIGNAL_COLUMNS)

    @property
    def exit_code(self) -> int:
        """The look's; 5 where nothing is wrong but that MLflow does not hold it."""
        return EXIT_INFRASTRUCTURE if self.tracking_error and not self.drift.exit_code else self.drift.exit_code


def drift(
    deployment: str,
    *,
    experiment: str | None = None,
    spec: str | Path | None = None,
    store: str | Path | None = None,
    output: str | Path | None = None,
    force: bool = False,
    executor: str | None = None,
    usual_executor: str = "local",
    sandbox: str | None = None,
    frozen: bool = True,
    track: bool = True,
    progress: Progress | None = None,
    notify: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.time,
) -> Look:
    """What changed in a deployment since its reference: configuration, toolchain, provider, each with its own verdict.

    Args:
        deployment: its name, as ``deployment:`` of specs has it.
        experiment: MLflow's experiment, where evaluations of that name are in several.
        spec: the frozen replies are executed with the harnesses that it defines; default where they were.
        store: directory of the ledger; default ``$CROSSPATH_STORE`` or ``.crosspath``.
        output: directory for the look as JSON, Markdown and figures.
        force: replace a look that is there.
        executor: ``local`` or ``ray`` for the frozen replies; default what their spec said, else ``usual_executor``.
        sandbox: ``bubblewrap`` or ``none``; default what their spec said.
        frozen: execute the frozen replies again; without that the toolchain is not measured.
        track: log the look to MLflow.
        clock: gives the time of the look, in seconds since 1970.

    Raises:
        ConfigError: no such deployment, or an argument is wrong; nothing was executed.
        BoundaryError: the tracking server or the ledger failed.
    """
    require_executor(executor)
    own = read_own(None, Path(spec)) if spec is not None else Own()
    directory = adapters.store_directory(store)
    place = Path(output) if output is not None else None
    if place is not None:
        require_place(place, DOCUMENT, "look", force=force)
    require_history(directory)
    series = adapters.make_series(directory)
    progress = progress or Progress()
    progress.began("reading the history ...")
    history = series.history(deployment, experiment)
    for one in history.unreadable:
        notify(f"{one.evaluation or one.run} can't be read and is left out: {one.problem}")
    if not history.entries:
        raise TrackerError(f"none of the {len(history.unreadable)} evaluations of {deployment} can be read")
    source = frozen_of(history.entries)
    evidence = evidence_of(series.last_look(deployment, history.experiment), source)
    replayer = _Frozen(directory, Place(executor, usual_executor, sandbox), own, progress, notify)
    toolchain = replayer.executed(source, evidence) if frozen else not_executed(source, evidence)
    now = clock()
    found = judge_drift(Material(history, toolchain, now), look_id(now))
    if texts := _changed_texts(found, history.entries, directory, notify):
        found = found.model_copy(update={"texts": texts})
    return _kept(found, series, directory, place, track, progress)


def require_history(store: Path) -> None:
    """Whoever only asks must not leave an empty store behind.

    Raises:
        ConfigError: nothing was ever logged where the history is read.
    """
    uri = adapters.tracking_uri(store)
    if adapters.is_missing(uri):
        where = f"{adapters.without_password(uri)} does not exist"
        raise ConfigError(f"there is no history: {where}; give --store, or {adapters.TRACKING_VARIABLE}=... of the daily runs")


def look_id(now: float) -> str:
    """``drift-YYYYMMDD-HHMMSS-XXXXXX``, in UTC."""
    return f"drift-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{secrets.token_hex(3)}"


def evidence_of(earlier: Drift | None, source: SeriesEntry) -> tuple[FrozenOutcome, ...]:
    """What earlier looks saw of the frozen replies, as long as they are the same replies."""
    if earlier is None or earlier.toolchain.frozen != source.evaluation:
        return ()
    return earlier.toolchain.evidence


def not_executed(
    source: SeriesEntry, evidence: tuple[FrozenOutcome, ...], why: str = "the frozen replies were not executed"
) -> ToolchainDrift:
    """The second part where there is none; what is known of the replies is kept for the next look."""
    sentence = f"could not measure: {why}"
    return ToolchainDrift(status="could not measure", sentence=sentence, frozen=source.evaluation, evidence=evidence)


@dataclass(frozen=True)
class _Frozen:
    """The frozen replies of a deployment, executed again. What keeps them from it is a state, never the end of the look."""

    directory: Path
    place: Place
    own: Own
    progress: Progress
    notify: Callable[[str], None]

    def executed(self, source: SeriesEntry, evidence: tuple[FrozenOutcome, ...]) -> ToolchainDrift:
        """The second part of the look.

        Raises:
            ConfigError: the sandbox that was asked for does not exist.
            KeyboardInterrupt: Ctrl-C or SIGTERM.
        """
        try:
            return self._replayed(source, evidence)
        except BoundaryError as error:
            return not_executed(source, evidence, str(error))

    def _replayed(self, source: SeriesEntry, evidence: tuple[FrozenOutcome, ...]) -> ToolchainDrift:
        with open_ledger(self.directory, self.notify) as ledger:
            try:
                facts = find_facts(ledger, source.run or source.evaluation)
            except ConfigError as error:
                raise StoreError(f"the frozen replies can't be found: {error}") from error
            return frozen_replays(
                facts,
                source.candidate,
                evidence,
                place=self.place,
                ledger=ledger,
                progress=self.progress,
                notify=self.notify,
                own=self.own,
            )


def _changed_texts(
    found: Drift, entries: Sequence[SeriesEntry], store: Path, notify: Callable[[str], None]
) -> tuple[TextChange, ...]:
    """The changed lines of contracts, paths, suites and styles. Where an evaluation can't be read there are none: the verdict
    does not hang on them."""
    fields = changed_kinds([difference.field for difference in found.configuration.breaking])
    reference = reference_of(entries)
    if not fields or reference is None:
        return ()
    try:
        with open_ledger(store, notify) as ledger:
            before, after = (find_facts(ledger, one.run or one.evaluation) for one in (reference, entries[-1]))
    except CrosspathError as error:
        notify(f"which lines changed can't be shown: {error}")
        return ()
    return text_changes((reference, before), (entries[-1], after), fields)


# -- where it is kept ------------------------------------------------------------------------------------------------------


def _kept(found: Drift, series: Series, store: Path, place: Path | None, track: bool, progress: Progress) -> Look:
    progress.began("writing the look ...")
    with _written(found, place) as directory:
        look = Look(found, place)
        if not track:
            return look
        try:
            logged = series.log_look(found, directory)
        except CrosspathError as error:
            return Look(found, place, tracking_error=str(error))
    opens_with = adapters.ui_instruction(store, adapters.tracking_uri(store))
    return Look(found, place, run=logged.run_id, url=logged.url, opens_with=opens_with)


@contextmanager
def _written(found: Drift, place: Path | None) -> Iterator[Path]:
    """A directory with the look; it goes afterwards where nobody asked for it."""
    if place is None:
        with tempfile.TemporaryDirectory(prefix="crosspath-") as temporary:
            write_look(found, Path(temporary))
            yield Path(temporary)
        return
    fresh = fresh_place(place)
    try:
        write_look(found, fresh)
        put_in_place(fresh, place)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    yield place


def write_look(found: Drift, directory: Path) -> None:
    """JSON, Markdown and figures.

    Raises:
        StoreError: the place can't be written.
    """
    with boundary(StoreError, f"writing {directory}"):
        (directory / DOCUMENT).write_text(found.to_json(), "ascii")
        (directory / MARKDOWN).write_text(drift_markdown(found), "utf-8")
        figures = directory / "figures"
        figures.mkdir()
        for name, data in drift_figures(found).items():
            (figures / name).write_bytes(data)
