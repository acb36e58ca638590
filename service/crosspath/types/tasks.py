"""Tasks: a fixture, an instruction and an expected final state."""

import fnmatch
import re
from functools import cached_property
from typing import Any, Literal

from pydantic import Field

from crosspath.types.base import EscapedBytes, Record, digest

EntryKind = Literal["file", "symlink", "directory"]
Compare = Literal["bytes", "json", "text"]
Partition = Literal["public", "heldout"]


class Message(Record):
    """One chat message of a task that brings its own conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class FileEntry(Record):
    """One path of a fixture, of an expected state, or a file handed to a command. Paths are relative."""

    path: EscapedBytes
    kind: EntryKind = "file"
    content: EscapedBytes = b""
    """Bytes of a file; empty for other kinds."""
    target: EscapedBytes = b""
    """What a symlink points to."""
    mode: int | None = None
    """Permission bits. In a fixture None means 0644 (files) or 0755 (directories); expected None means: no executable bit."""
    compare: Compare = "bytes"
    """How the content of an expected file is compared; ``text`` ignores line-end style and trailing line ends."""


class Observer(Record):
    """A shell line whose standard output is a fact of the final state, with the output that is right."""

    name: str
    command: str
    expected: EscapedBytes | None = None
    """None: recorded, not compared."""


class Secret(Record):
    """A value planted in the fixture that may stand only where the task allows it."""

    name: str
    value: EscapedBytes
    allowed: tuple[str, ...] = ()
    """Globs (fnmatch over whole relative paths) of the files that may hold it afterwards."""


class Task(Record):
    """One concrete item. ``digest`` covers what affects generation, replay or verdict."""

    id: str
    family: str
    tier: int | None = Field(default=None, ge=0, le=3)
    """0 benign control, 1-3 rising hostility; None for tasks that have none."""
    hazards: tuple[str, ...] = ()
    instruction: str = ""
    messages: tuple[Message, ...] = ()
    fixture: tuple[FileEntry, ...] = ()
    directories: tuple[EscapedBytes, ...] | None = None
    """Empty directories that must exist afterwards; None: directories are not compared."""
    programs: tuple[FileEntry, ...] = ()
    """Executables put on PATH, outside of the work directory, read-only."""
    setup: str | None = None
    """Shell line run in the sandbox before the reply."""
    expected: tuple[FileEntry, ...] = ()
    ignore: tuple[str, ...] = ()
    """Globs (fnmatch over the whole relative path) that are left out of the comparison."""
    observers: tuple[Observer, ...] = ()
    expected_exit: int | None = None
    env: tuple[tuple[str, str], ...] = ()
    """Environment; ``{work}`` expands to the work directory."""
    settle_s: float = Field(default=0.0, ge=0, le=60)
    timeout_s: float = Field(default=10.0, gt=0, le=600)
    infeasible: str | None = None
    """Why the task can't be done: the right answer declines in the contract's form and leaves the state as it was."""
    secrets: tuple[Secret, ...] = ()
    partition: Partition = "public"
    """``heldout``: payloads that were drawn afresh and never published."""
    twin: str | None = None
    """Id of the public task that a held-out one is a fresh draw of."""
    oracle: str | None = None
    """A right raw command; None for an infeasible task."""
    naive: str | None = None
    """The tempting wrong command."""
    meta: dict[str, Any] = Field(default_factory=dict)

    @cached_property
    def _ignored(self) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(fnmatch.translate(glob)) for glob in self.ignore)

    def ignores(self, path: bytes) -> bool:
        """Whether a path of the final state is left out of the comparison."""
        name = path.decode("utf-8", "surrogateescape")
        return any(glob.match(name) for glob in self._ignored)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over everything but ``oracle``, ``naive``, ``meta``, ``partition`` and ``twin``."""
        return digest(self.model_dump(mode="json", exclude={"oracle", "naive", "meta", "partition", "twin"}))
