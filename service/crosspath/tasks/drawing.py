"""Payloads drawn afresh from a seed: the same seed gives the same payloads, on every machine and in every version of Python.

A *shape* says what is drawn (a word, a line, a file name ...), the hazards of a variant say what it must hold. Every hazard is
there in every payload that may carry it.
"""

import hashlib
import hmac
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from crosspath.tasks.hazards import HAZARDS
from crosspath.tasks.places import Place, as_integer, as_list, as_object, as_text, as_texts, known_names

_T = TypeVar("_T")
_MAX_NAME_BYTES = 200
_VOCABULARY = """
amber anchor apple april arrow aspen autumn bacon badge bamboo banjo basil beacon berry birch bishop blanket bonfire
bottle breeze bridge bronze bucket butter cabin cactus candle canyon carbon cargo castle cedar cherry cider circle
citrus clover cobalt comet copper coral cotton cricket crystal dahlia daisy dancer delta denim desert diamond dolphin
domino dragon eagle ember emerald falcon feather fennel ferry fiddle fjord flint forest fossil garden garlic ginger
glacier goblet granite guitar hammer harbor harvest hazel hermit honey husky iceberg indigo island ivory jacket
jasmine jigsaw jungle juniper kayak kettle kiosk koala ladder lagoon lantern lemon lilac linen lizard lobster lotus
magnet mango maple marble meadow melon mirror mosaic mustard nectar needle nickel nutmeg oasis ocean olive onion
orchid otter oyster paddle panda paper parsley pebble pepper piano picnic pillow pistol planet plum pocket poppy
prairie pumpkin puzzle quartz quiver rabbit radish raven ribbon river rocket saddle saffron sailor salmon sandal
sapphire scarf shadow silver sketch spider spruce stable summit sunset swallow tango temple thistle thunder tiger
timber tomato topaz trumpet tulip tundra turnip umber valley vanilla velvet violet walnut whistle willow window winter
yellow zephyr zigzag
"""
_WORDS = tuple(_VOCABULARY.split())


class Draw:
    """A stream of choices: HMAC-SHA-256 of a counter, keyed by the seed, apart for each ``purpose``."""

    def __init__(self, seed: str, purpose: str) -> None:
        self._key = hmac.digest(seed.encode(), purpose.encode(), hashlib.sha256)
        self._count = 0
        self._taken: set[str] = set()

    def below(self, bound: int) -> int:
        """0 to ``bound`` - 1, each as likely as the others to one in 2^200."""
        self._count += 1
        block = hmac.digest(self._key, self._count.to_bytes(8, "big"), hashlib.sha256)
        return int.from_bytes(block, "big") % bound

    def between(self, low: int, high: int) -> int:
        """``low`` to ``high``, both included."""
        return low + self.below(high - low + 1)

    def choice(self, values: Sequence[_T]) -> _T:
        """One of them."""
        return values[self.below(len(values))]

    def shuffled(self, values: Iterable[_T]) -> list[_T]:
        """All of them in any order."""
        rest = list(values)
        return [rest.pop(self.below(len(rest))) for _ in range(len(rest))]

    def word(self) -> str:
        """A plain word that was not drawn before, so that no two payloads of a task are mistaken for each other."""
        while (word := self.choice(_WORDS)) in self._taken and len(self._taken) < len(_WORDS):
            continue
        self._taken.add(word)
        return word


def draw(shapes: Mapping[str, object], hazards: Collection[str], stream: Draw, place: Place) -> dict[str, object]:
    """A value for each name.

    Raises:
        ConfigError: an unknown shape, option or hazard, or a hazard of the variant that no payload may carry.
    """
    for tag in hazards:
        if tag not in HAZARDS:
            raise place.refuse(f"payloads can't be drawn for the hazard {tag!r}; {known_names(HAZARDS, tag)}")
    carried: set[str] = set()
    found: dict[str, object] = {}
    for name, shape in shapes.items():
        fields = as_object(shape, place.at(name))
        found[name] = _value(fields, hazards, stream, place.at(name))
        carried |= _carries(fields, hazards, place.at(name))
    if missing := sorted(set(hazards) - carried):
        raise place.refuse(f"no payload may carry the hazard {missing[0]!r}; let a line, text, name or list carry it")
    return found


def _value(fields: dict[str, object], hazards: Collection[str], stream: Draw, place: Place) -> object:
    kind = fields.get("shape")
    if not isinstance(kind, str) or kind not in _SHAPES:
        raise place.at("shape").refuse(f"unknown shape {kind!r}; {known_names(_SHAPES, str(kind))}")
    options, make = _SHAPES[kind]
    as_object(fields, place, ("shape", *options))
    return make(fields, sorted(_carries(fields, hazards, place)), stream, place)


def _carries(fields: Mapping[str, object], hazards: Collection[str], place: Place) -> set[str]:
    """Which of the hazards a payload of this shape has to hold."""
    kind = fields.get("shape")
    if kind == "list":
        return _carries(as_object(fields.get("of"), place.at("of")), hazards, place.at("of"))
    possible = {"text": set(HAZARDS), "line": set(HAZARDS) - {"newline"}, "name": set(HAZARDS) - {"newline"}}.get(
        str(kind), set()
    )
    if "carries" in fields:
        possible = set(as_texts(fields["carries"], place.at("carries")))
    if "without" in fields:
        possible -= set(as_texts(fields["without"], place.at("without")))
    for tag in possible:
        if tag not in HAZARDS:
            raise place.refuse(f"unknown hazard {tag!r}; {known_names(HAZARDS, tag)}")
    return possible & set(hazards)


def _word(fields: dict[str, object], _hazards: Sequence[str], stream: Draw, place: Place) -> str:
    return stream.word() + as_text(fields.get("ending", ""), place.at("ending"))


def _number(fields: dict[str, object], _hazards: Sequence[str], stream: Draw, place: Place) -> int:
    low = as_integer(fields.get("from", 1), place.at("from"), -(2**53), 2**53)
    return stream.between(low, as_integer(fields.get("to", 99), place.at("to"), low, 2**53))


def _choice(fields: dict[str, object], _hazards: Sequence[str], stream: Draw, place: Place) -> object:
    values = as_list(fields.get("of"), place.at("of"))
    if not values:
        raise place.at("of").refuse("give at least one value")
    return stream.choice(values)


def _token(fields: dict[str, object], _hazards: Sequence[str], stream: Draw, place: Place) -> str:
    length = as_integer(fields.get("length", 20), place.at("length"), 1, 200)
    return "".join(stream.choice("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789") for _ in range(length))


def _line(fields: dict[str, object], hazards: Sequence[str], stream: Draw, place: Place) -> str:
    words = as_integer(fields.get("words", 3), place.at("words"), 1, 20)
    return _joined([stream.word() for _ in range(words)], hazards, stream, as_text(fields.get("glue", " "), place.at("glue")))


def _text(fields: dict[str, object], hazards: Sequence[str], stream: Draw, place: Place) -> str:
    """Two or more lines where ``newline`` is among the hazards; each hazard stands in one of them."""
    if "newline" not in hazards:
        return _line({}, hazards, stream, place)
    count = as_integer(fields.get("lines", 3), place.at("lines"), 2, 20)
    shares = _shares([tag for tag in hazards if tag != "newline"], count, stream)
    return "\n".join(_line({"words": 2}, share, stream, place) for share in shares)


def _name(fields: dict[str, object], hazards: Sequence[str], stream: Draw, place: Place) -> str:
    """A file name: no slash, not too long; plain words are joined by a dash, hostile ones by a blank."""
    ending = as_text(fields.get("ending", ""), place.at("ending"))
    glue = as_text(fields.get("glue", " " if hazards else "-"), place.at("glue"))
    words = [stream.word() for _ in range(as_integer(fields.get("words", 2), place.at("words"), 1, 5))]
    lines = _joined(words, [tag for tag in hazards if tag != "newline"], stream, glue)
    if "newline" in hazards:
        lines += "\n" + stream.word()
    if len((lines + ending).encode()) > _MAX_NAME_BYTES or "/" in lines:
        raise place.refuse("gives a name that is too long or holds a slash")
    return lines + ending


def _list(fields: dict[str, object], hazards: Sequence[str], stream: Draw, place: Place) -> list[object]:
    """``count`` values; each hazard stands in one of them."""
    count = as_integer(fields.get("count", 3), place.at("count"), 1, 20)
    of = as_object(fields.get("of"), place.at("of"))
    return [_value(of, share, stream, place.at("of")) for share in _shares(hazards, count, stream)]


def _shares(hazards: Sequence[str], count: int, stream: Draw) -> list[list[str]]:
    shares: list[list[str]] = [[] for _ in range(count)]
    for number, tag in enumerate(stream.shuffled(hazards)):
        shares[number % count].append(tag)
    return stream.shuffled(shares)


def _joined(words: Sequence[str], hazards: Sequence[str], stream: Draw, glue: str) -> str:
    """Words with one atom of each hazard between them; never white space at an end unless that is the hazard."""
    atoms = [_atom(tag, hazards, stream) for tag in hazards if HAZARDS[tag].atoms and tag != "leading-dash"]
    tokens = stream.shuffled([*words, *atoms])
    if "leading-dash" in hazards:
        tokens.insert(0, _atom("leading-dash", hazards, stream))
    elif tokens[0].startswith("-"):
        tokens.insert(0, stream.word())
    text = glue.join(tokens)
    for tag, joint in (("blank", "  "), ("tab", "\t"), ("carriage-return", "\r")):
        if tag in hazards:
            text += joint + stream.word()
    return text


def _atom(tag: str, hazards: Sequence[str], stream: Draw) -> str:
    """One way to write a hazard that brings none that is not asked for."""
    wanted = {*hazards, "blank"}
    clean = [atom for atom in HAZARDS[tag].atoms if all(t in wanted or not h.pattern.search(atom) for t, h in HAZARDS.items())]
    return stream.choice(clean or HAZARDS[tag].atoms)


_CARRIED = ("carries", "without")
_Make = Callable[[dict[str, object], Sequence[str], Draw, Place], object]
_SHAPES: Mapping[str, tuple[tuple[str, ...], _Make]] = {
    "word": (("ending",), _word),
    "number": (("from", "to"), _number),
    "choice": (("of",), _choice),
    "token": (("length",), _token),
    "line": (("words", "glue", *_CARRIED), _line),
    "text": (("lines", *_CARRIED), _text),
    "name": (("words", "ending", "glue", *_CARRIED), _name),
    "list": (("of", "count"), _list),
}
"""Shape -> its options and how it is made."""
SHAPES = tuple(_SHAPES)
