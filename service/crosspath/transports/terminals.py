"""The terminals that a chain may name: what executes the text.

The plain ones are a command by themselves; the others are runners inside the sandbox (``crosspath.inside.runners``). A terminal
whose status is not the command's own can't be survived: nothing that a reply says brings the status back.
"""

import shlex
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from crosspath.transports.encodings import child_shell, own_shell, own_shell_without_input
from crosspath.transports.layers import Encode, Kind, Terminal, as_argument, as_bytes
from crosspath.types import JSON, Command, FileEntry

Options = Mapping[str, Any]


def _terminal(name: str, sentence: str, options: Options, encode: Encode | None, **more: Any) -> Terminal:
    given: dict[str, Any] = {"version": "1", "is_bash": options.get("program", "bash") == "bash", **more}
    return Terminal(name=name, sentence=sentence, runs={"do": name, **options}, encode=encode, **given)


def _left_alone_unless(*found: str) -> Encode:
    return lambda text: None if any(one in text for one in found) else text


def _words(options: Options) -> tuple[str, ...]:
    """The shell that runs the text, with its flags."""
    return options["program"], *options["flags"]


_FLAGS = frozenset(
    {"-e", "-u", "-x", "-v", "-l", "-eu", "-eux", "-o", "-euo", "-euxo", "pipefail", "errexit", "nounset", "--norc"}
)
"""Flags with which a shell still runs any command as it is."""


def _surely_run(options: Options, encode: Encode) -> Encode | None:
    """``encode``, unless a flag may keep the shell from running what it is given (``-n``, ``-r``, ``-c``)."""
    return encode if set(options["flags"]) <= _FLAGS else None


def _needs(options: Options) -> tuple[str, ...]:
    """bash is always there: a sandbox without it could not run a raw reply either."""
    return () if options["program"] == "bash" else (options["program"],)


def _shell(options: Options) -> Terminal:
    words = (*_words(options), "-c")

    def command(text: str) -> Command:
        argv = (*(word.encode() for word in words), as_argument(text, "the shell text"))
        return Command(argv=argv, needs=_needs(options))

    return _terminal(
        "shell",
        f"The text is the one argument of {' '.join(words)}.",
        options,
        str if words == ("bash", "-c") else _surely_run(options, own_shell),
        command=command,
        faithful=True,
        needs=_needs(options),
        form=f"{' '.join(words)} <text>",
    )


def _script_file(options: Options) -> Terminal:
    def command(text: str) -> Command:
        # The first bash only finds the file: exec leaves no trace of it, and $0 is the file, as with `bash FILE`.
        script = FileEntry(path=b"script.sh", content=as_bytes(text, "the script"))
        line = f'exec {shlex.join(_words(options))} "$IN/script.sh"'
        return Command(argv=(b"bash", b"-c", line.encode()), files=(script,), needs=_needs(options))

    return _terminal(
        "script-file",
        f"The text is written to a file, and {' '.join(_words(options))} executes that file.",
        options,
        # Not the text itself: under `bash -c` $0 is another one, and a text that starts with - or + is read as options.
        _surely_run(options, own_shell),
        command=command,
        faithful=True,
        needs=_needs(options),
    )


def _standard_input(options: Options) -> Terminal:
    def command(text: str) -> Command:
        argv = tuple(word.encode() for word in _words(options))
        return Command(argv=argv, stdin=as_bytes(text, "the script"), needs=_needs(options))

    sentence = (
        f"{' '.join(_words(options))} reads the text as a script from its standard input; commands in it read from there, too."
    )
    return _terminal(
        "standard-input",
        sentence,
        options,
        _surely_run(options, own_shell_without_input),
        command=command,
        faithful=True,
        needs=_needs(options),
    )


def _syntax_gate(options: Options) -> Terminal:
    sentence = f"bash -n checks the text first: what it can't parse on its own is not run (status {options['status']})."
    return _terminal("syntax-gate", sentence, options, own_shell, faithful=True)


def _base64_hop(options: Options) -> Terminal:
    sentence = "The text is base64-encoded into one argument, decoded on the other side and piped into bash."
    return _terminal("base64-hop", sentence, options, own_shell_without_input, faithful=True, needs=("base64",))


def _read_line(options: Options) -> Terminal:
    lost = "" if options["raw"] else "; read removes its backslashes"
    sentence = f"A shell's read takes the first line of the text{lost}, and bash -c runs that."
    encode = _left_alone_unless("\n", *(() if options["raw"] else ("\\",)))
    return _terminal("read-line", sentence, options, lambda text: encode(text) if text == text.strip() else None, faithful=False)


def _make_recipe(options: Options) -> Terminal:
    sentence = (
        "The text is the recipe of a Makefile: make resolves $, runs each line by a shell of its own, and tells "
        "status 2 for any failure."
    )
    return _terminal("make-recipe", sentence, options, None, needs=("make",))


def _crontab(options: Options) -> Terminal:
    sentence = (
        "The text is the command of a crontab line: one line, run by sh; the first % that is not escaped ends it, "
        "the rest is its input."
    )

    def encode(text: str) -> str | None:
        return None if "%" in text or "\n" in text else own_shell(text)

    return _terminal("crontab", sentence, options, encode, imitated="cron's parser of lines")


def _xargs(options: Options) -> Terminal:
    sentence = (
        "The text is the input of xargs -I{} bash -c '{}': xargs reads its quotes and backslashes, and each line is a command."
    )
    return _terminal("xargs", sentence, options, None, needs=("xargs",))


def _line_by_line(options: Options) -> Terminal:
    stop = " until one fails" if options["stop"] else ""
    sentence = f"Each line of the text is run by a bash of its own{stop}."
    return _terminal("line-by-line", sentence, options, _left_alone_unless("\n"))


def _split_at(options: Options) -> Terminal:
    separator = options["separator"]
    sentence = (
        f'The text is cut at every "{separator}", and each part is run by a bash of its own, whatever became of the one before.'
    )
    return _terminal("split-at", sentence, options, _left_alone_unless(separator))


def _pipes_without_shell(options: Options) -> Terminal:
    sentence = "There is no shell: the text is cut at every |, each part split into words, and the programs are chained."

    def encode(text: str) -> str | None:
        return None if "|" in text else own_shell(text).removeprefix("exec ")

    return _terminal("pipes-without-shell", sentence, options, encode)


def _program(options: Options) -> Terminal:
    sentence = "There is no shell: the text is split into words and run as one program with its arguments."
    return _terminal("program", sentence, options, lambda text: own_shell(text).removeprefix("exec "))


def _session(options: Options) -> Terminal:
    where = "on the same line behind" if options["same_line"] else "on a line of its own behind"
    sentence = (
        f"A shell reads the text, and {where} it a command that prints its status; an exit in the text ends that shell first."
    )
    return _terminal("session", sentence, options, child_shell)


def _open_input(options: Options) -> Terminal:
    sentence = f"Standard input stays open and silent: what reads from it waits until a time limit of {options['timeout_s']:g} s."
    return _terminal("open-input", sentence, options, None)  # its time limit ends any command


def _output_waiting(options: Options) -> Terminal:
    sentence = (
        f"The runner waits until everything that can write output has ended, at most {options['timeout_s']:g} s, "
        "background processes included."
    )
    return _terminal("output-waiting", sentence, options, None)


def _group_killing(options: Options) -> Terminal:
    return _terminal("group-killing", "When the shell ends, all its background processes are killed at once.", options, None)


def _strict_output(options: Options) -> Terminal:
    sentence = "The output is decoded as strict UTF-8: other bytes are told as a failure, though the command has run."
    return _terminal("strict-output", sentence, options, None)


def _utf16_redirect(options: Options) -> Terminal:
    sentence = "Output redirected by the last > of the text is stored as UTF-16 with a byte order mark and CR LF line ends."
    return _terminal("utf16-redirect", sentence, options, _left_alone_unless(">"), imitated="PowerShell")


def _typed(options: Options) -> Terminal:
    pieces = {0: "in one go", 1: "byte by byte"}
    how = pieces.get(options["at_once"], f"in pieces of {options['at_once']} bytes")
    does = "tabs complete and ! recalls history"
    if not options["editing"]:
        does = "the terminal cuts lines at 4095 bytes and takes control characters for its own, and ! recalls history"
    sentence = f"The text is typed {how} into an interactive bash on a terminal: {does}; no status comes back."
    return _terminal("typed", sentence, options, None)


def _tmux(options: Options) -> Terminal:
    sentence = (
        "The text is sent as keys to an interactive bash in tmux, which takes a semicolon at the end for its own; "
        "no status comes back."
    )
    return _terminal("tmux", sentence, options, None, needs=("tmux",))


def _kind(build: Callable[[Options], Terminal], options: dict[str, JSON] | None = None, **choices: tuple[JSON, ...]) -> Kind:
    return Kind(build, MappingProxyType(options or {}), MappingProxyType(choices))


_SHELLS = ("bash", "sh", "dash")
_QUIET: dict[str, JSON] = {"quiet_s": 1.0, "timeout_s": 8.0}
TERMINALS: Mapping[str, Kind] = MappingProxyType(
    {
        "shell": _kind(_shell, {"program": "bash", "flags": []}, program=_SHELLS),
        "script-file": _kind(_script_file, {"program": "bash", "flags": []}, program=_SHELLS),
        "standard-input": _kind(_standard_input, {"program": "bash", "flags": []}, program=_SHELLS),
        "syntax-gate": _kind(_syntax_gate, {"status": 78}),
        "base64-hop": _kind(_base64_hop),
        "read-line": _kind(_read_line, {"raw": False}),
        "make-recipe": _kind(_make_recipe, {"shell": "bash"}, shell=_SHELLS),
        "crontab": _kind(_crontab),
        "xargs": _kind(_xargs),
        "line-by-line": _kind(_line_by_line, {"stop": True}),
        "split-at": _kind(_split_at, {"separator": "&&"}),
        "pipes-without-shell": _kind(_pipes_without_shell),
        "program": _kind(_program),
        "session": _kind(_session, {"same_line": True}),
        "open-input": _kind(_open_input, {"timeout_s": 3.0}),
        "output-waiting": _kind(_output_waiting, {"timeout_s": 3.0}),
        "group-killing": _kind(_group_killing),
        "strict-output": _kind(_strict_output),
        "utf16-redirect": _kind(_utf16_redirect),
        "typed": _kind(_typed, {"at_once": 512, "pause_s": 0.05, "locale": "C.UTF-8", "editing": True, **_QUIET}),
        "tmux": _kind(_tmux, {"locale": "C.UTF-8", "editing": True, **_QUIET}),
    }
)
"""Every terminal that a chain may name."""
