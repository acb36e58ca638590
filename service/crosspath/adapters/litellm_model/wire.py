"""What really went over the wire: the bodies of one attempt, seen below litellm and the provider's SDK.

litellm fills gaps (a missing usage becomes zeros, a null finish reason becomes ``stop``) and repairs what it can (parallel tool
calls, ``<think>`` blocks). So replies are read from the body as it arrived, and this is where it is caught.
"""

import asyncio
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import httpx

from crosspath.adapters.litellm_model.redaction import SHORTEST_SECRET

MAX_BODY_BYTES = 32 * 1024 * 1024
"""Larger responses are refused: no reply of a model is that long, and a hostile endpoint could send one for ever."""

_SECRET_HEADERS = ("authorization", "x-api-key", "api-key", "x-goog-api-key", "ocp-apim-subscription-key")


@dataclass
class Attempt:
    """The exchange of one attempt. Filled in while it happens, so that it is there when litellm raises."""

    sent: bytes | None = None
    status: int | None = None
    headers: httpx.Headers = field(default_factory=httpx.Headers)
    body: bytes | None = None
    failure: httpx.TransportError | None = None
    duration_s: float | None = None
    """From sending the request to the last byte of the body."""
    requests: int = 0
    secrets: set[str] = field(default_factory=set)

    @property
    def failed(self) -> bool:
        """Whether a request of this attempt failed, so that no other one may be sent."""
        return self.failure is not None or (self.status or 0) >= 400


ATTEMPT: ContextVar[Attempt | None] = ContextVar("crosspath_attempt", default=None)
"""The attempt that the running task makes; litellm's calls below inherit it."""


class RecordingTransport(httpx.AsyncBaseTransport):
    """Sends through one ordinary httpx client per event loop, and records bodies into :data:`ATTEMPT`.

    Once a request of an attempt has failed, any further request of the same attempt gets the same failure without being sent:
    some of litellm's providers repeat a request after a broken connection, or with other parameters after a 4xx, and both would
    be paid for and not counted.
    """

    def __init__(self, make_client: Callable[[], httpx.AsyncClient]) -> None:
        self._make_client = make_client
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = WeakKeyDictionary()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        attempt = ATTEMPT.get() or Attempt()
        if attempt.failure is not None:
            raise attempt.failure
        if not attempt.failed:
            await self._exchange(request, attempt)
        return httpx.Response(attempt.status or 0, headers=attempt.headers, content=attempt.body, request=request)

    async def _exchange(self, request: httpx.Request, attempt: Attempt) -> None:
        attempt.requests += 1
        attempt.secrets |= _secrets_of(request)
        attempt.sent = await request.aread()
        attempt.status, attempt.body = None, None
        try:
            await self._receive(request, attempt)
        except httpx.TransportError as error:
            attempt.failure = error
            raise
        except httpx.DecodingError as error:
            attempt.failure = failure = httpx.RemoteProtocolError(f"undecodable body: {error}", request=request)
            raise failure from error

    async def _receive(self, request: httpx.Request, attempt: Attempt) -> None:
        started = time.monotonic()
        response = await self._client().send(request, stream=True)
        try:
            attempt.headers = _without_framing(response.headers)
            attempt.body = await _read(response)
            attempt.status = response.status_code
            attempt.duration_s = time.monotonic() - started
        finally:
            await response.aclose()

    def _client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = self._make_client()
        return self._clients[loop]

    async def aclose(self) -> None:
        """Close the connections of the running event loop; the transport stays usable."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()


async def _read(response: httpx.Response) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise httpx.RemoteProtocolError(f"response larger than {MAX_BODY_BYTES} bytes")
    return bytes(body)


def _without_framing(headers: httpx.Headers) -> httpx.Headers:
    """The body is already decoded and whole, so the headers that say otherwise go."""
    framing = {"content-encoding", "content-length", "transfer-encoding"}
    return httpx.Headers([(name, value) for name, value in headers.multi_items() if name.lower() not in framing])


def _secrets_of(request: httpx.Request) -> set[str]:
    values = {request.headers.get(name, "").removeprefix("Bearer ") for name in _SECRET_HEADERS}
    return {value for value in (*values, request.url.params.get("key", "")) if len(value) >= SHORTEST_SECRET}
