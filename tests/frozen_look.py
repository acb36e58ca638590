"""One look at frozen replies, as a process: ``python frozen_look.py STORE EVALUATION EVIDENCE [KILLED_AFTER]``.

Prints what was found and what was said. EVIDENCE is a file with what an earlier look printed; ``-`` at the first one. After
KILLED_AFTER replays the process kills itself.
"""

import json
import os
import signal
import sys
from pathlib import Path

from crosspath.app.finding import find_facts
from crosspath.app.frozen import frozen_replays
from crosspath.app.gating_replays import Place
from crosspath.pipeline.evaluate import Progress
from crosspath.store.ledger import Ledger
from crosspath.types.drift import ToolchainDrift


def main(store: str, evaluation: str, evidence: str, killed_after: str = "-1") -> None:
    """Look once."""
    earlier = () if evidence == "-" else ToolchainDrift.model_validate(json.loads(Path(evidence).read_text())["found"]).evidence
    said: list[str] = []

    def counting(progress: Progress) -> None:
        if progress.replays_done == int(killed_after):
            os.kill(os.getpid(), signal.SIGKILL)

    ledger = Ledger(Path(store))
    found = frozen_replays(
        find_facts(ledger, evaluation),
        "bot",
        earlier,
        place=Place(None, "local", None),
        ledger=ledger,
        progress=Progress(changed=counting),
        notify=said.append,
    )
    ledger.close()
    print(json.dumps({"found": found.model_dump(mode="json"), "said": said}))


if __name__ == "__main__":
    main(*sys.argv[1:])
