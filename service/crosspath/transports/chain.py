"""A chain of layers: steps, then one terminal."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from crosspath.errors import ConfigError
from crosspath.transports.encodings import candidates, is_whole
from crosspath.transports.kinds import build_layer
from crosspath.transports.layers import Layer, Step, Terminal, UndeliverableError, as_bytes
from crosspath.types import Command, FileEntry, Hop, LayerSpec, Package

MAX_LAYERS = 16
"""Layers of one chain: escaping doubles backslashes, so that each of them can double the text."""
MAX_TEXT_CHARACTERS = 16 * 2**20
"""Longest text between two layers; far more than any program takes as an argument, little enough for any memory."""
Watch = Literal["hops", "arrivals"]
"""What the part inside the sandbox leaves as a report: each hop; or also what arrives at the innermost program, then not run."""
REPORT = "hops.json"
_HARD = (
    " \t\\\"'`$!\n#~*?{}()[];&|<>=%^-+,:@/.\r\x01\x7f\u65e5\u00e9 {{x}} {% y %} &lt; $(z) \\n ```\nEOF\n "
    + "".join(map(chr, range(32, 127)))
    + "0123456789" * 9
)
"""A text that only an encoding for every text survives."""


@dataclass(frozen=True)
class Chain:
    """Carries shell text to a command.

    A text survives if it can be written such that, layer by layer, the next one gets what it needs. Steps that give back
    precisely what was encoded for them may stand anywhere in front. From the first step on that does not (an embedding, a
    wrapper), what follows gets a text that nobody wrote, so it has to leave that text alone.
    """

    steps: tuple[Step, ...]
    terminal: Terminal

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (*self.steps, self.terminal)

    @property
    def imitated(self) -> tuple[str, ...]:
        """What of this chain is imitated rather than real."""
        return tuple(layer.imitated for layer in self.layers if layer.imitated)

    @cached_property
    def survivable(self) -> bool:
        """Whether every text has an encoding: a hard one has."""
        return self._encoded(_HARD) is not None

    def encode(self, text: str) -> str:
        """A text that does on this chain precisely what ``text`` does as the argument of ``bash -c``.

        Raises:
            ValueError: the chain can't be survived, or ``bash -c`` itself could not carry the text.
        """
        if not self.survivable:
            raise ValueError("this path has no encoding that survives it")
        found = self._encoded(text)
        if found is None:
            raise AssertionError("a survivable path without an encoding")
        return found

    def _encoded(self, text: str) -> str | None:
        return next((found for one in candidates(text) if (found := self._encode(one)) is not None), None)

    def _encode(self, text: str) -> str | None:
        first = next((number for number, step in enumerate(self.steps) if not step.exact), None)
        if first is None:
            return _backwards(self.steps, self.terminal.encode(text) if self.terminal.encode else None)
        step = self.steps[first]
        inner = step.encode(text) if step.encode else None
        if inner is None or step.becomes is None:
            return None
        if step.bash_only and not self._is_read_by_bash(first):
            return None
        wrappers = [one for one in self.steps[first:] if one.is_wrapper]
        if not is_whole(_applied(wrappers, "")):
            return None
        end = self._end_of_wrappers(first)
        around = end > first and self._careless_around(first, end)
        if around:
            inner = _backwards((self.steps[end],), inner)
        done = end if around else first
        takes_over = step.takes_over and not around
        if inner is None or not self._left_alone(_applied(self.steps[first : done + 1], inner), done + 1, takes_over):
            return None
        return _backwards(self.steps[:first], inner)

    def _is_read_by_bash(self, number: int) -> bool:
        """Whether the innermost shell that reads what step ``number`` made is bash."""
        embeddings = (step for step in self.steps[number + 1 :] if step.kind == "embedding")
        around = next(embeddings, None)
        return self.terminal.is_bash if around is None else around.does.get("shell", "bash") == "bash"

    def _end_of_wrappers(self, first: int) -> int:
        """Where the wrappers end that begin with step ``first``."""
        end = first
        while end < len(self.steps) and self.steps[end].is_wrapper:
            end += 1
        return end

    def _careless_around(self, first: int, end: int) -> bool:
        """Whether a careless embedding stands around what these wrappers made that their own text does not break."""
        step = self.steps[end] if end < len(self.steps) else None
        if step is None or step.kind != "embedding" or step.faithful or step.broken_by is None:
            return False
        return not set(step.broken_by) & set(_applied(self.steps[first:end], ""))

    def _left_alone(self, text: str, first: int, takes_over: bool) -> bool:
        """Whether the rest of the chain, from step ``first``, runs a text that earlier layers made as ``bash -c`` would."""
        for step in self.steps[first:]:
            if step.apply and (step.faithful or (step.is_wrapper and takes_over)):
                text, takes_over = step.apply(text), takes_over and step.kind == "edit"
            elif step.encode is None or not step.exact or step.encode(text) != text:
                return False
        return self.terminal.faithful

    def carry(self, text: str, *, watch: Watch | None = None) -> tuple[Command, tuple[Hop, ...]]:
        """The command, and what each layer made of the text as far as the trusted side goes.

        ``watch`` = ``hops``: those inside the sandbox are left as the command's report. ``arrivals``: so is what would have
        reached the innermost program, which is not run.

        Raises:
            UndeliverableError: the terminal can't take it, or it grew too long on the way.
        """
        steps, hops = list(self._recording() if watch == "arrivals" else self.steps), list[Hop]()
        while steps and steps[0].apply is not None:
            step = steps.pop(0)
            text = _bounded(step.apply(text), step.name) if step.apply else text
            hops.append(hop(step.name, text))
        plain = self.terminal.command if not steps and watch != "arrivals" else None
        command = plain(text) if plain else self._inside(text, steps, watch)
        if not steps and command.report is None:  # else it tells its last hop itself
            hops.append(hop(self.terminal.name, text))
        return command, tuple(hops)

    def _recording(self) -> Iterator[Step]:
        """The steps with a recorder as the innermost program, where one of them starts a program."""
        recorded = False
        for step in self.steps:
            yield step.recording if step.recording and not recorded else step
            recorded = recorded or step.recording is not None

    def _inside(self, text: str, steps: Sequence[Step], watch: Watch | None) -> Command:
        chain: dict[str, Any] = {"steps": [dict(step.does) for step in steps], "run": dict(self.terminal.runs)}
        if watch == "arrivals":
            chain["arrives"] = "in the shell" if any(step.recording for step in self.steps) else "at the runner"
        packages: tuple[Package, ...] = ("inside",)
        if any(step.name == "jinja" for step in steps):
            packages = ("inside", "jinja2", "markupsafe")
        return Command(
            argv=(b"/usr/bin/python3", b"-IS", b"{packages}/inside"),
            files=(
                FileEntry(path=b"chain.json", content=json.dumps(chain, sort_keys=True).encode("ascii")),
                FileEntry(path=b"text", content=as_bytes(text, "the text")),
            ),
            packages=packages,
            needs=(*(program for step in steps for program in step.needs), *self.terminal.needs),
            report=REPORT if watch else None,
        )


def _applied(steps: Iterable[Step], text: str) -> str:
    """What these edits and embeddings, or readings that were encoded for, make of a text."""
    for step in steps:
        text = step.becomes(text) if step.becomes else text
    return text


def _backwards(steps: Sequence[Step], text: str | None) -> str | None:
    """What the first of these exact steps must be given, so that the last one makes ``text``."""
    for step in reversed(steps):
        if text is None or step.encode is None:
            return None
        text = step.encode(text)
    return text


def _bounded(text: str, layer: str) -> str:
    if len(text) > MAX_TEXT_CHARACTERS:
        raise UndeliverableError(f"{layer} makes a text of {len(text)} characters; at most {MAX_TEXT_CHARACTERS} are carried on")
    return text


def hop(layer: str, text: str) -> Hop:
    """What ``layer`` made of a text; a lone surrogate stays visible as its three bytes."""
    return Hop(layer=layer, text=text.encode("utf-8", "surrogatepass"))


def build_chain(specs: Sequence[LayerSpec], source: str) -> Chain:
    """The chain of the named layers.

    Raises:
        ConfigError: unknown layer or option, too many layers, no terminal at the end, or one before it.
    """
    if len(specs) > MAX_LAYERS:
        problem = f"{len(specs)} layers; a chain has at most {MAX_LAYERS}, because each may double the text"
        raise ConfigError(problem, source=source, field="layers")
    layers = [build_layer(spec, source) for spec in specs]
    if not layers or not isinstance(layers[-1], Terminal):
        raise ConfigError("the last layer must execute the text: shell, script-file, ...", source=source, field="layers")
    steps = [layer for layer in layers[:-1] if isinstance(layer, Step)]
    if len(steps) != len(layers) - 1:
        raise ConfigError("only the last layer may execute the text", source=source, field="layers")
    return Chain(tuple(steps), layers[-1])
