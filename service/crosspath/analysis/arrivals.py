"""What became of a text that was sent, seen from what arrived: whether it changed, how, and how badly. Texts only, no shells.

Two texts count as the same when they differ in line ends at their very end (a script file ends with one); not so behind a
backslash, which a line end would take away. Texts that both are plain words, quoted in different ways, have the *same words*:
counted apart from changes.
"""

import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, get_args
from urllib.parse import unquote, unquote_plus

from crosspath.analysis.shell_words import plain_words
from crosspath.escaping import one_line

How = Literal[
    "nothing arrives", "refused by a parser", "runs on", "wrapper breaks it", "cut off", "several programs", "wrapper inside it",
    "expanded", "quotes lost", "quotes added", "backslashes lost", "backslashes added", "escapes resolved", "escapes added",
    "entities decoded", "entities encoded", "percent signs decoded", "line ends", "white space", "encoding", "dropped", "added",
    "replaced",
]  # fmt: skip
HOWS: tuple[How, ...] = get_args(How)
"""The worst first."""
_LOUD: frozenset[How] = frozenset({"nothing arrives", "refused by a parser", "runs on", "wrapper breaks it"})
_SILENT: frozenset[How] = frozenset({"cut off", "several programs"})
LONGEST_DIFF = 300
_CONTEXT = 24
_LONGEST_PIECE = 72
_MOST_PAIRS = 60_000
"""Pairs of equal tokens that are looked at; where there are more, lines are compared, then nothing smaller than the whole."""
_TOKEN = re.compile(
    r"\$\{[^{}]*\}|\$\([^()]*\)|`[^`]*`|\$\w+|\$[?$#@*!-]|&#?\w+;|%[0-9A-Fa-f]{2}|\\.|\s|\w+|.",
    re.DOTALL,
)
_EXPANSION = re.compile(r"\$\{[^{}]*\}|\$\([^()]*\)|`[^`]*`|\$\w+|\$[?$#@*!-]|\$\{[^}]*|\$\([^)]*|~")
_ESCAPES = dict(zip('ntrabfv0\\"/', '\n\t\r\a\b\f\v\0\\"/', strict=True))
_CHARSETS = ("latin-1", "cp1252", "cp437", "ascii")
_SEEN_AS = str.maketrans({"\n": "↵", "\r": "␍", "\t": "⇥"})


@dataclass(frozen=True)
class Piece:
    """One place where two texts differ."""

    how: How
    sent: str
    arrived: str

    @property
    def words(self) -> str:
        """``from -> to``, short."""
        return " -> ".join(_named(text) for text in (self.sent, self.arrived))


@dataclass(frozen=True)
class Change:
    """How what arrived differs from what should have."""

    hows: tuple[How, ...]
    """Without repetition, the worst first."""
    diff: str
    """One line for a person: ``[-sent-]{+arrived+}``, bounded."""
    characters: int
    """Sent characters that are gone or others, or added ones where those are more."""
    share: float
    """``characters`` relative to the length of what was sent."""
    pieces: tuple[Piece, ...] = ()
    said: str = ""
    """The first line of what an outer shell or a parser said."""

    @property
    def rank(self) -> tuple[int, float]:
        """The smaller the worse: nothing arrives, then what is cut off or split up, then by the changed share."""
        place = 0 if _LOUD & set(self.hows) else 1 if _SILENT & set(self.hows) else 2
        return place, -self.share


def change(sent: str, arrived: Sequence[str], *, refused: str = "", said: str = "", ended: bool = True) -> Change | None:
    """How the texts that the innermost program was given differ from the one that was sent; None: they do not.

    Args:
        sent: what should arrive.
        arrived: one text per start of the program; none where it was never started.
        refused: why a parser on the way gave the text up.
        said: standard error of what is in front of the program.
        ended: False where that ran on until it was ended.
    """
    first_line = _telling_line(refused or said)
    if refused or not arrived:
        how: How = "refused by a parser" if refused else "nothing arrives" if ended else "runs on"
        return Change((how,), f"[-{shortened(visible(sent), LONGEST_DIFF)}-]", len(sent), 1.0, said=first_line)
    if len(arrived) > 1:
        return _several(sent, arrived, first_line)
    if same(sent, arrived[0]):
        return None
    kept, found = sent.rstrip("\n"), arrived[0].rstrip("\n")
    if kept == found:
        kept, found = sent, arrived[0]
    pieces = tuple(differences(kept, found))
    characters = sum(max(len(piece.sent), len(piece.arrived)) for piece in pieces)
    share = min(1.0, characters / max(1, len(sent)))
    return Change(_ordered(piece.how for piece in pieces), _diff(kept, found), characters, share, pieces, first_line)


def same(sent: str, arrived: str) -> bool:
    """Whether two texts are the same but for line ends at their end."""
    kept, found = sent.rstrip("\n"), arrived.rstrip("\n")
    if kept != found:
        return False
    escaped = (len(kept) - len(kept.rstrip("\\"))) % 2 == 1
    return not escaped or (len(kept) == len(sent)) == (len(found) == len(arrived))


def same_words(sent: str, arrived: Sequence[str]) -> bool:
    """Whether both are plain words for a shell, and the same ones: only the quotes differ."""
    words = plain_words(sent)
    return words is not None and len(arrived) == 1 and plain_words(arrived[0]) == words


def wrapped_wrongly(how: How, text: str, said: str) -> Change:
    """The change of a text that arrives as it was, with its wrapper inside it, or with a wrapper that breaks its syntax."""
    return Change((how,), shortened(visible(text), LONGEST_DIFF), 0, 0.0, said=said)


def differences(sent: str, arrived: str) -> Iterator[Piece]:
    """The places where two texts differ, in order."""
    blocks = _blocks(sent, arrived)
    for number, (gone, come) in enumerate(blocks):
        if gone == come:
            continue
        yield Piece(_how(gone, come, last=number == len(blocks) - 1), gone, come)


def visible(text: str) -> str:
    """Untrusted text as one line, line ends as ``↵``, carriage returns as ``␍``, tabs as ``⇥``."""
    return one_line(text.translate(_SEEN_AS))


def shortened(text: str, longest: int) -> str:
    """At most ``longest`` characters, the middle left out."""
    if len(text) <= longest:
        return text
    head = (longest - 3) * 2 // 3
    return f"{text[:head]}...{text[len(text) - (longest - 3 - head) :]}"


def _telling_line(said: str) -> str:
    """The first line that says something; of a traceback the last."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if not lines:
        return ""
    return lines[-1] if lines[0].startswith("Traceback (most recent call last)") else lines[0]


def _named(text: str) -> str:
    """A piece by itself: where it is only blanks, or nothing, that is said."""
    return visible(text).replace(" ", "␣" if text.isspace() else " ") or "(nothing)"


def _several(sent: str, arrived: Sequence[str], said: str) -> Change:
    shown = " ".join(f"{{+{number}:+}} {visible(text)}" for number, text in enumerate(arrived, 1))
    together = "\n".join(arrived)
    pieces = tuple(differences(sent, together)) if not same(sent, together) else ()
    characters = sum(max(len(piece.sent), len(piece.arrived)) for piece in pieces)
    hows = _ordered(["several programs", *(piece.how for piece in pieces)])
    return Change(hows, shortened(shown, LONGEST_DIFF), characters, min(1.0, characters / max(1, len(sent))), pieces, said)


def _ordered(hows: Iterable[How]) -> tuple[How, ...]:
    found = set(hows)
    return tuple(how for how in HOWS if how in found)


def _blocks(sent: str, arrived: str) -> list[tuple[str, str]]:
    """Both texts cut into pairs of pieces that are equal or replace each other, in order."""
    start = _shared(sent, arrived)
    end = _shared(sent[start:][::-1], arrived[start:][::-1])
    middles = sent[start : len(sent) - end], arrived[start : len(arrived) - end]
    # Whole words on both sides of the difference: `$HO[-ME-]` says less than `[-$HOME-]`.
    back = re.search(r"[\w$\\&%~]{0,40}\Z", sent[max(0, start - 40) : start])
    lead = len(back[0]) if back else 0
    tail = ""
    if end:
        ahead = re.match(r"\w{0,40}", sent[len(sent) - end :])
        tail = ahead[0] if ahead else ""
    head = sent[start - lead : start]
    before, after = sent[: start - lead], sent[len(sent) - end + len(tail) :]
    found = [(before, before)] if before else []
    found += _matched(head + middles[0] + tail, head + middles[1] + tail)
    return [*found, (after, after)] if after else found


def _shared(one: str, other: str) -> int:
    """How many first characters are the same."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _matched(sent: str, arrived: str) -> list[tuple[str, str]]:
    for cut in (_tokens, _lines):
        tokens, others = cut(sent), cut(arrived)
        if _pairs(tokens, others) <= _MOST_PAIRS:
            matcher = SequenceMatcher(None, tokens, others, autojunk=False)
            return [("".join(tokens[low:high]), "".join(others[start:end])) for _, low, high, start, end in matcher.get_opcodes()]
    return [(sent, arrived)]


def _tokens(text: str) -> list[str]:
    return [found[0] for found in _TOKEN.finditer(text)]


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _pairs(tokens: Sequence[str], others: Sequence[str]) -> int:
    """What a comparison costs: as often as a token stands on one side, times how often on the other."""
    counts = Counter(others)
    return sum(times * counts[token] for token, times in Counter(tokens).items())


def _how(gone: str, come: str, *, last: bool) -> How:
    """What happened to one piece. The first rule that explains it counts."""
    substance = _EXPANSION.sub("", gone).strip("\"'\\ \t\r\n;")
    if last and not come and substance:
        return "cut off"
    for how, explains in _RULES:
        if explains(gone, come):
            return how
    if _EXPANSION.search(gone) and not any(found in come for found in _EXPANSION.findall(gone)):
        return "expanded"
    return "dropped" if not come else "added" if not gone else "replaced"


def _without(characters: str, text: str) -> str:
    return text.translate(str.maketrans("", "", characters))


def _resolved(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), text, flags=re.DOTALL)


def _as_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _blank(gone: str, come: str) -> bool:
    return not (gone + come).strip(" \t\r\n")


def _recoded(gone: str, come: str) -> bool:
    if not gone.isascii() or not come.isascii():
        data = gone.encode("utf-8", "surrogatepass")
        known = {data.decode(charset, errors) for charset in _CHARSETS for errors in ("replace", "ignore")}
        return come in known or "\ufffd" in come or come.strip("\ufeff") == gone or gone.casefold() == come.casefold()
    return False


_RULES: tuple[tuple[How, Callable[[str, str], bool]], ...] = (
    ("line ends", lambda gone, come: gone.replace("\\\n", "") == come and "\\\n" in gone),
    ("line ends", lambda gone, come: gone.replace("\r", "") == come.replace("\r", "")),
    ("line ends", lambda gone, come: _blank(gone, come) and ("\n" in gone + come or "\r" in gone + come)),
    ("white space", _blank),
    ("escapes resolved", lambda gone, come: "\\" in gone and _resolved(gone) == come),
    ("escapes added", lambda gone, come: "\\" in come and "\\" not in gone and '"' not in gone and _as_json(gone) == come),
    ("backslashes lost", lambda gone, come: len(come) < len(gone) and _without("\\", gone) == _without("\\", come)),
    ("backslashes added", lambda gone, come: len(come) > len(gone) and _without("\\", gone) == _without("\\", come)),
    ("quotes lost", lambda gone, come: len(come) < len(gone) and _without("\"'", gone) == _without("\"'", come)),
    ("quotes added", lambda gone, come: len(come) >= len(gone) and _without("\"'", gone) == _without("\"'", come)),
    ("entities decoded", lambda gone, come: "&" in gone and html.unescape(gone) == come),
    ("entities encoded", lambda gone, come: "&" in come and html.unescape(come) == gone),
    ("percent signs decoded", lambda gone, come: gone != come and come in (unquote(gone), unquote_plus(gone))),
    ("encoding", _recoded),
)  # fmt: skip


def _diff(sent: str, arrived: str) -> str:
    parts: list[str] = []
    blocks = _blocks(sent, arrived)
    for number, (gone, come) in enumerate(blocks):
        if gone == come:
            parts.append(_context(visible(gone), first=number == 0, last=number == len(blocks) - 1))
        else:
            parts += [f"[-{shortened(visible(gone), _LONGEST_PIECE)}-]"] if gone else []
            parts += [f"{{+{shortened(visible(come), _LONGEST_PIECE)}+}}"] if come else []
    text = "".join(parts)
    return text if len(text) <= LONGEST_DIFF else text[: LONGEST_DIFF - 3] + "..."


def _context(text: str, *, first: bool, last: bool) -> str:
    """Of an unchanged piece only what stands near to a change."""
    if len(text) <= 2 * _CONTEXT + 3:
        return text
    head = "" if first else text[:_CONTEXT]
    return f"{head}...{'' if last else text[-_CONTEXT:]}"
