"""What to run so that two configurations can be compared, or their differences be told apart; what costs no request first."""

import shlex
from collections.abc import Iterator, Sequence

from crosspath.pipeline.axes import SHARED
from crosspath.pipeline.compared import Side
from crosspath.transports import preset_names
from crosspath.types import Axis

_FIELD: dict[Axis, str] = {
    "model": "model", "contract": "contract", "operating point": "operating_point", "harness": "harness",
    "request style": "request_style", "tools": "tools",
}  # fmt: skip
"""Axis -> the field of a candidate in a spec."""


def comparable_by(a: Side, b: Side) -> tuple[str, ...]:
    """The command that has one side judged by the other one's validator, where that is what differs."""
    if a.cell.validator == b.cell.validator:
        return ()
    command = _command("crosspath", "validate", b.evaluation, "--validator", a.cell.validator)
    return (f"{command} judges the stored replays of {b.name} by the rules of {a.name}, without a request",)


def separating(a: Side, b: Side, axes: Sequence[Axis]) -> tuple[str, ...]:
    """What would separate the axes of one confounded part."""
    return tuple(_steps(a, b, axes))


def _steps(a: Side, b: Side, axes: Sequence[Axis]) -> Iterator[str]:
    shared: list[Axis] = [axis for axis in axes if axis in SHARED]
    own: list[Axis] = [axis for axis in axes if axis not in SHARED and axis != "served model"]
    if shared:
        yield f"{_both(a, b)} give both the {' and '.join(shared)} of today, without a request; then compare the two new ones"
    if len(own) < 2:
        return
    if "transport" in own:
        own.remove("transport")
        replay = _replay(a, b.cell.transport)
        compare = _command("crosspath", "compare", a.name, b.name)
        yield f"{replay} sends A's replies through B's path, without a request; then {compare} --with NEW"
    for axis in own[:-1]:
        yield f"add a candidate to the spec that is {a.name} but for {_FIELD[axis]}, which it takes from {b.name}"


def _both(a: Side, b: Side) -> str:
    return f"{_replay(a, a.cell.transport)} and {_replay(b, b.cell.transport)}"


def _replay(side: Side, transport: str) -> str:
    own = "" if transport.rpartition(":")[2] in preset_names() else " --spec SPEC"
    return _command("crosspath", "replay", side.evaluation, "--transport", transport) + own


def _command(*words: str) -> str:
    return shlex.join(words)
