"""From a contract's Markdown file to its record."""

from collections.abc import Collection
from pathlib import PurePath
from typing import cast

from crosspath.contracts.tools import ReadFile, parse_tools
from crosspath.front_matter import Place, split
from crosspath.types import TELL, Contract, Shape, is_reserved

_FIELDS = ("name", "version", "shape", "discloses", "reference", "field", "tools", "abstain")
_SHAPES = ("text", "json", "tools")
_SHORTEST_MARKER = 4
"""Characters; a shorter one begins commands that a model may mean."""


def parse_contract(text: str, source: str, read: ReadFile | None = None) -> Contract:
    """The contract of a Markdown file; its name is ``name`` in the front matter, else the file's name without suffix.

    ``read`` returns the text of a schema file that ``tools`` names (relative to the contract); without it schemas are inline.

    Raises:
        ConfigError: one line with the file, the field, the value and what would be right.
    """
    front, body = split(text, source)
    place = Place(source)
    found = place.mapping(front, _FIELDS)
    shape = cast("Shape", place.inside("shape").choice(found.get("shape", "text"), _SHAPES))
    _refuse_misplaced(found.keys(), shape, place)
    name = place.inside("name").text(found.get("name", PurePath(source).stem))
    if is_reserved(name):
        raise place.inside("name").wrong(f"{name!r} is for contracts that are generated ({TELL}:PATH); choose another")
    discloses = place.inside("discloses").text(found.get("discloses", "raw"))
    field = place.inside("field").text(found.get("field", "command"))
    return Contract(
        name=name,
        version=place.inside("version").version(found.get("version", "1")),
        shape=shape,
        discloses=discloses,
        reference=_reference(found.get("reference"), name, discloses, place.inside("reference")),
        field=field,
        tools=parse_tools(found.get("tools"), place.inside("tools"), read) if shape == "tools" else (),
        abstain=_abstain(found["abstain"], shape, field, body, place.inside("abstain")) if "abstain" in found else None,
        text=body,
    )


def _refuse_misplaced(fields: Collection[str], shape: Shape, place: Place) -> None:
    for field, wanted in (("field", "json"), ("tools", "tools")):
        if field in fields and shape != wanted:
            raise place.inside(field).wrong(f"has a meaning only with shape: {wanted}")


def _abstain(value: object, shape: Shape, field: str, body: str, place: Place) -> str:
    """How a reply declines: the beginning of its first line, or for ``json`` the name of its only field."""
    form = place.text(value)
    if form != form.strip() or not form.isprintable():
        raise place.wrong(f"{form!r} must be one line of printable text, with no blank at either end")
    if shape == "json" and form == field:
        raise place.wrong(f"{form!r} is the field of the shell text; declining needs one of its own")
    if shape != "json" and (len(form) < _SHORTEST_MARKER or form.startswith("#")):
        raise place.wrong(f"{form!r} could begin a command; take at least {_SHORTEST_MARKER} characters and no shell comment")
    if form not in body:
        raise place.wrong(f"{form!r} does not stand in the text: a model can't use a form that it was not told")
    return form


def _reference(value: object, name: str, discloses: str, place: Place) -> str:
    if value is None and discloses != "raw":
        raise place.wrong("is missing: name the contract of the same shape that discloses only the raw path")
    return place.text(name if value is None else value)
