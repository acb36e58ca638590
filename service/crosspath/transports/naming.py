"""The message for a name that does not exist: what was given, the near ones, and all that there are."""

from collections.abc import Iterable
from difflib import get_close_matches

LISTED = 30
"""So many names at most are listed."""


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """One line that names an unknown ``what`` and the names that would be right."""
    names = sorted(known)
    near = get_close_matches(name, names, n=3, cutoff=0.5) or [one for one in names if name and name in one][:3]
    hint = f" (did you mean {' or '.join(near)}?)" if near else ""
    if len(names) > LISTED:
        return f"unknown {what} {name!r}{hint}; {len(names)} are known"
    return f"unknown {what} {name!r}{hint}; known: {', '.join(names) or 'none'}"
