"""Which host uid sandboxes get, and what happens to the spawner of a worker that forks."""

import os
import shutil
import socket

import pytest

from crosspath.adapters.bubblewrap_sandbox import BubblewrapSandbox
from crosspath.adapters.sandboxing import spawner, spawning
from crosspath.errors import SandboxError
from crosspath.types import Command, Execution, ReplayJob, ReplayKey, SandboxLimits, Task, TrialKey

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


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_a_spawner_that_cannot_be_set_up_says_why_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    """Nobody is told to do without a sandbox because a number is wrong, and no traceback is seen."""
    with pytest.raises(SandboxError) as caught:
        spawning.Spawner(0, {"RLIMIT_FSIZE": 10**40})
    assert "none" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


def test_only_missing_namespaces_are_a_reason_to_do_without_a_sandbox() -> None:
    """The way out is named where there is no other."""
    assert "--sandbox none" in spawning._not_set_up("start: no namespaces: Operation not permitted")
    assert "--sandbox none" not in spawning._not_set_up("start: Python int too large to convert to C long")


def test_errors_are_said_in_one_line() -> None:
    """Whatever goes wrong in the spawner fits into one short message."""
    assert spawner.said(OSError(28, "No space left\non device")) == b"No space left on device"
    assert spawner.said(ValueError("\udcff" * 1000)) == b"?" * 400
    assert spawner.said(TypeError()) == b"TypeError"


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
@pytest.mark.parametrize("end", ["ge", "le"])
def test_the_least_and_the_greatest_limits_work(end: str) -> None:
    """Whatever a spec may ask for lets a command run."""
    fields = SandboxLimits.model_fields.items()
    values = {name: next(getattr(bound, end) for bound in field.metadata if hasattr(bound, end)) for name, field in fields}
    sandbox = BubblewrapSandbox(SandboxLimits.model_validate(values))
    key = ReplayKey(trial=TrialKey(generation="g", task="t", index=0), path="p")
    command = Command(argv=(b"bash", b"-c", b"printf x > f; cat f | cat"))
    (result,) = sandbox.run([ReplayJob(key=key, task=Task(id="t", family="f"), commands=(command,))])
    sandbox.close()
    assert isinstance(result, Execution), result
    assert result.results[0].exit_code == 0
    assert [entry.path for entry in result.state.entries] == [b"f"]
