"""Executor on Ray actors: model workers that wait on the network, and replay workers, one per CPU.

An address moves it to a cluster; nothing else changes. Nothing is ever run twice behind our back (``max_retries=0``), and no
result lives in an actor: each comes back at once and is stored by the driver. A dead worker is a fault of the jobs it held, and
is replaced.
"""

import asyncio
import itertools
import logging
import os
import warnings
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from crosspath.errors import ExecutorError, boundary
from crosspath.pipeline.workers import attempt, execute
from crosspath.ports import Model, Sandbox
from crosspath.types import Execution, Fault, ReplayJob, Reply, Request, Toolchain

_DRIVER_ONLY = ("MLFLOW_",)
"""Environment prefixes that workers must not see: an inherited run id would send what they log elsewhere."""
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing phones home
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # workers use the driver's own Python
    "RAY_DISABLE_IMPORT_WARNING": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # the future default, asked for by Ray's own warning
}


class ModelWorker:
    """Sends requests; built inside its process."""

    def __init__(self, model: Callable[[], Model]) -> None:
        self._model = model()

    async def generate(self, request: Request) -> Reply | Fault:
        """One attempt."""
        return await attempt(self._model, request)


class ReplayWorker:
    """Executes replies; built inside its process, one job list at a time."""

    def __init__(self, sandbox: Callable[[], Sandbox]) -> None:
        self._sandbox = sandbox()

    def replay(self, jobs: tuple[ReplayJob, ...]) -> tuple[Execution | Fault, ...]:
        """The replays of one trial."""
        return execute(self._sandbox, jobs)

    def describe(self) -> Toolchain:
        """As seen from this worker."""
        return self._sandbox.describe()


class RayExecutor:
    """Ray for the time of one evaluation: started when entered (or joined, by address), left when done."""

    def __init__(
        self,
        model: Callable[[], Model],
        sandbox: Callable[[], Sandbox],
        *,
        address: str | None = None,
        replay_workers: int = 2,
        model_workers: int = 1,
        model_concurrency: int = 64,
    ) -> None:
        self._make_model = model
        self._make_sandbox = sandbox
        self._address = address
        self._sizes = (replay_workers, model_workers, model_concurrency)
        self._model_pool: itertools.cycle[Any] | None = None
        self._idle: asyncio.Queue[Any] | None = None
        self._replayers: list[Any] = []

    def __enter__(self) -> Self:
        os.environ.update({key: value for key, value in _ENVIRONMENT.items() if key not in os.environ})
        with boundary(ExecutorError, "starting Ray"):
            import ray

            self._start(ray)
        return self

    def _start(self, ray: Any) -> None:
        replay_workers, model_workers, concurrency = self._sizes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Ray warns about its own future defaults; the driver's output is the user's
            ray.init(
                address=self._address,
                num_cpus=None if self._address else replay_workers + model_workers,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                namespace="crosspath",
                runtime_env={"env_vars": {key: "" for key in os.environ if key.startswith(_DRIVER_ONLY)}},
            )
        replayer = ray.remote(ReplayWorker).options(num_cpus=1, max_restarts=-1, max_task_retries=0)
        asker = ray.remote(ModelWorker).options(num_cpus=0, max_restarts=-1, max_task_retries=0, max_concurrency=concurrency)
        self._replayers = [replayer.remote(self._make_sandbox) for _ in range(replay_workers)]
        self._model_pool = itertools.cycle([asker.remote(self._make_model) for _ in range(model_workers)])

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        import ray

        ray.shutdown()

    async def generate(self, request: Request) -> Reply | Fault:
        if self._model_pool is None:
            raise RuntimeError("the executor is not open: use it as a context manager")
        import ray

        try:
            return await next(self._model_pool).generate.remote(request)
        except ray.exceptions.RayError as error:
            return _lost(error, "the model worker died; whether the request was served is not known")

    async def replay(self, jobs: Sequence[ReplayJob]) -> tuple[Execution | Fault, ...]:
        import ray

        idle = self._idle_workers()
        worker = await idle.get()
        try:
            return await worker.replay.remote(tuple(jobs))
        except ray.exceptions.RayError as error:
            return (_lost(error, "the replay worker died"),) * len(jobs)
        finally:
            idle.put_nowait(worker)

    def _idle_workers(self) -> "asyncio.Queue[Any]":
        """Made on first use: a queue belongs to the running event loop."""
        if self._idle is None:
            self._idle = asyncio.Queue()
            for worker in self._replayers:
                self._idle.put_nowait(worker)
        return self._idle

    def toolchain(self) -> Toolchain:
        import ray

        with boundary(ExecutorError, "asking a replay worker for its toolchain"):
            return ray.get(self._replayers[0].describe.remote(), timeout=120)


def _lost(error: Exception, what: str) -> Fault:
    first = (str(error).strip().splitlines() or [""])[0][:300]
    return Fault(boundary="executor", type="executor", message=f"{what}: {type(error).__name__}: {first}", retryable=True)
