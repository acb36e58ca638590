"""Wordings of a contract in words and tables: how far they move compensation, and which of them did best."""

from collections.abc import Iterator, Mapping, Sequence

from crosspath.analysis.wording import NONE, p_text, percent, points, span, table, with_interval
from crosspath.escaping import markdown
from crosspath.types import Estimate, WordingSpread

_NOTES = """\
- All wordings say the same about the same path. Each is a generation of its own: a difference holds the chance of both draws.
  Differences are paired by task, for the population of families, 95 % each, not simultaneous over the wordings.
- The spread (highest - lowest compensation) describes what was seen and estimates nothing. It is never negative, holds the chance
  of every draw, and grows with the number of wordings: read it beside the compensation, not against 0.
- No compensation stands where nothing passes on the reference, where the control does not hold, or where another path was told.
"""
_NUMBERS = {2: "two", 3: "three"}


def beside_compensation(found: Sequence[WordingSpread]) -> dict[str, str]:
    """Candidate -> what stands beside its compensation: ``three wordings: +52.0 to +64.0``."""
    return {candidate: text for spread in found if (text := _range(spread)) for candidate in spread.candidates.values()}


def _range(spread: WordingSpread) -> str:
    if not spread.common:
        return ""
    low, high = points(min(spread.common.values())), points(max(spread.common.values()))
    over = "" if _complete(spread) else f" over the {spread.tasks} tasks that all were scored on"
    number = _NUMBERS.get(len(spread.common), str(len(spread.common)))
    return f"{number} wordings: {f'{low} each' if low == high else f'{low} to {high}'}{over}"


def _complete(spread: WordingSpread) -> bool:
    """Whether the compensations over the common tasks are those that stand elsewhere."""
    return all(points(spread.common[name]) == points(spread.compensation[name].value) for name in spread.common)


def wording_lines(found: Sequence[WordingSpread]) -> list[str]:
    """One plain sentence for each group of candidates, for a terminal."""
    return [_sentence(spread) for spread in found]


def _sentence(spread: WordingSpread) -> str:
    name = f"{_group(spread)}, told about {spread.discloses}"
    if spread.spread is None:
        rates = ", ".join(f"{percent(rate.value)} ({contract})" for contract, rate in spread.rates.items())
        return f"{name}: compensation can't be compared; pass rates {rates}."
    if points(spread.spread) == "0.0":
        return f"{name}: the same compensation in every wording."
    ends = [f"{points(spread.common[end(spread)])} ({end(spread)})" for end in (_lowest, _highest)]
    return f"{name}: compensation spans {100 * spread.spread:.1f} points, from {ends[0]} to {ends[1]}."


def _lowest(spread: WordingSpread) -> str:
    return min(spread.common, key=spread.common.__getitem__)


def _highest(spread: WordingSpread) -> str:
    return max(spread.common, key=spread.common.__getitem__)


def _group(spread: WordingSpread) -> str:
    """The first candidate stands for its group."""
    first, *others = spread.candidates.values()
    return f"{first} and {len(others)} other wording{'' if len(others) == 1 else 's'}"


# -- report --------------------------------------------------------------------------------------------------------------


def wording_section(found: Sequence[WordingSpread]) -> str:
    """A section of the report in Markdown; empty where no two candidates differ in their wording alone."""
    if not found:
        return ""
    parts = (f"{markdown(_sentence(spread))}\n\n{_table(spread)}\n" for spread in found)
    return f"## Wordings of contracts\n\n{''.join(parts)}{_NOTES}"


def _table(spread: WordingSpread) -> str:
    first = next(iter(spread.candidates))
    head = [
        "contract", "candidate", "NN rate, 95 %", "missing", "unstable", "compensation, these tasks", "families, 95 %",
        f"difference to {first}, 95 %", "n", "worst to best", "p",
    ]  # fmt: skip
    return table(head, [_row(spread, contract) for contract in spread.candidates])


def _row(spread: WordingSpread, contract: str) -> list[object]:
    rate, difference = spread.rates[contract], spread.differences.get(contract)
    effects = (spread.compensation.get(contract), spread.population.get(contract))
    compared = [NONE] * 4
    if difference:
        bounds = span(difference.worst, difference.best, signed=True)
        compared = [with_interval(difference, signed=True), str(difference.n), bounds, p_text(difference)]
    return [
        contract, spread.candidates[contract], with_interval(rate, signed=False), rate.missing, rate.unstable,
        *(with_interval(effect, signed=True) if effect else NONE for effect in effects), *compared,
    ]  # fmt: skip


# -- rows ----------------------------------------------------------------------------------------------------------------

_ESTIMATE = ("value", "low", "high", "n", "missing", "unstable", "worst", "best", "p_value", "estimand", "method")
_PARTS = ("rate", "compensation", "population")
WORDING_COLUMNS = (
    "contract", "candidate", "first", "discloses", "transport",
    *(f"{name}{part}" for name in _PARTS for part in ("", "_low", "_high", "_n")),
    *_ESTIMATE, "common", "spread", "tasks",
)  # fmt: skip


def wording_rows(found: Sequence[WordingSpread]) -> list[dict[str, object]]:
    """One flat row per wording, as ``WORDING_COLUMNS``, for a DataFrame.

    ``rate`` is NN (0 to 1), ``compensation`` for these tasks and ``population`` for families (-1 to 1), ``value`` the rate less
    that of the contract ``first`` (-1 to 1; None for that one), ``common`` the compensation over the ``tasks`` that count in all.
    """
    return [row for spread in found for row in _rows(spread)]


def _rows(spread: WordingSpread) -> Iterator[dict[str, object]]:
    first, empty = next(iter(spread.candidates)), dict.fromkeys(WORDING_COLUMNS)
    tables: dict[str, Mapping[str, Estimate]] = dict(
        zip(_PARTS, (spread.rates, spread.compensation, spread.population), strict=True)
    )
    for contract, candidate in spread.candidates.items():
        who = {"contract": contract, "candidate": candidate, "first": first, "discloses": spread.discloses}
        parts = {key: value for name in _PARTS for key, value in _part(name, tables[name].get(contract)).items()}
        difference = spread.differences.get(contract)
        compared = {field: getattr(difference, field) for field in _ESTIMATE} if difference else {}
        common = {"common": spread.common.get(contract), "spread": spread.spread, "tasks": spread.tasks}
        yield {**empty, **who, "transport": spread.transport, **parts, **compared, **common}


def _part(name: str, estimate: Estimate | None) -> dict[str, object]:
    if estimate is None:
        return {}
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high, f"{name}_n": estimate.n}
