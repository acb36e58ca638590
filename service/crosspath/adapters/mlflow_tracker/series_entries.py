"""What an evaluation's parent run carries of its deployment: tags to find it by, and its entry as a file of its own."""

import hashlib
from dataclasses import dataclass, field

from crosspath.types.drift import SeriesEntry

ENTRY = "series/entry.json"
"""Artifact of the parent run: its ``SeriesEntry``."""
DEPLOYMENT_TAG = "crosspath.deployment"
ROLE_TAG = "crosspath.deployment_role"
ENTRY_TAG = "crosspath.entry"
"""SHA-256 of the artifact."""
SERIES_TAGS = (DEPLOYMENT_TAG, ROLE_TAG, ENTRY_TAG)


@dataclass(frozen=True)
class EntryContent:
    """Tags and text of an entry; both are empty for an evaluation of no deployment."""

    tags: dict[str, str] = field(default_factory=dict[str, str])
    text: str = ""


def entry_content(entry: SeriesEntry | None) -> EntryContent:
    """An entry as it is logged."""
    if entry is None:
        return EntryContent()
    text = entry.to_json()
    return EntryContent({DEPLOYMENT_TAG: entry.deployment, ROLE_TAG: entry.role, ENTRY_TAG: entry_digest(text.encode())}, text)


def entry_digest(data: bytes) -> str:
    """What the tag holds of a file with this content."""
    return hashlib.sha256(data).hexdigest()
