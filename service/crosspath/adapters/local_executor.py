"""Executor in this process: tests, debugging, and the Python API's default."""

import asyncio
import queue
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from crosspath.pipeline.workers import attempt, execute
from crosspath.ports import Model, Sandbox
from crosspath.types import Execution, Fault, ReplayJob, Reply, Request, Toolchain


@runtime_checkable
class _Closable(Protocol):
    """A sandbox that holds on to something outside of this process."""

    def close(self) -> None: ...


class LocalExecutor:
    """Model calls on the caller's event loop, replays on a few threads with one sandbox each."""

    def __init__(self, model: Callable[[], Model], sandbox: Callable[[], Sandbox], *, replay_workers: int = 2) -> None:
        self._make_model = model
        self._make_sandbox = sandbox
        self._workers = replay_workers
        self._model: Model | None = None
        self._sandboxes: queue.SimpleQueue[Sandbox] = queue.SimpleQueue()
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="replay")
        for _ in range(self._workers):
            self._sandboxes.put(self._make_sandbox())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        while not self._sandboxes.empty():
            sandbox = self._sandboxes.get()
            if isinstance(sandbox, _Closable):
                sandbox.close()
        self._pool, self._model = None, None

    async def generate(self, request: Request) -> Reply | Fault:
        if self._model is None:
            self._model = self._make_model()
        return await attempt(self._model, request)

    async def replay(self, jobs: Sequence[ReplayJob]) -> tuple[Execution | Fault, ...]:
        if self._pool is None:
            raise RuntimeError("the executor is not open: use it as a context manager")
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._replay, tuple(jobs))

    def _replay(self, jobs: tuple[ReplayJob, ...]) -> tuple[Execution | Fault, ...]:
        sandbox = self._sandboxes.get()
        try:
            return execute(sandbox, jobs)
        finally:
            self._sandboxes.put(sandbox)

    def toolchain(self) -> Toolchain:
        sandbox = self._sandboxes.get()
        try:
            return sandbox.describe()
        finally:
            self._sandboxes.put(sandbox)
