"""A chain of layers: embeddings, then one terminal."""

from collections.abc import Sequence
from dataclasses import dataclass

from crosspath.errors import ConfigError
from crosspath.transports.layers import Embedding, Layer, Terminal, UndeliverableError, as_argument, build_layer
from crosspath.types import Command, Hop, LayerSpec

MAX_LAYERS = 16
"""Layers of one chain: escaping doubles backslashes, so that each of them can double the text."""
MAX_TEXT_CHARACTERS = 16 * 2**20
"""Longest text between two layers; far more than any program takes as an argument, little enough for any memory."""


@dataclass(frozen=True)
class Chain:
    """Carries shell text to a command.

    Only the *first* layer that changes what a parser sees can be survived by changing the text: what a later layer needs would
    have to be written around text that the earlier layer adds. So a chain is survivable if that layer has an ``encode`` and is
    the very first one, and every layer after it is faithful.
    """

    embeddings: tuple[Embedding, ...]
    terminal: Terminal

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (*self.embeddings, self.terminal)

    @property
    def survivable(self) -> bool:
        return self.layers[0].encode is not None and all(layer.faithful for layer in self.layers[1:])

    def encode(self, text: str) -> str:
        """A text that does on this chain precisely what ``text`` does as the argument of ``bash -c``.

        Raises:
            ValueError: the chain can't be survived, or ``bash -c`` itself could not carry the text.
        """
        encode = self.layers[0].encode
        if encode is None or not self.survivable:
            raise ValueError("this path has no encoding that survives it")
        as_argument(text, "the shell text")
        return encode(text)

    def carry(self, text: str) -> tuple[Command, tuple[Hop, ...]]:
        """The command, and what each layer made of the text.

        Raises:
            UndeliverableError: the terminal can't take it, or it grew too long on the way.
        """
        texts: list[tuple[str, str]] = []
        for layer in self.embeddings:
            text = _bounded(layer.embed(text), layer.name)
            texts.append((layer.name, text))
        command = self.terminal.command(text)
        texts.append((self.terminal.name, text))
        return command, tuple(hop(name, made) for name, made in texts)


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
        raise ConfigError("the last layer must execute the text: shell or script-file", source=source, field="layers")
    embeddings = [layer for layer in layers[:-1] if isinstance(layer, Embedding)]
    if len(embeddings) != len(layers) - 1:
        raise ConfigError("only the last layer may execute the text", source=source, field="layers")
    return Chain(tuple(embeddings), layers[-1])


__all__ = ["Chain", "UndeliverableError", "build_chain", "hop"]
