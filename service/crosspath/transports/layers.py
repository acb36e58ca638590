"""Layers: what happens to a text on its way, and what executes it at the end.

A chain is any number of *steps* (text -> text) and one *terminal* (text -> ``Command``). Three kinds of steps:

- an *edit* changes the text without parsing it (trimming, line ends, a wrapper's prefix);
- a *reading* parses it (a template engine, a JSON parser, a tokeniser): it runs inside the sandbox only;
- an *embedding* puts it inside a larger text that a shell reads (``bash -c "<text>"``).

Edits and embeddings are plain functions, the same here and inside; their code is ``crosspath.inside.edits``. Nothing here
interprets a reply.

``encode`` turns a command that is right under ``bash -c`` into a text that survives the layer. What a layer cannot hide from a
command: ``$SHLVL`` and ``$_`` of one more shell.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from crosspath.types import JSON, Command

MAX_ARGUMENT_BYTES = 131_071
"""Longest single argument that Linux passes to a program: MAX_ARG_STRLEN (32 pages of 4 KiB) less the final NUL."""

MAX_TEXT_CHARACTERS = 16 * 2**20
"""Longest text between two layers; far more than any program takes as an argument, little enough for any memory."""

Encode = Callable[[str], str | None]
"""A text that survives; None: for this text there is none."""


class UndeliverableError(ValueError):
    """The text can't be handed to a program at all: too long, a NUL, or not encodable as UTF-8."""


@dataclass(frozen=True)
class Step:
    """A layer that makes a text of a text."""

    name: str
    version: str
    sentence: str
    """What happens to the text, for people and for contracts that disclose it."""
    kind: Literal["edit", "reading", "embedding"]
    does: Mapping[str, Any]
    """``do`` names the function inside the sandbox, the rest are its options."""
    apply: Callable[[str], str] | None
    """The function, for edits and embeddings; None for readings."""
    encode: Encode | None
    """None: no text survives this layer in general."""
    exact: bool = True
    """Whether the layer makes precisely ``text`` of ``encode(text)``. If not, it makes ``becomes(encode(text))``, which does
    under ``bash -c`` what ``text`` does."""
    becomes: Callable[[str], str] | None = None
    """What the layer makes of an encoded text where that is not exact."""
    faithful: bool = False
    """An embedding: the parser behind it recovers every text that another layer makes, as it was."""
    takes_over: bool = False
    """An encoded text takes the place of the shell that reads it, so what this layer puts behind it is never met."""
    bash_only: bool = False
    """An encoded text is one that only bash reads as it should."""
    broken_by: str | None = None
    """An embedding whose ``encode`` goes letter by letter, so that a wrapper's text may stand beside the encoded one: the letters
    that such a wrapper may not hold. None: nothing may stand beside."""
    imitated: str = ""
    """What is imitated here rather than real; empty: nothing."""
    form: str = ""
    """The larger text, literally, with ``<text>`` in it; for an embedding."""
    needs: tuple[str, ...] = ()
    """Programs without which it can't read."""
    recording: "Step | None" = None
    """The same embedding with a recorder in place of the innermost program."""

    @property
    def is_wrapper(self) -> bool:
        """Whether it puts shell text of its own around the command, which an encoded command never meets."""
        return self.kind == "edit" and self.takes_over


@dataclass(frozen=True)
class Terminal:
    """The last layer: what executes the text."""

    name: str
    version: str
    sentence: str
    runs: Mapping[str, Any]
    """``do`` names the runner inside the sandbox, the rest are its options."""
    encode: Encode | None
    command: Callable[[str], Command] | None = None
    """A command that needs nothing of ours inside, where there is one. Raises ``UndeliverableError``."""
    faithful: bool = False
    """Runs a text that an embedding made just as ``bash -c`` does."""
    is_bash: bool = True
    """What reads the text first is bash."""
    imitated: str = ""
    needs: tuple[str, ...] = ()
    """Programs without which it can't run."""
    form: str = ""


Layer = Step | Terminal


@dataclass(frozen=True)
class Kind:
    """A registered layer: its builder, and its options with their defaults (an option has the type of its default)."""

    build: Callable[[Mapping[str, JSON]], Layer]
    options: Mapping[str, JSON] = field(default_factory=lambda: MappingProxyType({}))
    choices: Mapping[str, tuple[JSON, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """Option -> the values that it may have, where not every one will do."""
    required: tuple[str, ...] = ()
    """Options without which the layer makes no sense."""

    def example(self) -> Layer:
        """The layer with its defaults, and with a text where it needs one."""
        return self.build({**self.options, **dict.fromkeys(self.required, "TEXT")})


def as_bytes(text: str, what: str) -> bytes:
    """``text`` as UTF-8.

    Raises:
        UndeliverableError: it holds a lone surrogate.
    """
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UndeliverableError(f"{what} holds a lone surrogate (U+{ord(text[error.start]):04X}), which is no UTF-8") from None


def as_argument(text: str, what: str) -> bytes:
    """``text`` as one argument of a program.

    Raises:
        UndeliverableError: it is too long (E2BIG), or holds a NUL or a lone surrogate.
    """
    data = as_bytes(text, what)
    if b"\0" in data:
        raise UndeliverableError(f"{what} holds a NUL, which no argument can carry")
    if len(data) > MAX_ARGUMENT_BYTES:
        raise UndeliverableError(f"{what} has {len(data)} bytes; one argument carries at most {MAX_ARGUMENT_BYTES}")
    return data
