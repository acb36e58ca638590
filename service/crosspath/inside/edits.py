"""Edits and embeddings: plain functions of text that interpret nothing, so that they are the same on the trusted side.

Each takes the text and the layer's options (all of them, defaults written out) and returns the new text in linear time.
"""

import json
import re
import textwrap
import unicodedata
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

Options = Mapping[str, Any]
Edit = Callable[[str, Options], str]
RECORDER = "crosspath-arrived"
"""The program that keeps what arrives, in place of the innermost shell."""

_SPECIAL_IN_DOUBLE_QUOTES = re.compile(r'[\\"$`]')
"""What keeps a meaning inside double quotes (POSIX XCU 2.2.3). ``!`` does not: the shells are not interactive. A backslash before
a newline would be removed together with it, so backslashes are escaped wherever they stand."""
_SPECIAL_IN_HEREDOC = re.compile(r"[\\$`]")


def escape_double_quoted(text: str) -> str:
    """``text`` such that a shell which reads it between double quotes recovers it."""
    return _SPECIAL_IN_DOUBLE_QUOTES.sub(r"\\\g<0>", text)


def escape_single_quoted(text: str) -> str:
    """``text`` such that a shell which reads it between single quotes recovers it."""
    return text.replace("'", "'\\''")


def escape_heredoc(text: str) -> str:
    """``text`` such that a shell which reads it as the body of an unquoted here-document recovers it."""
    return _SPECIAL_IN_HEREDOC.sub(r"\\\g<0>", text)


def trim(text: str, options: Options) -> str:
    """White space at the ends removed."""
    strip = {"both": str.strip, "start": str.lstrip, "end": str.rstrip}[options["where"]]
    return strip(text)


def rejoin_lines(text: str, options: Options) -> str:
    """Lines taken apart, stripped, and put together again with another text between them."""
    strip: Callable[[str], str] = {"none": str, "both": str.strip, "start": str.lstrip, "end": str.rstrip}[options["strip"]]
    return str(options["join"]).join(strip(line) for line in text.split("\n"))


def dedent(text: str, options: Options) -> str:
    """White space that all lines share removed."""
    return textwrap.dedent(text)


def line_ends(text: str, options: Options) -> str:
    """LF becomes CR LF; ``last``: the last line gets its CR, too, though nothing follows it."""
    cut = text.endswith("\n") or not options["last"]
    return re.sub(r"\r?\n", "\r\n", text) + ("" if cut else "\r")


def byte_order_mark(text: str, options: Options) -> str:
    """U+FEFF in front."""
    return "\ufeff" + text


def first_line(text: str, options: Options) -> str:
    """Everything from the first line end on dropped."""
    return re.split(r"\r?\n", text, maxsplit=1)[0]


def replace(text: str, options: Options) -> str:
    """Every occurrence of one text replaced by another."""
    return text.replace(options["find"], options["with"])


def prefix(text: str, options: Options) -> str:
    """Wrapper text in front, on the same line or on its own."""
    return options["text"] + ("\n" if options["line"] == "own" else "") + text


def suffix(text: str, options: Options) -> str:
    """Wrapper text behind, on the same line or on its own."""
    return text + ("\n" if options["line"] == "own" else "") + options["text"]


def line_guard(text: str, options: Options) -> str:
    """A line of the wrapper's after each line of the text."""
    lines = text.split("\n")
    body = lines[:-1] if lines[-1] == "" else lines
    return "".join(f"{line}\n{options['text']}\n" for line in body)


def input_guard(text: str, options: Options) -> str:
    """``< /dev/null`` before the first ``|`` that a plain text search finds."""
    head, bar, tail = text.partition("|")
    return f"{head}< /dev/null {bar} {tail}" if bar else text


def charset(text: str, options: Options) -> str:
    """The text's UTF-8 bytes read in another character set."""
    return text.encode("utf-8", "surrogatepass").decode(options["read_as"], options["errors"])


def unicode_form(text: str, options: Options) -> str:
    """Unicode normalisation."""
    return unicodedata.normalize(options["form"], text)


def json_escape(text: str, options: Options) -> str:
    """The text as the inside of a JSON string: an encoding that nobody undoes."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def entities_escape(text: str, options: Options) -> str:
    """``&``, ``<`` and ``>`` as entities: an encoding that nobody undoes."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def max_length(text: str, options: Options) -> str:
    """What goes beyond a number of characters dropped."""
    return text[: options["characters"]]


def double_quoted_shell(text: str, options: Options) -> str:
    """``bash -c "<text>"``."""
    return f'{options["shell"]} -c "{escape_double_quoted(text) if options["escape"] else text}"'


def single_quoted_shell(text: str, options: Options) -> str:
    """``bash -c '<text>'``."""
    return f"{options['shell']} -c '{escape_single_quoted(text) if options['escape'] else text}'"


def unquoted_shell(text: str, options: Options) -> str:
    """``bash -c <text>`` without any quotes."""
    return f"{options['shell']} -c {text}"


def eval_embedding(text: str, options: Options) -> str:
    """``eval`` with the text between quotes of one kind, or without any; ``redirect``: a wrapper's quoted words behind it."""
    quote = {"single": "'", "double": '"', "none": ""}[options["quotes"]]
    body = text
    if options["escape"] and quote:
        body = escape_single_quoted(text) if quote == "'" else escape_double_quoted(text)
    return f"{options.get('shell', 'eval')} {quote}{body}{quote}" + (" '<' /dev/null" if options["redirect"] else "")


def remote_shell(text: str, options: Options) -> str:
    """``rsh <text>``: a local shell splits it, the words are joined by blanks, and a second shell reads that."""
    start = f"{options['shell']} -l -c" if options["login"] else f"{options['shell']} -c"
    home = "HOME=/remote " if options["home"] else ""
    return f'rsh() {{ {home}{start} "$*"; }}; rsh {text}'


def launcher(text: str, options: Options) -> str:
    """``run <text>`` where the launcher runs its words again, unquoted: split and expanded a second time."""
    body = f'set -- $@; {options["shell"]} -c "$*"' if "shell" in options else "$@"
    return f"run() {{ {body}; }}; run {text}"


def debug_quoted(text: str, options: Options) -> str:
    """Quoted as a debugger prints strings (``\\`` and ``"`` escaped, ``$`` not), read by a shell in another directory first."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'box() {{ (cd "$WORK" && unset OLDPWD && {options["shell"]} -c "$1"); }}; cd; box "{quoted}"'


def one_word(text: str, options: Options) -> str:
    """The whole text between single quotes: one word, so the name of one program."""
    return f"'{text}'"


def piped(text: str, options: Options) -> str:
    """``echo "<text>" | bash``, or by another program that prints."""
    quote = {"single": "'", "double": '"', "none": ""}[options["quotes"]]
    return f"{options['by']} {quote}{text}{quote} | {options['shell']}"


def heredoc_script(text: str, options: Options) -> str:
    """A script written by a here-document with a fixed delimiter, then run."""
    delimiter = options["delimiter"]
    opener = f"'{delimiter}'" if options["quoted"] else delimiter
    return f'cat > "$HOME/script.sh" <<{opener}\n{text}\n{delimiter}\n{options.get("shell", "bash")} "$HOME/script.sh"\n'


def session_lines(text: str, options: Options) -> str:
    """What a persistent shell is given: the text, and a command that prints a marker with its status."""
    if options["same_line"]:
        return f'{text}; rc=$?; printf "MARK:%d\\n" $rc\n'
    return f'{text}\nrc=$?; printf "\\nMARK:%d\\n" $rc\n'


EDITS: Mapping[str, Edit] = MappingProxyType(
    {
        "trim": trim,
        "rejoin-lines": rejoin_lines,
        "dedent": dedent,
        "line-ends": line_ends,
        "byte-order-mark": byte_order_mark,
        "first-line": first_line,
        "replace": replace,
        "prefix": prefix,
        "suffix": suffix,
        "line-guard": line_guard,
        "input-guard": input_guard,
        "charset": charset,
        "unicode-form": unicode_form,
        "json-escape": json_escape,
        "entities-escape": entities_escape,
        "max-length": max_length,
        "double-quoted-shell": double_quoted_shell,
        "single-quoted-shell": single_quoted_shell,
        "unquoted-shell": unquoted_shell,
        "eval": eval_embedding,
        "remote-shell": remote_shell,
        "launcher": launcher,
        "debug-quoted": debug_quoted,
        "one-word": one_word,
        "heredoc-script": heredoc_script,
        "piped": piped,
    }
)
"""Name of a layer -> what it does to a text."""
