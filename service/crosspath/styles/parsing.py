"""From a style's Markdown file to its record."""

from pathlib import PurePath

from crosspath.front_matter import Place, split
from crosspath.styles.wrapping import INSTRUCTION
from crosspath.types import RequestStyle

MARKS = ("\u27ea", "\u27eb")
"""They delimit literal text in instructions, and would do so in the words around them, too."""
_FIELDS = ("name", "version", "summary", "pair")


def parse_style(text: str, source: str) -> RequestStyle:
    """The style of a Markdown file; its name is ``name`` in the front matter, else the file's name without suffix.

    Raises:
        ConfigError: one line with the file, the field, the value and what would be right.
    """
    front, body = split(text, source)
    place = Place(source)
    found = place.mapping(front, _FIELDS)
    _require_one_place(body, place.inside("text"))
    name = place.inside("name").text(found.get("name", PurePath(source).stem))
    pair = place.inside("pair").text(found["pair"]) if "pair" in found else None
    if pair == name:
        raise place.inside("pair").wrong(f"{pair!r} is this style itself; name the other one of the pair")
    return RequestStyle(
        name=name,
        version=place.inside("version").version(found.get("version", "1")),
        summary=place.inside("summary").text(found["summary"]) if "summary" in found else "",
        pair=pair,
        text=body,
    )


def _require_one_place(body: str, place: Place) -> None:
    number, lines = body.count(INSTRUCTION), body.split("\n").count(INSTRUCTION)
    if number != 1:
        times = "nowhere" if not number else f"{number} times"
        raise place.wrong(f"holds {INSTRUCTION} {times}; it must stand there once, on a line of its own")
    if not lines:
        raise place.wrong(f"{INSTRUCTION} must stand on a line of its own, with nothing before or after it")
    if any(mark in body for mark in MARKS):
        raise place.wrong("holds U+27EA or U+27EB, which delimit literal text in instructions; leave them out")
