"""What a watched chain tells about its part inside the sandbox, read back from a command's report."""

import json
from dataclasses import dataclass
from typing import Any, cast

from crosspath.transports.chain import hop
from crosspath.types import Hop

_LONGEST = 200
"""Entries of a list that a hostile reply may have left there."""


@dataclass(frozen=True)
class Watched:
    """The hops inside, and what arrived at the innermost program (None: that was not asked, or nothing is known)."""

    hops: tuple[Hop, ...] = ()
    arrived: tuple[str, ...] | None = None
    """One text per time that the innermost program was started; bytes that are no UTF-8 are lone surrogates."""
    gives_up: str = ""
    """Why a layer refused the text; empty: none did."""
    ended: bool = True
    """False: something in front of the innermost program ran on until a time limit ended it."""


def watched(report: bytes | None) -> Watched:
    """The report of a command that was delivered with ``watch``. One that makes no sense tells nothing: replies can write it."""
    try:
        value = json.loads(report.decode("utf-8")) if report else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return Watched()
    found = cast("dict[str, Any]", value)
    pairs = [cast("list[Any]", pair) for pair in _list(found.get("hops")) if isinstance(pair, list)]
    hops = tuple(hop(*pair) for pair in pairs if len(pair) == 2 and all(isinstance(part, str) for part in pair))
    told = isinstance(found.get("arrived"), list)
    texts = tuple(text for text in _list(found.get("arrived")) if isinstance(text, str)) if told else None
    reason = found.get("gives_up", "")
    return Watched(hops, texts, reason if isinstance(reason, str) else "", found.get("ended") is not False)


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value)[:_LONGEST] if isinstance(value, list) else []
