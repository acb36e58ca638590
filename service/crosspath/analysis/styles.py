"""Request styles in words and tables: how far the wording alone moves a score, beside what the path does."""

from collections.abc import Iterator, Sequence

from crosspath.analysis.wording import NONE, p_text, percent, points, span, table, with_interval
from crosspath.escaping import markdown
from crosspath.types import Estimate, StyleSpread

_NOTES = """\
- Each style is a generation of its own: a difference holds the chance of both draws. Differences are paired by task, for the
  population of families, and their intervals are 95 % each, not simultaneous over the styles.
- The spread (highest - lowest rate) describes what was seen and estimates nothing. It is never negative, holds the chance of
  every draw, and grows with the number of styles: read it beside the damage, not against 0.
- No damage stands where the candidate's path is the reference, where nothing passes there, or where the control does not hold.
"""


def style_lines(found: Sequence[StyleSpread]) -> list[str]:
    """One plain sentence or two for each group of candidates, for a terminal."""
    groups: dict[tuple[str, ...], list[StyleSpread]] = {}
    for spread in found:
        groups.setdefault(tuple(spread.candidates.values()), []).append(spread)
    return [" ".join(_sentences(group)) for group in groups.values()]


def _sentences(group: Sequence[StyleSpread]) -> Iterator[str]:
    parts = [f"in {spread.cell} {_moved(spread)}" for spread in group]
    yield f"{_name(group[0])}: {'; '.join([*parts, *_damage(group[0])])}."
    framings = [f"{_framing(spread.framing)} in {spread.cell}" for spread in group if spread.framing]
    if framings:
        yield f"Framed as an exam instead of as production work: {'; '.join(framings)}."


def _name(spread: StyleSpread) -> str:
    """The first candidate stands for its group."""
    first, *others = spread.candidates.values()
    return f"{first} and {len(others)} other request style{'' if len(others) == 1 else 's'}"


def _moved(spread: StyleSpread) -> str:
    """How far the rates lie apart. Ends are named only where nothing was lost: else the rates are over different tasks."""
    if spread.spread is None:
        return "the styles can't be compared, because no task was scored in two of them"
    over = "" if _complete(spread) else f" over the {spread.tasks} tasks that were scored in every style"
    if not over and not spread.spread:
        return f"every style passes {percent(next(iter(spread.rates.values())).value)}"
    moved = f"the pass rate spans {100 * spread.spread:.1f} points"
    return moved + (over or f", from {_end(spread, lowest=True)} to {_end(spread, lowest=False)}")


def _complete(spread: StyleSpread) -> bool:
    return not any(rate.missing or rate.unstable or rate.value is None for rate in spread.rates.values())


def _end(spread: StyleSpread, *, lowest: bool) -> str:
    rates = {style: rate.value for style, rate in spread.rates.items() if rate.value is not None}
    style = (min if lowest else max)(rates, key=rates.__getitem__)
    return f"{percent(rates[style])} ({style})"


def _damage(spread: StyleSpread) -> list[str]:
    values = sorted(damage.value for damage in spread.damage.values() if damage.value is not None)
    if not values:
        return []
    low, high = points(values[0]), points(values[-1])
    return [f"beside them the path: damage {low if low == high else f'{low} to {high}'} points"]


def _framing(estimate: Estimate) -> str:
    if estimate.value is None:
        return "not known"
    interval = span(estimate.low, estimate.high, signed=True)
    if interval == NONE:
        return f"{points(estimate.value)} points ({estimate.method})"
    verdict = "the framing makes a difference" if beyond_zero(estimate) else "no difference is shown"
    return f"{points(estimate.value)} points (95 %: {interval}: {verdict})"


def beyond_zero(estimate: Estimate) -> bool:
    """Whether the interval leaves out zero."""
    return estimate.low is not None and estimate.high is not None and (estimate.low > 0 or estimate.high < 0)


# -- report --------------------------------------------------------------------------------------------------------------


def style_section(found: Sequence[StyleSpread]) -> str:
    """A section of the report in Markdown; empty where no two candidates differ in their style alone."""
    if not found:
        return ""
    sentences = "".join(f"{markdown(line)}\n\n" for line in style_lines(found))
    return f"## Request styles\n\n{sentences}{''.join(_table(spread) for spread in found)}{_NOTES}"


def _table(spread: StyleSpread) -> str:
    first = next(iter(spread.candidates))
    head = [
        "style", "candidate", "rate, 95 %", "missing", "unstable", f"difference to {first}, 95 %", "n", "worst to best", "p",
        "damage, these replies",
    ]  # fmt: skip
    rows = [_row(spread, style) for style in spread.candidates]
    title = f"{_name(spread)}, cell {spread.cell} (told {spread.told}, done {spread.done})"
    framing = f"exam - production: {_evidence(spread.framing)}\n\n" if spread.framing else ""
    return f"{markdown(title)}\n\n{table(head, rows)}\n{framing}"


def _evidence(estimate: Estimate) -> str:
    bounds = span(estimate.worst, estimate.best, signed=True)
    numbers = f"{with_interval(estimate, signed=True)}; n = {estimate.n}; worst to best {bounds}; p {p_text(estimate)}"
    return f"{numbers}; {markdown(estimate.method)}."


def _row(spread: StyleSpread, style: str) -> list[object]:
    rate, difference, damage = spread.rates[style], spread.differences.get(style), spread.damage.get(style)
    compared = [NONE] * 4
    if difference:
        bounds = span(difference.worst, difference.best, signed=True)
        compared = [with_interval(difference, signed=True), str(difference.n), bounds, p_text(difference)]
    return [
        style, spread.candidates[style], with_interval(rate, signed=False), rate.missing, rate.unstable, *compared,
        points(damage.value) if damage else NONE,
    ]  # fmt: skip


# -- rows ----------------------------------------------------------------------------------------------------------------

STYLE_COLUMNS = (
    "cell", "style", "candidate", "first", "rate", "rate_low", "rate_high", "rate_n", "value", "low", "high", "n", "missing",
    "unstable", "worst", "best", "p_value", "estimand", "method", "damage", "spread",
)  # fmt: skip
_ESTIMATE = ("value", "low", "high", "n", "missing", "unstable", "worst", "best", "p_value", "estimand", "method")


def style_rows(found: Sequence[StyleSpread]) -> list[dict[str, object]]:
    """One flat row per cell and style, as ``STYLE_COLUMNS``, for a DataFrame.

    ``rate`` is the style's pass rate (0 to 1), ``value`` its difference to the style ``first`` (-1 to 1; None for that one).
    ``exam`` against ``production`` is a further row, with the style ``exam - production`` and no rate.
    """
    return [row for spread in found for row in _rows(spread)]


def _rows(spread: StyleSpread) -> Iterator[dict[str, object]]:
    first, empty = next(iter(spread.candidates)), dict.fromkeys(STYLE_COLUMNS)
    for style, candidate in spread.candidates.items():
        rate, damage = spread.rates[style], spread.damage.get(style)
        who = {"cell": spread.cell, "style": style, "candidate": candidate, "first": first, "spread": spread.spread}
        rates = {"rate": rate.value, "rate_low": rate.low, "rate_high": rate.high, "rate_n": rate.n}
        yield {**empty, **who, **rates, **_difference(spread.differences.get(style)), "damage": damage and damage.value}
    if spread.framing:
        yield {**empty, "cell": spread.cell, "style": "exam - production", "first": "production", **_difference(spread.framing)}


def _difference(estimate: Estimate | None) -> dict[str, object]:
    return {field: getattr(estimate, field) for field in _ESTIMATE} if estimate else {}
