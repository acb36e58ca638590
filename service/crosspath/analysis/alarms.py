"""What paths told about right states, in words: time-outs, exit statuses, output that could not be read, lost statuses."""

from collections.abc import Mapping

from crosspath.types import AlarmKind, Cell, Decomposition

ALARM_WORDS: Mapping[AlarmKind, str] = {
    "timeout": "time-out",
    "status": "exit status",
    "output": "unreadable output",
    "masked": "lost exit status",
    "delivery": "refused delivery",
}
_PLURALS: Mapping[AlarmKind, str] = {
    "status": "exit statuses",
    "masked": "lost exit statuses",
    "delivery": "refused deliveries",
}


def alarm_words(kind: AlarmKind, count: int) -> str:
    """``2 time-outs``."""
    word = ALARM_WORDS[kind]
    return f"{count} {word if count == 1 else _PLURALS.get(kind, word + 's')}"


def alarm_counts(cell: Cell, where: str = "") -> str:
    """``3 (2 time-outs, 1 exit status)``, with ``where`` after the number; ``0`` without any."""
    kinds = [alarm_words(kind, count) for kind in ALARM_WORDS if (count := cell.alarm_kinds.get(kind, 0))]
    return f"{sum(cell.alarm_kinds.values())}{where} ({', '.join(kinds)})" if kinds else "0"


def alarm_sentence(decomposition: Decomposition) -> str:
    """Where right states were reported as something else, cell by cell; empty where none was on the candidate's own path.

    The reference path beside it shows which of them the replies bring with them.
    """
    cells = [cell for cell in decomposition.cells if cell.alarm_kinds]
    own = [cell for cell in decomposition.cells if cell.done == "N"] or decomposition.cells
    if not any(cell.alarm_kinds for cell in own):
        return ""
    masked = any("masked" in cell.alarm_kinds for cell in cells)
    counted = ", ".join(alarm_counts(cell, f" in {cell.name}") for cell in cells)
    return f"Right states {'reported wrongly' if masked else 'reported as failures'}: {counted}."
