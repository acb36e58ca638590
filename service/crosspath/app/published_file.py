"""Reading a published table from its JSON file, strictly: what it states besides its counts has to follow from them."""

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import NoReturn, cast, get_args

from crosspath.analysis.published import EFFECTS, published_effects, published_orders
from crosspath.errors import ConfigError
from crosspath.tasks.places import Place, as_integer, as_list, as_object, as_text
from crosspath.types import Published, PublishedModel
from crosspath.types.published import CellName

MAX_BYTES = 10_000_000
MAX_MODELS = 200
MAX_DECIMALS = 4
"""Decimals of a stated effect; arithmetic with an exponent of millions would not end."""
CELLS: tuple[CellName, ...] = get_args(CellName)
_STATED = {f"{effect}_pp": effect for effect in EFFECTS}
_PAIR = ("a", "b", "unambiguous")


def read_published(path: Path, name: str, now: float) -> Published:
    """The table of a JSON file.

    Fields: ``source`` (the citation), ``rows`` of ``model``, ``n`` and ``passed`` by cell; optional in a row ``damage_pp``,
    ``compensation_pp``, ``matched_gap_pp`` and ``contract_effect_pp`` (from -100 to 100, at most 4 decimals), and beside the rows
    ``reversals`` (between RR and NN).

    Raises:
        ConfigError: it can't be read, is not of that form, or states something that does not follow from its counts.
    """
    data = _bytes(path)
    place = Place(str(path))
    fields = as_object(_json(data, place), place, ("source", "rows", "reversals", "meta"))
    published = Published(
        name=name,
        citation=_required_text(fields, "source", place, "where the counts were published"),
        models=_models(_required(fields, "rows", place, "a list with one object per model"), place.at("rows")),
        sha256=hashlib.sha256(data).hexdigest(),
        imported_at=now,
    )
    if "reversals" in fields:
        _check_reversals(published, fields["reversals"], place.at("reversals"))
    return published


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"can't be read ({error.strerror})", source=str(path)) from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"larger than {MAX_BYTES:,} bytes, which no table of counts is", source=str(path))
    return data


def _json(data: bytes, place: Place) -> object:
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_unique, parse_constant=_no_number, parse_float=_decimal)
    except UnicodeDecodeError:
        raise place.refuse("not UTF-8; a JSON object is expected") from None
    except json.JSONDecodeError as error:
        raise place.refuse(f"not readable as JSON: {error.msg} in line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise place.refuse("nested too deeply") from None
    except ValueError as error:
        raise place.refuse(f"not readable as JSON: {error}") from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for number, name in enumerate(names) if name in names[:number])
        raise ValueError(f"the field {twice!r} stands twice in one object")
    return found


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text[:60]} is out of the range of numbers") from None


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _required(fields: Mapping[str, object], name: str, place: Place, what: str) -> object:
    if name not in fields:
        raise place.at(name).refuse(f"missing; it is {what}")
    return fields[name]


def _required_text(fields: Mapping[str, object], name: str, place: Place, what: str) -> str:
    text = as_text(_required(fields, name, place, what), place.at(name))
    if not text.strip():
        raise place.at(name).refuse(f"must not be empty; it is {what}")
    return text


# -- rows ------------------------------------------------------------------------------------------------------------------


def _models(value: object, place: Place) -> tuple[PublishedModel, ...]:
    models: dict[str, PublishedModel] = {}
    rows = as_list(value, place)
    if len(rows) > MAX_MODELS:
        raise place.refuse(f"{len(rows)} rows; at most {MAX_MODELS}, one per model")
    for number, row in enumerate(rows):
        model = _model(row, place.at(number))
        if model.model in models:
            raise place.at(number).at("model").refuse(f"{model.model!r} has a row already; one row per model")
        models[model.model] = model
    if not models:
        raise place.refuse("empty; at least one row with model, n and passed")
    return tuple(models.values())


def _model(row: object, place: Place) -> PublishedModel:
    fields = as_object(row, place, ("model", "n", "passed", "meta", *_STATED))
    n = as_integer(_required(fields, "n", place, "the number of tasks"), place.at("n"), 1, 10**9)
    counts = _required(fields, "passed", place, "the number of passed tasks of each cell")
    model = PublishedModel(
        model=_required_text(fields, "model", place, "the model's name"), n=n, passed=_passed(counts, n, place.at("passed"))
    )
    stated = {effect: _stated(model, fields[name], effect, place.at(name)) for name, effect in _STATED.items() if name in fields}
    return model.model_copy(update={"stated": stated})


def _passed(value: object, n: int, place: Place) -> dict[CellName, int]:
    fields = as_object(value, place, CELLS)
    if not fields:
        raise place.refuse(f"empty; at least one of {', '.join(CELLS)}")
    found: dict[CellName, int] = {}
    for cell in CELLS:
        if cell in fields:
            count = fields[cell]
            if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= n:
                raise place.at(cell).refuse(f"{_shown(count)} is not a whole number of passed tasks from 0 to n = {n}")
            found[cell] = count
    return found


def _stated(model: PublishedModel, value: object, effect: str, place: Place) -> float:
    """An effect as printed: it has to be the one of the counts, rounded to the decimals that are printed."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or not -100 <= value <= 100:
        raise place.refuse(f"{_shown(value)} is not a number of percentage points from -100 to 100")
    printed = Decimal(value)
    exponent = cast(int, printed.as_tuple().exponent)
    if not -MAX_DECIMALS <= exponent <= 2:
        raise place.refuse(f"{_shown(value)} is not a number of percentage points with at most {MAX_DECIMALS} decimals")
    minuend, subtrahend = EFFECTS[effect]
    exact = published_effects(model).get(effect)
    if exact is None:
        raise place.refuse(f"{value} can't follow from the counts: {effect} needs {minuend} and {subtrahend} in passed")
    decimals = max(0, -exponent)
    if abs(Fraction(printed) - 100 * exact) > Fraction(1, 2 * 10**decimals):
        counts = f"({minuend} {model.passed[minuend]} - {subtrahend} {model.passed[subtrahend]}) of {model.n}"
        raise place.refuse(
            f"{value} does not follow from the counts: {counts} is {float(100 * exact):+.{max(1, decimals)}f} points"
        )
    return float(printed)


def _shown(value: object) -> str:
    return (str(value) if isinstance(value, int | Decimal) else json.dumps(value, default=str))[:60]


# -- reversals -------------------------------------------------------------------------------------------------------------


def _check_reversals(published: Published, value: object, place: Place) -> None:
    fields = as_object(value, place, ("comparable_pairs", "strict_reversals", "unambiguous", "pairs", "meta"))
    order = next((one for one in published_orders(published) if one.second == "NN"), None)
    if order is None or order.rankings is None:
        why = order.reason if order else "fewer than two models have RR and NN in passed"
        raise place.refuse(f"can't follow from the counts: {why}")
    found = order.rankings
    counted = {
        "comparable_pairs": found.comparable_pairs,
        "strict_reversals": len(found.reversals),
        "unambiguous": found.unambiguous,
    }
    for name, count in counted.items():
        if name in fields and (isinstance(fields[name], bool) or fields[name] != count):
            raise place.at(name).refuse(f"{_shown(fields[name])} does not follow from the counts of RR and NN: they give {count}")
    if "pairs" in fields:
        pairs = {frozenset((pair.a, pair.b)): pair.unambiguous for pair in found.reversals}
        _check_pairs(pairs, as_list(fields["pairs"], place.at("pairs")), place.at("pairs"))


def _check_pairs(found: Mapping[frozenset[str], bool], stated: list[object], place: Place) -> None:
    seen: set[frozenset[str]] = set()
    for number, one in enumerate(stated):
        here = place.at(number)
        fields = as_object(one, here, _PAIR)
        a, b = (_required_text(fields, name, here, "a model's name") for name in ("a", "b"))
        pair = frozenset((a, b))
        if pair not in found:
            raise here.refuse(f"{a} and {b} are not reversed between RR and NN by the counts")
        if "unambiguous" in fields and fields["unambiguous"] is not found[pair]:
            raise here.at("unambiguous").refuse(f"{_shown(fields['unambiguous'])} does not follow from the counts")
        seen.add(pair)
    for pair in found.keys() - seen:
        raise place.refuse(f"{' and '.join(sorted(pair))} are reversed between RR and NN by the counts, and not listed")
