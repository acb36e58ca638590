"""Killed, interrupted and full: an evaluation goes on where it was, with real processes, a real server and a real sandbox."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from crosspath.catalogue import catalogue_tasks
from crosspath.testing.openai_server import OpenAIServer, Received, Turn, answer, silent
from small_disks import small_disk
from started import Started

CONCURRENCY = 4
WAIT_S = 120.0
"""Far longer than anything takes that is waited for, on however busy a machine."""
SPEC = """
name: resumed
models:
  m:
    model: openai/my-model
    api_base: {url}
    api_key_env: KEY_OF_TEST
    prices: {{input_usd_per_mtok: 1, output_usd_per_mtok: 2}}
candidates:
  nested: {{model: m, contract: nested-shell, transport: nested-shell}}
tasks: {{families: [{family}]}}
trials: 2
executor: {{kind: local, model_concurrency: {concurrency}, replay_workers: 2}}
retries: {{max_attempts: 2, max_wait_s: 0.1}}
{further}
"""
FAMILY = "exact-file"
COMMANDS = {task.instruction: task for task in catalogue_tasks()}
PLANNED = 2 * 2 * sum(task.family == FAMILY for task in catalogue_tasks())
"""Two contracts, two trials."""


def right_command(received: Received) -> Turn:
    """The oracle's command, after a short while; every fifth reply is the naive one."""
    task = COMMANDS[received.body["messages"][-1]["content"]]
    text = task.oracle if len(str(received.body)) % 5 else task.naive
    return replace(answer(text, model="my-model"), before_s=0.03)


class House:
    """A spec, its store and its server."""

    def __init__(self, directory: Path, server: OpenAIServer, further: str = "") -> None:
        self.store, self.server = directory / "store", server
        self.spec = directory / "spec.yaml"
        self.spec.write_text(SPEC.format(url=server.url, family=FAMILY, concurrency=CONCURRENCY, further=further))
        self._starts = 0

    def start(self, *further: str, store: Path | None = None, background: bool = False) -> Started:
        """``crosspath run`` on it, once more."""
        self._starts += 1
        arguments = ["run", str(self.spec), "--no-mlflow", "--json", "--store", str(store or self.store), *further]
        place = self.spec.parent / f"start-{self._starts}"
        return Started(arguments, place, {"KEY_OF_TEST": "sk-test"}, background=background)


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Callable[..., tuple[House, OpenAIServer]]]:
    """A function that opens a server with a script and a house on it."""
    open_servers: list[OpenAIServer] = []

    def serve(script: Callable[[Received], Turn] = right_command, further: str = "") -> tuple[House, OpenAIServer]:
        server = OpenAIServer(script).__enter__()
        open_servers.append(server)
        directory = tmp_path / f"house-{len(open_servers)}"
        directory.mkdir()
        return House(directory, server, further), server

    yield serve
    for server in open_servers:
        server.__exit__(None, None, None)


def _tables(document: dict[str, Any]) -> str:
    return json.dumps([document["decompositions"], document["failures"], document["comparisons"]], sort_keys=True)


def test_kill_9_buys_again_at_most_what_was_in_flight(serving: Callable[..., tuple[House, OpenAIServer]]) -> None:
    """Killed at three moments and started again each time, it ends with the tables of an undisturbed run, buys again at most what
    was in flight at each kill, and says how many (https://github.com/UKGovernmentBEIS/inspect_ai/issues/2628,
    https://github.com/marin-community/marin/issues/7930).
    """
    moments = [1, 6, 11]  # further apart than requests can be in flight: each start meets its own
    running: list[Started] = []

    def deadly(received: Received) -> Turn:
        if moments and received.number >= moments[0]:
            moments.pop(0)
            os.kill(running[-1].pid, signal.SIGKILL)
        return right_command(received)

    house, server = serving(deadly)
    while moments:
        running.append(house.start())
        assert running[-1].wait() == -signal.SIGKILL, running[-1].stderr
    last = house.start()
    assert last.wait() == 0, last.stderr
    document = last.document
    said = sum(_in_flight(started) for started in (*running, last))
    assert len(server.requests) - PLANNED <= document["spend"]["bought_again"] == said <= 3 * CONCURRENCY
    assert document["spend"]["sessions"] == 4
    assert document["spend"]["replies"] == PLANNED

    undisturbed, counting = serving()
    undisturbed.spec.write_text(house.spec.read_text().replace(server.url, counting.url))
    whole = undisturbed.start()
    assert whole.wait() == 0, whole.stderr
    assert len(counting.requests) == PLANNED
    assert _tables(document) == _tables(whole.document)


def _until(true: Callable[[], bool], started: Started) -> None:
    """Wait for something that a process does."""
    deadline = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < deadline, started.stderr
        time.sleep(0.01)


def _in_flight(started: Started) -> int:
    lines = [line for line in started.stderr.splitlines() if "in flight" in line]
    return int(lines[0].split()[0]) if lines else 0


@pytest.mark.parametrize(("number", "background"), [(signal.SIGINT, False), (signal.SIGTERM, False), (signal.SIGTERM, True)])
def test_an_interrupt_says_one_line_and_the_same_command_goes_on(
    serving: Callable[..., tuple[House, OpenAIServer]], number: signal.Signals, background: bool
) -> None:
    """Ctrl-C and SIGTERM (also where a script's shell has Ctrl-C ignored) end with 130 and one line; finished trials are kept and
    only the rest is asked for
    (https://github.com/marin-community/marin/issues/7930).
    """
    running: list[Started] = []

    def interrupting(received: Received) -> Turn:
        if received.number == 8:
            os.kill(running[0].pid, number)
        return right_command(received)

    house, server = serving(interrupting)
    running.append(house.start(background=background))
    assert running[0].wait() == 130
    assert "Traceback" not in running[0].stderr
    assert running[0].stderr.splitlines()[-1].endswith("interrupted; the same command goes on where it stopped")
    last = house.start()
    assert last.wait() == 0, last.stderr
    assert last.document["spend"]["replies"] == PLANNED
    assert len(server.requests) - PLANNED <= _in_flight(last) <= CONCURRENCY
    assert last.document["spend"]["sessions"] == 2


def test_sigterm_ends_a_run_on_ray(serving: Callable[..., tuple[House, OpenAIServer]]) -> None:
    """Ray's own handler neither ends the program in its way nor prints its stack."""
    house, server = serving(lambda _: silent())
    started = house.start("--executor", "ray", background=True)
    _until(lambda: bool(server.requests), started)
    os.kill(started.pid, signal.SIGTERM)
    assert started.wait() == 130
    assert started.stderr.splitlines()[-1].endswith("interrupted; the same command goes on where it stopped")
    assert "SIGTERM" not in started.stderr


def test_sigterm_ends_what_only_waits(serving: Callable[..., tuple[House, OpenAIServer]]) -> None:
    """Outside of the event loop, too: a command that waits for another one ends with 130 and one line, and leaves that alone."""
    house, server = serving(lambda _: silent())
    first = house.start()
    _until(lambda: bool(server.requests), first)
    second = house.start(background=True)
    _until(lambda: "waiting for process" in second.stderr, second)
    os.kill(second.pid, signal.SIGTERM)
    assert second.wait() == 130
    assert second.stderr.splitlines()[-1].endswith("interrupted; the same command goes on where it stopped")
    os.kill(first.pid, signal.SIGTERM)
    assert first.wait() == 130


def test_the_second_signal_ends_at_once(serving: Callable[..., tuple[House, OpenAIServer]]) -> None:
    """Whoever does not want to wait for an orderly end sends it twice."""
    house, server = serving(lambda _: silent())
    started = house.start()
    _until(lambda: bool(server.requests), started)
    os.kill(started.pid, signal.SIGSTOP)  # so that it gets both before it can end
    os.kill(started.pid, signal.SIGTERM)
    os.kill(started.pid, signal.SIGINT)
    os.kill(started.pid, signal.SIGCONT)
    assert started.wait(timeout_s=10) in (-signal.SIGINT, -signal.SIGTERM, 130)


@pytest.fixture
def tmpfs(tmp_path: Path) -> Iterator[Path]:
    """A file system of 300 kB."""
    with small_disk(tmp_path / "small", "300k") as place:
        yield place


def test_a_full_disk_loses_nothing(serving: Callable[..., tuple[House, OpenAIServer]], tmpfs: Path) -> None:
    """On a full disk the run ends with 5 and one line that says so; with more room the same command goes on
    (https://github.com/UKGovernmentBEIS/inspect_ai/issues/2949).
    """
    house, server = serving()
    full = house.start(store=tmpfs / "store")
    assert full.wait() == 5
    assert "Traceback" not in full.stderr
    assert re.search(r"ledger.db: the disk is full \(.*\)$", full.stderr.rstrip())
    asked = len(server.requests)
    assert 0 < asked < PLANNED
    subprocess.run(["mount", "-o", "remount,size=20m", str(tmpfs)], check=True)
    last = house.start(store=tmpfs / "store")
    assert last.wait() == 0, last.stderr
    assert last.document["spend"]["replies"] == PLANNED
    assert len(server.requests) - PLANNED <= _in_flight(last) <= CONCURRENCY


def test_a_store_that_is_deleted_meanwhile_is_no_finished_run(serving: Callable[..., tuple[House, OpenAIServer]]) -> None:
    """Whoever deletes the store of a running evaluation gets 5 and one line, not a result that nobody can find again."""
    running: list[House] = []

    def deleting(received: Received) -> Turn:
        if received.number == PLANNED // 2:
            shutil.rmtree(running[0].store)
        return right_command(received)

    house, _ = serving(deleting)
    running.append(house)
    started = house.start()
    assert started.wait() == 5
    assert "Traceback" not in started.stderr
    assert "it was moved or deleted while it was in use" in started.stderr.splitlines()[-1]


def test_a_second_process_waits_and_says_for_whom(serving: Callable[..., tuple[House, OpenAIServer]]) -> None:
    """Two commands on one store run one after the other; the second names the process that it waits for."""
    waits = Event()

    def answers_when_somebody_waits(received: Received) -> Turn:
        assert waits.wait(WAIT_S)
        return right_command(received)

    house, server = serving(answers_when_somebody_waits)
    first = house.start()
    _until(lambda: bool(server.requests), first)
    second = house.start()
    _until(lambda: "waiting for process" in second.stderr, second)
    waits.set()
    assert (first.wait(), second.wait()) == (0, 0)
    assert f"waiting for process {first.pid} that is using this store" in second.stderr.splitlines()
    assert len(server.requests) == 2 * PLANNED  # the first was finished, so the second is an evaluation of its own
    assert first.document["evaluation"] != second.document["evaluation"]


def test_a_raised_limit_goes_on(serving: Callable[..., tuple[House, OpenAIServer]]) -> None:
    """At its limit a run stops with 3 and keeps its facts; with a higher limit the same command does the rest and no more."""
    house, server = serving(further="limits: {max_requests: 10}")
    stopped = house.start()
    assert stopped.wait() == 3, stopped.stderr
    assert len(server.requests) == 10
    assert stopped.document["status"] == "stopped"
    assert any(
        f"{PLANNED - 10} trials have no reply (budget {PLANNED - 10}: limit max_requests" in line
        for line in stopped.document["warnings"]
    )
    house.spec.write_text(house.spec.read_text().replace("max_requests: 10", "max_requests: 100"))
    last = house.start()
    assert last.wait() == 0, last.stderr
    assert last.document["evaluation"] == stopped.document["evaluation"]
    assert len(server.requests) == PLANNED
    assert last.document["spend"]["prompt_tokens"] == 10 * PLANNED


def test_a_server_that_never_answers_holds_nothing_up(serving: Callable[..., tuple[House, OpenAIServer]]) -> None:
    """The last request never answers: the others are stored, the run ends, and says that something is missing
    (https://github.com/confident-ai/deepeval/issues/1147).
    """

    def last_is_silent(received: Received) -> Turn:
        return silent() if received.number >= PLANNED else right_command(received)

    house, _ = serving(last_is_silent, "defaults: {operating_point: {timeout_s: 4}}")
    started = house.start()
    assert started.wait() == 5
    document = started.document
    assert document["spend"]["replies"] == PLANNED - 1
    assert document["spend"]["requests_failed"] == 2
    assert any(line.startswith("1 trials have no reply (timeout 1: no reply within 4 s") for line in document["warnings"])
    assert document["status"] == "stopped"
