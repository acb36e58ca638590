"""Probes: right shell commands whose final state and told status show what a path does to a text.

Each does under ``bash -c`` what it says, quickly, and leaves files that tell. What a path makes of it is compared with that.
"""

from dataclasses import dataclass
from typing import Literal

Group = Literal["characters", "shapes", "report"]
Place = Literal["single quotes", "double quotes", "no quotes"]
NOTHING = "(nothing)"


@dataclass(frozen=True)
class Probe:
    """One command, and what it is a probe of."""

    name: str
    """Stable: stands in JSON documents."""
    group: Group
    subject: str
    """What is tried, as a noun phrase: ``a comment at the end``."""
    command: str
    place: str = ""
    """Where the subject stands, as words that follow it; subjects of one place are told in one sentence."""
    verb: str = ""
    """What has happened where something else arrived: ``expanded``. Empty: ``changed``."""
    known: tuple[tuple[str, str], ...] = ()
    """What may be left, and the clause that says what must have happened then: names of files, ``FILE=CONTENT``, ``NOTHING``, or
    an empty text for: nothing is left, though a shell has understood the command."""
    units: tuple[str, ...] = ()
    """The characters, where it is a probe of characters."""
    parts: tuple["Probe", ...] = ()
    """The same one by one, for where the whole fails."""
    settle_s: float = 0.0
    """How long processes in the background stay alive after the command."""
    quick: bool = False
    """Whether it belongs to the short battery."""
    hard: bool = False
    """Whether it is among those that sort out encodings."""
