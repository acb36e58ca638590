"""Which trial of its task a logged call is, and which turn of it."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

from crosspath.logged.calls import LoggedCall
from crosspath.logged.shapes import fields, first, items, objects
from crosspath.types import Reply

Key = tuple[str, str, str]
"""Model, task and contract."""


class Trials:
    """Numbers trials from 0 for each model, task and contract, in the order in which the calls are read.

    A call is a further turn of an earlier trial where the log says that both belong to one conversation, or where its messages
    begin with that call's messages and reply. The same messages once more are another trial.
    """

    def __init__(self) -> None:
        self._next: Counter[Key] = Counter()
        self._conversations: dict[tuple[Key, str], tuple[int, int, bytes]] = {}
        self._replies: dict[tuple[Key, bytes], tuple[int, int]] = {}

    def number(self, key: Key, call: LoggedCall, reply: Reply) -> tuple[int, int | None]:
        """Trial and turn of the call; the turn is None where its messages hold earlier replies that are not in the log."""
        states = _states(call.messages)
        trial, turn = self._further(key, call, states) or self._new(key, call, states)
        if call.messages:
            self._replies[key, _after(states[-1], _said(reply))] = (trial, turn or 0)
        return trial, turn

    def _further(self, key: Key, call: LoggedCall, states: list[bytes]) -> tuple[int, int] | None:
        if call.conversation is not None:
            known = self._conversations.get((key, call.conversation))
            if known is None or (call.messages and known[2] == states[-1]):
                return None
            self._conversations[key, call.conversation] = (known[0], known[1] + 1, known[2])
            return known[0], known[1] + 1
        earlier = (self._replies.get((key, state)) for state in reversed(states[1:]))
        found = next((one for one in earlier if one is not None), None)
        return None if found is None else (found[0], found[1] + 1)

    def _new(self, key: Key, call: LoggedCall, states: list[bytes]) -> tuple[int, int | None]:
        trial = self._next[key]
        self._next[key] += 1
        if call.conversation is not None:
            self._conversations[key, call.conversation] = (trial, 0, states[-1])
            return trial, 0
        is_first = bool(call.messages) and not any(message.get("role") == "assistant" for message in call.messages)
        return trial, 0 if is_first else None


def _states(messages: tuple[dict[str, Any], ...]) -> list[bytes]:
    """A digest of the conversation before each message, and after the last one."""
    states = [b""]
    for message in messages:
        states.append(_after(states[-1], _sent(message)))
    return states


def _after(state: bytes, message: object) -> bytes:
    return hashlib.sha256(state + repr(message).encode("utf-8", "surrogatepass")).digest()


def _said(reply: Reply) -> object:
    return ("assistant", reply.text or "", tuple((call.name, call.arguments) for call in reply.tool_calls))


def _sent(message: Mapping[str, Any]) -> object:
    """Who says what, without what a library adds when it sends a message back."""
    content = message.get("content")
    parts = content if isinstance(content, str) else "".join(str(fields(part).get("text", "")) for part in items(content))
    functions = [fields(call.get("function")) or call for call in objects(message.get("tool_calls"))]
    calls = tuple((first((function.get("name"), function.get("function"))), function.get("arguments")) for function in functions)
    return (message.get("role"), parts, calls)
