"""Prints docs/paths.md: every path and layer that ships, and the reported faults that they reproduce. ``make docs`` writes it."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crosspath.app.path_list import PathRow, path_rows
from crosspath.transports import Kind, layer_kinds, preset, preset_names

INCIDENTS = Path(__file__).parents[1] / "tests" / "data" / "incidents.jsonl"
HEAD = """# The paths that ship

This page is written by `make docs` from what ships, and a test compares the two.

A path is a chain of *layers*, from the reply to the program that runs it. *Survivable*: there is an encoding that makes any
command that is right under `bash -c` do the same on this path; it is the control. *Imitated*: something stands for a program or a
machine that can't stand in a sandbox; what is imitated is said. Everything that interprets a reply runs inside the sandbox.

    crosspath transports list                     # this table, with your own paths by --spec or --paths
    crosspath transports show ssh                 # the chain, with versions and options
    crosspath transports try ssh 'echo "a  b"'    # each hop of the text, what arrives, the final state
    crosspath transports diagnose ssh             # which characters and shapes survive

Names with a decoder in front (`json:ssh`, `tools:ssh`) take replies of that shape only.
"""
INCIDENTS_HEAD = """## Reported faults that they reproduce

Each line is a public report, retold as a task (`tests/data/incidents.jsonl`). The right command passes on `raw`; through the path
it leaves the recorded faulty files and exit status, byte for byte (`tests/e2e/test_incident_paths.py`).
"""
LAYERS_HEAD = """## Layers

What a chain of your own may name. Options have the defaults shown; a bare name has them all, `{layer: NAME, ...}` sets some.
"""


def page() -> str:
    """The whole page."""
    rows = path_rows({name: preset(name) for name in preset_names()})
    return "\n".join([HEAD, *_paths(rows), INCIDENTS_HEAD, *_incidents(), LAYERS_HEAD, *_layers()])


def _paths(rows: list[PathRow]) -> Iterator[str]:
    yield "| path | what it does | survivable | imitated | reported |"
    yield "|---|---|---|---|---|"
    for row in rows:
        report = f"[report]({row.source})" if row.source else ""
        marks = f"{'yes' if row.survivable else 'no'} | {_cell('; '.join(row.imitated))}"
        yield f"| `{row.name}` | {_cell(row.summary)} | {marks} | {report} |"
    yield ""


def _incidents() -> Iterator[str]:
    yield "| report | kind of fault | path | state | the path told | cause |"
    yield "|---|---|---|---|---|---|"
    for line in INCIDENTS.read_text(encoding="utf-8").splitlines():
        meta: dict[str, Any] = json.loads(line)["meta"]
        state = "right" if meta["state_ok"] else "wrong"
        told = f"{'success' if meta['reported_ok'] else 'failure'} ({meta['faulty_exit']})"
        report = f"[{_label(meta['source'])}]({meta['source']})"
        cause = "" if meta["cause"] == "none" else f"`{meta['cause']}`"
        yield f"| {report} | {_cell(meta['kind'])} | `{meta['path']}` | {state} | {told} | {cause} |"
    yield ""


def _label(address: str) -> str:
    """``owner/project#12``."""
    owner, project, _, number = address.removeprefix("https://github.com/").split("/")[:4]
    return f"{owner}/{project}#{number}"


def _layers() -> Iterator[str]:
    yield "| layer | options | what it does | survivable |"
    yield "|---|---|---|---|"
    for name, kind in layer_kinds().items():
        example = kind.example()
        yield f"| `{name}` | {_cell(_options(kind))} | {_cell(example.sentence)} | {_survivable(name, bool(example.encode))} |"


def _options(kind: Kind) -> str:
    shown = {key: "(needed)" if key in kind.required else json.dumps(value) for key, value in kind.options.items()}
    return ", ".join(f"`{key}: {value}`{_choices(kind.choices.get(key))}" for key, value in shown.items())


def _survivable(name: str, encodes: bool) -> str:
    if name in ("prefix", "suffix"):
        return "if the wrapper is commands of its own"
    return "yes" if encodes else "no"


def _choices(values: Any) -> str:
    return f" ({', '.join(map(str, values))})" if values else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    sys.stdout.write(page())
