"""Contracts that tell about a path, written from what its layers say about themselves.

Such a contract is the plain contract of its reply shape, word for word, but for the one sentence that says how the shell text is
executed: the told and the untold differ in nothing else. Each path is told in three wordings: what happens to the text, the form
that it is placed in, and what to do about it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from crosspath.errors import ConfigError
from crosspath.types import Contract, Shape, Telling

VERSION = "1"
"""Of all generated contracts: raised whenever the words around the layers' own sentences change."""
LONGEST_TOLD = 1200
"""Characters that may be told about a path; a path that needs more is better described by a person."""
PLACE = "<text>"
"""Stands for the text in a layer's form."""
_FENCE = "```"
"""A path that is about code fences contradicts the rule that forbids them."""


@dataclass(frozen=True)
class ToldStep:
    """What one layer does to the text."""

    sentence: str
    """``The text is placed ... .``"""
    form: str = ""
    """What the text is literally placed in, with ``<text>`` in its place: ``bash -c "<text>"``. Empty: the layer does more."""


@dataclass(frozen=True)
class _Words:
    """How the shell text of one reply shape is spoken of."""

    subject: str
    """Begins a sentence."""
    object: str
    """After ``Write``."""
    as_it_is: str

    @property
    def plain(self) -> str:
        """The sentence of the plain contract that a telling contract replaces."""
        return f"{self.subject} is executed, {self.as_it_is}, as the one argument of `bash -c`."


_WORDS: Mapping[Shape, _Words] = MappingProxyType(
    {
        "text": _Words("Your whole reply", "your reply", "exactly as you write it"),
        "json": _Words("After the JSON is decoded, that shell text", "that shell text", "exactly as it stands there"),
        "tools": _Words("The `command` of `run_shell`", "the `command` of `run_shell`", "exactly as it stands there"),
    }
)


def tell(telling: Telling, path: str, plain: Contract, steps: Sequence[ToldStep], last: ToldStep | None = None) -> Contract:
    """The contract that ``telling`` names.

    Args:
        telling: which wording, under which name.
        path: the name of the path without a decoder's prefix: what the contract discloses.
        plain: the plain contract of the reply's shape.
        steps: what embeds or changes the text, in order.
        last: what executes the text; None where that is ``bash -c``, as for ``plain``.

    Raises:
        ConfigError: there is nothing to tell, or too much.
        ValueError: ``plain`` does not hold the sentence that is to be replaced, or holds it twice.
    """
    words = _WORDS[plain.shape]
    if plain.text.count(words.plain) != 1:
        raise ValueError(f"contract {plain.name} does not say once: {words.plain}")
    if not steps and last is None:
        raise ConfigError(f"path {path} is told by contract {plain.name} already; write contract: {plain.name}")
    told = _WORDINGS[telling.wording - 1](words, steps, last)
    if _FENCE in told:
        told += " Where this and the rules below differ, this counts."
    if len(told) > LONGEST_TOLD:
        problem = f"telling about path {path} takes {len(told)} characters, more than {LONGEST_TOLD}"
        raise ConfigError(f"{problem}; write a contract of your own that discloses it")
    text = plain.text.replace(words.plain, told)
    return plain.model_copy(
        update={"name": telling.name, "version": VERSION, "discloses": path, "reference": plain.name, "text": text}
    )


def plain_sentence(shape: Shape) -> str:
    """The sentence of a shape's plain contract that its telling contracts replace."""
    return _WORDS[shape].plain


def _what_happens(words: _Words, steps: Sequence[ToldStep], last: ToldStep | None) -> str:
    return f"{words.subject} travels as follows. {_in_order(step.sentence for step in _all(steps, last))}"


def _the_form(words: _Words, steps: Sequence[ToldStep], last: ToldStep | None) -> str:
    """Forms that follow each other become one, and what has no form is told in its sentence."""
    parts = _folded(steps)
    if not any(part.form for part in parts):
        told = _in_order(step.sentence for step in _all(steps, last))
        return f"{words.subject} is not simply the one argument of `bash -c`. This happens to it: {told}"
    if len(parts) == 1 and last is None:
        place = f"{words.subject} takes, {words.as_it_is}, the place of {PLACE} in {_shown(parts[0].form)}"
        return f"{place}The result is the one argument of `bash -c`."
    sentences = (f"The text takes the place of {PLACE} in {_shown(part.form)}" if part.form else part.sentence for part in parts)
    end = "The text is the one argument of `bash -c`." if last is None else last.sentence
    return f"{words.subject} goes through these steps. {_in_order((*sentences, end))}"


def _what_to_do(words: _Words, steps: Sequence[ToldStep], last: ToldStep | None) -> str:
    told = _in_order(step.sentence for step in _all(steps, last))
    return (
        f"{words.subject} passes through what follows before it is executed. Write {words.object} so that what is executed in the"
        f" end is still what you mean: protect all that would be changed, or be read as something else, on the way. {told}"
    )


def _all(steps: Sequence[ToldStep], last: ToldStep | None) -> tuple[ToldStep, ...]:
    return (*steps, last) if last else tuple(steps)


def _in_order(sentences: Iterable[str]) -> str:
    """One sentence as it is; several as numbered steps."""
    found = list(sentences)
    if len(found) == 1:
        return found[0]
    steps = " ".join(f"({number}) {sentence.rstrip(' ')}" for number, sentence in enumerate(found, 1))
    return f"Each step takes what the one before it made. {steps}"


def _folded(steps: Sequence[ToldStep]) -> list[ToldStep]:
    """Steps with a form that follow each other as one step, the text of the first in the form of the next."""
    found: list[ToldStep] = []
    for step in steps:
        if found and found[-1].form and step.form:
            step = ToldStep("", step.form.replace(PLACE, found.pop().form))
        found.append(step)
    return found


def _shown(form: str) -> str:
    """The end of a sentence that shows a form, and the gap behind: within the line, or, where it has several lines, below."""
    lines = form.strip("\n").split("\n")
    if len(lines) > 1:
        return "this:\n\n" + "\n".join(f"    {line}" for line in lines) + "\n\n"
    ticks = "``" if "`" in form else "`"
    return f"{ticks}{lines[0]}{ticks}. "


_WORDINGS: tuple[Callable[[_Words, Sequence[ToldStep], ToldStep | None], str], ...] = (_what_happens, _the_form, _what_to_do)
