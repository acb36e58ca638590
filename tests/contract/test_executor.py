"""One contract for all executors: the fake, this process, and Ray actors."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from crosspath.adapters import ray_guard
from crosspath.adapters.bubblewrap_sandbox import BubblewrapSandbox
from crosspath.adapters.local_executor import LocalExecutor
from crosspath.adapters.process_sandbox import ProcessSandbox
from crosspath.adapters.ray_executor import RayExecutor
from crosspath.errors import ModelError, SandboxError
from crosspath.ports import Executor
from crosspath.testing.executor import FakeExecutor
from crosspath.testing.model import ScriptedModel
from crosspath.testing.sandbox import Effect, FakeSandbox
from crosspath.types import Command, Execution, Fault, ReplayJob, ReplayKey, Reply, Request, Task, Toolchain, TrialKey

SECRET = "sk-hunter2"
SEED = "seed-of-held-out-tasks"


class Model:
    """Says what its task is called; some names have it fail, wait, or look around."""

    async def generate(self, request: Request) -> Reply:
        name = request.trial.task
        if name == "refused":
            raise ModelError("no", type_="rate_limit", retryable=True)
        if name == "bug":
            raise ZeroDivisionError("a bug")
        if name == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if name == "environment":
            return Reply(text=" ".join([*sorted(os.environ), *os.environ.values(), Path("/proc/self/environ").read_text()]))
        await asyncio.sleep(random.uniform(0, 0.02))
        return Reply(text=f"{name} {request.trial.index}")


class Sandbox(FakeSandbox):
    """Prints the command's own text; some texts have it fail or look around."""

    def __init__(self) -> None:
        super().__init__(lambda command: Effect(stdout=self.output(command)))

    def output(self, command: Command) -> bytes:
        text = command.argv[-1]
        if text == b"die":
            os.kill(os.getpid(), signal.SIGKILL)
        if text == b"broken":
            raise SandboxError("no namespaces here")
        if text == b"bug":
            raise ZeroDivisionError("a bug")
        if text == b"environment":
            return b" ".join([*(os.fsencode(name) for name in os.environ), Path("/proc/self/environ").read_bytes()])
        return text


def _request(task: str, index: int = 0) -> Request:
    trial = TrialKey(generation="g", task=task, index=index)
    return Request(
        key=f"{task}{index}", trial=trial, contract="raw", endpoint=None, model="m", messages=(), params={}, timeout_s=5
    )


def _jobs(*texts: str, index: int = 0) -> list[ReplayJob]:
    task = Task(id="t", family="f")
    return [
        ReplayJob(
            key=ReplayKey(trial=TrialKey(generation="g", task="t", index=index), path=f"path-{number}"),
            task=task,
            commands=(Command(argv=(b"bash", b"-c", text.encode())),),
        )
        for number, text in enumerate(texts)
    ]


def _printed(results: Sequence[Execution | Fault]) -> list[bytes]:
    return [result.results[0].stdout.data for result in results if isinstance(result, Execution)]


def _names_a_death(given: Request | Sequence[ReplayJob]) -> bool:
    if isinstance(given, Request):
        return given.trial.task == "die"
    return any(command.argv[-1] == b"die" for job in given for command in job.commands)


class ExecutorContract:
    """What every executor does."""

    def test_replies_belong_to_their_requests(self, executor: Executor) -> None:
        """Concurrent requests come back in any order, each to the one who asked
        (https://github.com/confident-ai/deepeval/pull/3159).
        """

        async def ask() -> list[Reply | Fault]:
            return await asyncio.gather(*(executor.generate(_request("hello", index)) for index in range(40)))

        assert [reply.text for reply in asyncio.run(ask()) if isinstance(reply, Reply)] == [f"hello {n}" for n in range(40)]

    def test_results_keep_the_order_and_the_keys_of_their_jobs(self, executor: Executor) -> None:
        """Each result carries its job's key, in the order of the jobs, also when many lists are under way."""

        async def replay() -> list[tuple[Execution | Fault, ...]]:
            lists = [_jobs(f"{n}a", f"{n}b", f"{n}c", index=n) for n in range(20)]
            return await asyncio.gather(*(executor.replay(jobs) for jobs in lists))

        for number, results in enumerate(asyncio.run(replay())):
            assert _printed(results) == [f"{number}{letter}".encode() for letter in "abc"]
            assert [r.key for r in results if isinstance(r, Execution)] == [job.key for job in _jobs("", "", "", index=number)]

    def test_a_refused_request_is_a_fault_as_the_model_said_it(self, executor: Executor) -> None:
        """Type and retryability of a ``ModelError`` arrive as data, and nothing was sent twice."""
        fault = asyncio.run(executor.generate(_request("refused")))
        assert isinstance(fault, Fault)
        assert (fault.boundary, fault.type, fault.retryable, fault.message) == ("model", "rate_limit", True, "no")

    def test_a_sandbox_that_fails_as_a_whole_is_a_fault_of_each_job(self, executor: Executor) -> None:
        """One fault per job, with the sandbox's own words."""
        faults = asyncio.run(executor.replay(_jobs("fine", "broken")))
        assert [(fault.boundary, fault.message) for fault in faults if isinstance(fault, Fault)] == [
            ("sandbox", "no namespaces here")
        ] * 2

    def test_the_toolchain_is_the_workers(self, executor: Executor) -> None:
        """It is asked where replies are executed."""
        assert executor.toolchain().sandbox == "fake"

    def test_two_event_loops_one_after_the_other(self, executor: Executor) -> None:
        """An executor serves a second event loop after the first has ended."""
        for _ in range(2):
            assert _printed(asyncio.run(executor.replay(_jobs("again")))) == [b"again"]


class WorkersOwnProcess:
    """What executors do whose adapters may have bugs and whose workers may die."""

    def test_a_bug_in_an_adapter_is_a_fault_that_names_it(self, executor: Executor) -> None:
        """A foreign exception costs its own request or jobs only."""
        fault = asyncio.run(executor.generate(_request("bug")))
        assert isinstance(fault, Fault)
        assert fault.message == "the model adapter failed: ZeroDivisionError: a bug"
        (fault,) = asyncio.run(executor.replay(_jobs("bug")))
        assert isinstance(fault, Fault)
        assert fault.message == "the sandbox adapter failed: ZeroDivisionError: a bug"


class WorkersDie:
    """A dead worker is a fault of what it held."""

    def test_a_dead_replay_worker_is_a_fault_of_its_jobs_only(self, executor: Executor) -> None:
        """Other lists under way and all later ones have results, and nothing is executed a second time
        (https://github.com/ray-project/ray/issues/2635, https://github.com/ray-project/ray/pull/8274).
        """

        async def replay() -> list[tuple[Execution | Fault, ...]]:
            lists = [_jobs("before"), _jobs("die", "with it"), *(_jobs(f"after {n}") for n in range(6))]
            return await asyncio.gather(*(executor.replay(jobs) for jobs in lists))

        before, dead, *after = asyncio.run(replay())
        assert _printed(before) == [b"before"]
        assert [(f.boundary, f.retryable) for f in dead if isinstance(f, Fault)] == [("executor", True)] * 2
        assert [_printed(results) for results in after] == [[f"after {n}".encode()] for n in range(6)]

    def test_a_dead_model_worker_is_a_fault_and_the_next_request_is_answered(self, executor: Executor) -> None:
        """Whether a lost request was served is not known, so its fault may be retried and counts as bought."""

        async def ask() -> list[Reply | Fault]:
            return [await executor.generate(_request("die")), await executor.generate(_request("next"))]

        lost, reply = asyncio.run(ask())
        assert isinstance(lost, Fault)
        assert (lost.boundary, lost.type, lost.retryable) == ("executor", "executor", True)
        assert isinstance(reply, Reply)


class TestFakeExecutor(ExecutorContract, WorkersDie):
    @pytest.fixture(name="executor")
    def executor(self) -> Iterator[Executor]:
        with FakeExecutor(Model, Sandbox, dies=_names_a_death) as opened:
            yield opened


class TestLocalExecutor(ExecutorContract, WorkersOwnProcess):
    @pytest.fixture(name="executor")
    def executor(self) -> Iterator[Executor]:
        with LocalExecutor(Model, Sandbox) as opened:
            yield opened


@pytest.mark.parametrize("sandbox", [BubblewrapSandbox, ProcessSandbox])
def test_leaving_the_local_executor_ends_what_runs(sandbox: Callable[[], Any]) -> None:
    """An interrupt or a time limit does not wait for the commands that run, nor for those that would come next."""

    async def interrupted(executor: LocalExecutor) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(executor.replay(_jobs("sleep 4025.9", "sleep 4025.8; sleep 4025.7")), 0.5)

    with LocalExecutor(Model, sandbox, replay_workers=1) as executor:
        executor.toolchain()
        asyncio.run(interrupted(executor))
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert not [line for line in _commands() if line.startswith(b"sleep\0004025.")]


def _commands() -> Iterator[bytes]:
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            yield (entry / "cmdline").read_bytes()


def test_the_local_executor_closes_its_sandboxes() -> None:
    """Evaluations one after the other in one process pile up no open files and no helper processes."""
    closed: list[Sandbox] = []

    class Closing(Sandbox):
        def close(self) -> None:
            closed.append(self)

    for _ in range(2):
        with LocalExecutor(Model, Closing, replay_workers=2) as executor:
            assert _printed(asyncio.run(executor.replay(_jobs("x")))) == [b"x"]
    assert len(set(map(id, closed))) == 4


@pytest.fixture(scope="module")
def on_ray() -> Iterator[RayExecutor]:
    """One Ray for all tests of this module, started beside secrets of the driver."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOME_API_KEY", SECRET)
        patch.setenv("MLFLOW_RUN_ID", "0123456789abcdef")
        patch.setenv("CROSSPATH_SEED", SEED)
        patch.setenv("OTHER_SEED", SEED)
        with RayExecutor(Model, Sandbox, withheld=["CROSSPATH_SEED", "OTHER_SEED"]) as opened:
            yield opened


class TestRayExecutor(ExecutorContract, WorkersOwnProcess, WorkersDie):
    @pytest.fixture(name="executor")
    def executor(self, on_ray: RayExecutor) -> Executor:
        return on_ray

    def test_replay_workers_know_no_secret_and_no_run(self, executor: Executor) -> None:
        """Neither their variables nor ``/proc/self/environ`` hold a key or an MLflow run
        (https://github.com/mlflow/mlflow/issues/15713).
        """
        (seen,) = _printed(asyncio.run(executor.replay(_jobs("environment"))))
        assert b"PATH" in seen
        for unwanted in (b"SOME_API_KEY", SECRET.encode(), b"MLFLOW_"):
            assert unwanted not in seen

    def test_model_workers_have_the_keys_and_no_run(self, executor: Executor) -> None:
        """A key reaches the worker that calls the model; a run of MLflow does not."""
        reply = asyncio.run(executor.generate(_request("environment")))
        assert isinstance(reply, Reply)
        names = (reply.text or "").split()
        assert "SOME_API_KEY" in names
        assert not [name for name in names if name.startswith("MLFLOW_")]

    def test_no_worker_has_what_is_withheld(self, executor: Executor) -> None:
        """The seed of held-out tasks reaches no worker, whatever its variable is called."""
        (seen,) = _printed(asyncio.run(executor.replay(_jobs("environment"))))
        reply = asyncio.run(executor.generate(_request("environment")))
        assert isinstance(reply, Reply)
        for text in (seen.decode(), reply.text or ""):
            assert "PATH" in text
            assert SEED not in text

    def test_the_drivers_own_environment_is_whole(self, executor: Executor) -> None:
        """What workers must not see is still there for the driver."""
        assert os.environ["SOME_API_KEY"] == SECRET
        assert os.environ["CROSSPATH_SEED"] == os.environ["OTHER_SEED"] == SEED
        assert "MLFLOW_RUN_ID" in os.environ


def test_a_sandbox_that_can_t_start_says_so_in_its_own_words(on_ray: RayExecutor) -> None:
    """``toolchain`` on Ray raises the worker's own error: one line, no traceback of the worker."""
    with RayExecutor(Model, _Missing) as executor, pytest.raises(SandboxError) as caught:
        executor.toolchain()
    assert str(caught.value) == "bubblewrap is not installed"


class _Missing(Sandbox):
    def describe(self) -> Toolchain:
        raise SandboxError("bubblewrap is not installed")


@pytest.mark.parametrize("kind", [FakeExecutor, LocalExecutor, RayExecutor])
def test_an_executor_that_is_not_open_says_so(kind: Callable[..., Any]) -> None:
    """Using one outside of its ``with`` is a mistake of the program, not a fault."""
    executor = kind(lambda: ScriptedModel({}), FakeSandbox)
    with pytest.raises(RuntimeError, match="not open"):
        asyncio.run(executor.replay(_jobs("x")))


_DRIVER = """
import time
from crosspath.adapters.ray_executor import RayExecutor
from crosspath.testing.model import ScriptedModel
from crosspath.testing.sandbox import FakeSandbox
from functools import partial

with RayExecutor(partial(ScriptedModel, {}), FakeSandbox, replay_workers=1) as executor:
    executor.toolchain()  # one evaluation after the other in one process
with RayExecutor(partial(ScriptedModel, {}), FakeSandbox, replay_workers=1) as executor:
    executor.toolchain()
    print("open", flush=True)
    time.sleep(600)
"""


def test_a_killed_driver_leaves_no_process() -> None:
    """After kill -9 of the driver all of Ray's processes are gone within seconds; Ray wrote nothing on its terminal
    (https://github.com/ray-project/ray/issues/26118).
    """
    driver = subprocess.Popen([sys.executable, "-c", _DRIVER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    assert driver.stdout.readline() == "open\n"
    started = ray_guard.descendants(driver.pid)
    assert len(started) > 4
    driver.kill()
    assert driver.communicate()[1] == ""
    deadline = time.monotonic() + 20
    while left := [pid for pid in started if _runs(pid)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.2)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
