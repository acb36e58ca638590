"""From a contract's Markdown file to its record."""

from collections.abc import Collection
from pathlib import PurePath
from typing import cast

from crosspath.contracts.tools import ReadFile, parse_tools
from crosspath.front_matter import Place, split
from crosspath.types import Contract, Shape

_FIELDS = ("name", "version", "shape", "discloses", "reference", "field", "tools")
_SHAPES = ("text", "json", "tools")


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
    discloses = place.inside("discloses").text(found.get("discloses", "raw"))
    return Contract(
        name=name,
        version=place.inside("version").version(found.get("version", "1")),
        shape=shape,
        discloses=discloses,
        reference=_reference(found.get("reference"), name, discloses, place.inside("reference")),
        field=place.inside("field").text(found.get("field", "command")),
        tools=parse_tools(found.get("tools"), place.inside("tools"), read) if shape == "tools" else (),
        text=body,
    )


def _refuse_misplaced(fields: Collection[str], shape: Shape, place: Place) -> None:
    for field, wanted in (("field", "json"), ("tools", "tools")):
        if field in fields and shape != wanted:
            raise place.inside(field).wrong(f"has a meaning only with shape: {wanted}")


def _reference(value: object, name: str, discloses: str, place: Place) -> str:
    if value is None and discloses != "raw":
        raise place.wrong("is missing: name the contract of the same shape that discloses only the raw path")
    return place.text(name if value is None else value)
