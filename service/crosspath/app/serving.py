"""MLflow's UI on a store that has no server: one that runs until it is stopped, and says where it is once it can be opened."""

import http.client
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from crosspath.app import adapters
from crosspath.app.finding import find_head
from crosspath.errors import ConfigError, TrackerError
from crosspath.store.ledger import Ledger
from crosspath.types import EvaluationHead

HOST = "127.0.0.1"
STARTS_WITHIN_S = 180
"""A first start on a new store creates its tables; on a busy machine that takes a minute."""
STOPS_WITHIN_S = 10


def logged_evaluation(evaluation: str, store: Path) -> EvaluationHead:
    """The head of an evaluation that is in MLflow.

    Raises:
        ConfigError: there is no such evaluation here, or it was not logged.
    """
    if not store.exists():
        raise ConfigError(f"no evaluation {evaluation!r}: there is no store {store} here; name it with --store")
    ledger = Ledger(store, reading=True)
    try:
        head = find_head(ledger, evaluation)
    finally:
        ledger.close()
    if head is None:
        raise ConfigError(f"no evaluation {evaluation!r} in {store}")
    if head.mlflow_uri is None:
        raise ConfigError(f"{head.id} was not logged to MLflow; log it: crosspath log {head.id}")
    return head


def require_something_logged(uri: str) -> None:
    """Refuse an embedded store that is not there.

    Raises:
        ConfigError: nothing was logged to it.
    """
    if adapters.is_missing(uri):
        raise ConfigError(
            f"nothing was logged to {adapters.without_password(uri)} yet; name another store with --store or --tracking-uri"
        )


def require_free(port: int) -> None:
    """Refuse a port that somebody else serves.

    Raises:
        TrackerError: it is taken, or this user may not use it.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server: a port that was just closed is free
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise TrackerError(f"port {port} can't be served ({error.strerror}); choose another one with --port") from error


@dataclass(frozen=True)
class UiPlan:
    """Which store is to be opened, and how."""

    url: str
    store: str
    """Its address, without a password."""
    port: int
    run_id: str | None = None
    """The run to open; None: the start page."""
    command: tuple[str, ...] = ()
    """The server's program; empty where a server runs already."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    noise: tuple[str, ...] = ()
    """Starts of lines of the server's standard error that say nothing."""

    @property
    def shown_environment(self) -> dict[str, str]:
        """The environment without a password."""
        return {name: adapters.without_password(value) for name, value in self.environment.items()}


def ui_plan(evaluation: str | None, tracking_uri: str | None, store: str | Path | None, port: int) -> UiPlan:
    """How to open the store that was named, or the one that holds the evaluation, or the usual one.

    Raises:
        ConfigError: there is no such evaluation, it was not logged, or nothing is there.
    """
    directory = adapters.store_directory(store)
    head = logged_evaluation(evaluation, directory) if evaluation else None
    stored = head.mlflow_uri if head else None
    uri = tracking_uri or (adapters.stored_uri(stored, directory) if stored else adapters.tracking_uri(directory))
    require_something_logged(uri)
    url, shown = adapters.ui_url(uri, port), adapters.without_password(uri)
    server = adapters.ui_server(uri, port)
    if server is None:
        return UiPlan(url, shown, port)
    run_id = head.mlflow_run if head else None
    return UiPlan(url, shown, port, run_id, server.command, server.environment, server.noise)


def serve(plan: UiPlan, *, ready: Callable[[str], None], complain: Callable[[str], None]) -> None:
    """Run the server until Ctrl-C, SIGTERM or the end of the terminal.

    Args:
        plan: what to serve.
        ready: called with the page's address once it can be opened.
        complain: called with each line of the server's standard error that says something.

    Raises:
        TrackerError: the server ended by itself.
    """
    with _interruptible(), suppress(KeyboardInterrupt), _started(plan, complain) as process:
        if _answers(process, plan.port):
            ready(_page(plan))
        raise TrackerError(f"MLflow's server ended by itself (exit code {process.wait()})")


def _page(plan: UiPlan) -> str:
    """The address of the run that was asked for, as far as the server has it."""
    if plan.run_id is None:
        return plan.url
    status, body = _get(plan.port, f"/api/2.0/mlflow/runs/get?run_id={plan.run_id}")
    if status != http.HTTPStatus.OK:
        return plan.url
    experiment = json.loads(body)["run"]["info"]["experiment_id"]
    return adapters.run_url(plan.url, experiment, plan.run_id)


@contextmanager
def _started(plan: UiPlan, complain: Callable[[str], None]) -> Iterator[subprocess.Popen[str]]:
    """The server, in a session of its own, so that all its processes can be ended together."""
    process = subprocess.Popen(
        plan.command,
        env=os.environ | plan.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="backslashreplace",
        start_new_session=True,
    )
    reader = threading.Thread(target=_forward, args=(process, complain, plan.noise), daemon=True)
    reader.start()
    try:
        yield process
    finally:
        _end(process)
        reader.join(STOPS_WITHIN_S)


def _end(process: subprocess.Popen[str]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOPS_WITHIN_S)
            return


@contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM and the end of the terminal do what Ctrl-C does: the server must not outlive the command."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals belong to the main thread
        return
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, signal.default_int_handler) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _forward(process: subprocess.Popen[str], complain: Callable[[str], None], noise: tuple[str, ...]) -> None:
    if process.stderr is None:
        return
    with process.stderr as lines:
        for line in lines:
            if not line.startswith(noise):
                complain(line.rstrip())


def _answers(process: subprocess.Popen[str], port: int) -> bool:
    """Wait for the first answer; False when the server ends before, or takes too long for waiting."""
    deadline = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError, http.client.HTTPException):
            if _get(port, "/health")[0] == http.HTTPStatus.OK:
                return True
        time.sleep(0.2)
    return False


def _get(port: int, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(HOST, port, timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
