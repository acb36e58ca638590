"""``crosspath drift``: what changed in a deployment over time: its configuration, its toolchain, or its provider.

The history is read from MLflow, the frozen replies are executed again here; no model is asked anything.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from crosspath.app import adapters
from crosspath.app.drift_looks import DOCUMENT, Look, kept
from crosspath.app.finding import find_facts, open_ledger
from crosspath.app.frozen import frozen_replays
from crosspath.app.gating_replays import Place
from crosspath.app.placing import require_place
from crosspath.app.readiness import require_executor
from crosspath.app.resolve import Own, read_own
from crosspath.errors import BoundaryError, ConfigError, CrosspathError, StoreError, TrackerError
from crosspath.pipeline.drift import Material, as_of, frozen_of, judge_drift, lost_reference, reference_of
from crosspath.pipeline.evaluate import Progress
from crosspath.pipeline.text_changes import changed_kinds, text_changes
from crosspath.store.ledger import Ledger
from crosspath.types.drift import Drift, FrozenOutcome, SeriesEntry, SeriesHistory, TextChange, ToolchainDrift


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
    now = clock()
    history = as_of(history, now)
    for one in history.unreadable:
        notify(f"{one.evaluation or one.run} can't be used and is left out: {one.problem}")
    if not history.entries:
        raise TrackerError(f"none of the {len(history.unreadable)} evaluations of {deployment} can be used")
    with _one_at_a_time(directory, notify) as ledger:
        earlier = series.last_look(deployment, history.experiment)
        replayer = _Frozen(ledger, Place(executor, usual_executor, sandbox), own, progress, notify) if frozen else None
        toolchain = toolchain_part(history, earlier, replayer.executed if replayer else not_executed)
        found = judge_drift(Material(history, toolchain, now, earlier), look_id(now))
        if texts := _changed_texts(found, history.entries, ledger, notify):
            found = found.model_copy(update={"texts": texts})
        progress.began("writing the look ...")
        return kept(found, series if track else None, directory, place, notify)


@contextmanager
def _one_at_a_time(directory: Path, notify: Callable[[str], None]) -> Iterator[Ledger | StoreError]:
    """The ledger, held from what earlier looks saw until this one is logged, because each look adds to what they found. A store
    that can't be written is no end: nothing can be executed, and the rest is looked at."""
    with ExitStack() as held:
        ledger: Ledger | StoreError
        try:
            ledger = held.enter_context(open_ledger(directory, notify))
        except StoreError as error:
            ledger = error
        yield ledger


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
    known = earlier.toolchain if earlier else None
    if known is None or (known.frozen, known.frozen_at) != (source.evaluation, source.created_at):
        return ()
    return known.evidence


def not_executed(source: SeriesEntry, evidence: tuple[FrozenOutcome, ...], failed: str = "") -> ToolchainDrift:
    """The second part where there is none; what is known of the replies is kept for the next look. ``failed``: why they could not
    be executed; empty: nobody asked for it."""
    sentence = f"could not measure: {failed or 'the frozen replies were not executed'}"
    frozen = {"frozen": source.evaluation, "frozen_at": source.created_at, "evidence": evidence}
    return ToolchainDrift(status="could not measure", sentence=sentence, why="" if failed else "not asked for", **frozen)


def toolchain_part(
    history: SeriesHistory, earlier: Drift | None, executed: Callable[[SeriesEntry, tuple[FrozenOutcome, ...]], ToolchainDrift]
) -> ToolchainDrift:
    """The second part of a look. Where the newest reference can't be read there is none, and what was seen of its replies is
    kept: with those of another evaluation in their place it would be lost.

    Args:
        earlier: the look before.
        executed: what becomes of the frozen replies of an evaluation, given what was seen of them.
    """
    if lost := lost_reference(history, earlier):
        seen = earlier.toolchain if earlier else ToolchainDrift(status="could not measure", sentence="")
        kept = {"frozen": seen.frozen, "frozen_at": seen.frozen_at, "evidence": seen.evidence}
        sentence = f"could not measure: the newest reference, {lost.evaluation or lost.run}, can't be read"
        return ToolchainDrift(status="could not measure", sentence=sentence, why="reference", **kept)
    source = frozen_of(history.entries)
    return executed(source, evidence_of(earlier, source))


@dataclass(frozen=True)
class _Frozen:
    """The frozen replies of a deployment, executed again. What keeps them from it is a state, never the end of the look."""

    ledger: Ledger | StoreError
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
            return self._replayed(source, evidence).model_copy(update={"frozen_at": source.created_at})
        except BoundaryError as error:
            return not_executed(source, evidence, str(error))

    def _replayed(self, source: SeriesEntry, evidence: tuple[FrozenOutcome, ...]) -> ToolchainDrift:
        if isinstance(self.ledger, StoreError):
            raise self.ledger
        try:
            facts = find_facts(self.ledger, source.run or source.evaluation)
        except ConfigError as error:
            raise StoreError(f"the frozen replies can't be found: {error}") from error
        return frozen_replays(
            facts,
            source.candidate,
            evidence,
            place=self.place,
            ledger=self.ledger,
            progress=self.progress,
            notify=self.notify,
            own=self.own,
        )


def _changed_texts(
    found: Drift, entries: Sequence[SeriesEntry], ledger: Ledger | StoreError, notify: Callable[[str], None]
) -> tuple[TextChange, ...]:
    """The changed lines of contracts, paths, suites and styles. Where an evaluation can't be read there are none: the verdict
    does not hang on them."""
    fields = changed_kinds([difference.field for difference in found.configuration.breaking])
    reference = reference_of(entries)
    if not fields or reference is None or isinstance(ledger, StoreError):
        return ()
    try:
        before, after = (find_facts(ledger, one.run or one.evaluation) for one in (reference, entries[-1]))
    except CrosspathError as error:
        notify(f"which lines changed can't be shown: {error}")
        return ()
    return text_changes((reference, before), (entries[-1], after), fields)
