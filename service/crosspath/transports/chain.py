"""A chain of layers: steps, then one terminal."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from crosspath.errors import ConfigError
from crosspath.transports.kinds import build_layer
from crosspath.transports.layers import MAX_TEXT_CHARACTERS, Layer, Step, Terminal, UndeliverableError, as_bytes
from crosspath.transports.surviving import encoded, obstacle, survives
from crosspath.types import Command, FileEntry, Hop, LayerSpec, Package

MAX_LAYERS = 16
"""Layers of one chain: escaping doubles backslashes, so that each of them can double the text."""
Watch = Literal["hops", "arrivals"]
"""What the part inside the sandbox leaves as a report: each hop; or also what arrives at the innermost program, then not run."""
REPORT = "hops.json"


@dataclass(frozen=True)
class Chain:
    """Carries shell text to a command."""

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
        return survives(self.steps, self.terminal)

    @property
    def obstacle(self) -> str | None:
        """Why it can't be survived, in words; None: it can."""
        return obstacle(self.steps, self.terminal)

    def encode(self, text: str) -> str:
        """A text that does on this chain precisely what ``text`` does as the argument of ``bash -c``.

        Raises:
            ValueError: the chain can't be survived.
            UndeliverableError: ``bash -c`` itself, or an encoding that lengthens it, could not carry the text.
        """
        if not self.survivable:
            raise ValueError("this path has no encoding that survives it")
        found = encoded(self.steps, self.terminal, text)
        if found is None:
            raise UndeliverableError("no encoding of this text survives the path")
        return found

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
    layers = [build_layer(spec, source, f"layers.{number}.{spec.layer}") for number, spec in enumerate(specs)]
    if not layers or not isinstance(layers[-1], Terminal):
        raise ConfigError("the last layer must execute the text: shell, script-file, ...", source=source, field="layers")
    steps = [layer for layer in layers[:-1] if isinstance(layer, Step)]
    if len(steps) != len(layers) - 1:
        raise ConfigError("only the last layer may execute the text", source=source, field="layers")
    return Chain(tuple(steps), layers[-1])
