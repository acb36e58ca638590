"""A look at a deployment for a terminal: status and alarms first, then the three parts, then the tables behind them."""

from collections.abc import Iterator

from crosspath.escaping import one_line
from crosspath.reports.drift_tables import drift_blocks
from crosspath.reports.drift_words import LEVEL_WORDS, NOTHING, STATE_WORDS, about, alarm_lines, headline, parts
from crosspath.reports.explanation import Block
from crosspath.types.drift import Drift


def drift_terminal(drift: Drift) -> str:
    """The look as plain text; hostile characters are shown, not obeyed."""
    return "\n".join(one_line(line).rstrip() for line in _lines(drift)) + "\n"


def _lines(drift: Drift) -> Iterator[str]:
    yield headline(drift)
    yield f"  {about(drift)}"
    yield ""
    yield from _alarms(drift)
    yield ""
    wide = max(map(len, STATE_WORDS.values()))
    for name, status, sentence in parts(drift):
        yield f"  {name:<13}  {STATE_WORDS[status]:<{wide}}  {sentence}"
    for block in drift_blocks(drift):
        yield ""
        yield from _block(block)


def _alarms(drift: Drift) -> Iterator[str]:
    if not drift.alarms:
        yield f"  {NOTHING}"
    wide = max((len(LEVEL_WORDS[alarm.level]) for alarm in drift.alarms), default=0)
    for alarm in drift.alarms:
        first, *rest = alarm_lines(alarm)
        yield f"  {LEVEL_WORDS[alarm.level]:<{wide}}  {first}"
        yield from (f"  {'':<{wide}}  {line}" for line in rest)


def _block(block: Block) -> Iterator[str]:
    yield block.heading
    if block.rows:
        table = [block.columns, *([one_line(cell) for cell in row] for row in block.rows)]
        widths = [max(len(row[column]) for row in table) for column in range(len(block.columns))]
        yield from (f"  {'  '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))}" for row in table)
    yield from (f"  {line}" for line in block.lines)
