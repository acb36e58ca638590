"""A look at a deployment as Python users hold it, and where it is kept: files, and a run in MLflow."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
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
from crosspath.app.placing import fresh_place, put_in_place
from crosspath.errors import CrosspathError, StoreError, boundary
from crosspath.ports import Series
from crosspath.reports.drift_markdown import drift_markdown
from crosspath.reports.figures_drift import drift_figures
from crosspath.types.drift import Drift

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
        """The look's; 5 where MLflow does not hold it, unless somebody has to act on what it found anyway (1 and 4). The next
        look knows nothing of this one then, so that it must not pass for one more day of waiting (3)."""
        lost = self.tracking_error is not None and self.drift.status in ("no drift", "not enough")
        return EXIT_INFRASTRUCTURE if lost else self.drift.exit_code


def kept(found: Drift, series: Series | None, store: Path, place: Path | None, notify: Callable[[str], None]) -> Look:
    """Write the look, and log it where a series is given. What can't be logged, or drawn, never costs the verdict.

    Raises:
        StoreError: ``place`` was asked for, and can't be written.
    """
    try:
        with _written(found, place, notify) as directory:
            return _logged(found, series, store, place, directory)
    except StoreError as error:
        if place is not None:
            raise
        return Look(found, tracking_error=str(error) if series else None)


def _logged(found: Drift, series: Series | None, store: Path, place: Path | None, directory: Path) -> Look:
    if series is None:
        return Look(found, place)
    try:
        logged = series.log_look(found, directory)
    except CrosspathError as error:
        return Look(found, place, tracking_error=str(error))
    opens_with = adapters.ui_instruction(store, adapters.tracking_uri(store))
    return Look(found, place, run=logged.run_id, url=logged.url, opens_with=opens_with)


@contextmanager
def _written(found: Drift, place: Path | None, notify: Callable[[str], None]) -> Iterator[Path]:
    """A directory with the look; it goes afterwards where nobody asked for it."""
    if place is None:
        with boundary(StoreError, "writing the look"):
            temporary = tempfile.TemporaryDirectory(prefix="crosspath-")
        with temporary:
            write_look(found, Path(temporary.name), notify)
            yield Path(temporary.name)
        return
    fresh = fresh_place(place)
    try:
        write_look(found, fresh, notify)
        put_in_place(fresh, place)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    yield place


def write_look(found: Drift, directory: Path, notify: Callable[[str], None]) -> None:
    """JSON, Markdown and figures; figures that can't be drawn are told to ``notify``.

    Raises:
        StoreError: the place can't be written.
    """
    try:
        with boundary(StoreError, "drawing the figures"):
            drawn = drift_figures(found)
    except StoreError as error:
        notify(f"the look has no figures: {error}")
        drawn = {}
    with boundary(StoreError, f"writing {directory}"):
        (directory / DOCUMENT).write_text(found.to_json(), "ascii")
        (directory / MARKDOWN).write_text(drift_markdown(found), "utf-8")
        (directory / "figures").mkdir()
        for name, data in drawn.items():
            (directory / "figures" / name).write_bytes(data)
