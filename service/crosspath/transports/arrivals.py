"""What should arrive at the innermost program of a path, and where a wrapper's own text ends up.

Some layers put text of their own around a command (``prefix``, ``suffix``, ``line-guard``, a session's marker). What should
arrive is then the command with that text around it. Whether a shell takes the wrapper for what it is meant to be is seen from how
it parses the command with something else in the wrapper's place: a ``}``, which is an error exactly where a command may begin.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from crosspath.inside.edits import session_lines
from crosspath.transports.chain import Chain
from crosspath.transports.layers import Step
from crosspath.types import Command, FileEntry

_WRAPPERS = ("prefix", "suffix", "line-guard")
_REDIRECTION = " < /dev/null"
"""What ``eval`` with ``redirect`` is given behind the text, as words of its own."""
_SAME_LINE = "; }"
_OWN_LINE = "\n}"
_MOST_GUARDS = 100
"""Lines of one command behind which a guard is looked at."""
_LONGEST_ANSWER = 300
_PARSES = f"""
for file in "$IN"/*; do
    said=$(/bin/bash -n "$file" 2>&1)
    printf '%s\\0%s\\0' $? "${{said:0:{_LONGEST_ANSWER}}}"
done
"""
_PLACE = re.compile(r"^\S*/\d+: (line \d+: )?")
_STARTS_A_SHELL = re.compile(r"(?:\A|[\s;&|(/])(?:bash|sh|dash)(?:\s+-\S+)*\s+-\w*c\s+[\"']?\Z")
_JOINED = re.compile(r"(\||&&|\|\||\\)[ \t]*\Z")
Trouble = Literal["wrapper inside it", "wrapper breaks it"]


@dataclass(frozen=True)
class Wrapper:
    """The text that a path puts around a command."""

    wrap: Callable[[str], str]
    ends: tuple[str, ...] = ()
    """What to put behind the command in place of each suffix."""
    guards: bool = False
    """Whether something is put behind each line."""

    @property
    def words(self) -> str:
        """How it looks around a command."""
        return self.wrap("<command>")


@dataclass(frozen=True)
class Parsed:
    """What ``bash -n`` said to one text."""

    status: int
    said: str


def wrapper_of(chain: Chain) -> Wrapper | None:
    """The text that a chain means to put around a command before its innermost program gets it; None where there is none."""
    steps: list[Step] = []
    for step in chain.steps:
        if step.recording is not None:
            return _declared([*steps, step] if step.does.get("redirect") else steps)
        steps += [step] if step.name in _WRAPPERS else []
    return _declared(steps, chain.terminal.runs if chain.terminal.name == "session" else None)


def _declared(steps: Sequence[Step], options: Mapping[str, Any] | None = None) -> Wrapper | None:
    if not steps and options is None:
        return None

    def wrap(text: str) -> str:
        for step in steps:
            text = text + _REDIRECTION if step.kind == "embedding" else step.apply(text) if step.apply else text
        return session_lines(text, options) if options else text

    suffixes = [step.does["line"] == "own" for step in steps if step.name == "suffix"]
    suffixes += [False for step in steps if step.kind == "embedding"]
    suffixes += [not options["same_line"]] if options else []
    ends = tuple(dict.fromkeys(_OWN_LINE if own else _SAME_LINE for own in suffixes))
    return Wrapper(wrap, ends, any(step.name == "line-guard" for step in steps))


def measured_wrapper(probe: str, arrived: str) -> Wrapper | None:
    """What a harness puts around a command, seen from what became of a word; None: nothing that can be seen.

    Raises:
        ValueError: the word is not in what arrived.
    """
    before, found, after = arrived.partition(probe)
    if not found:
        raise ValueError(arrived)
    before, after = (text if text.strip() and text.isascii() else "" for text in (before, after))
    if not before and not after:
        return None
    ends = (_OWN_LINE if after.startswith("\n") else _SAME_LINE,) if after else ()
    return Wrapper(lambda text: f"{before}{text}{after}", ends)


def starts_a_shell(probe: str, arrived: str) -> bool:
    """Whether what stands in front of a word gives it to one more shell."""
    return _STARTS_A_SHELL.search(arrived.partition(probe)[0]) is not None


def not_looked_at(chain: Chain) -> tuple[str, ...]:
    """What the last layer does to a run, which no arriving text shows; none for ``bash -c`` as such."""
    terminal = chain.terminal
    found = [] if terminal.form == "bash -c <text>" else [terminal.sentence]
    if any(step.does.get("redirect") for step in chain.steps):
        found.append("The redirection behind the text holds for its last command only.")
    return tuple(found)


def computable(chain: Chain, text: str) -> str | None:
    """What arrives, where all layers are plain edits and the last one hands the text on; None: a sandbox has to tell."""
    plain = all(step.apply is not None and step.recording is None for step in chain.steps)
    if not plain or chain.terminal.command is None:
        return None
    for step in chain.steps:
        text = step.apply(text) if step.apply else text
    return text


def parse_command(wrapper: Wrapper, text: str) -> Command:
    """A command that lets ``bash -n`` parse what :func:`trouble` needs to know."""
    asked = [one.encode("utf-8", "surrogatepass") for one in _asked(wrapper, text)]
    files = tuple(FileEntry(path=b"%03d" % number, content=one) for number, one in enumerate(asked))
    return Command(argv=(b"/bin/bash", b"-c", _PARSES.encode()), files=files)


def trouble(wrapper: Wrapper, text: str, output: bytes) -> tuple[Trouble, str] | None:
    """What is wrong about a wrapper around ``text``, and the words for it, from the output of :func:`parse_command`.

    None also where the text is no complete command by itself: then no wrapper is to blame.
    """
    answers = _answers(output)
    asked = _asked(wrapper, text)
    if len(answers) != len(asked) or answers[0].status != 0:
        return None
    guards = len(asked) - 2 - len(wrapper.ends)
    if any(answer.status == 0 for answer in answers[2 : 2 + len(wrapper.ends)]):
        return "wrapper inside it", answers[1].said
    for line, answer in zip(text.split("\n")[:guards], answers[2 + len(wrapper.ends) :], strict=False):
        if answer.status == 0 or "unexpected EOF while looking for" in answer.said or _JOINED.search(line):
            return "wrapper inside it", f"behind the line {line.strip()[:60]!r}"
    return ("wrapper breaks it", answers[1].said) if answers[1].status != 0 else None


def _asked(wrapper: Wrapper, text: str) -> list[str]:
    """The text alone, with its wrapper, with each end, and, for guards, cut behind each line."""
    lines = text.removesuffix("\n").split("\n")[:_MOST_GUARDS] if wrapper.guards else []
    cut = ["\n".join(lines[: number + 1]) + _OWN_LINE for number in range(len(lines))]
    return [text, wrapper.wrap(text), *(text + end for end in wrapper.ends), *cut]


def _answers(output: bytes) -> list[Parsed]:
    words = output.decode("utf-8", "replace").split("\0")[:-1]
    pairs = zip(words[::2], words[1::2], strict=False)
    return [Parsed(int(status) if status.isdecimal() else 1, _PLACE.sub("", said.split("\n")[0])) for status, said in pairs]
