"""JSON lines, strictly: one object a line, no repeated keys, no NaN; a complaint names file and line."""

import json
from collections.abc import Iterator
from typing import NoReturn

from crosspath.errors import ConfigError
from crosspath.tasks.places import Place


def json_lines(text: str, source: str) -> Iterator[tuple[Place, object]]:
    """Each line that is not blank, as its place (``file:line``) and its value.

    Lines end at LF only: U+2028 and its kind may stand inside of a text.

    Raises:
        ConfigError: a line is no JSON, or repeats a key.
    """
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if line.strip():
            place = Place(f"{source}:{number}")
            yield place, _value(line, place)


def _value(line: str, place: Place) -> object:
    try:
        return json.loads(line, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise place.refuse(f"not readable as JSON: {error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise place.refuse("nested too deeply") from None
    except _Refused as error:
        raise place.refuse(str(error)) from None
    except ValueError:
        # Python refuses whole numbers of more than 4300 digits.
        raise place.refuse("not readable as JSON: a number is too long") from None


class _Refused(ConfigError):
    """Raised inside of the JSON reader, which does not know where it stands."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        repeated = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise _Refused(f"the field {repeated!r} stands here twice")
    return result


def _no_constant(name: str) -> NoReturn:
    raise _Refused(f"{name} is no JSON number")
