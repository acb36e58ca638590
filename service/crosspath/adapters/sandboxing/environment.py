"""Where things are for a command, and the environment it sees. Nothing of our own environment gets in."""

from collections.abc import Sequence
from dataclasses import dataclass

from crosspath.types import Command, Task

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True)
class Places:
    """Directories as the command sees them."""

    work: str
    files: str
    """Of ``IN``: files handed to the command, read-only."""
    out: str
    home: str
    programs: str
    """First on PATH."""
    packages: str
    """Python packages that a command names, read-only."""

    def expand(self, text: str) -> str:
        """``{work}``, ``{in}`` and ``{out}`` replaced; every other brace stays."""
        return text.replace("{work}", self.work).replace("{in}", self.files).replace("{out}", self.out)

    def expand_packages(self, text: str) -> str:
        """``{packages}`` replaced: in the variables of a command that names some."""
        return text.replace("{packages}", self.packages)

    def expand_word(self, word: bytes) -> bytes:
        """``{packages}`` replaced where it is the beginning of ``word``, as a directory of its own."""
        head, slash, rest = word.partition(b"/")
        return self.packages.encode() + slash + rest if head == b"{packages}" else word

    def expand_program(self, data: bytes) -> bytes:
        """``{work}`` replaced in a program's text; the other two are too likely to mean something there."""
        return data.replace(b"{work}", self.work.encode())


def environment(places: Places, *extra: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The whole environment of a command; ``extra`` pairs are expanded and win, the last one most."""
    fixed = {
        "PATH": f"{places.programs}:{SYSTEM_PATH}",
        "HOME": places.home,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "TERM": "dumb",
        "PYTHONHASHSEED": "0",
        "WORK": places.work,
        "IN": places.files,
        "OUT": places.out,
    }
    for pairs in extra:
        fixed.update((name, places.expand(value)) for name, value in pairs)
    return fixed


def command_environment(places: Places, task: Task, command: Command) -> dict[str, str]:
    """The environment of a reply's command: the task's variables, then the path's."""
    if not command.packages:
        return environment(places, task.env, command.env)
    return environment(places, task.env, [(name, places.expand_packages(value)) for name, value in command.env])


def command_argv(places: Places, command: Command) -> tuple[bytes, ...]:
    """The words of a reply's command. Those of a command that names no packages are the reply's own, whatever they look like."""
    return tuple(map(places.expand_word, command.argv)) if command.packages else command.argv
