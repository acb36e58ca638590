"""Hostile replies: each is contained, gives the right facts, and leaves its neighbours alone."""

import contextlib
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from crosspath.adapters.bubblewrap_sandbox import BubblewrapSandbox
from crosspath.adapters.sandboxing.failures import JobFailure
from crosspath.adapters.sandboxing.leftovers import own_prefix
from crosspath.types import (
    Command,
    ExecResult,
    Execution,
    Fault,
    FileEntry,
    ReplayJob,
    ReplayKey,
    SandboxLimits,
    StateEntry,
    Task,
    TrialKey,
)

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
MIB = 1024 * 1024
LIMITS = SandboxLimits(
    memory_bytes=128 * MIB, processes=40, disk_bytes=8 * MIB, inodes=500, output_total_bytes=4 * MIB, output_bytes=4096
)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[BubblewrapSandbox]:
    opened = BubblewrapSandbox(LIMITS)
    yield opened
    opened.close()


def job(text: str | bytes, **task: Any) -> ReplayJob:
    key = ReplayKey(trial=TrialKey(generation="g", task="t", index=0), path="p")
    data = text.encode() if isinstance(text, str) else text
    command = Command(argv=(b"bash", b"-c", data), stdin=task.pop("stdin", b""), files=task.pop("files", ()))
    return ReplayJob(key=key, task=Task(id="t", family="f", **task), commands=(command,))


def run(sandbox: BubblewrapSandbox, text: str | bytes, **task: Any) -> Execution:
    """Run ``text`` between two innocent neighbours, which must not notice."""
    innocent = job("printf fine > f", fixture=(FileEntry(path=b"x", content=b"y"),))
    before, result, after = sandbox.run([innocent, job(text, **task), innocent])
    for neighbour in (before, after):
        assert isinstance(neighbour, Execution), neighbour
        assert neighbour.results[0].exit_code == 0
        assert neighbour.results[0].limits_hit == ()
        assert [(entry.path, entry.content) for entry in neighbour.state.entries] == [(b"f", b"fine"), (b"x", b"y")]
    assert isinstance(result, Execution), result
    return result


def only(execution: Execution) -> ExecResult:
    (result,) = execution.results
    return result


def entries(execution: Execution) -> dict[bytes, StateEntry]:
    return {entry.path: entry for entry in execution.state.entries}


def enforces(sandbox: BubblewrapSandbox, limit: str) -> bool:
    return limit in sandbox.describe().limits_enforced


class TestProcesses:
    def test_fork_bomb(self, sandbox: BubblewrapSandbox) -> None:
        """A fork bomb meets the bound on processes and is gone when its time is over."""
        execution = run(sandbox, "printf kept > f; bomb() { bomb | bomb & }; bomb; sleep 20", timeout_s=1.0)
        if sandbox._cage is not None and sandbox._cage.cgroup is not None:  # else it is bounded, but nobody counts
            assert "processes" in only(execution).limits_hit
        assert only(execution).timed_out
        assert entries(execution)[b"f"].content == b"kept"

    def test_sleeping_for_ever(self, sandbox: BubblewrapSandbox) -> None:
        """``sleep 1000`` after a right answer: timed out, and the answer is in the state."""
        started = time.monotonic()
        execution = run(sandbox, "printf answer > f; sleep 1000", timeout_s=0.3)
        assert time.monotonic() - started < 10
        assert (only(execution).exit_code, only(execution).timed_out) == (None, True)
        assert entries(execution)[b"f"].content == b"answer"

    def test_ignoring_signals(self, sandbox: BubblewrapSandbox) -> None:
        """A command that ignores every signal it can is killed in time."""
        assert only(run(sandbox, "trap '' TERM INT HUP QUIT; while :; do sleep 1; done", timeout_s=0.3)).timed_out

    @pytest.mark.parametrize("start", ["({0}) &", "setsid bash -c '{0}' &", "nohup setsid bash -c '({0}) & disown' &"])
    def test_nothing_is_written_after_the_state_is_read(self, sandbox: BubblewrapSandbox, start: str) -> None:
        """In 60 tries for each kind of background writer the state is what was there when everything was dead."""
        text = start.replace("{0}", "while :; do echo x >> log; done") + " sleep 0.01; exit 3"
        for result in sandbox.run([job(text)] * 60):
            assert isinstance(result, Execution)
            assert only(result).exit_code == 3
            # Content, size and digest were read at different moments: they agree only if nothing wrote meanwhile.
            for entry in result.state.entries:
                assert entry.content is None or len(entry.content) == entry.size
                assert entry.content is None or hashlib.sha256(entry.content).hexdigest() == entry.sha256

    def test_what_reads_the_state_sees_it_still(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The work directory is the same when the state is read as 50 ms later, in each of 60 tries."""
        from crosspath.adapters.sandboxing import jobs

        changed: list[bool] = []
        read_state = jobs.read_state

        def read_twice(root: int, **limits: int) -> Any:
            first = read_state(root, **limits)
            time.sleep(0.02)
            changed.append(read_state(root, **limits) != first)
            return first

        monkeypatch.setattr(jobs, "read_state", read_twice)
        sandbox = BubblewrapSandbox(LIMITS)
        text = "for i in 1 2 3; do setsid bash -c 'while :; do echo x >> log$0; done' $i & done; "
        text += "until [ -e log1 ] && [ -e log2 ] && [ -e log3 ]; do sleep 0.002; done"
        results = sandbox.run([job(text)] * 60)
        sandbox.close()
        assert all(isinstance(result, Execution) and result.state.entries for result in results)
        assert changed == [False] * 60

    def test_killing_the_parent(self, sandbox: BubblewrapSandbox) -> None:
        """A reply that kills its parent, process 1 and everything it can see only ends itself."""
        execution = run(sandbox, "printf kept > f; kill -9 $PPID 1; kill -9 -1; kill -9 $$")
        assert only(execution).exit_code == 137
        assert entries(execution)[b"f"].content == b"kept"

    def test_killing_the_parent_while_settling(self, sandbox: BubblewrapSandbox) -> None:
        """The same where processes stay alive for a while: the exit status and the waiting can't be taken away."""
        execution = run(sandbox, "(sleep 0.2; printf late > f) & kill -9 $PPID 1; exit 4", settle_s=0.5)
        assert only(execution).exit_code == 4
        assert entries(execution)[b"f"].content == b"late"

    def test_no_further_user_namespaces(self, sandbox: BubblewrapSandbox) -> None:
        """A reply can't make namespaces in which it would be root, and so mount what no bound covers."""
        assert only(run(sandbox, "unshare --user --map-root-user true 2>/dev/null || exit 9")).exit_code == 9


class TestAmounts:
    def test_output(self, sandbox: BubblewrapSandbox) -> None:
        """1 GiB of output: killed at the bound, little kept, the rest counted."""
        result = only(run(sandbox, "printf kept > f; head -c 1G /dev/zero; printf more > g"))
        assert (result.exit_code, result.timed_out, result.limits_hit) == (None, False, ("output",))
        assert len(result.stdout.data) == LIMITS.output_bytes
        assert LIMITS.output_total_bytes < result.stdout.size < 64 * MIB

    def test_memory(self, sandbox: BubblewrapSandbox) -> None:
        """A program that takes more memory than there is gets killed, and the limit is named."""
        if not enforces(sandbox, "memory"):
            pytest.skip("memory is bounded by control groups only, and none is writable here; `describe` says so")
        result = only(run(sandbox, "printf kept > f; python3 -c 'x = bytearray(1 << 30)'"))
        assert result.exit_code != 0
        assert "memory" in result.limits_hit

    @pytest.mark.parametrize("place", ["$WORK", "/tmp", "$HOME", "/dev/shm"])
    def test_one_big_file(self, sandbox: BubblewrapSandbox, place: str) -> None:
        """Filling the disk by one file ends in a full disk, wherever a reply can write."""
        result = only(run(sandbox, f'head -c 1G /dev/zero > "{place}/big"; echo status $?'))
        assert result.stdout.data == b"status 1\n"
        assert result.limits_hit == ("disk",)

    def test_many_files(self, sandbox: BubblewrapSandbox) -> None:
        """Filling the disk by many files does, too; the state lists those that are there."""
        execution = run(sandbox, "for i in $(seq 100); do head -c 200000 /dev/zero > f$i || exit 5; done")
        assert only(execution).exit_code == 5
        assert only(execution).limits_hit == ("disk",)
        assert 30 < len(execution.state.entries) <= 45

    def test_a_million_empty_files(self, sandbox: BubblewrapSandbox) -> None:
        """A million empty files end at the bound on entries."""
        text = "python3 -c 'for i in range(10**6): open(str(i), \"w\").close()' 2>/dev/null; echo $?"
        execution = run(sandbox, text)
        assert only(execution).stdout.data == b"1\n"
        assert only(execution).limits_hit == ("entries",)
        assert 400 < len(execution.state.entries) <= LIMITS.inodes

    @pytest.mark.parametrize("place", ["/", "/run", "/run/crosspath", "/dev", "/usr", "/etc", "/var"])
    def test_nowhere_else_to_write(self, sandbox: BubblewrapSandbox, place: str) -> None:
        """Outside of its own directories a reply can't write at all."""
        assert only(run(sandbox, f"echo x 2>/dev/null > {place}/x || exit 9")).exit_code == 9

    def test_sparse_files(self, sandbox: BubblewrapSandbox) -> None:
        """Huge sparse files neither hang the reading nor pass for something that was hashed."""
        started = time.monotonic()
        text = "truncate -s 1T f || echo refused; for i in $(seq 300); do truncate -s 8M s$i; done"
        execution = run(sandbox, text, timeout_s=5)
        assert time.monotonic() - started < 10
        assert execution.state.truncated
        assert any(entry.size == 8 * MIB and entry.sha256 == "" for entry in execution.state.entries)

    def test_a_deep_tree(self, sandbox: BubblewrapSandbox) -> None:
        """A tree deeper than any descriptor table is listed down to a bound, said to be truncated, and removed."""
        text = 'python3 -c \'import os\nfor _ in range(450): os.mkdir("d"); os.chdir("d")\''
        execution = run(sandbox, text)
        assert execution.state.truncated
        assert len(execution.state.entries) == 128

    def test_a_long_reply(self, sandbox: BubblewrapSandbox) -> None:
        """A reply of 200 KiB arrives whole on standard input and as a file."""
        script = b"printf done > f\n" + b"# long\n" * 30_000
        assert len(script) > 200 * 1024
        by_file = run(sandbox, 'bash "$IN/script"', files=(FileEntry(path=b"script", content=script),))
        by_stdin = run(sandbox, "exec bash -s", stdin=script)
        assert entries(by_file)[b"f"].content == entries(by_stdin)[b"f"].content == b"done"


class TestSecrets:
    def test_environment_home_and_host_files(self, sandbox: BubblewrapSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
        """Neither our environment nor our home, password hashes or other processes can be read."""
        monkeypatch.setenv("OPENAI_API_KEY", "sk-hostile-test")
        here, home = Path(__file__).resolve(), Path.home()
        text = f"""cat /proc/*/environ | tr '\\0' '\\n' | grep -a hostile-test
        ls {home} {here.parent} /root /home; cat {here} /etc/shadow /proc/1/root/etc/shadow /proc/kcore
        ls /proc | grep -c '^[0-9]'"""
        result = only(run(sandbox, text))
        assert result.stdout.data.isascii()
        assert b"hostile" not in result.stdout.data
        assert int(result.stdout.data.split()[-1]) < 10

    def test_kernel_settings(self, sandbox: BubblewrapSandbox) -> None:
        """Settings of the kernel can't be written, not even where the sandbox was started by root."""
        text = "cd /proc; for f in sys/kernel/core_pattern sys/kernel/panic sysrq-trigger; do [ -w $f ] && echo $f; done"
        assert only(run(sandbox, text)).stdout.data == b""

    def test_other_work_directories_and_the_ledger(self, sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
        """Other jobs' directories and the ledger are not there."""
        (tmp_path / "ledger.sqlite").write_text("secret")
        text = f"ls {tmp_path} .. /tmp 2>&1; ls -d /tmp/crosspath-* {Path.cwd()}/.crosspath; find /run /tmp -name '*.sqlite'"
        assert b"ledger" not in only(run(sandbox, text)).stdout.data.replace(bytes(tmp_path), b"")

    def test_network(self, sandbox: BubblewrapSandbox) -> None:
        """A server on this very machine can't be reached."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            result = only(run(sandbox, f"exec 3<>/dev/tcp/127.0.0.1/{port}"))
        assert result.exit_code == 1
        assert b"refused" in result.stderr.data or b"unreachable" in result.stderr.data

    def test_abstract_sockets(self, sandbox: BubblewrapSandbox) -> None:
        """An abstract socket of the host can't be reached either."""
        name = f"\0crosspath-test-{os.getpid()}"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(name)
            server.listen()
            text = f"python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"\\0{name[1:]}\")' 2>/dev/null"
            assert only(run(sandbox, text)).exit_code == 1

    def test_ways_out(self, sandbox: BubblewrapSandbox) -> None:
        """Symbolic links and ``..`` lead nowhere: nothing outside is written, and links are facts that nobody follows."""
        victim = Path("/tmp/crosspath-victim")
        text = f"ln -s / root; ln -s {victim} out; echo x > out; echo x > ../../../..{victim}2; echo x > root{victim}3; true"
        execution = run(sandbox, text)
        assert not [path for path in Path("/tmp").iterdir() if path.name.startswith(victim.name)]
        assert {path: entry.kind for path, entry in entries(execution).items()} == {b"root": "symlink", b"out": "symlink"}

    def test_deleting_the_work_directory(self, sandbox: BubblewrapSandbox) -> None:
        """A reply that deletes its work directory leaves an empty state."""
        execution = run(sandbox, 'cd /; rm -rf "$WORK"; exit 0', fixture=(FileEntry(path=b"a/b", content=b"c"),))
        assert execution.state.entries == ()

    def test_replacing_the_work_directory(self, sandbox: BubblewrapSandbox) -> None:
        """The work directory can't be moved away and replaced by a link."""
        execution = run(sandbox, 'cd /; echo kept > "$WORK/f"; mv "$WORK" /tmp/away && ln -s /etc "$WORK"; true')
        assert list(entries(execution)) in ([b"f"], [])

    def test_handed_in_files_are_read_only(self, sandbox: BubblewrapSandbox) -> None:
        """Programs and handed-in files can't be changed."""
        program = FileEntry(path=b"tool", content=b"#!/bin/sh\n")
        text = 'exec 2>/dev/null; echo x > "$IN/r" || chmod 777 "$IN/r" || echo x > "$(command -v tool)" || exit 9'
        execution = run(sandbox, text, files=(FileEntry(path=b"r"),), programs=(program,))
        assert only(execution).exit_code == 9


class TestOddities:
    def test_names_and_output_that_are_no_text(self, sandbox: BubblewrapSandbox) -> None:
        """Names and output that are not UTF-8 come back byte for byte, through JSON as well."""
        text = b"printf x > \"$(printf 'a\\377\\nb')\"; printf '\\200\\0\\377'; echo \xff >&2"
        execution = run(sandbox, text)
        assert list(entries(execution)) == [b"a\xff\nb"]
        assert (only(execution).stdout.data, only(execution).stderr.data) == (b"\x80\x00\xff", b"\xff\n")
        assert Execution.from_json(execution.to_json()) == execution

    def test_a_racy_command(self, sandbox: BubblewrapSandbox) -> None:
        """``tee >(sort > f)`` may lose the race, but what is read is one of the states that it can leave."""
        for result in sandbox.run([job("printf 'b\\na\\n' | tee >(sort > f) > g")] * 20):
            assert isinstance(result, Execution)
            assert entries(result)[b"g"].content == b"b\na\n"
            assert entries(result)[b"f"].content in (b"", b"a\nb\n") if b"f" in entries(result) else True

    def test_a_terminal(self, sandbox: BubblewrapSandbox) -> None:
        """Programs that need a terminal get one."""
        by_script = only(run(sandbox, "script -qec 'test -t 1 && echo yes' /dev/null"))
        by_python = only(run(sandbox, "python3 -c 'import pty; pty.spawn([\"tty\"])'"))
        assert by_script.stdout.data == b"yes\r\n"
        assert by_python.stdout.data.startswith(b"/dev/pts/")

    def test_no_terminal_of_ours(self, sandbox: BubblewrapSandbox) -> None:
        """The terminal that Crosspath runs in can't be opened."""
        assert only(run(sandbox, "exec 3<>/dev/tty")).exit_code == 1

    @pytest.mark.parametrize("part", ["that mounts", "that starts programs"])
    @pytest.mark.parametrize("after_s", [None, 0.1], ids=["between jobs", "during a job"])
    def test_a_killed_spawner_costs_nothing(self, part: str, after_s: float | None) -> None:
        """When a part of the program that starts sandboxes is killed, the job is done again with a new one."""
        own = BubblewrapSandbox(LIMITS)
        own.run([job("true")])
        assert own._cage is not None
        mounting = own._cage.spawner._process.pid
        children = Path(f"/proc/{mounting}/task/{mounting}/children").read_text().split()
        victim = int(children[0]) if part == "that starts programs" and children else mounting
        if after_s is None:
            os.kill(victim, signal.SIGKILL)
        else:
            threading.Timer(after_s, os.kill, (victim, signal.SIGKILL)).start()
        results = own.run([job("sleep 0.3; printf x > f"), job("true"), job("true")])
        own.close()
        assert all(isinstance(result, Execution) for result in results), results
        assert isinstance(results[0], Execution)
        assert entries(results[0])[b"f"].content == b"x"

    def test_threads(self, sandbox: BubblewrapSandbox) -> None:
        """Several threads may share one sandbox; a thread that ends takes no sandbox with it."""
        results: list[object] = []
        threads = [threading.Thread(target=lambda: results.extend(sandbox.run([job("echo x > f")]))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(isinstance(result, Execution) and result.results[0].exit_code == 0 for result in results)

    def test_nothing_is_left_on_the_host(self) -> None:
        """After a sandbox is closed its directory, mounts and control groups are gone."""
        before = set(Path("/sys/fs/cgroup").glob(f"**/{own_prefix()}*"))
        own = BubblewrapSandbox(LIMITS)
        own.run([job("mkdir -m 0 d; sleep 100 & true")])
        assert own._cage is not None
        base = own._cage.spawner.base
        own.close()
        assert not Path(base).exists()
        assert base not in Path("/proc/self/mounts").read_text()
        assert not [path for path in Path("/sys/fs/cgroup").glob(f"**/{own_prefix()}*") if path not in before]

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root's binds are mounts of their own")
    def test_bound_directories_survive_a_failed_unmount(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sandbox: BubblewrapSandbox
    ) -> None:
        """Cleaning up never enters a directory of the host, even when it can't be unmounted."""
        (tmp_path / "precious").write_text("kept")
        sandbox.run([job("true")])
        assert sandbox._cage is not None

        def refuse(path: str) -> None:
            raise JobFailure("unmount_failed", path)

        monkeypatch.setattr(sandbox._cage.spawner, "unmount", refuse)
        bound = job("true").model_copy(update={"commands": (Command(argv=(b"true",), binds=(str(tmp_path),)),)})
        (fault,) = sandbox.run([bound])
        assert isinstance(fault, Fault)
        assert (tmp_path / "precious").read_text() == "kept"

    def test_a_killed_worker_leaves_nothing(self) -> None:
        """When the worker is killed with SIGKILL its sandboxes and its directory go, too."""
        marker = f"1{os.getpid()}.125"
        worker = subprocess.Popen([sys.executable, "-c", WORKER, marker], stdout=subprocess.PIPE, text=True)
        assert worker.stdout is not None
        base = Path(worker.stdout.readline().strip())
        assert wait_for(lambda: running(marker) == 2)
        worker.kill()
        worker.wait()
        worker.stdout.close()
        assert wait_for(lambda: running(marker) == 0)
        assert wait_for(lambda: not base.exists())


WORKER = """
import sys
from crosspath.adapters.bubblewrap_sandbox import BubblewrapSandbox
from crosspath.types import Command, ReplayJob, ReplayKey, Task, TrialKey
sandbox = BubblewrapSandbox()
sandbox.describe()
print(sandbox._cage.spawner.base, flush=True)
key = ReplayKey(trial=TrialKey(generation="g", task="t", index=0), path="p")
text = "sleep MARKER & setsid sleep MARKER".replace("MARKER", sys.argv[1])
command = Command(argv=(b"bash", b"-c", text.encode()))
sandbox.run([ReplayJob(key=key, task=Task(id="t", family="f", timeout_s=60), commands=(command,))])
"""


def running(marker: str) -> int:
    """How many processes ``sleep MARKER`` there are."""
    found = 0
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found += entry.read_bytes() == f"sleep\0{marker}\0".encode()
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Whether ``condition`` comes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
