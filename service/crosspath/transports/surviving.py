"""How a text is written so that it survives a whole chain.

A text survives if it can be written such that, layer by layer, the next one gets what it needs. Steps that give back precisely
what was encoded for them may stand anywhere in front. From the first step on that does not (an embedding, a wrapper), what
follows gets a text that nobody wrote, so it has to leave that text alone.
"""

from collections.abc import Iterable, Sequence

from crosspath.transports.encodings import candidates, is_whole
from crosspath.transports.layers import MAX_TEXT_CHARACTERS, Step, Terminal

Steps = Sequence[Step]
_HARD = (
    " \t\\\"'`$!\n#~*?{}()[];&|<>=%^-+,:@/.\r\x01\x7f\u65e5\u00e9 {{x}} {% y %} &lt; $(z) \\n ```\nEOF\n "
    + "".join(map(chr, range(32, 127)))
    + "0123456789" * 9
)
"""A text that only an encoding for every text survives."""


def survives(steps: Steps, terminal: Terminal) -> bool:
    """Whether every text has an encoding for this chain: a hard one has."""
    return encoded(steps, terminal, _HARD) is not None


def obstacle(steps: Steps, terminal: Terminal) -> str | None:
    """Why a chain can't be survived, in words; None: it can."""
    if survives(steps, terminal):
        return None
    lossy = next((layer.name for layer in (*steps, terminal) if layer.encode is None), None)
    if lossy is not None:
        return f"{lossy} loses or changes what no other way of writing brings back (text, or the exit status)"
    return "a layer changes what an earlier one puts around the text, or a wrapper may keep the command from being run"


def encoded(steps: Steps, terminal: Terminal, text: str) -> str | None:
    """A text that does on this chain what ``text`` does as the argument of ``bash -c``; None: there is none.

    Raises:
        UndeliverableError: ``bash -c`` itself could not carry the text.
    """
    found = (_encode(steps, terminal, one) for one in candidates(text))
    return next((one for one in found if one is not None), None)


def _encode(steps: Steps, terminal: Terminal, text: str) -> str | None:
    first = next((number for number, step in enumerate(steps) if not step.exact), None)
    if first is None:
        return _backwards(steps, terminal.encode(text) if terminal.encode else None)
    step = steps[first]
    inner = step.encode(text) if step.encode else None
    if inner is None or step.becomes is None:
        return None
    if step.bash_only and not _is_read_by_bash(steps, terminal, first):
        return None
    wrappers = [one for one in steps[first:] if one.is_wrapper]
    if not is_whole(_applied(wrappers, "")):
        return None
    end = _end_of_wrappers(steps, first)
    around = end > first and _careless_around(steps, first, end)
    if around:
        inner = _backwards((steps[end],), inner)
    done = end if around else first
    takes_over = step.takes_over and not around
    if inner is None or not _left_alone(steps, terminal, _applied(steps[first : done + 1], inner), done + 1, takes_over):
        return None
    return _backwards(steps[:first], inner)


def _is_read_by_bash(steps: Steps, terminal: Terminal, number: int) -> bool:
    """Whether the innermost shell that reads what step ``number`` made is bash."""
    embeddings = (step for step in steps[number + 1 :] if step.kind == "embedding")
    around = next(embeddings, None)
    return terminal.is_bash if around is None else around.does.get("shell", "bash") == "bash"


def _end_of_wrappers(steps: Steps, first: int) -> int:
    """Where the wrappers end that begin with step ``first``."""
    end = first
    while end < len(steps) and steps[end].is_wrapper:
        end += 1
    return end


def _careless_around(steps: Steps, first: int, end: int) -> bool:
    """Whether a careless embedding stands around what these wrappers made that their own text does not break."""
    step = steps[end] if end < len(steps) else None
    if step is None or step.kind != "embedding" or step.faithful or step.broken_by is None:
        return False
    return not set(step.broken_by) & set(_applied(steps[first:end], ""))


def _left_alone(steps: Steps, terminal: Terminal, text: str, first: int, takes_over: bool) -> bool:
    """Whether the rest of the chain, from step ``first``, runs a text that earlier layers made as ``bash -c`` would."""
    for step in steps[first:]:
        if len(text) > MAX_TEXT_CHARACTERS:
            return False
        if step.apply and (step.faithful or (step.is_wrapper and takes_over)):
            text, takes_over = step.apply(text), takes_over and step.kind == "edit"
        elif step.encode is None or not step.exact or step.encode(text) != text:
            return False
    return terminal.faithful


def _applied(steps: Iterable[Step], text: str) -> str:
    """What these edits and embeddings, or readings that were encoded for, make of a text."""
    for step in steps:
        text = step.becomes(text) if step.becomes else text
    return text


def _backwards(steps: Sequence[Step], text: str | None) -> str | None:
    """What the first of these exact steps must be given, so that the last one makes ``text``."""
    for step in reversed(steps):
        if text is None or step.encode is None or len(text) > MAX_TEXT_CHARACTERS:
            return None
        text = step.encode(text)
    return text
