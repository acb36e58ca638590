"""Appends of many coroutines, few commits: whoever waits at the same time shares one.

A commit costs a flush of the disk (some milliseconds). It runs on a thread, so that the event loop goes on, and everything that
comes meanwhile goes into the next one. ``write`` returns when its records are durable, so the order of things that the ledger
promises still holds: an attempt before its request, a reply before its replays.
"""

import asyncio

from crosspath.errors import StoreError
from crosspath.store.ledger import Ledger, Observed


class Journal:
    """The way to one evaluation's part of the ledger, for one event loop."""

    def __init__(self, ledger: Ledger, evaluation: str) -> None:
        self._ledger = ledger
        self._evaluation = evaluation
        self._waiting: list[tuple[tuple[Observed, ...], asyncio.Future[None]]] = []
        self._committing: asyncio.Task[None] | None = None

    async def write(self, *records: Observed) -> None:
        """Append ``records`` together; they are durable when this returns.

        Raises:
            StoreError: they could not be written.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._waiting.append((records, done))
        if self._committing is None:
            self._committing = loop.create_task(self._commit())
        await done

    async def _commit(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            records = [record for group, _ in batch for record in group]
            error: StoreError | None = None
            try:
                await asyncio.to_thread(self._ledger.append, self._evaluation, records)
            except StoreError as failed:
                error = failed
            for _, done in batch:
                if done.cancelled():
                    continue
                if error is None:
                    done.set_result(None)
                else:
                    done.set_exception(error)
        self._committing = None
