"""What a row or a check is about: a path, an observer, the listing, or one of the facts of the execution."""

from crosspath.escaping import escape

LISTING = "."
"""The list of paths itself: whether it is complete."""
EXIT = "exit"
COMMANDS = "commands"
ARGUMENTS = "command arguments"
OUTPUT = "command output"
_OBSERVER = "observer:"
_TAKEN = frozenset({EXIT, COMMANDS, ARGUMENTS, OUTPUT})


def path_subject(path: bytes) -> str:
    """A path as the tables name it; ``./`` in front where it could be taken for something else."""
    text = escape(path)
    return "./" + text if text in _TAKEN or text.startswith(_OBSERVER) else text


def observer_subject(name: str) -> str:
    """An observer as the tables name it."""
    return _OBSERVER + escape(name.encode())
