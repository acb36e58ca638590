"""Evaluations by name: an id in the ledger, ``latest``, or an MLflow run."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from crosspath.app import adapters
from crosspath.app.collecting import without_collection
from crosspath.app.derive import UNASKED
from crosspath.errors import ConfigError, TrackerError
from crosspath.store.bundle import read_bundle
from crosspath.store.ledger import Ledger
from crosspath.types import EvaluationHead, Facts


@contextmanager
def open_ledger(directory: Path, notify: Callable[[str], None]) -> Iterator[Ledger]:
    """The ledger of a store, to write to; waits for another process that uses it, and tells ``notify`` of that."""
    ledger = Ledger(directory)
    try:
        ledger.lease.acquire(on_wait=notify)
        yield ledger
    finally:
        ledger.close()


def find_facts(ledger: Ledger, evaluation: str) -> Facts:
    """Facts by ledger id, ``latest``, or MLflow run id.

    Raises:
        ConfigError: there is no such evaluation.
        TrackerError: it looks like a run id, and no store that is known here gives it.
    """
    head = find_head(ledger, evaluation)
    with without_collection():
        if head is None and looks_like_a_run(evaluation) and (stores := _tracking_stores(ledger)):
            return _fetched(ledger, evaluation, stores)
        return ledger.facts(head.id if head else evaluation)


def find_head(ledger: Ledger, evaluation: str) -> EvaluationHead | None:
    """The head of an evaluation of the ledger by its id, ``latest`` (what a gate or a look at drift replayed is none), or the run
    that it was logged as."""
    heads = ledger.heads()
    if evaluation == "latest":
        return next((head for head in reversed(heads) if head.derivation not in UNASKED), None)
    return next((head for head in heads if evaluation in (head.id, head.mlflow_run)), None)


def _tracking_stores(ledger: Ledger) -> tuple[str, ...]:
    """Where a run may be: the usual store first, then those that evaluations of this ledger were logged to."""
    usual = adapters.tracking_uri(ledger.directory)
    others = [head.mlflow_uri for head in ledger.heads() if head.mlflow_uri]
    return tuple(uri for uri in dict.fromkeys((usual, *others)) if not adapters.is_missing(uri))


def _fetched(ledger: Ledger, run_id: str, stores: Sequence[str]) -> Facts:
    failures: list[str] = []
    for uri in stores:
        with tempfile.TemporaryDirectory(prefix="crosspath-") as temporary:
            try:
                tracker = adapters.make_tracker(ledger.directory, adapters.stored_uri(uri, ledger.directory))
                return read_bundle(tracker.fetch(run_id, Path(temporary)))
            except (TrackerError, ConfigError) as error:
                failures.append(str(error))
    raise TrackerError("; ".join(failures))


def require_store(directory: Path, evaluation: str) -> None:
    """Whoever only asks for an evaluation must not leave an empty store behind; an MLflow run needs none."""
    if not directory.exists() and not looks_like_a_run(evaluation):
        raise ConfigError(f"no evaluation {evaluation!r}: there is no store {directory} here; name it with --store")


def looks_like_a_run(evaluation: str) -> bool:
    """MLflow's run ids are 32 hexadecimal digits; the ledger's own hold hyphens."""
    return len(evaluation) == 32 and all(letter in "0123456789abcdef" for letter in evaluation)
