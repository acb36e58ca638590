"""Replies that ask the kernel for what namespaces do not cover, or that meddle with the process that says how they ended."""

import platform
import shutil
from collections.abc import Iterator

import pytest

from crosspath.adapters.bubblewrap_sandbox import BubblewrapSandbox
from crosspath.types import Command, ExecResult, Execution, ReplayJob, ReplayKey, Task, TrialKey

pytestmark = [
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of system calls are those of x86_64"),
]
PYTHON = """python3 - <<'END'
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    result = libc.syscall(*arguments)
    return os.strerror(ctypes.get_errno()) if result < 0 else result
{}
END
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[BubblewrapSandbox]:
    opened = BubblewrapSandbox()
    yield opened
    opened.close()


def run(sandbox: BubblewrapSandbox, text: str, settle_s: float = 0.0) -> ExecResult:
    key = ReplayKey(trial=TrialKey(generation="g", task="t", index=0), path="p")
    task = Task(id="t", family="f", settle_s=settle_s)
    (result,) = sandbox.run([ReplayJob(key=key, task=task, commands=(Command(argv=(b"bash", b"-c", text.encode())),))])
    assert isinstance(result, Execution), result
    return result.results[0]


def printed(sandbox: BubblewrapSandbox, lines: str) -> str:
    return run(sandbox, PYTHON.format(lines)).stdout.data.decode()


def test_in_force(sandbox: BubblewrapSandbox) -> None:
    """The sandbox says that it filters system calls."""
    assert "syscalls" in sandbox.describe().limits_enforced


@pytest.mark.parametrize("family", [40, 38, 17, 31, 44])
def test_sockets_that_no_namespace_covers(sandbox: BubblewrapSandbox, family: int) -> None:
    """Neither the hypervisor (AF_VSOCK) nor the kernel's ciphers, packets, radios can be talked to."""
    text = f"try: socket.socket({family}, socket.SOCK_STREAM)\nexcept OSError as error: print(error.errno)"
    assert printed(sandbox, text) == "97\n"


@pytest.mark.parametrize(
    "arguments",
    [
        '248, b"user", b"note", b"x", 1, -4', "250, 0, -3, 0", '249, b"user", b"note", 0, 0', "101, 0, 0, 0, 0", "438, 3, 1, 0",
        "272, 0x10000000", "308, 3, 0", "310, 1, 0, 0, 0, 0", "298, 0, 0, -1, -1, 0", "321, 0, 0, 0", "165, 0, 0, 0, 0, 0",
        "135, 8",
    ],
)  # fmt: skip
def test_refused_calls(sandbox: BubblewrapSandbox, arguments: str) -> None:
    """Key rings, other processes' descriptors and memory, namespaces, mounts, counters and BPF are refused."""
    assert printed(sandbox, f"print(call({arguments}))") == "Operation not permitted\n"


def test_absent_calls(sandbox: BubblewrapSandbox) -> None:
    """io_uring, through which sockets could be opened without being seen, is not there."""
    assert printed(sandbox, "print(call(425, 1, 0))") == "Function not implemented\n"


@pytest.mark.parametrize("settle_s", [0.0, 0.2])
def test_an_exit_status_that_is_forged(sandbox: BubblewrapSandbox, settle_s: float) -> None:
    """Process 1 can't be made to say something else: neither its memory nor its descriptors can be opened, by whatever way."""
    forging = """
opened = []
for name in ("/proc/1/mem", *(f"/proc/1/fd/{number}" for number in range(12))):
    try: opened.append((name, os.open(name, os.O_RDWR)))
    except OSError: pass
one = call(434, 1, 0)
for number in range(12):
    taken = call(438, one, number, 0)
    if isinstance(taken, int): os.write(taken, b"9999999999999999")
print(opened)
"""
    result = run(sandbox, PYTHON.format(forging) + "exit 7", settle_s)
    assert (result.exit_code, result.stdout.data) == (7, b"[]\n")


@pytest.mark.parametrize(
    "text",
    [
        "python3 -c 'import multiprocessing as m; m.set_start_method(\"fork\"); assert m.Pool(2).map(abs, [-1, 2]) == [1, 2]'",
        "python3 -c 'import subprocess; subprocess.run([\"true\"], check=True)'",
        'python3 -c \'import pty; assert pty.spawn(["test", "-t", "1"]) == 0\'',
        "python3 -c 'import asyncio; asyncio.run(asyncio.create_subprocess_exec(\"true\"))'",
        "python3 -c 'import threading; t = threading.Thread(target=print); t.start(); t.join()'",
        "python3 -c 'import socket; socket.socketpair(); socket.create_server((\"::1\", 0), family=socket.AF_INET6)' || true",
        "git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m x && git log --format=%s",
        "script -qec 'test -t 1' /dev/null",
        "diff <(echo a) <(echo a) && coproc cat && true | (sleep 0 & wait)",
        "! command -v make || { printf 'all:\\n\\t@true\\n' > Makefile && make -j2; }",
        "! command -v tmux || { tmux -L x new-session -d 'sleep 5' && tmux -L x list-sessions; }",
    ],
)
def test_what_tools_need(sandbox: BubblewrapSandbox, text: str) -> None:
    """Tools that start processes, threads, terminals and sockets go on working."""
    result = run(sandbox, text)
    assert result.exit_code == 0, result
