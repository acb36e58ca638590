"""What gates keep in the store.

A gate that is killed leaves behind what it was filling, and the note of what it had replayed. The next gate of the store takes
away what no gate goes on with: nobody was ever told of a verdict in it, and all replays are in the ledger.
"""

import shutil
import time
from contextlib import suppress
from pathlib import Path

from crosspath.app.placing import FRESH

VERDICT = "verdict.json"
GATES = "gates"
"""Directory in the store that holds verdicts."""
NOTE = ".unfinished-"
"""How notes begin of what an interrupted gate replayed."""
NOTE_KEPT_S = 7 * 24 * 3600.0
"""So long the same gate goes on with what it had replayed."""


def clear_leftovers(gates: Path) -> None:
    """Take away what killed gates left in the store; only for who holds the ledger's lease, so that no other gate fills it now.

    An earlier verdict that was to be replaced (``.old...``) stays, as do notes that a gate may still go on with.
    """
    for place in gates.glob(f"{FRESH}*"):
        shutil.rmtree(place, ignore_errors=True)
    for note in gates.glob(f"{NOTE}*"):
        with suppress(OSError):
            if note.suffix == ".new" or note.lstat().st_mtime < time.time() - NOTE_KEPT_S:
                note.unlink()
