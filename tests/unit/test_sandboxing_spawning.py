"""Which host uid sandboxes get, and what happens to the spawner of a worker that forks."""

import os
import shutil
import socket

import pytest

from crosspath.adapters.bubblewrap_sandbox import BubblewrapSandbox
from crosspath.adapters.sandboxing import spawner, spawning
from crosspath.types import Command, Execution, ReplayJob, ReplayKey, Task, TrialKey

EVERYTHING = "         0          0 4294967295\n"


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def test_an_ordinary_user_stays_who_he_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without root there is no other uid to use."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert spawning.unprivileged_uid(EVERYTHING) == 0


@pytest.mark.usefixtures("as_root")
def test_root_uses_a_uid_that_nobody_has() -> None:
    """Root's sandboxes run under a high number."""
    assert spawning.unprivileged_uid(EVERYTHING) >= 1_879_048_192


@pytest.mark.usefixtures("as_root")
def test_root_of_a_container_uses_a_uid_that_exists() -> None:
    """In a container with 65,536 numbers it is one of the upper half."""
    assert 32_768 <= spawning.unprivileged_uid("0 100000 65536\n") < 65_536
    assert 32_000 <= spawning.unprivileged_uid("0 1000 1\n1 100000 65535\n") < 65_536


@pytest.mark.usefixtures("as_root")
def test_root_of_a_container_with_one_uid() -> None:
    """Where there is only one number there is no other to use."""
    assert spawning.unprivileged_uid("0 1000 1\n") == 0


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # forking is the subject; Python 3.12 and newer warn
def test_a_fork_that_ends_takes_nothing_with_it() -> None:
    """When a fork of the worker cleans up, the worker's sandbox goes on."""
    key = ReplayKey(trial=TrialKey(generation="g", task="t", index=0), path="p")
    job = ReplayJob(key=key, task=Task(id="t", family="f"), commands=(Command(argv=(b"true",)),))
    sandbox = BubblewrapSandbox()
    sandbox.run([job])
    child = os.fork()
    if child == 0:
        try:
            sandbox.close()
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    (result,) = sandbox.run([job])
    assert isinstance(result, Execution)
    sandbox.close()


@pytest.mark.parametrize("sent", [b"", b"\0\0\0", (20).to_bytes(8, "big"), (20).to_bytes(8, "big") + b"spawn\0/bin"])
def test_a_parent_that_dies_in_the_middle_of_a_message_ends_the_spawner(sent: bytes) -> None:
    """Half a message is the end, not something to wait for: a spawner must not spin on a closed channel."""
    ours, theirs = socket.socketpair()
    with theirs:
        with ours:
            ours.sendall(sent)
        assert spawner.receive_or_end(theirs) is None
