"""The exception tree, and the one converter at each edge.

    CrosspathError
    ├── ConfigError            the user's input is wrong: one clear line, exit code 2
    └── BoundaryError          something outside failed: exit code 5
        ├── ModelError         a model endpoint
        ├── SandboxError       the sandbox could not start, or could not be read
        ├── ValidatorError     Great Expectations could not judge
        ├── TrackerError       the tracking server
        ├── ExecutorError      a worker died or could not be started
        └── StoreError         the ledger could not be written or read

A wrong answer of a model is neither: it is a ``Score``. A thing that could not be observed is a ``Fault`` record.
"""

from collections.abc import Generator
from contextlib import contextmanager


class CrosspathError(Exception):
    """Base of all errors that Crosspath raises on purpose."""


class ConfigError(CrosspathError):
    """The user's spec, file or argument is wrong.

    The message is one line that names the place, the field, the value and what would be right.
    """

    def __init__(self, problem: str, *, source: str | None = None, field: str | None = None) -> None:
        self.problem = problem
        self.source = source
        self.field = field
        place = ": ".join(part for part in (source, field) if part)
        super().__init__(f"{place}: {problem}" if place else problem)


class BoundaryError(CrosspathError):
    """Something outside of Crosspath failed."""


class ModelError(BoundaryError):
    """A model endpoint failed; ``retryable`` says whether the same request may be sent again."""

    def __init__(
        self, message: str, *, type_: str = "model", retryable: bool = False, retry_after_s: float | None = None
    ) -> None:
        self.type = type_
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        super().__init__(message)


class SandboxError(BoundaryError):
    """A sandbox could not be started, or its final state could not be read."""


class ValidatorError(BoundaryError):
    """A validation could not be carried out; no verdict may be drawn from it."""


class TrackerError(BoundaryError):
    """The tracking server could not be reached, or did not keep what was logged."""


class ExecutorError(BoundaryError):
    """A worker process died or could not be started."""


class StoreError(BoundaryError):
    """The ledger could not be written or read."""


@contextmanager
def boundary(kind: type[BoundaryError], doing: str) -> Generator[None]:
    """Turn any foreign exception inside the block into ``kind``; our own pass through.

    Raises:
        BoundaryError: of the given kind, with the foreign exception as its cause.
    """
    try:
        yield
    except CrosspathError:
        raise
    except Exception as error:
        first_line = (str(error).strip().splitlines() or [""])[0][:300]
        raise kind(f"{doing}: {type(error).__name__}: {first_line}") from error
