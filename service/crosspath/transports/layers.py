"""Layers: how a text is embedded in a larger one, and which parser reads it again.

A chain is any number of *embeddings* (text -> text, pure, linear cost) and one *terminal* (text -> ``Command``). Nothing here
interprets a reply: whatever parses it (a shell) runs inside the sandbox, as part of the command.

An ``encode`` turns a command that is right under ``bash -c`` into a text that survives the layer: the parser behind the layer
then recovers exactly that command. What a layer cannot hide from a command: ``$SHLVL`` and ``$_`` of one more shell.

To add a layer: write a builder that returns an ``Embedding`` or ``Terminal`` and list it in ``KINDS`` with the defaults of its
options. Raise its version whenever the same text would be carried differently: versions are part of a path's digest.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from crosspath.errors import ConfigError
from crosspath.transports.naming import unknown
from crosspath.types import JSON, Command, FileEntry, LayerSpec

MAX_ARGUMENT_BYTES = 131_071
"""Longest single argument that Linux passes to a program: MAX_ARG_STRLEN (32 pages of 4 KiB) less the final NUL."""

_SPECIAL_IN_DOUBLE_QUOTES = re.compile(r'[\\"$`]')
"""What keeps a meaning inside double quotes (POSIX XCU 2.2.3). ``!`` does not: the shells are not interactive. A backslash before
a newline would be removed together with it, so backslashes are escaped wherever they stand."""


class UndeliverableError(ValueError):
    """The text can't be handed to a program at all: too long, a NUL, or not encodable as UTF-8."""


@dataclass(frozen=True)
class Embedding:
    """A layer that puts the text inside a larger one."""

    name: str
    version: str
    sentence: str
    """What happens to the text, for people and for contracts that disclose it."""
    embed: Callable[[str], str]
    encode: Callable[[str], str] | None
    """A text that survives this layer; None: no such text exists in general."""
    faithful: bool = False
    """The parser behind the layer recovers every text that another embedding makes, as it was."""


@dataclass(frozen=True)
class Terminal:
    """The last layer: what executes the text. ``command`` raises ``UndeliverableError``."""

    name: str
    version: str
    sentence: str
    command: Callable[[str], Command]
    encode: Callable[[str], str] | None
    faithful: bool = False


Layer = Embedding | Terminal


@dataclass(frozen=True)
class Kind:
    """A registered layer: its builder, and its options with their defaults (an option has the type of its default)."""

    build: Callable[[Mapping[str, JSON]], Layer]
    options: Mapping[str, JSON] = field(default_factory=lambda: MappingProxyType({}))


def escape_double_quoted(text: str) -> str:
    """``text`` such that a shell which reads it between double quotes recovers it."""
    return _SPECIAL_IN_DOUBLE_QUOTES.sub(r"\\\g<0>", text)


def escape_single_quoted(text: str) -> str:
    """``text`` such that a shell which reads it between single quotes recovers it."""
    return text.replace("'", "'\\''")


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


def build_layer(spec: LayerSpec, source: str) -> Layer:
    """The layer that ``spec`` names.

    Raises:
        ConfigError: unknown layer, unknown option, or an option of the wrong type.
    """
    kind = KINDS.get(spec.layer)
    if kind is None:
        raise ConfigError(unknown("layer", spec.layer, KINDS), source=source, field="layers")
    for name, value in spec.options.items():
        _check_option(spec.layer, kind, name, value, source)
    return kind.build(effective_options(spec))


def effective_options(spec: LayerSpec) -> dict[str, JSON]:
    """The options of a known layer, defaults written out."""
    return {**KINDS[spec.layer].options, **spec.options}


def _check_option(layer: str, kind: Kind, name: str, value: JSON, source: str) -> None:
    if name not in kind.options:
        raise ConfigError(unknown("option", name, kind.options), source=source, field=f"layers.{layer}")
    wanted = type(kind.options[name])
    if type(value) is not wanted:
        raise ConfigError(f"{value!r} is not a {wanted.__name__}", source=source, field=f"layers.{layer}.{name}")


def _same(text: str) -> str:
    return text


def _double_quoted_shell(options: Mapping[str, JSON]) -> Embedding:
    escape = escape_double_quoted if options["escape"] else _same
    how = "escaped correctly and placed" if options["escape"] else "placed, without any escaping,"
    return Embedding(
        name="double-quoted-shell",
        version="1",
        sentence=f'The text is {how} between the double quotes of bash -c "<text>", and an outer bash parses that first.',
        embed=lambda text: f'bash -c "{escape(text)}"',
        encode=_same if options["escape"] else escape_double_quoted,
        faithful=bool(options["escape"]),
    )


def _single_quoted_shell(options: Mapping[str, JSON]) -> Embedding:
    escape = escape_single_quoted if options["escape"] else _same
    how = "escaped correctly and placed" if options["escape"] else "placed, without any escaping,"
    return Embedding(
        name="single-quoted-shell",
        version="1",
        sentence=f"The text is {how} between the single quotes of bash -c '<text>', and an outer bash parses that first.",
        embed=lambda text: f"bash -c '{escape(text)}'",
        encode=_same if options["escape"] else escape_single_quoted,
        faithful=bool(options["escape"]),
    )


def _shell(_: Mapping[str, JSON]) -> Terminal:
    return Terminal(
        name="shell",
        version="1",
        sentence="The text is the one argument of bash -c.",
        command=lambda text: Command(argv=(b"bash", b"-c", as_argument(text, "the shell text"))),
        encode=_same,
        faithful=True,
    )


def _script_file(_: Mapping[str, JSON]) -> Terminal:
    return Terminal(
        name="script-file",
        version="1",
        sentence="The text is written to a file, and bash executes that file.",
        command=_script_command,
        encode=_encode_for_script,
        faithful=True,
    )


def _script_command(text: str) -> Command:
    # The first bash only finds the file: exec leaves no trace of it, and $0 is the file, as with `bash FILE`.
    script = FileEntry(path=b"script.sh", content=as_bytes(text, "the script"))
    return Command(argv=(b"bash", b"-c", b'exec bash "$IN/script.sh"'), files=(script,))


def _encode_for_script(text: str) -> str:
    # Not the text itself: under `bash -c` $0 is another one, and a text that starts with - or + is read as options.
    return f"exec bash -c '{escape_single_quoted(text)}'"


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "double-quoted-shell": Kind(_double_quoted_shell, {"escape": False}),
        "single-quoted-shell": Kind(_single_quoted_shell, {"escape": False}),
        "shell": Kind(_shell),
        "script-file": Kind(_script_file),
    }
)
"""Every layer that a chain may name."""
