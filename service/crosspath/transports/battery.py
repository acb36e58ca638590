"""The battery that ``diagnose`` sends through a path: characters in several places, shapes, and what the path reports.

Characters share probes; only where one fails is it taken apart.
"""

import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from crosspath.transports.probes import NOTHING, Place, Probe
from crosspath.transports.shapes import reports, shapes

_NO_QUOTES_NEEDED = re.compile(r"[A-Za-z0-9_.,/:@%+=^-]|[^\x00-\x7f]")
_SPECIAL_IN_DOUBLE_QUOTES = re.compile(r'[\\"$`]')
_CONTROLS = tuple(chr(code) for code in (*range(1, 9), 11, 12, *range(14, 32), 127))
_WIDE: tuple[tuple[str, ...], ...] = (
    ("é", "ß"),
    ("日", "€"),
    ("😀", "𝄞"),
    ("e\u0301", "\ufb01"),
    ("\u0085", "\u00a0", "\u200b", "\u2028"),
    ("\ufeff",),
)
"""Two, three and four bytes; not in normal form; what some take for white space or a line end; a byte order mark."""
_GROUPS: dict[Place, tuple[Sequence[str], ...]] = {
    "single quotes": (
        string.ascii_letters + string.digits, "_-.,:@+=^", "%", "~#*?", "{}[]", "()", "<>", "|&;", "!", "$", "`", "\\", '"',
        (" ", "  "), "\t", "\n", "\r", _CONTROLS, *_WIDE,
    ),
    "double quotes": (
        string.ascii_letters + string.digits, "_-.,:@+=^%", "~#*?{}[]", "()<>|&;", "!", "$`", "\\", '"', "'",
        (" ", "  "), "\t", "\n", "\r", _CONTROLS, tuple(unit for units in _WIDE for unit in units),
    ),
    "no quotes": (
        string.ascii_letters + string.digits, "_-.,:@+=^%", "~#*?{}[]", "()<>|&;", "!", "$`", "\\", "\"'", (" ", "  "), "\t\r",
        _CONTROLS, tuple(unit for units in _WIDE for unit in units),
    ),
}  # fmt: skip
_QUICK: tuple[Sequence[str], ...] = (
    string.ascii_letters + string.digits, "_-.,:@+=^%~#*?{}[]()", "<>|&;!", "$", "`", "\\", '"', " \t", "\n", "éß日€😀",
)  # fmt: skip
WHERE: dict[Place, str] = {
    "single quotes": "between single quotes",
    "double quotes": "between double quotes",
    "no quotes": "outside of quotes (escaped)",
}

WORDS = Probe(
    "control: words", "shapes", "`touch got`", "touch got",
    known=((NOTHING, "not even `touch got` leaves its file in the work directory"),), quick=True,
)  # fmt: skip
REDIRECTION = Probe(
    "control: redirection", "shapes", "output redirected to a file", "echo ab > got",
    known=(("", "output can't be redirected to a file"), ("got=", "output that is redirected is lost")), quick=True,
)  # fmt: skip
PERCENT = Probe("control: percent sign", "shapes", "a percent sign (`printf %s`)", "printf %s ab > got", quick=True)
SINGLE = Probe("control: single quotes", "shapes", "a plain word between single quotes", "touch 'got'", quick=True)
DOUBLE = Probe("control: double quotes", "shapes", "a plain word between double quotes", 'touch "got"', quick=True)
CONTROLS = (WORDS, REDIRECTION, PERCENT, SINGLE, DOUBLE)
"""The forms that the others are written in."""


def battery(*, quick: bool = False) -> tuple[Probe, ...]:
    """All probes but the controls; every name once.

    ``quick``: the short one, of some thirty probes.
    """
    probes = [*characters(quick=quick), *shapes(), *reports()]
    return tuple(probe for probe in probes if not quick or probe.quick)


def hard_probes() -> tuple[Probe, ...]:
    """Those on which encodings fail first, the hardest in front."""
    mixed = ' \\\\ " $HOME `id` !x %41 &lt; {{ x }} {% y %} {# z #} * ~ a  b \\n \\u0041 日 ; | > <b> \t'
    text = Probe("hard: mixed", "shapes", "a text of everything", f"printf %s '{mixed}' > got")
    return (text, *(probe for probe in shapes() if probe.hard))


def padded(length: int) -> Probe:
    """A command of so many characters on one line, which leaves ``got`` with its last ones."""
    command = "; touch got"
    return Probe(
        f"length: {length}", "shapes", f"a command of {length} characters", ": ".ljust(length - len(command), "x") + command
    )


def characters(*, quick: bool = False) -> Iterator[Probe]:
    """Every character in every place, in groups. A file's name keeps them: so they need no redirection. It has no slash."""
    groups: Mapping[Place, Sequence[Sequence[str]]] = {"single quotes": _QUICK} if quick else _GROUPS
    for place, sets in groups.items():
        for units in sets:
            whole = _character(place, tuple(units))
            parts = tuple(_character(place, (unit,)) for unit in units) if len(units) > 1 else ()
            yield replace(whole, parts=parts, quick=quick)


def _character(place: Place, units: tuple[str, ...]) -> Probe:
    command = f"touch {QUOTES[place]('a' + 'm'.join(units) + 'z')}"
    name = f"{place}: {' '.join('+'.join(f'U+{ord(one):04X}' for one in unit) for unit in units)}"
    verb = "expanded" if units == ("$",) else ""
    return Probe(name, "characters", " ".join(units), command, place=WHERE[place], verb=verb, units=units)


def _single_quoted(text: str) -> str:
    return f"'{text}'"


def _double_quoted(text: str) -> str:
    return '"' + _SPECIAL_IN_DOUBLE_QUOTES.sub(r"\\\g<0>", text) + '"'


def _unquoted(text: str) -> str:
    return "".join(one if _NO_QUOTES_NEEDED.match(one) else f"\\{one}" for one in text)


QUOTES: dict[Place, Callable[[str], str]] = {
    "single quotes": _single_quoted,
    "double quotes": _double_quoted,
    "no quotes": _unquoted,
}
"""Place -> how a word is written there."""
