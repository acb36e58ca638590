"""Days as a watch counts them: UTC dates."""

from datetime import UTC, datetime


def day_of(at: float) -> str:
    """The UTC date (``YYYY-MM-DD``) of a time in seconds since 1970, wherever the machine stands."""
    return datetime.fromtimestamp(at, UTC).date().isoformat()
