"""Which faults the same command may still turn into facts."""

from crosspath.types import Fault

ANSWERS = frozenset({"bad_request", "content_filter", "context_window", "not_recorded"})
"""Faults of a model that say something about the request itself: asking again gets them again, perhaps for money."""


def is_final(fault: Fault) -> bool:
    """Whether repeating could not help. A limit can be raised, a key mended, a server restarted."""
    if fault.boundary == "model":
        return fault.type in ANSWERS
    return not fault.retryable and fault.boundary != "budget"
