"""An OpenAI-compatible server for tests: real HTTP on 127.0.0.1, as friendly or as hostile as the script says.

    with OpenAIServer(lambda received: answer(f"echo {received.number}")) as server:
        ...  # api_base is server.url; server.requests holds what came

A script is a function of the received request, or a list of turns (the last one repeats); a turn is a text or a ``Turn``.
"""

import asyncio
import json
import os
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Received:
    """One chat request as the server saw it."""

    number: int
    """Counted from 1."""
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    in_flight: int = 1
    """Chat requests that the server holds at this moment, this one included."""


@dataclass(frozen=True)
class Turn:
    """What the server does with one request."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    before_s: float = 0.0
    """Silence before the first byte."""
    during_s: float = 0.0
    """How long sending the body takes, in ten pieces."""
    reset_after: int | None = None
    """Reset the connection after that many bytes of the body."""


Script = Callable[[Received], "Turn | str"] | Sequence["Turn | str"] | str


def answer(
    text: str | None = None,
    *,
    tool_calls: Sequence[tuple[str, str]] = (),
    finish_reason: str | None = "stop",
    usage: Mapping[str, Any] | tuple[int, int] | None = (10, 5),
    model: str = "served-model",
    fingerprint: str | None = "fp_test",
    message: Mapping[str, Any] | None = None,
) -> Turn:
    """A chat completion. ``tool_calls`` are names and argument strings; ``usage`` None leaves the field out; ``message`` adds
    or replaces fields of the message."""
    calls = [
        {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in enumerate(tool_calls)
    ]
    content: dict[str, Any] = {"role": "assistant", "content": text} | ({"tool_calls": calls} if calls else {})
    reason = "tool_calls" if calls and finish_reason == "stop" else finish_reason
    body: dict[str, Any] = {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": content | dict(message or {}), "finish_reason": reason}],
    }
    body |= {"system_fingerprint": fingerprint} if fingerprint is not None else {}
    body |= {"usage": _usage(usage)} if usage is not None else {}
    return raw(json.dumps(body).encode())


def _usage(usage: Mapping[str, Any] | tuple[int, int]) -> Mapping[str, Any]:
    if not isinstance(usage, tuple):
        return usage
    return {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}


def raw(body: bytes, status: int = 200) -> Turn:
    """Any bytes, said to be JSON."""
    return Turn(body=body, status=status, headers={"Content-Type": "application/json"})


def fails(status: int, *, retry_after: str | None = None, message: str = "no", code: str | None = None) -> Turn:
    """An error in OpenAI's form, for instance 429 with ``retry_after`` in seconds or as a date."""
    error = {"error": {"message": message, "type": "error", "code": code}}
    headers = {"Content-Type": "application/json"} | ({"Retry-After": retry_after} if retry_after is not None else {})
    return Turn(body=json.dumps(error).encode(), status=status, headers=headers)


def refuses() -> Turn:
    """A 400 by content policy."""
    return fails(400, message="The response was filtered due to our content management policy", code="content_policy_violation")


def too_long() -> Turn:
    """A 400 because the conversation does not fit the model."""
    return fails(400, message="This model's maximum context length is 10 tokens", code="context_length_exceeded")


def spends_all(max_tokens: int) -> Turn:
    """Null content: the whole budget went into reasoning."""
    details = {"completion_tokens_details": {"reasoning_tokens": max_tokens}}
    return answer(
        None, finish_reason="length", usage={"prompt_tokens": 10, "completion_tokens": max_tokens, "total_tokens": 0} | details
    )


def resets() -> Turn:
    """The connection is reset in the middle of the body."""
    whole = answer("never whole")
    return Turn(body=whole.body, headers=whole.headers, reset_after=40)


def garbage() -> Turn:
    """Bytes that are no text at all."""
    return Turn(body=bytes(range(256)) * 4, headers={"Content-Type": "application/octet-stream"})


def broken_json() -> Turn:
    """A body that stops in the middle of its JSON, with a correct length."""
    return raw(answer("never whole").body[:60])


def slow(seconds: float) -> Turn:
    """A body that takes its time; each piece arrives within any read timeout."""
    whole = answer("slow")
    return Turn(body=whole.body, headers=whole.headers, during_s=seconds)


def silent(seconds: float = 3600.0) -> Turn:
    """Accepts the request and says nothing."""
    return Turn(before_s=seconds)


class OpenAIServer:
    """The server, on a thread of its own. Counts every chat request; ``log_file`` gets one line per request, so that other
    processes can count, too. ``models`` is the answer to every GET."""

    def __init__(self, script: Script = "true", log_file: Path | None = None, models: Turn | None = None) -> None:
        self.requests: list[Received] = []
        self._models = models or raw(json.dumps({"object": "list", "data": [{"id": "served-model", "object": "model"}]}).encode())
        self._script = script
        self._log_file = log_file
        self._loop = asyncio.new_event_loop()
        self._connections: set[asyncio.Task[None]] = set()
        self._in_flight = 0
        self._thread = threading.Thread(target=self._loop.run_forever, name="openai-server", daemon=True)

    @property
    def url(self) -> str:
        """What a client takes as its ``api_base``."""
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop).result()
        self._port: int = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        for task in tuple(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._one(reader, writer):
                    pass
        finally:
            self._connections.discard(task)
            writer.transport.abort()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; False when the connection is over."""
        method, path, headers = _head(await reader.readuntil(b"\r\n\r\n"))
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self._in_flight += method != "GET"
        try:
            turn = self._turn(method, path, headers, body)
            await asyncio.sleep(turn.before_s)
            await _send(writer, turn)
        finally:
            self._in_flight -= method != "GET"
        return turn.reset_after is None

    def _turn(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Turn:
        if method == "GET":
            return self._models
        received = Received(len(self.requests) + 1, path, headers, json.loads(body or b"{}"), self._in_flight)
        self.requests.append(received)
        self._log(received)
        turn = self._scripted(received)
        return answer(turn) if isinstance(turn, str) else turn

    def _scripted(self, received: Received) -> Turn | str:
        if callable(self._script):
            return self._script(received)
        if isinstance(self._script, str):
            return self._script
        return self._script[min(received.number, len(self._script)) - 1]

    def _log(self, received: Received) -> None:
        """One write per line, so that lines of a killed or parallel process never mix."""
        if self._log_file is None:
            return
        line = json.dumps({"number": received.number, "model": received.body.get("model")}) + "\n"
        descriptor = os.open(self._log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)


def _head(head: bytes) -> tuple[str, str, dict[str, str]]:
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    method, path, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    return method, path, {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _send(writer: asyncio.StreamWriter, turn: Turn) -> None:
    headers = {**turn.headers, "Content-Length": str(len(turn.body))}
    lines = [f"HTTP/1.1 {turn.status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
    if turn.reset_after is not None:
        await _send_and_reset(writer, turn.body[: turn.reset_after])
    elif turn.during_s > 0:
        await _send_slowly(writer, turn.body, turn.during_s)
    else:
        writer.write(turn.body)
    await writer.drain()


async def _send_and_reset(writer: asyncio.StreamWriter, part: bytes) -> None:
    writer.write(part)
    await writer.drain()
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    await asyncio.sleep(0.05)  # lets the client read the first part, so that the reset falls into the body
    writer.transport.abort()


async def _send_slowly(writer: asyncio.StreamWriter, body: bytes, seconds: float) -> None:
    size = len(body) // 10 + 1
    for start in range(0, len(body), size):
        writer.write(body[start : start + size])
        await writer.drain()
        await asyncio.sleep(seconds / 10)
