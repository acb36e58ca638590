"""The one exception that spoils a single job, and the record it becomes."""

from crosspath.errors import SandboxError
from crosspath.types import Fault


class JobFailure(SandboxError):
    """One job could not be carried out or observed; ``type`` is the fault's type."""

    def __init__(self, type_: str, message: str, *, retryable: bool = False) -> None:
        self.type = type_
        self.retryable = retryable
        super().__init__(message)


def fault_of(error: SandboxError) -> Fault:
    """The fault that stands for ``error``; what we did not foresee may be tried again."""
    if isinstance(error, JobFailure):
        return Fault(boundary="sandbox", type=error.type, message=str(error), retryable=error.retryable, attempts=1)
    return Fault(boundary="sandbox", type="sandbox_failed", message=str(error), retryable=True, attempts=1)
