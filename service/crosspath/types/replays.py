"""Replays: commands, what they did, and the final state. Facts only, no verdicts."""

from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from crosspath.types.base import EscapedBytes, Record
from crosspath.types.replies import Fault, TrialKey
from crosspath.types.tasks import FileEntry, Task

DeliveryProblem = Literal["contract_error", "undeliverable", "truncated", "refusal", "empty"]
StateKind = Literal["file", "symlink", "directory", "fifo", "socket", "device"]
Package = Literal["inside", "jinja2", "markupsafe"]
Limit = Literal["time", "output", "memory", "processes", "disk", "entries"]

_MIB = 1024 * 1024


class Command(Record):
    """What is executed inside a sandbox, in the work directory."""

    argv: tuple[EscapedBytes, ...]
    stdin: EscapedBytes = b""
    files: tuple[FileEntry, ...] = ()
    """Files outside of the work directory, in the directory that ``IN`` names (read-only for the command)."""
    env: tuple[tuple[str, str], ...] = ()
    """``{work}``, ``{in}`` and ``{out}`` expand to the directories of this run."""
    binds: tuple[str, ...] = ()
    """Absolute host paths that are visible read-only at the same place."""
    report: str | None = None
    """Name of a file below ``{out}`` that the command may leave as its own report."""
    packages: tuple[Package, ...] = ()
    """Python packages of ours that the command reads below ``{packages}``, read-only: every worker has them, so none travels with
    a command. Where one is named, ``{packages}`` expands in ``env``, and in words of ``argv`` that begin with it."""
    needs: tuple[str, ...] = ()
    """Programs of the system without which the command can't mean anything; a missing one is a fault, never a result."""


class Hop(Record):
    """What one layer made of the text."""

    layer: str
    text: EscapedBytes


class Action(Record):
    """One command of a reply, with the tool call it comes from."""

    call_id: str | None = None
    command: Command
    hops: tuple[Hop, ...] = ()


class Delivery(Record):
    """How a reply becomes commands on one path: the pure half of a replay."""

    actions: tuple[Action, ...] = ()
    problem: DeliveryProblem | None = None
    """Why nothing, or not everything, can be executed."""
    reason: str = ""
    abstained: bool = False
    """The reply declines in the form that its contract states."""


class OutputStream(Record):
    """Captured output: at most the cap is kept, ``size`` counts all bytes that were written."""

    data: EscapedBytes = b""
    size: int = 0

    @property
    def truncated(self) -> bool:
        return self.size > len(self.data)


class ExecResult(Record):
    """What happened to one command. ``exit_code`` is None when it was killed by us; 128+N when signal N ended it."""

    exit_code: int | None
    stdout: OutputStream = OutputStream()
    stderr: OutputStream = OutputStream()
    duration_s: float = Field(ge=0)
    timed_out: bool = False
    limits_hit: tuple[Limit, ...] = ()
    leftover_processes: int | None = None
    """Processes that outlived the command and were killed; None where the adapter can't tell."""
    report: EscapedBytes | None = None
    """Content of ``Command.report``, where it was left."""


class StateEntry(Record):
    """One path below the work directory."""

    path: EscapedBytes
    kind: StateKind
    mode: int
    size: int = 0
    sha256: str = ""
    """Of a file's whole content; empty for other kinds, and for (sparse) files beyond what is hashed of one state."""
    content: EscapedBytes | None = None
    """The content, if it is not longer than the cap."""
    target: EscapedBytes = b""


class Observation(Record):
    """What one observer printed on the read-only copy of the final state."""

    name: str
    exit_code: int | None
    output: EscapedBytes
    truncated: bool = False


class FinalState(Record):
    """Facts about the work directory after everything in the sandbox was known dead; sorted by path."""

    entries: tuple[StateEntry, ...] = ()
    observations: tuple[Observation, ...] = ()
    truncated: bool = False
    """Not everything is here: more entries than the cap, a tree that is too deep, or files too large to be hashed."""


class ReplayKey(Record):
    """One reply through one path, for the ``repeat``-th time. ``encoded``: the control of a survivable path."""

    trial: TrialKey
    path: str
    """Digest of the whole path: clean-up, decoder, chain."""
    encoded: bool = False
    repeat: int = Field(default=0, ge=0)


class ReplayJob(Record):
    """Everything a sandbox needs for one replay."""

    key: ReplayKey
    task: Task
    commands: tuple[Command, ...]


class Execution(Record):
    """What a sandbox returns for one job."""

    key: ReplayKey
    results: tuple[ExecResult, ...] = ()
    """One per command, in order. All commands of a job are run, whatever the exit status of those before, until their time
    is over or there were too many: those that did not get their turn are ``timed_out`` with a ``duration_s`` of 0."""
    state: FinalState = FinalState()
    setup_failed: str | None = None
    starts: int = 0
    """How many times a sandbox was started for this job."""


class Replay(Record):
    """The stored facts of one replay: delivery, execution or fault."""

    key: ReplayKey
    transport: str
    """The path's name as users know it."""
    delivery: Delivery
    execution: Execution | None = None
    fault: Fault | None = None


class SandboxLimits(Record):
    """Bounds of one command; ``disk_bytes``, ``inodes`` and ``commands`` of all commands of one reply together.

    Their time is bounded by ``Task.timeout_s``, all of them together as well.
    """

    output_bytes: int = Field(default=65_536, ge=1, le=16 * _MIB)
    """Kept per stream; what comes after is counted and dropped."""
    output_total_bytes: int = Field(default=64 * _MIB, ge=1, le=16_384 * _MIB)
    """A command that writes more than this is killed."""
    memory_bytes: int = Field(default=512 * _MIB, ge=16 * _MIB, le=1_048_576 * _MIB)
    processes: int = Field(default=128, ge=8, le=32_768)
    disk_bytes: int = Field(default=64 * _MIB, ge=65_536, le=1_048_576 * _MIB)
    inodes: int = Field(default=16_384, ge=16, le=1_048_576)
    file_cap_bytes: int = Field(default=65_536, ge=0, le=16 * _MIB)
    """Longest file whose content is kept in the final state."""
    commands: int = Field(default=64, ge=1, le=1024)
    """How many commands of one reply are started; the rest is not run."""


class Toolchain(Record):
    """What the executing worker reports about itself."""

    sandbox: str
    """``bubblewrap 0.8.0``, ``none``, ``fake``."""
    limits_enforced: tuple[str, ...] = ()
    limits_missing: tuple[str, ...] = ()
    programs: dict[str, str] = Field(default_factory=dict)
    """Name -> first line of its version text (bash, sh, python3, git, ...)."""
    platform: str = ""
    python: str = ""
    image: str = ""
    """The image that the worker runs in: what ``$CROSSPATH_IMAGE`` says there, else the system's own name and version."""

    @model_serializer(mode="wrap")
    def _as_before(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without an image as before there was one: digests of older evaluations stay what they were."""
        value = written(self)
        if not self.image:
            del value["image"]
        return value
