"""A spec evaluated once: whoever asks again, in this process or another one, gets the same evaluation."""

from collections.abc import Callable
from pathlib import Path

from crosspath.app import adapters, api
from crosspath.app.evaluation import Evaluation
from crosspath.app.resolve import Resolved
from crosspath.errors import StoreError
from crosspath.store.lease import Lease
from crosspath.store.ledger import Ledger
from crosspath.types import digest

LOCK = "once.lock"
"""Beside the ledger's own lock, because it is held from the look for an evaluation to the end of a new one."""


def evaluate_once(
    spec: Path,
    resolved: Resolved,
    *,
    store: str | Path | None = None,
    executor: str | None = None,
    track: bool = False,
    notify: Callable[[str], None] = lambda _: None,
) -> Evaluation:
    """The finished evaluation of this very configuration that the store holds; else it is made, or gone on with.

    ``resolved``: what the file ``spec`` resolves to.

    Processes that ask at the same time wait for the first one.

    Raises:
        ConfigError: the spec is wrong.
        BoundaryError: something outside failed; what was done is in the ledger.
    """
    directory = adapters.store_directory(store)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{directory}: the store can't be created ({error.strerror})") from error
    lease = Lease(directory, LOCK)
    lease.acquire()
    try:
        if known := _finished(directory, resolved):
            notify(f"{known} holds it already: nothing is asked or executed")
            return api.load(known, store=directory)
        return api.evaluate(spec, store=directory, executor=executor, track=track, notify=notify)
    finally:
        lease.release()


def _finished(directory: Path, resolved: Resolved) -> str | None:
    """Id of the newest finished evaluation of this configuration."""
    ledger = Ledger(directory)
    try:
        wanted = digest([resolved.resume_digest, None])
        heads = [head for head in ledger.heads() if head.spec_digest == wanted and head.status == "finished"]
    finally:
        ledger.close()
    return heads[-1].id if heads else None
