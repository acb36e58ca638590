"""What a worker does, wherever it runs: one attempt, or the replays of one trial. Errors become faults here, and only here."""

from collections.abc import Sequence

from crosspath.errors import ModelError, SandboxError, boundary
from crosspath.ports import Model, Sandbox
from crosspath.types import Execution, Fault, ReplayJob, Reply, Request

MAX_MESSAGE = 2000


async def attempt(model: Model, request: Request) -> Reply | Fault:
    """One attempt at one request; whatever goes wrong comes back as data."""
    try:
        with boundary(ModelError, "the model adapter failed"):
            return await model.generate(request)
    except ModelError as error:
        return Fault(
            boundary="model",
            type=error.type,
            message=str(error)[:MAX_MESSAGE],
            retryable=error.retryable,
            retry_after_s=error.retry_after_s,
        )


def execute(sandbox: Sandbox, jobs: Sequence[ReplayJob]) -> tuple[Execution | Fault, ...]:
    """The replays of one trial; a sandbox that fails as a whole gives a fault for each."""
    try:
        with boundary(SandboxError, "the sandbox adapter failed"):
            return sandbox.run(jobs)
    except SandboxError as error:
        fault = Fault(boundary="sandbox", type="start_failed", message=str(error)[:MAX_MESSAGE], retryable=True)
        return (fault,) * len(jobs)
