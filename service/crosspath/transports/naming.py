"""The message for a name that does not exist: what was given, the near ones, and all that there are."""

from collections.abc import Iterable
from difflib import get_close_matches


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """One line that names an unknown ``what`` and the names that would be right."""
    names = sorted(known)
    near = get_close_matches(name, names, n=2)
    hint = f" (did you mean {' or '.join(near)}?)" if near else ""
    return f"unknown {what} {name!r}{hint}; known: {', '.join(names) or 'none'}"
