"""Readings: layers that parse the reply. They run inside the sandbox only, because what parses a hostile text can be attacked.

Each takes the text and the layer's options and returns the text that it read. ``UnreadableError``: the path gives up on the text,
as its real counterpart would.
"""

import json
import re
import shlex
import subprocess
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from .tokens import requoted

Options = Mapping[str, Any]
Reading = Callable[[str, Options], str]


class UnreadableError(Exception):
    """The layer's parser refuses the text; ``status`` is what the path tells then."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def entities(text: str, options: Options) -> str:
    """HTML entities decoded, whether or not the text was encoded."""
    import html  # every start counts: what few layers need is imported where they need it

    return html.unescape(text)


def xml_element(text: str, options: Options) -> str:
    """The text pasted between two tags, and what a real XML parser takes for the element's character data."""
    from xml.parsers import expat

    pieces: list[str] = []
    depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1

    def data(characters: str) -> None:
        if depth == 1:
            pieces.append(characters)

    content = f"<![CDATA[{text}]]>" if options["cdata"] else text
    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, data
    try:
        parser.Parse(f"<command>{content}</command>", True)
    except expat.ExpatError as error:
        raise UnreadableError(f"XML: {error}") from error
    return "".join(pieces)


def json_string(text: str, options: Options) -> str:
    """The text pasted between the quotes of a JSON string and parsed, as often as ``times`` says."""
    for _ in range(options["times"]):
        text = _parsed(text, lenient=options["repair"])
    return text


def _parsed(text: str, *, lenient: bool) -> str:
    literal = f'"{_repaired(text) if lenient else text}"'
    try:
        value = json.loads(literal, strict=not lenient)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"JSON: {error}") from error
    if not isinstance(value, str):  # the text ended the string early, and what follows made another value of it
        raise UnreadableError("JSON: not a string")
    return value


_ESCAPE = re.compile(r'(\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))|\\|"')


def _repaired(text: str) -> str:
    """What lenient parsers of model output do: quotes inside of a string and unknown escapes are taken as they stand."""
    return _ESCAPE.sub(lambda found: found[0] if found[1] else "\\" + found[0], text)


def jinja(text: str, options: Options) -> str:
    """A real Jinja template; a text that ends like a file name is looked up as a file, as some workflow engines do."""
    import jinja2

    environment = jinja2.Environment(loader=jinja2.FileSystemLoader("."))
    try:
        named = bool(options["file_suffixes"]) and text.endswith(tuple(options["file_suffixes"]))
        return (environment.get_template(text) if named else environment.from_string(text)).render()
    except (jinja2.TemplateError, ArithmeticError, TypeError, ValueError, OSError, RecursionError) as error:
        raise UnreadableError(f"jinja2: {type(error).__name__}: {error}") from error


_VARIABLE = re.compile(r"\$(?:(\$)|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:(:?[-?+])([^}]*))?\}|)")


def compose(text: str, options: Options) -> str:
    """``$NAME`` and ``${NAME}`` replaced by the configuration's own (empty) variables, ``$$`` by ``$``, as in a compose file."""

    def value(found: "re.Match[str]") -> str:
        if found[1]:
            return "$"
        if (found[4] or "").endswith("-"):
            return found[5]
        if (found[4] or "").endswith("?"):
            raise UnreadableError(f"required variable {found[3]} is missing a value: {found[5]}")
        if not (found[2] or found[3]):
            raise UnreadableError(
                f"invalid interpolation format: {text[found.start() :][:20]!r}; you may need to escape any $ with $$"
            )
        return ""

    return _VARIABLE.sub(value, text)


def words_quoted(text: str, options: Options) -> str:
    """Split into words as a shell would, and each word quoted again: nothing is expanded any more."""
    return shlex.join(_words(text))


def words_joined(text: str, options: Options) -> str:
    """Split into words as a shell would, and joined by blanks: the quotes are gone."""
    return " ".join(_words(text))


def _words(text: str) -> "list[str]":
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UnreadableError(f"shlex: {error}") from error


def tokens_requoted(text: str, options: Options) -> str:
    """Taken apart into words and operators and put together again by a careless library."""
    return requoted(text, input_guard=options["input_guard"])


_OPENING = re.compile(r"^```(?:bash|sh|shell|console|zsh)\b", re.MULTILINE)
"""A fence that surely opens a block of shell text, wherever it stands; one without a language may be a command's own."""


def fenced_block(text: str, options: Options) -> str:
    """The content of the first fenced block of a Markdown reply; a bare command is put into a block first."""
    fence, message = "```", text
    if not (text.lstrip().startswith(fence) or _OPENING.search(text)):
        message = f"Here is the command:\n{fence}{options['language']}\n{text}\n{fence}\n"
    amount = ".*" if options["greedy"] else ".*?"
    found = re.search(rf"```[^\n`]*\n({amount})\n?```", message, re.DOTALL)
    if found is None:
        raise UnreadableError("no fenced block in the reply")
    return found[1].removesuffix("\n") if options["greedy"] else found[1]


_ECHOED = re.compile(r"\\(?:0([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "a": "\a", "b": "\b", "e": "\033", "E": "\033", "f": "\f", "v": "\v"}


def _echoed(found: "re.Match[str]") -> str:
    if found[1]:
        return chr(int(found[1], 8) & 0xFF)
    if found[2] or found[3]:
        return chr(int(found[2] or found[3], 16))
    return _LETTERS.get(found[4], found[0])


def backslash_escapes(text: str, options: Options) -> str:
    """Backslash escapes of the text resolved, as ``echo -e`` and format strings do."""
    end = re.search(r"(?<!\\)(?:\\\\)*(\\c)", text)  # \c: nothing more
    return _ECHOED.sub(_echoed, text[: end.start(1)] if end else text)


def url_decoded(text: str, options: Options) -> str:
    """Percent-encoding resolved, whether or not the text was encoded; ``plus``: ``+`` is a blank, too."""
    from urllib.parse import unquote, unquote_plus

    return unquote_plus(text) if options["plus"] else unquote(text)


def placeholders(text: str, options: Options) -> str:
    """Everything between two marks replaced by nothing, as an expression language does with names that it does not know."""
    start, end = re.escape(options["start"]), re.escape(options["end"])
    return re.sub(f"{start}.*?{end}", "", text, flags=re.DOTALL)


def replace_pattern(text: str, options: Options) -> str:
    """Every match of a regular expression replaced."""
    return re.sub(options["find"], lambda _: options["with"], text)


def format_string(text: str, options: Options) -> str:
    """The text as the format of Python's ``str.format`` (``braces``) or ``%`` operator (``percent``), with nothing to put in."""
    try:
        return text.format() if options["style"] == "braces" else text % ()
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise UnreadableError(f"{type(error).__name__}: {error}") from error


def awk_variable(text: str, options: Options) -> str:
    """``awk -v text=...``: a real awk resolves backslash escapes in what it is given."""
    return _from_program(["awk", "-v", f"text={text}", 'BEGIN { printf "%s", text }'])


def sed_replacement(text: str, options: Options) -> str:
    """The text as the replacement of a real ``sed``: ``&``, backslashes and the delimiter mean something."""
    return _from_program(["sed", f"s|^COMMAND$|{text}|"], b"COMMAND\n").removesuffix("\n")


def _from_program(argv: "list[str]", data: bytes = b"") -> str:
    try:
        words = [word.encode("utf-8", "surrogateescape") for word in argv]
        done = subprocess.run(words, input=data, capture_output=True)
    except (OSError, ValueError) as error:
        raise UnreadableError(f"{argv[0]}: {error}") from error
    if done.returncode:
        message = done.stderr.decode("utf-8", "replace").strip()
        raise UnreadableError(message or f"{argv[0]} ended with {done.returncode}", done.returncode)
    return done.stdout.decode("utf-8", "surrogateescape")


def cmd_escapes(text: str, options: Options) -> str:
    """The command line of Windows: ``%NAME%`` is replaced by a variable (here: by nothing), ``^`` escapes the next character."""
    text = re.sub(r"%(?!%)[^%\n]*%", "", text).replace("%%", "%")
    return re.sub(r'("[^"\n]*"?)|\^(.)', lambda found: found[1] or found[2] or "", text, flags=re.DOTALL)


READINGS: Mapping[str, Reading] = MappingProxyType(
    {
        "entities": entities,
        "xml-element": xml_element,
        "json-string": json_string,
        "jinja": jinja,
        "compose": compose,
        "words-quoted": words_quoted,
        "words-joined": words_joined,
        "tokens-requoted": tokens_requoted,
        "fenced-block": fenced_block,
        "backslash-escapes": backslash_escapes,
        "url-decoded": url_decoded,
        "placeholders": placeholders,
        "replace-pattern": replace_pattern,
        "format-string": format_string,
        "awk-variable": awk_variable,
        "sed-replacement": sed_replacement,
        "cmd-escapes": cmd_escapes,
    }
)
"""Name of a layer -> how it reads a text."""
