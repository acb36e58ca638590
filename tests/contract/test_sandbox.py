"""One contract over bubblewrap, plain processes and the fake."""

import hashlib
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from crosspath.adapters.bubblewrap_sandbox import BubblewrapSandbox
from crosspath.adapters.process_sandbox import ProcessSandbox
from crosspath.errors import SandboxError
from crosspath.ports import Sandbox
from crosspath.testing.sandbox import Effect, FakeSandbox
from crosspath.types import (
    Command,
    Execution,
    Fault,
    FileEntry,
    Observer,
    SandboxLimits,
)
from sandbox_jobs import files, job, run, shell

LIMITS = SandboxLimits(output_bytes=1000, file_cap_bytes=1000, commands=25)
BIG = bytes(range(256)) * 8
NOT_STARTED = Fault(boundary="sandbox", type="start_failed", message="scripted")
SETUP = "printf made > by-setup"
SCRIPT = {
    b"printf hello > greeting": Effect(writes=(FileEntry(path=b"greeting", content=b"hello"),)),
    b"cat a/b; echo oops >&2; exit 3": Effect(stdout=b"text", stderr=b"oops\n", exit_code=3),
    b"rm -r a": Effect(removes=(b"a",)),
    b"kill -9 $$": Effect(exit_code=137),
    b"sleep 30": Effect(exit_code=None, timed_out=True, limits_hit=("time",)),
    b"head -c 5000 /dev/zero": Effect(stdout=b"\0" * 5000),
    b"printf x > \"$(printf 'caf\\351')\"; ln -s /nowhere link; mkdir -m 700 d": Effect(
        writes=(
            FileEntry(path=b"caf\xe9", content=b"x"),
            FileEntry(path=b"link", kind="symlink", target=b"/nowhere"),
            FileEntry(path=b"d", kind="directory", mode=0o700),
        )
    ),
    b"cat > copy": Effect(writes=(FileEntry(path=b"copy", content=BIG * 100),)),
    b'cat "$IN/reply" > copy; printf \'{}\' > "$OUT/report"': Effect(
        writes=(FileEntry(path=b"copy", content=b"the reply"),), report=b"{}"
    ),
    b"true": Effect(),
    b'printf "$SHELL_COLOUR" > colour; hello > said': Effect(
        writes=(FileEntry(path=b"colour", content=b"red"), FileEntry(path=b"said", content=b"hi there"))
    ),
    b"cat greeting": Effect(stdout=b"hello"),
    b"exit 4": Effect(exit_code=4),
    SETUP.encode(): Effect(writes=(FileEntry(path=b"by-setup", content=b"made"),)),
    b"no-such-program-anywhere": Effect(fault=NOT_STARTED),
    b"echo second >> log": Effect(writes=(FileEntry(path=b"log", content=b"first\nsecond\n"),)),
    b"echo first >> log": Effect(writes=(FileEntry(path=b"log", content=b"first\n"),)),
}


def bubblewrap() -> Iterator[Sandbox]:
    """The real one. Where the program is missing its tests fail: a suite that skips its sandbox proves nothing."""
    made = BubblewrapSandbox(LIMITS)
    yield made
    made.close()


@pytest.fixture(scope="module", params=["bubblewrap", "process", "fake"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    if request.param == "fake":
        yield FakeSandbox(SCRIPT, LIMITS, missing_programs=frozenset({"no-such-program-anywhere"}))
    elif request.param == "process":
        yield ProcessSandbox(LIMITS)
    else:
        yield from bubblewrap()


FIXTURE = (FileEntry(path=b"a/b", content=b"text"), FileEntry(path=b"run.sh", content=b"#!/bin/sh\n", mode=0o755))
CLOSED = (
    FileEntry(path=b"in", kind="directory", mode=0o555),
    FileEntry(path=b"in/deep", kind="directory", mode=0o555),
    FileEntry(path=b"in/deep/book", content=b"kept\n", mode=0o444),
    FileEntry(path=b"in/link", kind="symlink", target=b"deep/book"),
)
"""Directories that are closed to their own owner, with something in them."""


class TestSandboxContract:
    def test_state_is_the_fixture_when_nothing_happens(self, sandbox: Sandbox) -> None:
        """A command that does nothing leaves exactly the fixture: content, modes, parents, sorted by path."""
        state = run(sandbox, shell("true"), fixture=FIXTURE).state
        assert [(entry.path, entry.kind, entry.mode) for entry in state.entries] == [
            (b"a", "directory", 0o755),
            (b"a/b", "file", 0o644),
            (b"run.sh", "file", 0o755),
        ]
        assert state.entries[1].sha256 == hashlib.sha256(b"text").hexdigest()

    def test_closed_directories(self, sandbox: Sandbox) -> None:
        """What a directory holds is there although nobody may write into it, and every entry has its mode."""
        state = run(sandbox, shell("true"), fixture=CLOSED).state
        assert [(entry.path, entry.kind, entry.mode) for entry in state.entries] == [
            (b"in", "directory", 0o555),
            (b"in/deep", "directory", 0o555),
            (b"in/deep/book", "file", 0o444),
            (b"in/link", "symlink", 0o777),
        ]

    def test_no_command_at_all(self, sandbox: Sandbox) -> None:
        """A job without commands is set up and observed like any other: a reply that asks for nothing leaves a state, too."""
        observers = (Observer(name="made", command="cat greeting"),)
        execution = run(sandbox, fixture=FIXTURE, setup=SETUP, observers=observers)
        assert (execution.results, execution.setup_failed) == ((), None)
        assert files(execution.state) == {b"a/b": b"text", b"by-setup": b"made", b"run.sh": b"#!/bin/sh\n"}
        assert [item.name for item in execution.state.observations] == ["made"]
        assert execution.starts == 2

    def test_writing(self, sandbox: Sandbox) -> None:
        """What a command writes is in the state, with its digest, size and content."""
        result = run(sandbox, shell("printf hello > greeting"))
        (entry,) = result.state.entries
        assert (entry.path, entry.size, entry.content) == (b"greeting", 5, b"hello")
        assert result.results[0].exit_code == 0

    def test_removing(self, sandbox: Sandbox) -> None:
        """What a command removes is gone from the state."""
        assert [entry.path for entry in run(sandbox, shell("rm -r a"), fixture=FIXTURE).state.entries] == [b"run.sh"]

    def test_exit_status_and_output(self, sandbox: Sandbox) -> None:
        """Exit status, standard output and standard error are what the command gave."""
        (result,) = run(sandbox, shell("cat a/b; echo oops >&2; exit 3"), fixture=FIXTURE).results
        assert (result.exit_code, result.stdout.data, result.stderr.data) == (3, b"text", b"oops\n")

    def test_signal(self, sandbox: Sandbox) -> None:
        """A command that a signal ended has 128 plus its number."""
        assert run(sandbox, shell("kill -9 $$")).results[0].exit_code == 137

    def test_timeout(self, sandbox: Sandbox) -> None:
        """A command past its time is killed: no exit status, ``timed_out``, and the state is still read."""
        execution = run(sandbox, shell("sleep 30"), fixture=FIXTURE, timeout_s=0.3)
        (result,) = execution.results
        assert (result.exit_code, result.timed_out, result.limits_hit) == (None, True, ("time",))
        assert files(execution.state) == {b"a/b": b"text", b"run.sh": b"#!/bin/sh\n"}

    def test_output_is_capped_and_counted(self, sandbox: Sandbox) -> None:
        """Output past the cap is counted, not kept, and said to be truncated."""
        (result,) = run(sandbox, shell("head -c 5000 /dev/zero")).results
        assert (len(result.stdout.data), result.stdout.size, result.stdout.truncated) == (1000, 5000, True)

    def test_kinds_and_names(self, sandbox: Sandbox) -> None:
        """Names are bytes; symbolic links are not followed; directories keep their mode."""
        command = shell(b"printf x > \"$(printf 'caf\\351')\"; ln -s /nowhere link; mkdir -m 700 d")
        entries = run(sandbox, command).state.entries
        assert [(entry.path, entry.kind, entry.target) for entry in entries] == [
            (b"caf\xe9", "file", b""),
            (b"d", "directory", b""),
            (b"link", "symlink", b"/nowhere"),
        ]
        assert entries[1].mode == 0o700

    def test_stdin(self, sandbox: Sandbox) -> None:
        """Standard input of any size arrives byte for byte; long content is hashed and not kept."""
        (entry,) = run(sandbox, shell("cat > copy", stdin=BIG * 100)).state.entries
        assert (entry.size, entry.sha256, entry.content) == (204_800, hashlib.sha256(BIG * 100).hexdigest(), None)

    def test_handed_in_files_and_report(self, sandbox: Sandbox) -> None:
        """Files handed to a command are in the directory IN names, and its report in OUT is read back."""
        text = 'cat "$IN/reply" > copy; printf \'{}\' > "$OUT/report"'
        handed = (FileEntry(path=b"reply", content=b"the reply"),)
        execution = run(sandbox, shell(text, files=handed, report="report"))
        assert files(execution.state) == {b"copy": b"the reply"}
        assert execution.results[0].report == b"{}"

    def test_missing_report(self, sandbox: Sandbox) -> None:
        """A report that was not left is None."""
        assert run(sandbox, shell("true", report="report")).results[0].report is None

    def test_programs_and_environment(self, sandbox: Sandbox) -> None:
        """A task's programs are on PATH, and its variables are set."""
        program = FileEntry(path=b"hello", content=b"#!/bin/sh\nprintf 'hi there'\n")
        command = shell('printf "$SHELL_COLOUR" > colour; hello > said')
        state = run(sandbox, command, programs=(program,), env=(("SHELL_COLOUR", "red"),)).state
        assert files(state) == {b"colour": b"red", b"said": b"hi there"}

    def test_commands_share_one_work_directory(self, sandbox: Sandbox) -> None:
        """The commands of a job run in order, in one work directory, whatever the exit status before."""
        execution = run(sandbox, shell("echo first >> log"), shell("exit 4"), shell("echo second >> log"))
        assert [result.exit_code for result in execution.results] == [0, 4, 0]
        assert files(execution.state) == {b"log": b"first\nsecond\n"}
        assert execution.starts == 3

    def test_commands_share_their_time(self, sandbox: Sandbox) -> None:
        """The time is that of all commands together: those that don't get their turn are not started, and timed out."""
        execution = run(sandbox, shell("true"), shell("sleep 30"), shell("echo first >> log"), shell("exit 4"), timeout_s=0.3)
        assert [(result.exit_code, result.timed_out) for result in execution.results] == [
            (0, False), (None, True), (None, True), (None, True),
        ]  # fmt: skip
        assert [result.limits_hit for result in execution.results[2:]] == [("time",)] * 2
        assert (execution.starts, execution.state.entries) == (2, ())

    def test_ten_thousand_commands(self, sandbox: Sandbox) -> None:
        """Of a reply with very many commands only the first ones are started, and what they did is judged."""
        execution = run(sandbox, *[shell("true")] * 20, shell("printf hello > greeting"), *[shell("true")] * 10_000)
        assert execution.starts == LIMITS.commands
        assert len(execution.results) == 10_021
        assert [result.exit_code for result in execution.results[: LIMITS.commands]] == [0] * LIMITS.commands
        assert all(result.timed_out and result.duration_s == 0 for result in execution.results[LIMITS.commands :])
        assert files(execution.state) == {b"greeting": b"hello"}

    def test_jobs_share_nothing(self, sandbox: Sandbox) -> None:
        """Each job starts in a fresh work directory."""
        first, second = sandbox.run([job(shell("printf hello > greeting")), job(shell("true"))])
        assert isinstance(first, Execution)
        assert isinstance(second, Execution)
        assert files(first.state) == {b"greeting": b"hello"}
        assert second.state.entries == ()

    def test_setup(self, sandbox: Sandbox) -> None:
        """The setup line runs before the reply, in the same directory."""
        assert files(run(sandbox, shell("true"), setup=SETUP).state) == {b"by-setup": b"made"}

    def test_failed_setup(self, sandbox: Sandbox) -> None:
        """After a setup line that fails nothing of the reply is run."""
        execution = run(sandbox, shell("printf hello > greeting"), setup="exit 4")
        assert execution.setup_failed is not None
        assert (execution.results, execution.state.entries) == ((), ())

    def test_observers(self, sandbox: Sandbox) -> None:
        """Observers print facts about the final state; their starts are counted."""
        execution = run(
            sandbox,
            shell("printf hello > greeting"),
            observers=(Observer(name="greeting", command="cat greeting"), Observer(name="four", command="exit 4")),
        )
        observed = [(item.name, item.exit_code, item.output) for item in execution.state.observations]
        assert observed == [("greeting", 0, b"hello"), ("four", 4, b"")]
        assert execution.starts == 3

    def test_what_does_not_start_is_a_fault(self, sandbox: Sandbox) -> None:
        """A program that can't be started is a fault of its job and spoils no neighbour."""
        fault, good = sandbox.run([job(Command(argv=(b"no-such-program-anywhere",))), job(shell("true"))])
        assert isinstance(fault, Fault)
        assert (fault.boundary, fault.type) == ("sandbox", "start_failed")
        assert isinstance(good, Execution)

    def test_a_missing_need_is_a_fault(self, sandbox: Sandbox) -> None:
        """Where a program is missing that a command needs, nothing of its job is started, and no neighbour is spoilt."""
        needing = shell("true", needs=("bash", "no-such-program-anywhere"))
        fault, good = sandbox.run([job(shell("true"), needing), job(shell("true", needs=("bash",)))])
        assert isinstance(fault, Fault)
        assert (fault.boundary, fault.type, fault.retryable) == ("sandbox", "missing_program", False)
        assert "'no-such-program-anywhere'" in fault.message
        assert isinstance(good, Execution)

    def test_describe(self, sandbox: Sandbox) -> None:
        """A sandbox names itself and says which limits it enforces; none is both in force and missing."""
        toolchain = sandbox.describe()
        assert {"time", "output"} <= set(toolchain.limits_enforced)
        assert not set(toolchain.limits_enforced) & set(toolchain.limits_missing)
        assert "syscalls" in (*toolchain.limits_enforced, *toolchain.limits_missing)

    def test_keys_come_back(self, sandbox: Sandbox) -> None:
        """Each result carries the key of its job."""
        assert run(sandbox, shell("true")).key == job().key


@pytest.fixture(scope="module", params=["bubblewrap", "process"])
def real(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    if request.param == "process":
        yield ProcessSandbox(LIMITS)
    else:
        yield from bubblewrap()


class TestRealSandboxes:
    @pytest.mark.parametrize(
        "argv",
        [(b"bash", b"-c", b"a\0b"), (b"bash", b"-c", b"x" * 200_000), ()],
        ids=["NUL", "too long", "nothing"],
    )
    def test_arguments_that_no_system_can_pass(self, real: Sandbox, argv: tuple[bytes, ...]) -> None:
        """Arguments that the system refuses give a fault, not a crash."""
        (fault,) = real.run([job(Command(argv=argv))])
        assert isinstance(fault, Fault)
        assert fault.type == "start_failed"

    def test_modes_bind_whoever_replies(self) -> None:
        """In bubblewrap nobody writes what is closed to its owner, whatever user started us; who may change modes first, may."""
        for made in bubblewrap():
            for tried in (
                "echo x >> in/deep/book",
                "touch in/new",
                "mv in/deep/book book",
                "rm -f in/link",
                "truncate -s 0 in/link",
            ):
                execution = run(made, shell(tried), fixture=CLOSED)
                assert execution.results[0].exit_code != 0, tried
                assert execution.state == run(made, fixture=CLOSED).state, tried
            changed = run(made, shell("chmod u+w in && touch in/new && chmod u-w in"), fixture=CLOSED)
            assert b"in/new" in files(changed.state)

    def test_many_slow_commands(self, real: Sandbox) -> None:
        """Each command takes its share of the time that is left, however little each of them needs."""
        started = time.monotonic()
        execution = run(real, *[shell("sleep 0.3")] * 20, timeout_s=1.0)
        assert time.monotonic() - started < 5
        assert 1 <= [result.exit_code for result in execution.results].count(0) <= 3
        assert execution.results[-1].timed_out

    @pytest.mark.parametrize("path", [b"../out", b"/etc/x", b"a/../../b"])
    def test_fixtures_stay_inside(self, real: Sandbox, path: bytes) -> None:
        """A fixture whose path leads out of the work directory is a fault and nothing is written."""
        (fault,) = real.run([job(shell("true"), fixture=(FileEntry(path=path, content=b"x"),))])
        assert isinstance(fault, Fault)
        assert fault.type == "fixture_failed"

    def test_own_failure_messages_are_no_start_failure(self, real: Sandbox) -> None:
        """A reply that prints what bubblewrap prints when it fails, and exits 1, has an ordinary exit status."""
        (result,) = run(real, shell("echo 'bwrap: execvp bash: No such file or directory' >&2; exit 1")).results
        assert result.exit_code == 1

    def test_settling(self, real: Sandbox) -> None:
        """With ``settle_s`` the state is read that long after the end, and what was left behind could go on until then."""
        text = "(sleep 0.1; echo late > f; sleep 50) & (sleep 30; echo never > g) & exit 5"
        execution = run(real, shell(text), settle_s=0.5)
        (result,) = execution.results
        assert files(execution.state) == {b"f": b"late\n"}
        assert (result.exit_code, result.timed_out) == (5, False)
        assert result.duration_s < 0.4
        assert result.leftover_processes is None or result.leftover_processes >= 2

    def test_settling_does_not_change_a_signal(self, real: Sandbox) -> None:
        """With ``settle_s`` a command that a signal ended keeps its exit status, and its standard error gains nothing."""
        (result,) = run(real, shell("kill -9 $$"), settle_s=0.05).results
        assert (result.exit_code, result.stderr.data) == (137, b"")

    def test_settling_keeps_the_deadline(self, real: Sandbox) -> None:
        """A command past its time is killed at once, whatever ``settle_s``."""
        (result,) = run(real, shell("sleep 30"), settle_s=20.0, timeout_s=0.2).results
        assert (result.exit_code, result.timed_out) == (None, True)

    def test_environment_is_clean(self, real: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing of our own environment reaches a command."""
        monkeypatch.setenv("CROSSPATH_TEST_SECRET", "hunter2")
        (result,) = run(real, shell("env")).results
        names = {line.split(b"=")[0].decode() for line in result.stdout.data.splitlines()}
        assert names - {"_", "PWD", "SHLVL", "OLDPWD"} == {
            *("PATH", "HOME", "LANG", "TZ", "TERM", "PYTHONHASHSEED", "WORK", "IN", "OUT"),
        }

    @pytest.mark.parametrize(("name", "code"), [("INT", 130), ("PIPE", 141), ("XFSZ", 153), ("CHLD", 0), ("TERM", 143)])
    def test_signals_have_their_default_action(self, real: Sandbox, name: str, code: int) -> None:
        """A command inherits no ignored signal from us."""
        assert run(real, shell(f"kill -{name} $$")).results[0].exit_code == code

    def test_text_of_a_reply_is_never_expanded(self, real: Sandbox) -> None:
        """Braces in a command's words are the reply's own."""
        (result,) = run(real, Command(argv=(b"printf", b"%s", b"{work}{in}{out}"))).results
        assert result.stdout.data == b"{work}{in}{out}"

    def test_places_expand(self, real: Sandbox) -> None:
        """``{work}`` expands in a task's variables and programs."""
        program = FileEntry(path=b"where", content=b"#!/bin/sh\nprintf '%s' '{work}'\n")
        command = shell('[ "$(where)" = "$PWD" ] && [ "$HERE" = "$WORK" ] && [ "$PWD" = "$WORK" ] && touch yes')
        assert files(run(real, command, programs=(program,), env=(("HERE", "{work}"),)).state) == {b"yes": b""}

    def test_bound_paths(self, real: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> None:
        """A path of the host that a command binds is there, readable, even where it is private to its owner."""
        place = tmp_path_factory.mktemp("bound")
        place.chmod(0o700)
        (place / "f").write_text("visible")
        (place / "f").chmod(0o600)
        (result,) = run(real, shell(f"cat {place}/f", binds=(str(place),))).results
        assert result.stdout.data == b"visible"

    def test_a_report_that_is_no_file(self, real: Sandbox) -> None:
        """A report that is a symbolic link, a pipe or a directory is not read."""
        for text in ("ln -s /etc/passwd $OUT/r", "mkfifo $OUT/r", "mkdir $OUT/r"):
            assert run(real, shell(text, report="r")).results[0].report is None

    def test_unreadable_entries(self, real: Sandbox) -> None:
        """Files and directories that their owner may not read are in the state, with their mode."""
        entries = run(real, shell("mkdir d; echo x > d/f; chmod 0 d/f d")).state.entries
        assert [(entry.path, entry.mode, entry.content) for entry in entries] == [(b"d", 0, None), (b"d/f", 0, b"x\n")]

    def test_special_files(self, real: Sandbox) -> None:
        """Pipes and sockets are named, never opened."""
        text = "mkfifo pipe; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'"
        assert [(entry.path, entry.kind) for entry in run(real, shell(text)).state.entries] == [
            (b"pipe", "fifo"),
            (b"s", "socket"),
        ]

    def test_pickling(self, real: Sandbox) -> None:
        """A sandbox that was used can be sent to another process and used there."""
        run(real, shell("true"))
        copy = pickle.loads(pickle.dumps(real))
        assert files(run(copy, shell("printf hello > greeting")).state) == {b"greeting": b"hello"}
        if isinstance(copy, BubblewrapSandbox):
            copy.close()

    def test_versions(self, real: Sandbox) -> None:
        """The toolchain names the programs that replies meet."""
        programs = real.describe().programs
        assert {"awk", "bash", "sh", "coreutils", "grep", "sed", "others", "libraries"} <= set(programs)
        for name in ("awk", "bash", "sh", "grep", "sed"):
            assert re.search(r"(^|, )/\S+ sha256 [0-9a-f]{12}$", programs[name]), programs[name]

    def test_umask(self, real: Sandbox) -> None:
        """Modes don't depend on the umask that cron or an administrator's shell gives: the same reply leaves the same state."""
        command = shell('mkdir d; touch f; cat "$IN/given" >g', files=(FileEntry(path=b"given", content=b"x"),))
        copies = [pickle.loads(pickle.dumps(real)) for _ in range(2)]
        found: list[tuple[tuple[bytes, int], ...]] = []
        for copy, mask in zip(copies, (0o022, 0o077), strict=True):
            before = os.umask(mask)
            try:
                state = run(copy, command).state
            finally:
                os.umask(before)
            found.append(tuple((entry.path, entry.mode) for entry in state.entries))
            if isinstance(copy, BubblewrapSandbox):
                copy.close()
        assert found[0] == found[1] == ((b"d", 0o755), (b"f", 0o644), (b"g", 0o644))

    def test_image(self, real: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
        """It names the image as the environment does, because a process inside can't know its digest; else the system."""
        monkeypatch.delenv("CROSSPATH_IMAGE", raising=False)
        assert real.describe().image
        monkeypatch.setenv("CROSSPATH_IMAGE", "registry.example/bot@sha256:0123")
        assert real.describe().image == "registry.example/bot@sha256:0123"


def test_without_bubblewrap() -> None:
    """Where bubblewrap is missing nothing is executed, and the message says what to install."""
    with pytest.raises(SandboxError, match="apt-get install -y bubblewrap"):
        BubblewrapSandbox(program="no-bwrap-here").run([job(shell("true"))])


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo not today >&2; exit 3", "--version ended with 3: not today"),
        ("exit 1", "--version ended with 1: without a word"),
        (None, "--version does not answer: .*Exec format error"),
    ],
)
def test_a_bubblewrap_that_does_not_say_its_version(tmp_path: Path, script: str | None, told: str) -> None:
    """A broken program is a fault of the sandbox, in one line."""
    program = tmp_path / "bwrap"
    program.write_bytes(b"\0" if script is None else f"#!/bin/sh\n{script}\n".encode())
    program.chmod(0o755)
    with pytest.raises(SandboxError, match=told):
        BubblewrapSandbox(program=str(program)).run([job(shell("true"))])


def test_a_version_that_is_no_text() -> None:
    """Bytes that are not UTF-8 are kept as escapes."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)  # the sandbox is started by somebody else than root
        program = Path(directory, "bwrap")
        program.write_text(
            f'#!/bin/sh\n[ "$1" != --version ] || {{ printf \'b\\377\'; exit; }}\nexec {shutil.which("bwrap")} "$@"\n'
        )
        program.chmod(0o755)
        assert BubblewrapSandbox(program=str(program)).describe().sandbox == r"b\xff"


def test_an_ignored_interrupt_is_not_inherited() -> None:
    """Started with `&` by a script, where the shell ignores Ctrl-C for us, a plain process ends by it as ever."""
    script = (
        "from sandbox_jobs import run, shell; from crosspath.adapters.process_sandbox import ProcessSandbox;"
        "print(run(ProcessSandbox(), shell('kill -INT $$')).results[0].exit_code)"
    )
    line = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", sys.executable, "-c", script]
    done = subprocess.run(line, capture_output=True, text=True, cwd=Path(__file__).parents[1], check=True)
    assert done.stdout == "130\n"
