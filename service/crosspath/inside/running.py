"""One text through the rest of a chain: edits and readings, then the runner.

The chain lies in ``chain.json`` of the directory that ``IN`` names, the text in ``text``::

    {"steps": [{"do": "trim", "where": "both"}, ...], "run": {"do": "shell", "program": "bash", "flags": []}, "arrives": null}

What each step makes of the text is kept in ``hops.json`` of the directory that ``OUT`` names, where there is one. ``arrives``:
nothing is run; what would have reached the innermost program is kept there in its place.
"""

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from .edits import EDITS
from .readings import READINGS, UnreadableError
from .runners import RUNNERS


def main() -> int:
    """Carry out the chain; returns the status that the path tells."""
    chain = json.loads(content(f"{os.environ['IN']}/chain.json"))
    text = content(f"{os.environ['IN']}/text").decode("utf-8", "surrogateescape")
    environment = given_environment()
    kept: dict[str, Any] = {"hops": []}
    for step in chain["steps"]:
        try:
            text = carried(step, text)
        except UnreadableError as error:
            keep({**kept, "gives_up": f"{step['do']}: {error}"})
            print(error, file=sys.stderr)
            return error.status
        kept["hops"].append([step["do"], text])
    kept["hops"].append([chain["run"]["do"], text])
    if chain.get("arrives"):
        from .arriving import arrivals  # every start counts: what few need is imported where they need it

        arrived, ended = arrivals(text, chain["run"], chain["arrives"], environment)
        keep({**kept, "arrived": arrived, "ended": ended})
        return 0
    keep(kept)
    return RUNNERS[chain["run"]["do"]](text, chain["run"], environment)


def content(path: str) -> bytes:
    """The bytes of a file."""
    with open(path, "rb") as file:
        return file.read()


def carried(step: Mapping[str, Any], text: str) -> str:
    """What one step makes of a text."""
    return (EDITS.get(step["do"]) or READINGS[step["do"]])(text, step)


def given_environment() -> "dict[str, str]":
    """The environment as it was when this process started: in the C locale Python sets LC_CTYPE for itself and its children."""
    pairs = (pair.partition(b"=") for pair in content("/proc/self/environ").split(b"\0") if pair)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def keep(facts: Mapping[str, Any]) -> None:
    """Leave what each step made, where somebody asked for it; a byte that is no UTF-8 stays as its surrogate."""
    if os.path.isdir(os.environ["OUT"]):
        with open(f"{os.environ['OUT']}/hops.json", "w") as file:
            json.dump(facts, file)
