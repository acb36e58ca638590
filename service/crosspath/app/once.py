"""A spec evaluated once: whoever asks again, in this process or another one, gets the same evaluation."""

import json
from collections.abc import Callable
from pathlib import Path

from crosspath.app import adapters, api
from crosspath.app.evaluation import Evaluation
from crosspath.app.resolve import Resolved
from crosspath.errors import StoreError
from crosspath.store.lease import Lease
from crosspath.store.ledger import Ledger
from crosspath.types import canonical_json, digest

LOCK = "once.lock"
"""Beside the ledger's own lock, because it is held from the look for an evaluation to the end of a new one."""

MADE = "once.json"
"""Which session made which evaluation last."""


def evaluate_once(
    spec: Path,
    resolved: Resolved,
    *,
    store: str | Path | None = None,
    executor: str | None = None,
    track: bool = False,
    session: str | None = None,
    notify: Callable[[str], None] = lambda _: None,
) -> Evaluation:
    """The finished evaluation of this very configuration that the store holds; else it is made, or gone on with.

    ``resolved``: what the file ``spec`` resolves to.

    Processes that ask at the same time wait for the first one. Those of one ``session`` use what it made even where that is not
    finished: a fault is not tried again by each of them.

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
        if known := _made_by(directory, session, resolved) or _finished(directory, resolved):
            notify(f"{known} holds it already: nothing is asked or executed")
            return api.load(known, store=directory)
        made = api.evaluate(spec, store=directory, executor=executor, track=track, notify=notify)
        if session is not None:
            _note(directory / MADE, canonical_json([session, resolved.resume_digest, made.id]))
        return made
    finally:
        lease.release()


def _note(file: Path, text: str) -> None:
    """All of it or nothing: whoever is killed here leaves no half of it."""
    written = file.with_suffix(".new")
    written.write_text(text)
    written.replace(file)


def _made_by(directory: Path, session: str | None, resolved: Resolved) -> str | None:
    """Id of the evaluation that another process of the session made."""
    file = directory / MADE
    if session is None or not file.is_file():
        return None
    whose, configuration, evaluation = json.loads(file.read_text())
    return evaluation if [whose, configuration] == [session, resolved.resume_digest] else None


def _finished(directory: Path, resolved: Resolved) -> str | None:
    """Id of the newest finished evaluation of this configuration."""
    ledger = Ledger(directory)
    try:
        wanted = digest([resolved.resume_digest, None])
        heads = [head for head in ledger.heads() if head.spec_digest == wanted and head.status == "finished"]
    finally:
        ledger.close()
    return heads[-1].id if heads else None
