"""Executor in this process: tests, debugging, and the Python API's default."""

import asyncio
import queue
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from crosspath.pipeline.workers import attempt, execute
from crosspath.ports import Model, Sandbox
from crosspath.types import Execution, Fault, ReplayJob, Reply, Request, Toolchain

CLOSES_AGAIN_S = 0.2


@runtime_checkable
class _Closable(Protocol):
    """A sandbox that holds on to something outside of this process."""

    def close(self) -> None:
        """Give it back, and end what another thread runs in it."""
        ...


class LocalExecutor:
    """Model calls on the caller's event loop, replays on a few threads with one sandbox each."""

    def __init__(self, model: Callable[[], Model], sandbox: Callable[[], Sandbox], *, replay_workers: int = 2) -> None:
        self._make_model = model
        self._make_sandbox = sandbox
        self._workers = replay_workers
        self._model: Model | None = None
        self._sandboxes: tuple[Sandbox, ...] = ()
        self._idle: queue.SimpleQueue[Sandbox] = queue.SimpleQueue()
        self._running: set[Future[tuple[Execution | Fault, ...]]] = set()
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="replay")
        self._sandboxes, self._idle = tuple(self._make_sandbox() for _ in range(self._workers)), queue.SimpleQueue()
        for sandbox in self._sandboxes:
            self._idle.put(sandbox)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """What still runs is ended: whoever leaves by an interrupt or a time limit waits for no result."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._close_sandboxes()
        while wait(self._running, timeout=CLOSES_AGAIN_S).not_done:
            self._close_sandboxes()  # a job that began just now
        self._pool, self._model = None, None

    def _close_sandboxes(self) -> None:
        for sandbox in self._sandboxes:
            if isinstance(sandbox, _Closable):
                sandbox.close()

    async def generate(self, request: Request) -> Reply | Fault:
        if self._model is None:
            self._model = self._make_model()
        return await attempt(self._model, request)

    async def replay(self, jobs: Sequence[ReplayJob]) -> tuple[Execution | Fault, ...]:
        if self._pool is None:
            raise RuntimeError("the executor is not open: use it as a context manager")
        running = self._pool.submit(self._replay, tuple(jobs))
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        return await asyncio.wrap_future(running)

    def _replay(self, jobs: tuple[ReplayJob, ...]) -> tuple[Execution | Fault, ...]:
        sandbox = self._idle.get()
        try:
            return execute(sandbox, jobs)
        finally:
            self._idle.put(sandbox)

    def toolchain(self) -> Toolchain:
        sandbox = self._idle.get()
        try:
            return sandbox.describe()
        finally:
            self._idle.put(sandbox)
