"""One day of a watch, as a process: ``python watched_day.py PLACE URL STORE DAY [run] [look]``; prints what the look says.

It is what a test runs on a machine with other programs.
"""

import json
import sys
from pathlib import Path

from watched import Watch


def main(place: str, url: str, store: str, day: str, *what: str) -> None:
    """Run, look, or both."""
    watch = Watch(Path(place), url, Path(store))
    if "run" in what:
        watch.evaluated(int(day))
    if "look" in what:
        look = watch.look(int(day))
        print(json.dumps({"exit": look.exit_code, "error": look.tracking_error, "drift": look.drift.model_dump(mode="json")}))


if __name__ == "__main__":
    main(*sys.argv[1:])
