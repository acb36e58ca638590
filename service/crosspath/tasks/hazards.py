"""Hazards: what in a payload means something to a shell or to a parser on the way, and how to write it.

A hazard is a tag that results are sliced by, so it has to be there: ``found_in`` sees it in a text. ``atoms`` are ways to put it
into one, for payloads that are drawn afresh; each of them also bites between double quotes where the hazard can.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Hazard:
    """``pattern`` finds it in a payload; ``atoms``: words that hold it (none: it is a matter of how words are joined)."""

    summary: str
    pattern: re.Pattern[str]
    atoms: tuple[str, ...] = ()


def _hazard(summary: str, pattern: str, *atoms: str) -> Hazard:
    return Hazard(summary, re.compile(pattern), atoms)


HAZARDS: Mapping[str, Hazard] = MappingProxyType(
    {
        "apostrophe": _hazard("an apostrophe", "'", "it's", "don't", "O'Neil", "isn't", "'twas", "we're"),
        "double-quote": _hazard("double quotes", '"', '"now"', '"so called"', '3"', '"', 'say "yes"', '""'),
        "dollar": _hazard("a dollar sign", r"\$", "$5.00", "$HOME", "${USER}", "$1", "$PATH", "US$9", "$$"),
        "backtick": _hazard("backticks", "`", "`true`", "`id -u`", "`date`", "`echo hi`"),
        "backslash": _hazard("a backslash", r"\\", r"C:\new", r"\\host", r"\n", r"\t\\", r"a\\b", r"end\\"),
        "bang": _hazard("an exclamation mark", "!", "wow!", "!!", "!1", "stop!now"),
        "newline": _hazard("a line break", "\n"),
        "glob": _hazard("a pattern", r"[*?]|\[[^\]]+\]", "*", "*.log", "what?", "[a-z]*", "file?", "[0-9]"),
        "leading-dash": _hazard("a dash in front", "(?m)^-", "-n", "-rf", "--help", "-e", "--"),
        "percent": _hazard("a percent sign", "%", "100%", "%s", "%d", "%n", "5%off"),
        "ampersand": _hazard("an ampersand", "&", "&", "you & me", "R&D", "&&", "a&b"),
        "semicolon": _hazard("a semicolon", ";", "one;two", ";", "end;", ";;"),
        "hash": _hazard("a hash sign", "#", "#1", "# note", "C#", "#!", "a#b"),
        "tilde": _hazard("a tilde", "~", "~", "~root", "~5", "~+"),
        "braces": _hazard("braces", "[{}]", "{a,b}", "{1..3}", "{}", "{{x}}", "{x}y"),
        "redirect": _hazard("a redirection or a pipe", "[<>|]", ">out", "<in", "a|b", ">>", "<<EOF"),
        "non-ascii": _hazard("a character outside of ASCII", r"[^\x00-\x7f]", "été", "naïve", "Größe", "日本", "señor", "œuvre"),
        "combining": _hazard("a combining character", "[\u0300-\u036f]", "cafe\u0301", "u\u0308ber", "n\u0303", "A\u030a"),
        "blank": _hazard("a blank at an end, or two in a row", "(?m)^ | $|  "),
        "tab": _hazard("a tab", "\t"),
        "carriage-return": _hazard("a carriage return", "\r"),
    }
)
"""Tag -> hazard. A user's own tasks may have any other tags."""


def found_in(text: str) -> frozenset[str]:
    """The tags of all hazards that a payload holds."""
    return frozenset(tag for tag, hazard in HAZARDS.items() if hazard.pattern.search(text))
