"""The key goes out of everything that came back: an endpoint that repeats it must not bring it into a ledger or an artifact.

Found as it is, with any of its characters as ``\\uXXXX`` or ``%XX`` (of JSON in JSON, too), and as base64 in each of the three
ways that it can lie in a longer text. An endpoint that hides it in some cleverer way has the key anyway and can publish it
itself; this keeps it out of what honest programs, proxies and error pages repeat.
"""

import base64
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from crosspath.types import Reply

REPLACEMENT = "[key removed]"
SHORTEST_SECRET = 6
"""Shorter keys are placeholders (``EMPTY``, ``none``): replacing such words would falsify what was sent and received."""

_RECEIVED = frozenset({"text", "tool_calls", "finish_reason", "served_model", "fingerprint", "raw_response"})
_TEXTS = _RECEIVED | {"sent_body"}
"""Fields of a reply that hold texts."""


def redact(text: str, secrets: Iterable[str]) -> str:
    """``text`` with every secret of at least :data:`SHORTEST_SECRET` characters replaced, longest first."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            text = _pattern(secret).sub(REPLACEMENT, text)
    return text


def redacted(reply: Reply, secrets: Iterable[str]) -> Reply:
    """The reply without the secrets in any of its texts; marked as ``scrubbed`` where something received held one."""
    known = tuple(secrets)
    before = reply.model_dump(include=set(_TEXTS))
    after = _each_text(before, known)
    if after == before:
        return reply
    held = any(after[name] != before[name] for name in _RECEIVED)
    return Reply.model_validate({**reply.model_dump(), **after, "scrubbed": held})


def _each_text(value: Any, secrets: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, dict):
        return {redact(str(name), secrets): _each_text(inner, secrets) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_each_text(inner, secrets) for inner in value)
    return value


@lru_cache(maxsize=16)
def _pattern(secret: str) -> re.Pattern[str]:
    encoded = {_base64_core(secret.encode("utf-8", "surrogatepass"), offset) for offset in range(3)}
    forms = [secret, *sorted(core for core in encoded if len(core) >= SHORTEST_SECRET)]
    return re.compile("|".join("".join(map(_character, form)) for form in forms))


def _base64_core(secret: bytes, offset: int) -> str:
    """The characters of base64 that ``secret`` alone determines when ``offset`` bytes (modulo 3) stand before it."""
    text = base64.b64encode(b"\0" * offset + secret).decode().rstrip("=")
    first = -(-offset * 8 // 6)
    whole = (offset + len(secret)) * 8 // 6
    return text[first:whole]


_BASE64_TWINS = {"+": "[+-]", "/": "(?:[/_]|\\\\+/)"}
"""Both alphabets; JSON may escape a slash."""


def _character(letter: str) -> str:
    """A pattern for one character, as it is or escaped; a backslash before ``u`` may be doubled by each layer of JSON."""
    plain = _BASE64_TWINS.get(letter) or (r"\\*" if letter in '"\\' else "") + re.escape(letter)
    units = letter.encode("utf-16-be", "surrogatepass")
    as_json = "".join(rf"\\+u{_hexadecimal(units[at : at + 2])}" for at in range(0, len(units), 2))
    as_url = "".join(f"%{_hexadecimal(bytes([byte]))}" for byte in letter.encode("utf-8", "surrogatepass"))
    return f"(?:{plain}|{as_json}|{as_url})"


def _hexadecimal(data: bytes) -> str:
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in data.hex())
