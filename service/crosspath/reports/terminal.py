"""The report for a terminal: all candidates in a table, then a screen each with headline, 2x2, effects, how far trials get.

Plain text of a given width: no colour, no cursor movement. Foreign texts are shown as one line each, whatever they hold.
"""

import io
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from crosspath.analysis.coverage import infeasible_only
from crosspath.analysis.decompose import as_deployed
from crosspath.analysis.wording import NONE, control_line, effect_label, points, span, spend_line, title
from crosspath.escaping import one_line
from crosspath.reports.cause_words import causes_counted
from crosspath.reports.funnel_tables import STAGE_WORDS
from crosspath.reports.headlines import PLACE_WORDS, headlines
from crosspath.reports.lead_table import LEAD_COLUMNS, LEAD_NOTE, lead_rows, rate_words, unranked
from crosspath.reports.published_tables import COLUMNS, published_lines, published_rows
from crosspath.reports.sections import MOST_IN_FULL, about_line, beside_lines, grave_lines, in_short, warning_lines
from crosspath.types import Cell, Decomposition, Effect, Estimate, Facts, Funnel, Headline, Judgement, Losses, Published

Rows = tuple[Sequence[str], list[tuple[str, ...]]]
"""Columns and rows of a table."""
NARROWEST, WIDEST = 40, 160
"""Columns: narrower terminals get lines that wrap, wider ones are not filled."""
_BAR = 24
"""Columns of a bar at most."""
_DRAWN = 96
"""Columns from which on there is room for bars."""


def report_terminal(facts: Facts, judgement: Judgement, width: int, published: Sequence[Published] = ()) -> str:
    """The report in ``width`` columns; every line fits, but for words that are longer.

    ``published``: tables of others that are shown beside what was measured.
    """
    width = max(NARROWEST, min(width, WIDEST))
    blocks = [
        *_opening(facts, judgement, width),
        *_candidates(facts, judgement, width),
        *_published(published, width),
        *_rest(facts, judgement, width),
    ]
    return "\n\n".join(block.rstrip() for block in blocks if block.strip()) + "\n"


# -- opening and end ---------------------------------------------------------------------------------------------------


def _opening(facts: Facts, judgement: Judgement, width: int) -> Iterator[str]:
    head = facts.head
    yield f"{_wrapped(f'crosspath report of {head.id}', width)}\n{_wrapped(about_line(facts), width)}"
    lines = [*grave_lines(judgement, head), *warning_lines(judgement)]
    yield "\n".join(_wrapped(f"! {line}", width, "  ") for line in lines)
    if (rows := lead_rows(judgement)) and not in_short(judgement):
        yield _drawn(width, LEAD_COLUMNS, rows)
        yield "\n".join(_wrapped(line, width, "  ") for line in (LEAD_NOTE, unranked(judgement)) if line)


def _rest(facts: Facts, judgement: Judgement, width: int) -> Iterator[str]:
    yield "\n".join(_wrapped(line, width, "  ") for line in beside_lines(judgement))
    yield _wrapped(f"Spent: {spend_line(judgement.spend)}.", width, "  ")
    name = one_line(facts.head.id)
    yield "\n".join(
        _wrapped(line, width, "  ")
        for line in (
            f"crosspath report {name} --format html --output report.html   the whole report, with figures",
            f"crosspath report {name} --format markdown   the same as Markdown",
        )
    )


def _published(published: Sequence[Published], width: int) -> Iterator[str]:
    for one in published:
        yield _rule(f"published beside it: {one.name}", width)
        yield _wrapped(f"Not measured here, and part of no number above. Source: {one.citation}.", width)
        yield _drawn(width, COLUMNS, published_rows(one))
        yield "\n".join(_wrapped(line, width, "  ") for line in published_lines(one))


# -- candidates --------------------------------------------------------------------------------------------------------------


def _candidates(facts: Facts, judgement: Judgement, width: int) -> Iterator[str]:
    told = {one.candidate: one for one in headlines(facts, judgement)}
    lost = {one.candidate: one for one in judgement.losses}
    shown = () if in_short(judgement) else judgement.decompositions[:MOST_IN_FULL]
    for one in shown:
        yield _rule(title(one), width)
        if one.candidate in told:
            yield _headline(told[one.candidate], width)
        if not infeasible_only(one):
            yield from _details(one, judgement, lost.get(one.candidate), width)
    if rest := len(judgement.decompositions) - len(shown):
        yield _wrapped(f"{rest} candidates are not shown here: crosspath recommend, or the whole report.", width)


def _rule(name: str, width: int) -> str:
    name = one_line(name)
    return f"== {name} {'=' * max(2, width - len(name) - 4)}"


def _headline(headline: Headline, width: int) -> str:
    lines = (headline.sentence, f"How sure: {headline.sure}", f"Next: {headline.next_step}")
    return "\n".join(_wrapped(line, width, "  ") for line in lines)


def _details(one: Decomposition, judgement: Judgement, lost: Losses | None, width: int) -> Iterator[str]:
    yield _drawn(width, *_two_by_two(one))
    yield _wrapped(f"Control: {control_line(one)}.", width, "  ")
    if one.effects:
        yield _drawn(width, *_effects(one), bars=3)
    own = as_deployed(one)
    funnels = [f for f in judgement.funnels if own and (f.candidate, f.cell) == (one.candidate, own.name) and f.attempted]
    for funnel in funnels:
        yield _drawn(width, *_funnel(funnel), bars=2)
    if lost and lost.attempted:
        yield _drawn(width, *_losses(lost), bars=2)


def _two_by_two(one: Decomposition) -> Rows:
    return (
        ("told", *(f"done on {_names(one, side, 1)}" for side in "RN")),
        [
            (_names(one, told, 0), *(_square(one.cell(told + done), one.not_applicable.get(told + done)) for done in "RN"))
            for told in "RN"
        ],
    )


def _names(one: Decomposition, side: str, place: int) -> str:
    names = {(cell.contract, cell.transport)[place]: None for cell in one.cells if cell.name[place] == side}
    return ", ".join(names) or "(not planned)"


def _square(cell: Cell | None, not_applicable: str | None) -> str:
    if cell is None:
        return f"not applicable: {not_applicable}" if not_applicable else NONE
    unseen = f" (+{cell.planned - cell.scored} without a verdict)" if cell.scored < cell.planned else ""
    return f"{cell.passed} of {cell.scored} right, {rate_words(cell)}{unseen}"


def _effects(one: Decomposition) -> Rows:
    name = "effect: NOT TO BE USED" if one.control.status == "broken" else "effect"
    sure = "95 %, all effects together" if any(effect.together for effect in one.effects) else "95 % interval"
    unseen = ("can't be seen", NONE, "")
    rows = [
        (effect_label(one, effect.name), *(unseen if one.blind and effect.name == "damage" else _effect(effect)))
        for effect in one.effects
    ]
    return (name, "points", sure, "-100       0      +100"), rows


def _effect(effect: Effect) -> tuple[str, str, str]:
    """For families like these: the value, its interval, and both on a scale."""
    estimate = effect.together or effect.population
    return points(estimate.value), span(estimate.low, estimate.high, signed=True), _interval_bar(estimate)


def _interval_bar(estimate: Estimate) -> str:
    """The interval on a scale from -100 to 100 points, ``o`` the value, ``|`` zero."""
    if estimate.value is None:
        return ""
    last = _BAR - 4
    bar = ["."] * (last + 1)
    low, value, high = (
        round((1 + (estimate.value if end is None else end)) / 2 * last) for end in (estimate.low, estimate.value, estimate.high)
    )
    bar[last // 2] = "|"
    bar[low : high + 1] = ["-"] * (high + 1 - low)
    bar[value] = "o"
    return "".join(bar)


def _funnel(funnel: Funnel) -> Rows:
    rows = [("attempted", str(funnel.attempted), _bar(funnel.attempted, funnel.attempted), "")]
    rows += [
        (STAGE_WORDS[stage], str(reached), _bar(reached, funnel.attempted), causes_counted(funnel.stopped.get(stage, {})))
        for stage, reached in funnel.reached.items()
    ]
    return ("as deployed: how far trials get", "trials", "", "what stopped the others"), rows


def _losses(lost: Losses) -> Rows:
    rows = [("right", str(lost.kept), _bar(lost.kept, lost.attempted), "")]
    rows += [
        (f"lost to {words}", str(count), _bar(count, lost.attempted), causes_counted(lost.kinds.get(place, {})))
        for place, words in PLACE_WORDS.items()
        for count in (lost.lost[place],)
    ]
    return ("as deployed: where they went", "trials", "", "why"), rows


def _bar(count: int, of: int) -> str:
    """At least one mark where there is any."""
    return "#" * max(round(_BAR / 2 * count / of), 1 if count else 0)


# -- drawing -----------------------------------------------------------------------------------------------------------------


def _drawn(width: int, columns: Sequence[str], rows: Iterable[Sequence[str]], bars: int | None = None) -> str:
    """A table; its column number ``bars`` is left out where there is no room for bars."""
    kept = [place for place in range(len(columns)) if place != bars or width >= _DRAWN]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for place in kept:
        table.add_column(Text(one_line(columns[place])), overflow="fold", no_wrap=place == bars)
    for row in rows:
        table.add_row(*(Text(one_line(row[place])) for place in kept))
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False, legacy_windows=False)
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().split("\n"))


def _wrapped(text: str, width: int, hanging: str = "") -> str:
    return textwrap.fill(one_line(text), width, subsequent_indent=hanging, break_on_hyphens=False, break_long_words=False)
