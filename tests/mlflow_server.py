"""A real MLflow server for tests, and a way to it that can be cut."""

import http.client
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from crosspath.adapters.mlflow_tracker.addresses import embedded_uri, ui_server


@contextmanager
def mlflow_server(directory: Path) -> Iterator[str]:
    """A server on a free port, with a SQLite store in ``directory``; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    starting = ui_server(embedded_uri(directory), port)
    environment = os.environ | starting.environment
    with (directory / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            starting.command, cwd=directory, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        _wait_for(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, 15)
        process.wait(timeout=20)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail("the MLflow server did not start")


class Cuttable:
    """A proxy in front of a server that goes down for good with the request of a given number."""

    def __init__(self, server: str) -> None:
        self._host = server.removeprefix("http://")
        self._left = -1
        self._carried = True
        self._proxy = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._proxy.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._proxy.server_address[1]}"

    def cut_at(self, request: int, *, carried: bool) -> None:
        """Go down with that request, counted from 1; ``carried``: the server still gets it, only its answer is lost."""
        self._left, self._carried = request, carried

    @property
    def is_cut(self) -> bool:
        return self._left == 0

    def close(self) -> None:
        self._proxy.shutdown()
        self._proxy.server_close()
        self._thread.join()

    def _passes(self, carry: Callable[[], None]) -> bool:
        if self._left == 0:
            return False
        self._left -= 1
        if self._left == 0 and not self._carried:
            return False
        carry()
        return self._left != 0

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def _carry(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                connection = http.client.HTTPConnection(outer._host, timeout=30)
                headers = {key: value for key, value in self.headers.items() if key.lower() not in ("host", "connection")}
                connection.request(self.command, self.path, body, headers)
                answer = connection.getresponse()
                self._answer = (answer.status, answer.getheader("Content-Type") or "", answer.read())
                connection.close()

            def _serve(self) -> None:
                self.close_connection = True
                if not outer._passes(self._carry):
                    return  # closed without an answer
                status, kind, body = self._answer
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _serve

            def log_message(self, format: str, *args: object) -> None:
                """Nothing."""

        return Handler
