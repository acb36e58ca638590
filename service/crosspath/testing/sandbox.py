"""A sandbox that executes nothing: what each command does is written down beforehand."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from crosspath.types import (
    Command,
    ExecResult,
    Execution,
    Fault,
    FileEntry,
    FinalState,
    Limit,
    Observation,
    OutputStream,
    ReplayJob,
    SandboxLimits,
    StateEntry,
    Task,
    Toolchain,
)


@dataclass(frozen=True)
class Effect:
    """What one command does: files first, then how it ends."""

    writes: tuple[FileEntry, ...] = ()
    removes: tuple[bytes, ...] = ()
    """Paths; what lies below goes, too."""
    exit_code: int | None = 0
    stdout: bytes = b""
    stderr: bytes = b""
    timed_out: bool = False
    limits_hit: tuple[Limit, ...] = ()
    report: bytes | None = None
    fault: Fault | None = None
    """The sandbox fails at this command."""


_NOT_STARTED = ExecResult(exit_code=None, duration_s=0.0, timed_out=True, limits_hit=("time",))

Script = Mapping[bytes, Effect] | Callable[[Command], Effect]
"""Last word of a command (for ``bash -c TEXT`` the text) -> what it does; or a function of the whole command."""


@dataclass
class FakeSandbox:
    """Implements ``ports.Sandbox`` by applying scripted effects to the task's fixture; keeps the jobs that it was given.

    A command without an effect succeeds and changes nothing. Setup lines and observers are looked up in the same script.
    """

    script: Script = field(default_factory=dict[bytes, Effect])
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    jobs: list[ReplayJob] = field(default_factory=list[ReplayJob])
    missing_programs: frozenset[str] = frozenset()
    """Programs of the system that are not there: a command that needs one is a fault."""

    def run(self, jobs: Sequence[ReplayJob]) -> tuple[Execution | Fault, ...]:
        """One result per job, in order."""
        self.jobs.extend(jobs)
        return tuple(self._run(job) for job in jobs)

    def describe(self) -> Toolchain:
        """Everything is in force, for nothing runs."""
        limits = ("time", "output", "disk", "entries", "memory", "processes", "network", "files", "syscalls")
        return Toolchain(sandbox="fake", limits_enforced=limits)

    def _run(self, job: ReplayJob) -> Execution | Fault:
        missing = self.missing_programs.intersection(name for command in job.commands for name in command.needs)
        if missing:
            return Fault(boundary="sandbox", type="missing_program", message=f"the path needs the program {min(missing)!r}")
        files = _with_parents({entry.path: entry for entry in job.task.fixture})
        setup = self._setup(job.task, files)
        if isinstance(setup, Effect) and setup.exit_code != 0:
            failed = f"the setup line ended with {setup.exit_code}"
            return Execution(key=job.key, state=self._state(files), setup_failed=failed, starts=1)
        results: list[ExecResult] = []
        started = 0
        for command in job.commands:
            if started == self.limits.commands or (results and results[-1].timed_out):
                results.append(_NOT_STARTED)
                continue
            started += 1
            effect = self._effect(command)
            if effect.fault is not None:
                return effect.fault
            _apply(effect, files)
            results.append(self._result(effect, command))
        observations = tuple(self._observe(observer.name, observer.command) for observer in job.task.observers)
        state = self._state(files).model_copy(update={"observations": observations})
        starts = started + len(observations) + (job.task.setup is not None)
        return Execution(key=job.key, results=tuple(results), state=state, starts=starts)

    def _setup(self, task: Task, files: dict[bytes, FileEntry]) -> Effect | None:
        if task.setup is None:
            return None
        effect = self._effect(_shell(task.setup))
        _apply(effect, files)
        return effect

    def _observe(self, name: str, line: str) -> Observation:
        effect = self._effect(_shell(line))
        return Observation(name=name, exit_code=effect.exit_code, output=effect.stdout)

    def _effect(self, command: Command) -> Effect:
        if callable(self.script):
            return self.script(command)
        return self.script.get(command.argv[-1], Effect())

    def _result(self, effect: Effect, command: Command) -> ExecResult:
        cap = self.limits.output_bytes
        return ExecResult(
            exit_code=effect.exit_code,
            stdout=OutputStream(data=effect.stdout[:cap], size=len(effect.stdout)),
            stderr=OutputStream(data=effect.stderr[:cap], size=len(effect.stderr)),
            duration_s=0.0,
            timed_out=effect.timed_out,
            limits_hit=effect.limits_hit,
            report=effect.report if command.report is not None else None,
        )

    def _state(self, files: Mapping[bytes, FileEntry]) -> FinalState:
        entries = tuple(_entry(files[path], self.limits.file_cap_bytes) for path in sorted(files))
        return FinalState(entries=entries)


def _shell(line: str) -> Command:
    return Command(argv=(b"bash", b"-c", line.encode("utf-8", "surrogateescape")))


def _with_parents(files: dict[bytes, FileEntry]) -> dict[bytes, FileEntry]:
    for path in list(files):
        while b"/" in path:
            path = path.rpartition(b"/")[0]
            files.setdefault(path, FileEntry(path=path, kind="directory"))
    return files


def _apply(effect: Effect, files: dict[bytes, FileEntry]) -> None:
    for removed in effect.removes:
        for path in [path for path in files if path == removed or path.startswith(removed + b"/")]:
            del files[path]
    files.update((entry.path, entry) for entry in effect.writes)
    _with_parents(files)


def _entry(entry: FileEntry, cap_bytes: int) -> StateEntry:
    if entry.kind == "symlink":
        return StateEntry(path=entry.path, kind="symlink", mode=0o777, target=entry.target)
    if entry.kind == "directory":
        return StateEntry(path=entry.path, kind="directory", mode=0o755 if entry.mode is None else entry.mode)
    return StateEntry(
        path=entry.path,
        kind="file",
        mode=0o644 if entry.mode is None else entry.mode,
        size=len(entry.content),
        sha256=hashlib.sha256(entry.content).hexdigest(),
        content=entry.content if len(entry.content) <= cap_bytes else None,
    )
