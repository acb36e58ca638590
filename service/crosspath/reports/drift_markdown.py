"""A look at a deployment as Markdown: what MLflow shows of it, and what a CI job shows or sends.

The first lines are plain text, for whatever shows only these.
"""

from collections.abc import Iterator

from crosspath.analysis.wording import table
from crosspath.escaping import markdown
from crosspath.reports.blocks import code_span
from crosspath.reports.drift_tables import drift_blocks
from crosspath.reports.drift_words import LEVEL_WORDS, NOTHING, STATE_WORDS, about, headline, parts
from crosspath.types.drift import Alarm, Drift


def drift_markdown(drift: Drift) -> str:
    """The whole look; whatever comes from a reply, a name or a server is escaped."""
    return "\n".join(_lines(drift)).rstrip("\n") + "\n"


def _lines(drift: Drift) -> Iterator[str]:
    yield markdown(headline(drift))
    yield ""
    yield f"{markdown(about(drift))}."
    yield ""
    yield from (line for alarm in drift.alarms for line in _alarm(alarm))
    if not drift.alarms:
        yield f"{NOTHING.capitalize()}."
    yield ""
    yield table(("part", "", "why"), [(name, STATE_WORDS[status], sentence) for name, status, sentence in parts(drift)])
    for block in drift_blocks(drift):
        yield f"### {markdown(block.heading)}"
        yield ""
        if block.rows:
            yield table(block.columns, block.rows)
        if block.lines:
            yield from (f"- {markdown(line)}" for line in block.lines)
            yield ""
    yield f"Look {code_span(drift.id)}, Crosspath {markdown(drift.crosspath)}."


def _alarm(alarm: Alarm) -> Iterator[str]:
    yield f"- **{LEVEL_WORDS[alarm.level]}** {markdown(alarm.sentence)}."
    yield f"  Next: {markdown(alarm.next_step)}"
