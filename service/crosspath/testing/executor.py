"""An executor that does everything on the spot, one thing after the other; its workers die when they are told to."""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from crosspath.errors import ModelError, SandboxError
from crosspath.ports import Model, Sandbox
from crosspath.types import Execution, Fault, ReplayJob, Reply, Request, Toolchain


class FakeExecutor:
    """Implements ``ports.Executor`` over a model and a sandbox without processes and threads.

    Args:
        model: how a worker makes its model.
        sandbox: how a worker makes its sandbox.
        dies: asked before each request and each list of jobs; True: the worker dies over it.
    """

    def __init__(
        self,
        model: Callable[[], Model],
        sandbox: Callable[[], Sandbox],
        *,
        dies: Callable[[Request | Sequence[ReplayJob]], bool] = lambda _: False,
    ) -> None:
        self._make_model = model
        self._make_sandbox = sandbox
        self._dies = dies
        self._workers: tuple[Model, Sandbox] | None = None

    def __enter__(self) -> Self:
        self._workers = self._make_model(), self._make_sandbox()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._workers = None

    def _open(self) -> tuple[Model, Sandbox]:
        if self._workers is None:
            raise RuntimeError("the executor is not open: use it as a context manager")
        return self._workers

    async def generate(self, request: Request) -> Reply | Fault:
        model, _ = self._open()
        if self._dies(request):
            return _DEAD
        try:
            return await model.generate(request)
        except ModelError as error:
            return Fault(boundary="model", type=error.type, message=str(error), retryable=error.retryable)

    async def replay(self, jobs: Sequence[ReplayJob]) -> tuple[Execution | Fault, ...]:
        _, sandbox = self._open()
        if self._dies(jobs):
            return (_DEAD,) * len(jobs)
        try:
            return sandbox.run(jobs)
        except SandboxError as error:
            fault = Fault(boundary="sandbox", type="start_failed", message=str(error), retryable=True)
            return (fault,) * len(jobs)

    def toolchain(self) -> Toolchain:
        return self._open()[1].describe()


_DEAD = Fault(boundary="executor", type="executor", message="the worker died", retryable=True)
