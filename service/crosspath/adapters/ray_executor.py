"""Executor on Ray actors: model workers that wait on the network, and replay workers, one per CPU.

An address moves it to a cluster; nothing else changes. Nothing is ever run twice behind our back (no restarts, no retries), and
no result lives in an actor: each comes back at once and is stored by the driver. A dead worker is a fault of the jobs it held,
and a new one takes its place.

Workers on this machine start with a bare environment. Only model workers are handed the rest of the driver's (keys, proxies):
a reply must find no secret in the worker that executes it, and ``MLFLOW_*`` would send elsewhere what a worker logs. No worker at
all gets what is ``withheld``, by whatever name: the seed of held-out tasks.
"""

import asyncio
import itertools
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from crosspath.adapters import ray_guard
from crosspath.errors import CrosspathError, ExecutorError, boundary
from crosspath.pipeline.workers import attempt, execute
from crosspath.ports import Model, Sandbox
from crosspath.types import Execution, Fault, ReplayJob, Reply, Request, Toolchain

_BARE = frozenset(
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH"]
)
_BARE_PREFIXES = ("LC_", "PYTHON", "CONDA_", "RAY_", "CROSSPATH_")
"""What every worker's environment may hold."""
_DRIVER_ONLY = "MLFLOW_"
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing phones home
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # workers use the driver's own Python
    "RAY_DISABLE_IMPORT_WARNING": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # the future default, asked for by Ray's own warning
}


class ModelWorker:
    """Sends requests; built inside its process."""

    def __init__(self, model: Callable[[], Model], environment: Mapping[str, str], withheld: frozenset[str]) -> None:
        os.environ.update(environment)
        _forget(lambda name: name.startswith(_DRIVER_ONLY) or name in withheld)
        self._model = model()

    async def generate(self, request: Request) -> Reply | Fault:
        """One attempt."""
        return await attempt(self._model, request)


class ReplayWorker:
    """Executes replies; built inside its process, one job list at a time."""

    def __init__(self, sandbox: Callable[[], Sandbox], withheld: frozenset[str]) -> None:
        _forget(lambda name: not _is_bare(name) or name in withheld)
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
        withheld: Iterable[str] = (),
    ) -> None:
        self._make_model = model
        self._make_sandbox = sandbox
        self._address = address
        self._sizes = (replay_workers, model_workers, model_concurrency)
        self._withheld = frozenset(withheld)
        self._own = False
        self._guard: subprocess.Popen[bytes] | None = None
        self._idle: tuple[asyncio.AbstractEventLoop, asyncio.Queue[Any]] | None = None
        self._replayers: list[Any] = []
        self._askers: list[Any] = []
        self._turn: Iterator[int] = iter(())

    def __enter__(self) -> Self:
        os.environ.update({key: value for key, value in _ENVIRONMENT.items() if key not in os.environ})
        with boundary(ExecutorError, "starting Ray"):
            import ray

            replay_workers, model_workers, _ = self._sizes
            self._own = not ray.is_initialized()
            if self._own:
                address = self._address or os.environ.get("RAY_ADDRESS")
                self._guard = _start(ray, address, replay_workers + model_workers, self._withheld)
            self._replayers = [self._new_replayer() for _ in range(replay_workers)]
            self._askers = [self._new_asker() for _ in range(model_workers)]
            self._turn = itertools.cycle(range(model_workers))
        return self

    def _new_replayer(self) -> Any:
        import ray

        kind = ray.remote(ReplayWorker).options(num_cpus=1, max_restarts=0, max_task_retries=0)
        return kind.remote(self._make_sandbox, self._withheld)

    def _new_asker(self) -> Any:
        import ray

        kind = ray.remote(ModelWorker).options(num_cpus=0, max_restarts=0, max_task_retries=0, max_concurrency=self._sizes[2])
        unwanted = {name for name in os.environ if _is_bare(name) or name.startswith(_DRIVER_ONLY)} | self._withheld
        rest = {name: value for name, value in os.environ.items() if name not in unwanted}
        return kind.remote(self._make_model, rest, self._withheld)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        import ray

        for worker in (*self._replayers, *self._askers):
            ray.kill(worker)
        self._replayers, self._askers, self._idle = [], [], None
        if self._own:
            ray.shutdown()
        if self._guard is not None:
            ray_guard.end(self._guard)
            self._guard = None

    async def generate(self, request: Request) -> Reply | Fault:
        from ray.exceptions import RayError

        number = next(self._turn, None)
        if number is None:
            raise RuntimeError("the executor is not open: use it as a context manager")
        worker = self._askers[number]
        try:
            return await worker.generate.remote(request)
        except RayError as error:
            if self._askers[number] is worker:  # the first of its requests to notice
                self._askers[number] = self._new_asker()
            return _lost(error, "the model worker died; whether the request was served is not known")

    async def replay(self, jobs: Sequence[ReplayJob]) -> tuple[Execution | Fault, ...]:
        from ray.exceptions import RayError

        idle = self._idle_workers()
        worker = await idle.get()
        try:
            return await worker.replay.remote(tuple(jobs))
        except RayError as error:
            worker = self._replaced(worker)
            return (_lost(error, "the replay worker died"),) * len(jobs)
        finally:
            idle.put_nowait(worker)

    def _replaced(self, dead: Any) -> Any:
        import ray

        ray.kill(dead)  # it may be unreachable only
        self._replayers.remove(dead)
        self._replayers.append(self._new_replayer())
        return self._replayers[-1]

    def _idle_workers(self) -> "asyncio.Queue[Any]":
        """A queue belongs to one event loop; another loop gets a new one with all workers."""
        loop = asyncio.get_running_loop()
        if self._idle is None or self._idle[0] is not loop:
            if not self._replayers:
                raise RuntimeError("the executor is not open: use it as a context manager")
            queue: asyncio.Queue[Any] = asyncio.Queue()
            for worker in self._replayers:
                queue.put_nowait(worker)
            self._idle = (loop, queue)
        return self._idle[1]

    def toolchain(self) -> Toolchain:
        import ray
        from ray.exceptions import RayTaskError

        with boundary(ExecutorError, "asking a replay worker for its toolchain"):
            try:
                return ray.get(self._replayers[0].describe.remote(), timeout=120)
            except RayTaskError as error:
                if isinstance(error.cause, CrosspathError):
                    raise error.cause from None  # as it was said there, without the worker's traceback
                raise


def _start(ray: Any, address: str | None, workers: int, withheld: frozenset[str]) -> "subprocess.Popen[bytes] | None":
    """Start Ray here, or join it; returns the guard of what was started here."""
    with _bare_environment(withheld), _own_signals():
        ray.init(
            address=address or "local",
            num_cpus=None if address else workers,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            namespace="crosspath",
        )
    return None if address else ray_guard.start()


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ray puts handlers of its own in place of the program's: one that exits, and one that prints its stack first.

    Raises:
        KeyboardInterrupt: the program was to be ended while Ray started.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # there Ray touches none
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except SystemExit:
        raise KeyboardInterrupt from None
    finally:
        for number, handler in before.items():
            if handler is not None:  # else it is not Python's
                signal.signal(number, handler)


def _is_bare(name: str) -> bool:
    return name in _BARE or name.startswith(_BARE_PREFIXES)


@contextmanager
def _bare_environment(withheld: frozenset[str]) -> Iterator[None]:
    """What Ray starts here inherits nothing else: not even ``/proc/PID/environ`` of a worker shows a key."""
    whole = dict(os.environ)
    _forget(lambda name: not _is_bare(name) or name in withheld)
    try:
        yield
    finally:
        os.environ.update(whole)


def _forget(unwanted: Callable[[str], bool]) -> None:
    for name in [name for name in os.environ if unwanted(name)]:
        del os.environ[name]


def _lost(error: Exception, what: str) -> Fault:
    first = (str(error).strip().splitlines() or [""])[0][:300]
    return Fault(boundary="executor", type="executor", message=f"{what}: {type(error).__name__}: {first}", retryable=True)
