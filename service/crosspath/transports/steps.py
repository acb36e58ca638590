"""The steps that a chain may name: edits and embeddings. The readings are in ``readings``.

To add one: write its function in ``crosspath.inside.edits``, and an entry here with its options, its sentence and its
``encode``. Raise a layer's version whenever it would carry the same text differently: versions are part of a path's digest.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from crosspath.inside.edits import EDITS, RECORDER, escape_double_quoted, escape_heredoc, escape_single_quoted
from crosspath.transports.encodings import (
    BASE32,
    blankless,
    is_own_line,
    lets_a_shell_through,
    own_shell,
    own_shell_without_input,
)
from crosspath.transports.layers import Encode, Kind, Step
from crosspath.types import JSON

Options = Mapping[str, Any]
SHELLS = ("bash", "sh", "dash")


_INVISIBLE = {"\n": "a line end", " ": "a blank", "\n ": "a line end and a blank", "\t": "a tab", "": "nothing"}


def _literal(text: str) -> str:
    """A text inside of a sentence, as it is: models read it, and no language's escapes may stand between."""
    quote = "'" if '"' in text else '"'
    return _INVISIBLE.get(text, f"{quote}{text}{quote}")


def _function(name: str, options: Options) -> Callable[[str], str]:
    return lambda text: EDITS[name](text, options)


def _edit(name: str, sentence: str, options: Options, **more: Any) -> Step:
    """An edit that texts survive which it leaves as they are, unless something better is given."""
    apply = _function(name, options)

    def left_alone(text: str) -> str | None:
        return text if apply(text) == text else None

    given: dict[str, Any] = {"encode": left_alone, "version": "1", **more}
    return Step(name=name, sentence=sentence, kind="edit", does={"do": name, **options}, apply=apply, **given)


def _wrapper(name: str, sentence: str, options: Options, survives: bool, *, one_line: bool = False) -> Step:
    """An edit that adds shell text around: a command that takes the shell's place never meets what stands behind it."""
    apply = _function(name, options)

    def encode(text: str) -> str | None:
        # Without input: where a shell reads its script from there, what stands behind must not become the command's.
        return None if one_line and "\n" in text else own_shell_without_input(text)

    given: dict[str, Any] = {"encode": encode if survives else None, "takes_over": survives}
    return _edit(name, sentence, options, exact=False, becomes=apply, **given)


def _embedding(name: str, sentence: str, options: Options, encode: Encode | None, **more: Any) -> Step:
    apply = _function(name, options)
    recording = None
    if name != "one-word" and RECORDER not in options.get("shell", ""):
        recorder = f"{RECORDER} --joined -c" if name == "eval" else RECORDER
        recording = _embedding(name, sentence, {**options, "shell": recorder}, encode, **more)
    given: dict[str, Any] = {"version": "1", "form": apply("<text>"), **more}
    return Step(
        name=name,
        sentence=sentence,
        kind="embedding",
        does={"do": name, **options},
        apply=apply,
        encode=encode,
        exact=False,
        becomes=apply,
        recording=recording,
        **given,
    )


def _same(text: str) -> str:
    return text


def _for(options: Options, encode: Callable[[str], str]) -> Encode:
    """``encode`` of what the embedded shell must be given: bash takes the text itself, another shell one that starts bash."""
    inner = _same if options["shell"] in ("bash", RECORDER) else own_shell
    return lambda text: encode(inner(text))


def _trim(options: Options) -> Step:
    where = {"both": "both ends", "start": "the start", "end": "the end"}[options["where"]]
    return _edit("trim", f"White space at {where} of the text is removed.", options)


def _rejoin_lines(options: Options) -> Step:
    stripped = {"none": "", "both": ", stripped of white space at both ends,", "start": ", stripped of leading white space,"}
    how = stripped.get(options["strip"], ", stripped of trailing white space,")
    return _edit("rejoin-lines", f"The lines of the text{how} are joined with {_literal(options['join'])} between them.", options)


def _dedent(options: Options) -> Step:
    return _edit("dedent", "The leading white space that all lines of the text share is removed.", options)


def _line_ends(options: Options) -> Step:
    apply = _function("line-ends", options)

    def encode(text: str) -> str | None:
        return None if "\n" in text else own_shell(text) + " #"  # the comment takes the CR

    sentence = "Every line end of the text becomes a carriage return and a line feed."
    return _edit("line-ends", sentence, options, encode=encode, exact=False, becomes=apply)


def _byte_order_mark(options: Options) -> Step:
    def encode(text: str) -> str:
        return f"() {{ :; }}; {own_shell(text)}"  # the mark becomes the name of a function that nobody calls

    apply = _function("byte-order-mark", options)
    sentence = "A byte order mark (U+FEFF) is put in front of the text, so the first word begins with it."
    return _edit("byte-order-mark", sentence, options, encode=encode, exact=False, becomes=apply, bash_only=True)


def _first_line(options: Options) -> Step:
    return _edit("first-line", "Everything after the first line of the text is dropped.", options)


def _replace(options: Options) -> Step:
    into = f"replaced by {_literal(options['with'])}" if options["with"] else "removed"
    what = _literal(options["find"]).removeprefix("a ") if options["find"] in _INVISIBLE else _literal(options["find"])
    # In a text of these letters alone it would depend on the text whether there is anything to replace.
    more = {"encode": None} if len(options["find"]) > 1 and set(options["find"]) <= set(BASE32) else {}
    return _edit("replace", f"Every {what} in the text is {into}.", options, **more)


def _prefix(options: Options) -> Step:
    where = "on a line of its own in front of" if options["line"] == "own" else "directly in front of"
    text = options["text"]
    survives = lets_a_shell_through(f"{text}\n" if options["line"] == "own" else text, "")
    return _wrapper("prefix", f"The wrapper text {_literal(options['text'])} is put {where} the text.", options, survives)


def _suffix(options: Options) -> Step:
    where = "on a line of its own behind" if options["line"] == "own" else "directly behind"
    text = options["text"]
    survives = is_own_line(text) if options["line"] == "own" else lets_a_shell_through("", text)
    return _wrapper("suffix", f"The wrapper text {_literal(options['text'])} is put {where} the text.", options, survives)


def _line_guard(options: Options) -> Step:
    sentence = f"After each line of the text the line {_literal(options['text'])} is inserted."
    return _wrapper("line-guard", sentence, options, is_own_line(options["text"]), one_line=True)


def _input_guard(options: Options) -> Step:
    sentence = 'The redirection "< /dev/null" is inserted before the first "|" of the text, wherever it stands.'
    return _edit("input-guard", sentence, options)


def _charset(options: Options) -> Step:
    return _edit("charset", f"The UTF-8 bytes of the text are read as {options['read_as']}.", options)


def _unicode_form(options: Options) -> Step:
    return _edit("unicode-form", f"The text is brought to the Unicode form {options['form']}.", options)


def _json_escape(options: Options) -> Step:
    sentence = (
        "The text is escaped as a JSON string once more than it is decoded: backslashes, quotes and line ends arrive escaped."
    )
    return _edit("json-escape", sentence, options)


def _entities_escape(options: Options) -> Step:
    sentence = "&, < and > of the text are written as entities (&amp; &lt; &gt;), and nothing decodes them."
    return _edit("entities-escape", sentence, options)


def _max_length(options: Options) -> Step:
    sentence = f"Everything beyond the first {options['characters']} characters of the text is dropped."
    return _edit("max-length", sentence, options, encode=None)


def _quoted(name: str, kind: str, escape: Callable[[str], str], broken_by: str) -> Callable[[Options], Step]:
    def build(options: Options) -> Step:
        how = "escaped correctly and placed" if options["escape"] else "placed, without any escaping,"
        form = EDITS[name]("<text>", options)
        sentence = f"The text is {how} between the {kind} quotes of {form}, and an outer shell parses that first."
        encode = _for(options, _same if options["escape"] else escape)
        return _embedding(name, sentence, options, encode, faithful=bool(options["escape"]), broken_by=broken_by)

    return build


def _as_word(text: str) -> str:
    return f"'{escape_single_quoted(text)}'"


_ESCAPES: Mapping[str, Callable[[str], str]] = {"single": escape_single_quoted, "double": escape_double_quoted, "none": _as_word}


def _unquoted_shell(options: Options) -> Step:
    sentence = f"The text is pasted without quotes behind {options['shell']} -c, and an outer shell splits it into words first."
    return _embedding("unquoted-shell", sentence, options, _for(options, _as_word))


def _eval(options: Options) -> Step:
    quotes = options["quotes"]
    where = f"between {quotes} quotes" if quotes != "none" else "without quotes"
    how = "escaped and " if options["escape"] and quotes != "none" else ""
    tail = ", followed by '<' /dev/null," if options["redirect"] else ""
    encode = _same if options["escape"] and quotes != "none" else _ESCAPES[quotes]
    return _embedding(
        "eval",
        f"The text is {how}placed {where} behind eval{tail} and so parsed twice by the same shell.",
        options,
        lambda text: encode(own_shell(text)),
        faithful=bool(options["escape"]) and quotes != "none" and not options["redirect"],
        takes_over=True,
    )


def _remote_shell(options: Options) -> Step:
    kind = "login shell" if options["login"] else "shell"
    sentence = f"A local shell splits the text into words; they are joined by blanks, and a remote {kind} reads the result again."
    # A login shell, or another one, is left by starting bash; another home directory can't be.
    inner = own_shell if options["login"] else _same
    return _embedding(
        "remote-shell",
        sentence,
        options,
        None if options["home"] else _for(options, lambda text: _as_word(inner(text))),
        imitated="the remote machine: both shells run here",
        form="ssh host <text>",
    )


def _launcher(options: Options) -> Step:
    sentence = (
        "A shell splits the text into words for a launcher script, which runs them as an unquoted $@: split and expanded again."
    )
    return _embedding("launcher", sentence, options, lambda text: f"bash -c '{blankless(text)}'")


def _debug_quoted(options: Options) -> Step:
    def encode(text: str) -> str | None:
        return None if "$" in text or "`" in text else own_shell(text)

    sentence = (
        'The text is quoted with only \\ and " escaped, so a host shell in another directory resolves its $ and backquotes '
        f"before {options['shell']} reads it."
    )
    return _embedding("debug-quoted", sentence, options, encode, form=f'box {options["shell"]} -c "<text>"')


def _one_word(options: Options) -> Step:
    def encode(text: str) -> str:
        return f":'; exec bash -c '{escape_single_quoted(text)}"  # ends the word, and lets the quote behind end ours

    sentence = "The whole text is put between single quotes and taken for the name of one program."
    return _embedding("one-word", sentence, options, encode)


def _heredoc_script(options: Options) -> Step:
    def encode(text: str) -> str | None:
        script = own_shell(text)
        if options["delimiter"] in script.split("\n"):
            return None
        return script if options["quoted"] else escape_heredoc(script)

    expanded = "" if options["quoted"] else ", in which a shell expands $, backquotes and backslashes,"
    sentence = (
        f"The text is written to a script by a here-document{expanded} that ends at the first line {options['delimiter']}; "
        "then the script runs."
    )
    return _embedding("heredoc-script", sentence, options, encode)


def _piped(options: Options) -> Step:
    quotes, by = options["quotes"], options["by"]
    what = {"echo": "", "echo -e": ", and echo -e resolves its backslash escapes", "printf": ", and printf reads it as a format"}[
        by
    ]
    where = f"between {quotes} quotes" if quotes != "none" else "without quotes"

    def encode(text: str) -> str:
        printed = own_shell_without_input(text)
        printed = printed if by == "echo" else printed.replace("\\", "\\\\")
        return _ESCAPES[quotes](printed.replace("%", "%%") if by == "printf" else printed)

    sentence = f"The text is placed {where} behind {by}{what}; its output is piped into {options['shell']} as a script."
    return _embedding("piped", sentence, options, encode, bash_only=True)


def _kind(build: Callable[[Options], Step], options: dict[str, JSON] | None = None, **choices: tuple[JSON, ...]) -> Kind:
    required = tuple(name for name, value in (options or {}).items() if value == "" and name in ("text", "find"))
    return Kind(build, MappingProxyType(options or {}), MappingProxyType(choices), required)


_QUOTED = {"escape": False, "shell": "bash"}
_CHARSETS = ("latin-1", "cp1252", "cp437", "ascii")
STEPS: Mapping[str, Kind] = MappingProxyType(
    {
        "double-quoted-shell": _kind(
            _quoted("double-quoted-shell", "double", escape_double_quoted, '"\\`'), {**_QUOTED}, shell=SHELLS
        ),
        "single-quoted-shell": _kind(
            _quoted("single-quoted-shell", "single", escape_single_quoted, "'"), {**_QUOTED}, shell=SHELLS
        ),
        "unquoted-shell": _kind(_unquoted_shell, {"shell": "bash"}, shell=SHELLS),
        "eval": _kind(_eval, {"quotes": "single", "escape": False, "redirect": False}, quotes=("single", "double", "none")),
        "remote-shell": _kind(_remote_shell, {"shell": "bash", "login": False, "home": False}, shell=SHELLS),
        "launcher": _kind(_launcher),
        "debug-quoted": _kind(_debug_quoted, {"shell": "sh"}, shell=SHELLS),
        "one-word": _kind(_one_word),
        "heredoc-script": _kind(_heredoc_script, {"delimiter": "EOF", "quoted": True}),
        "piped": _kind(
            _piped,
            {"by": "echo", "quotes": "double", "shell": "bash"},
            by=("echo", "echo -e", "printf"),
            quotes=("single", "double", "none"),
            shell=SHELLS,
        ),
        "trim": _kind(_trim, {"where": "both"}, where=("both", "start", "end")),
        "rejoin-lines": _kind(_rejoin_lines, {"strip": "none", "join": "\n"}, strip=("none", "both", "start", "end")),
        "dedent": _kind(_dedent),
        "line-ends": _kind(_line_ends, {"last": True}),
        "byte-order-mark": _kind(_byte_order_mark),
        "first-line": _kind(_first_line),
        "replace": _kind(_replace, {"find": "", "with": ""}),
        "prefix": _kind(_prefix, {"text": "", "line": "same"}, line=("same", "own")),
        "suffix": _kind(_suffix, {"text": "", "line": "same"}, line=("same", "own")),
        "line-guard": _kind(_line_guard, {"text": ""}),
        "input-guard": _kind(_input_guard),
        "charset": _kind(_charset, {"read_as": "latin-1", "errors": "replace"}, read_as=_CHARSETS, errors=("replace", "ignore")),
        "unicode-form": _kind(_unicode_form, {"form": "NFC"}, form=("NFC", "NFD", "NFKC", "NFKD")),
        "json-escape": _kind(_json_escape),
        "entities-escape": _kind(_entities_escape),
        "max-length": _kind(_max_length, {"characters": 4096}),
    }
)
"""Every edit and embedding that a chain may name."""
