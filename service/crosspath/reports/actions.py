"""The commands of one replay: what each hop made of the text, the command itself, how it ended, and what it wrote."""

from collections.abc import Iterator, Sequence
from typing import Any

from crosspath.escaping import escape, unescape
from crosspath.scoring.state_diff import readable
from crosspath.types import Replay

LONGEST_OUTPUT = 4000
"""Bytes of a command's output that are shown; what comes after is counted."""
_OURS = "{packages}"


def actions_of(replay: Replay) -> Iterator[dict[str, Any]]:
    """Each command of a replay; texts are escaped ones."""
    results = replay.execution.results if replay.execution else ()
    for number, action in enumerate(replay.delivery.actions):
        result = results[number] if number < len(results) else None
        yield {
            "call_id": action.call_id,
            "hops": [{"layer": hop.layer, "text": escape(hop.text)} for hop in action.hops],
            "argv": [escape(word) for word in action.command.argv],
            "exit_code": result.exit_code if result else None,
            "timed_out": bool(result and result.timed_out),
            "stdout": _output(result.stdout.data, result.stdout.size) if result else "",
            "stderr": _output(result.stderr.data, result.stderr.size) if result else "",
        }


def _output(data: bytes, size: int) -> str:
    shown = data[:LONGEST_OUTPUT]
    return escape(shown) + (f"\n... and {size - len(shown)} more bytes" if size > len(shown) else "")


def interpreted_inside(action: dict[str, Any]) -> bool:
    """Whether layers that the hops don't show interpret the text, inside the sandbox."""
    return _OURS in "".join(action["argv"])


def ended(action: dict[str, Any]) -> str:
    """How a command ended."""
    if action["timed_out"]:
        return "TIME LIMIT: it was still running and was ended"
    return "no exit status: it was ended from outside" if action["exit_code"] is None else f"exit {action['exit_code']}"


def action_lines(action: dict[str, Any], reply: str | None = None) -> Iterator[str]:
    """One command: what each hop made of the text, the command itself, how it ended, and what it wrote.

    ``reply``: the text that was shown already; a first hop that equals it is left out.
    """
    text = None
    hops = list(action["hops"])
    if hops and reply is not None and literal(hops[0]["text"]) == reply:
        text = hops.pop(0)["text"]
    for hop in hops:
        if hop["text"] == text:
            yield f"hop {hop['layer']}: unchanged"
            continue
        text = hop["text"]
        yield f"hop {hop['layer']}:"
        yield from indented(literal(text))
    if action.get("gives_up"):
        yield f"the path gives up at {action['gives_up']}"
    yield from _arrival_lines(action.get("arrived"), text)
    yield from _command_lines(action, text)
    yield ended(action)
    for stream in ("stdout", "stderr"):
        if action[stream]:
            yield f"{stream}:"
            yield from indented(literal(action[stream]).removesuffix("\n"))


def _arrival_lines(arrived: Sequence[str] | None, last_hop: str | None) -> Iterator[str]:
    """What the innermost program is given, where that is known and is not simply the last hop."""
    if arrived is None or list(arrived) == [last_hop]:
        return
    if not arrived:
        yield "nothing arrives at the innermost program"
    for text in arrived:
        yield "arrives at the innermost program:"
        yield from indented(literal(text))


def _command_lines(action: dict[str, Any], last_hop: str | None) -> Iterator[str]:
    if interpreted_inside(action):
        yield "command: ours, which carries the text through the layers that interpret it, inside the sandbox"
        return
    yield "command:"
    for number, word in enumerate(action["argv"]):
        yield from _word_lines(number, "(the text of the last hop)" if word == last_hop else literal(word))


def _word_lines(number: int, word: str) -> Iterator[str]:
    first, *rest = word.split("\n")
    yield f"  {number} | {first}"
    yield from (f"    | {line}" for line in rest)


def literal(escaped: str) -> str:
    """The text itself where it is one: in a tool about quoting nobody should have to count doubled backslashes."""
    return readable(unescape(escaped))


def indented(text: str) -> list[str]:
    """Its lines behind a bar."""
    return [f"  | {line}" for line in text.split("\n")]
