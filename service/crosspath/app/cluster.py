"""Whether a Ray cluster can be there at all: Ray itself takes minutes to find out that nobody listens."""

import socket
from urllib.parse import urlsplit

from crosspath.errors import ExecutorError, boundary

ANSWER_WITHIN_S = 5.0


def require_listener(address: str | None) -> None:
    """Knock at ``HOST:PORT`` or ``ray://HOST:PORT``; other addresses (``auto``, ``local``) are Ray's to resolve.

    Raises:
        ExecutorError: nobody listens there.
    """
    if address is None:
        return
    parts = urlsplit(address if "://" in address else f"//{address}")
    with boundary(ExecutorError, f"no Ray cluster listens at {address}"):
        if parts.hostname and parts.port:
            socket.create_connection((parts.hostname, parts.port), ANSWER_WITHIN_S).close()
