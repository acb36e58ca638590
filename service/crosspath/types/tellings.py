"""Names of contracts that are generated from a path's layers: ``tell:PATH``, and ``tell:PATH#2`` for another wording."""

import re
from types import MappingProxyType

from pydantic import Field

from crosspath.types.base import Record
from crosspath.types.candidates import Shape

TELL = "tell"
"""As the name of a contract in a spec: whatever path the candidate's replies run on, tell about that one."""
WORDINGS = 3
"""Wordings of each generated contract."""
PLAIN_CONTRACTS = MappingProxyType[Shape, str]({"text": "raw", "json": "json", "tools": "tool-call"})
"""Reply shape -> the contract that ships for it and discloses nothing but the raw path."""

PLAIN_PATHS = MappingProxyType(
    {"raw": "raw", "json:raw": "json", "tools:raw": "tool-call", "json": "json", "json:json": "json", "tool-call": "tool-call"}
)
"""Path about which nothing is to be told -> the plain contract that tells it."""

_NAME = re.compile(rf"{TELL}:(?P<path>[^#]+)(?:#(?P<wording>[2-{WORDINGS}]))?")


class Telling(Record):
    """Which path a generated contract tells about, and in which of its wordings."""

    path: str
    """A path's name as a candidate's ``transport`` has it, with a decoder's prefix or without: ``json:nested-shell``."""
    wording: int = Field(default=1, ge=1, le=WORDINGS)

    @property
    def name(self) -> str:
        """The contract's name. The first wording has no number, so that each contract has one name."""
        return f"{TELL}:{self.path}" + (f"#{self.wording}" if self.wording > 1 else "")

    @classmethod
    def named(cls, name: str) -> "Telling | None":
        """What a contract's name asks for; None where it is the name of no generated contract."""
        found = _NAME.fullmatch(name)
        return None if found is None else cls(path=found["path"], wording=int(found["wording"] or 1))


def is_reserved(name: str) -> bool:
    """Whether only a generated contract may have this name."""
    return name == TELL or name.startswith(f"{TELL}:")
