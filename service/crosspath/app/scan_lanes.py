"""How one command is sent along a path to a recorder, and what the recorder tells: for chains, and for a user's own harness."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from crosspath.app.scan_sources import Logged, shell_text
from crosspath.inside.arriving import SHELLS, recorder
from crosspath.transports import Path, watched
from crosspath.transports.arrivals import Wrapper, computable, measured_wrapper, not_looked_at, starts_a_shell, wrapper_of
from crosspath.transports.chain import Chain
from crosspath.types import Command, ExecResult, FileEntry, Reply

PROBE = "echo crosspath-probe"
"""Sent through a harness first, to see what it puts around a command."""
_REPORT = "arrived"
_DEEPEST = 3
UNWATCHED = (
    "nothing arrived at a recorder: a harness that calls a shell by its full path (/bin/sh, or subprocess with shell=True), "
    "sets a PATH of its own or uses no shell can't be scanned; use replay or transports diagnose"
)


@dataclass(frozen=True)
class Arrival:
    """What a recorder tells."""

    texts: tuple[str, ...] = ()
    refused: str = ""
    said: str = ""
    ended: bool = True
    known: bool = True
    """False: the recorder's account is lost, so nothing can be said."""


class Lane(Protocol):
    """One path, watched."""

    wrapper: Wrapper | None

    @property
    def programs(self) -> tuple[FileEntry, ...]:
        """What stands first on PATH in the sandbox."""
        ...

    def known(self, one: Logged) -> Arrival | None:
        """What arrives, where no sandbox is needed to tell.

        Raises:
            UndeliverableError: the text can't be handed on at all.
        """
        ...

    def command(self, one: Logged) -> Command:
        """What to run."""
        ...

    def read(self, result: ExecResult) -> Arrival:
        """What came of it."""
        ...


@dataclass(frozen=True)
class ChainLane:
    """A chain, which watches itself."""

    chain: Chain
    wrapper: Wrapper | None = None
    programs: tuple[FileEntry, ...] = ()

    def known(self, one: Logged) -> Arrival | None:
        self.chain.carry(one.text)
        text = computable(self.chain, one.text)
        return None if text is None else Arrival((text,))

    def command(self, one: Logged) -> Command:
        return self.chain.carry(one.text, watch="arrivals")[0]

    def read(self, result: ExecResult) -> Arrival:
        found = watched(result.report)
        lost = found.arrived is None and not found.gives_up
        return Arrival(found.arrived or (), found.gives_up, _said(result), found.ended and not result.timed_out, not lost)


@dataclass
class HarnessLane:
    """A user's harness, with recorders in place of the shells that it finds on PATH."""

    path: Path
    wrapper: Wrapper | None = None
    depth: int = 0
    """How many shells, one inside of the other, are real."""
    own: frozenset[str] = frozenset()
    """Texts that the harness gives to shells whatever the command is."""

    @property
    def programs(self) -> tuple[FileEntry, ...]:
        return tuple(FileEntry(path=name.encode(), content=recorder(self.depth).encode(), mode=0o755) for name in SHELLS)

    def known(self, one: Logged) -> Arrival | None:
        return None

    def command(self, one: Logged) -> Command:
        command = self.path.deliver(one.reply).actions[0].command
        program = command.argv[0]
        # The harness itself may be a shell script: only what it starts is recorded.
        argv = (b"/bin/" + program if program.decode(errors="replace") in SHELLS else program, *command.argv[1:])
        return command.model_copy(
            update={"argv": argv, "report": _REPORT, "env": (*command.env, ("ARRIVED", f"{{out}}/{_REPORT}"))}
        )

    def read(self, result: ExecResult) -> Arrival:
        data = result.report or b""
        texts = (one.decode("utf-8", "surrogateescape") for one in data.split(b"\0")[:-1])
        return Arrival(tuple(text for text in texts if text not in self.own), "", _said(result), not result.timed_out)

    def learn(self, arrival: Arrival) -> str | None:
        """From the probe: what the harness does whatever the command is.

        Returns:
            Why it can't be scanned; empty: it can; None: the shell that got the probe starts another: probe once more.
        """
        holding = [text for text in arrival.texts if PROBE in text]
        if len(holding) != 1:
            if not arrival.texts:
                return UNWATCHED + (f" (it said: {last_line(arrival.said)})" if arrival.said.strip() else "")
            return f"{PROBE!r} became {' and '.join(map(repr, arrival.texts))}: what the harness does to a command can't be told"
        if starts_a_shell(PROBE, holding[0]) and self.depth < _DEEPEST:
            self.depth += 1
            return None
        self.own = frozenset(arrival.texts) - set(holding)
        self.wrapper = measured_wrapper(PROBE, holding[0])
        return ""


def lane_of(path: Path) -> ChainLane | HarnessLane:
    """How a path is watched."""
    if isinstance(path.carrier, Chain):
        return ChainLane(path.carrier, wrapper_of(path.carrier))
    return HarnessLane(path)


def probe_of(one: Logged) -> Logged:
    """The probe in the form in which a logged command came."""
    if not one.reply.tool_calls:
        return Logged(PROBE, Reply(text=PROBE), "")
    call = one.reply.tool_calls[0]
    arguments = cast("dict[str, object]", json.loads(call.arguments))
    changed = {name: _in_place(value, one.text) for name, value in arguments.items()}
    return Logged(PROBE, Reply(tool_calls=(call.model_copy(update={"arguments": json.dumps(changed)}),)), "")


def _in_place(value: object, text: str) -> object:
    if shell_text(value) != text:
        return value
    return PROBE if isinstance(value, str) else [*cast("Sequence[object]", value)[:-1], PROBE]


def unseen(path: Path) -> tuple[str, ...]:
    """What of a path no arriving text shows."""
    if isinstance(path.carrier, Chain):
        return not_looked_at(path.carrier)
    return ("What the harness does besides giving texts to bash, sh and dash: directories, output, time limits, status.",)


def last_line(said: str) -> str:
    """What is left of a traceback."""
    return next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "")


def _said(result: ExecResult) -> str:
    return result.stderr.data.decode("utf-8", "replace")
