"""The readings that a chain may name: steps that parse the reply, so they run inside the sandbox (``crosspath.inside.readings``).

The trusted side knows only how to write a text that such a parser gives back as it was.
"""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from crosspath.inside.edits import escape_single_quoted
from crosspath.inside.tokens import requoted
from crosspath.transports.encodings import BASE32, own_shell
from crosspath.transports.layers import MAX_ARGUMENT_BYTES, Encode, Kind, Step
from crosspath.types import JSON

Options = Mapping[str, Any]
_LONGEST_HALF = MAX_ARGUMENT_BYTES // 2 - 10
"""Bytes of a text that may double and still is one argument."""
_TEMPLATE = re.compile(r"\{[{%#]")
_NOT_IN_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 can't hold, and CR, which its parsers turn into LF."""


def _reading(name: str, sentence: str, options: Options, encode: Encode | None, **more: Any) -> Step:
    given: dict[str, Any] = {"version": "1", **more}
    return Step(name=name, sentence=sentence, kind="reading", does={"do": name, **options}, apply=None, encode=encode, **given)


def _entities(options: Options) -> Step:
    sentence = "HTML entities in the text (&lt; &amp; &quot; and so on) are decoded."
    return _reading("entities", sentence, options, lambda text: text.replace("&", "&amp;"))


def _xml_element(options: Options) -> Step:
    def encode(text: str) -> str | None:
        if _NOT_IN_XML.search(text) or (options["cdata"] and "]]>" in text):
            return None
        return text if options["cdata"] else text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    sentence = "The text is pasted between two XML tags and read by an XML parser: &, < and > must be written as entities."
    if options["cdata"]:
        sentence = "The text is pasted into a CDATA section of an XML element and read by an XML parser: ]]> ends it."
    form = "<command><![CDATA[<text>]]></command>" if options["cdata"] else "<command><text></command>"
    return _reading("xml-element", sentence, options, encode, form=form)


def _json_string(options: Options) -> Step:
    times = options["times"]

    def encode(text: str) -> str:
        for _ in range(times):
            text = json.dumps(text)[1:-1]
        return text

    often = "" if times == 1 else f" {times} times in a row"
    lenient = " (a lenient one, which guesses where a quote or a backslash is not escaped)" if options["repair"] else ""
    sentence = (
        f"The text is pasted between the quotes of a JSON string and parsed{often}{lenient}: quotes, backslashes and line ends "
        "need escaping."
    )
    return _reading("json-string", sentence, options, encode, form='{"command": "<text>"}')


def _jinja(options: Options) -> Step:
    suffixes = tuple(options["file_suffixes"])

    def encode(text: str) -> str | None:
        changed = _TEMPLATE.search(text) or "\r" in text or text.endswith(("\n", *suffixes))
        return None if changed else text

    files = f"; a text that ends in {' or '.join(suffixes)} is taken for a file name" if suffixes else ""
    sentence = f"The text is rendered as a Jinja template first: {{{{ }}}}, {{% %}} and {{# #}} mean something{files}."
    return _reading("jinja", sentence, options, encode)


def _compose(options: Options) -> Step:
    sentence = (
        "$NAME and ${NAME} in the text are replaced by a configuration's variables (here: by nothing), $$ by $; "
        "any other $ is an error."
    )
    return _reading(
        "compose", sentence, options, lambda text: text.replace("$", "$$"), imitated="compose's own interpolation code"
    )


def _words_quoted(options: Options) -> Step:
    sentence = (
        "The text is split into words as a shell would, and every word is quoted again: operators, variables and globs become "
        "plain text."
    )
    # A program and its arguments, quoted as the joiner quotes: it comes back letter by letter.
    return _reading("words-quoted", sentence, options, _quoted_again, exact=False, becomes=str)


def _quoted_again(text: str) -> str:
    return shlex.join(["exec", "bash", "-c", text])


def _words_joined(options: Options) -> Step:
    sentence = (
        "The text is split into words as a shell would, and the words are joined by blanks: its quotes and backslashes are gone."
    )
    return _reading("words-joined", sentence, options, lambda text: f"'{escape_single_quoted(text)}'")


def _tokens_requoted(options: Options) -> Step:
    def encode(text: str) -> str | None:
        return None if re.search(r"""['"\\$!\n]""", text) else own_shell(text)

    guard = ', and "< /dev/null" is put before the first pipe' if options["input_guard"] else ""
    sentence = f"The text is taken apart into words and operators and quoted again; $variables become empty{guard}."
    return _reading("tokens-requoted", sentence, options, encode, exact=False, becomes=_as_requoted, imitated="the tokeniser")


def _as_requoted(text: str) -> str:
    return requoted(text, input_guard=True)  # there is no pipe in it, so no guard either


def _fenced_block(options: Options) -> Step:
    how = "last" if options["greedy"] else "first following"
    sentence = f"The command is what stands between ``` and the {how} ``` of the reply; without any fence it is the whole reply."
    return _reading("fenced-block", sentence, options, lambda text: None if "```" in text or text.endswith("\n") else text)


def _backslash_escapes(options: Options) -> Step:
    sentence = "Backslash escapes of the text (\\n, \\t, \\\\) are resolved before a shell reads it."
    return _reading("backslash-escapes", sentence, options, lambda text: text.replace("\\", "\\\\"))


def _url_decoded(options: Options) -> Step:
    def encode(text: str) -> str:
        text = text.replace("%", "%25")
        return text.replace("+", "%2B") if options["plus"] else text

    plus = ", and + becomes a blank" if options["plus"] else ""
    return _reading("url-decoded", f"Percent-encoding in the text (%20, %2F) is decoded{plus}.", options, encode)


def _placeholders(options: Options) -> Step:
    start, end = options["start"], options["end"]
    sentence = f"Everything between {start} and {end} in the text, marks included, is replaced by nothing."
    if set(start) <= set(BASE32):  # whether an armoured text holds it would depend on the text
        return _reading("placeholders", sentence, options, None)
    return _reading("placeholders", sentence, options, lambda text: None if start in text else text)


def _replace_pattern(options: Options) -> Step:
    into = f"replaced by {options['with']}" if options["with"] else "removed"
    sentence = f"Everything in the text that matches the regular expression {options['find']} is {into}."
    return _reading("replace-pattern", sentence, options, None)


def _format_string(options: Options) -> Step:
    percent = options["style"] == "percent"
    what = "% (%% stands for one)" if percent else "{ and } ({{ and }} stand for one)"
    sentence = f"The text is used as a format string with nothing to put in: {what} mean something."

    def encode(text: str) -> str:
        return text.replace("%", "%%") if percent else text.replace("{", "{{").replace("}", "}}")

    return _reading("format-string", sentence, options, encode)


def _awk_variable(options: Options) -> Step:
    sentence = (
        "The text is handed to awk with -v, which resolves backslash escapes in it (\\n, \\t, \\\\) and takes no line ends."
    )

    def encode(text: str) -> str | None:
        return None if "\n" in text or text.startswith("@/") or len(text.encode()) > _LONGEST_HALF else text.replace("\\", "\\\\")

    return _reading("awk-variable", sentence, options, encode, needs=("awk",))


def _sed_replacement(options: Options) -> Step:
    sentence = "The text is the replacement of a sed command s|...|<text>|: &, backslashes, | and line ends mean something."

    def encode(text: str) -> str:
        return re.sub(r"[\\&|\n]", r"\\\g<0>", text)

    return _reading("sed-replacement", sentence, options, encode, needs=("sed",))


def _cmd_escapes(options: Options) -> Step:
    sentence = (
        "%NAME% in the text is replaced by a variable (here: by nothing), and ^ outside of double quotes makes the next "
        "character plain."
    )

    def encode(text: str) -> str | None:
        return None if "%" in text or ("^" in text and '"' in text) else text.replace("^", "^^")

    return _reading("cmd-escapes", sentence, options, encode, imitated="the command line of Windows")


def _kind(build: Callable[[Options], Step], options: dict[str, JSON] | None = None, **choices: tuple[JSON, ...]) -> Kind:
    return Kind(build, MappingProxyType(options or {}), MappingProxyType(choices))


READINGS: Mapping[str, Kind] = MappingProxyType(
    {
        "entities": _kind(_entities),
        "xml-element": _kind(_xml_element, {"cdata": False}),
        "json-string": _kind(_json_string, {"times": 1, "repair": False}, times=(1, 2, 3)),
        "jinja": _kind(_jinja, {"file_suffixes": []}),
        "compose": _kind(_compose),
        "words-quoted": _kind(_words_quoted),
        "words-joined": _kind(_words_joined),
        "tokens-requoted": _kind(_tokens_requoted, {"input_guard": False}),
        "fenced-block": _kind(_fenced_block, {"language": "bash", "greedy": False}),
        "backslash-escapes": _kind(_backslash_escapes),
        "url-decoded": _kind(_url_decoded, {"plus": False}),
        "placeholders": _kind(_placeholders, {"start": "${{", "end": "}}"}),
        "replace-pattern": _kind(_replace_pattern, {"find": "<[^>]*>", "with": ""}),
        "format-string": _kind(_format_string, {"style": "braces"}, style=("braces", "percent")),
        "awk-variable": _kind(_awk_variable),
        "sed-replacement": _kind(_sed_replacement),
        "cmd-escapes": _kind(_cmd_escapes),
    }
)
"""Every reading that a chain may name."""
