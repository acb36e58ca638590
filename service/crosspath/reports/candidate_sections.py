"""One candidate in the report: its headline, the 2x2, how far replies get, effects, causes, rates, groups of tasks, control."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crosspath.analysis.alarms import alarm_counts
from crosspath.analysis.stages import stage_of
from crosspath.analysis.task_rows import failing_tasks
from crosspath.analysis.wording import NONE, control_line, counts, percent, span, table, with_interval
from crosspath.escaping import markdown, one_line
from crosspath.reports.breakdown_tables import breakdown_section
from crosspath.reports.effect_tables import effects_table
from crosspath.reports.funnel_tables import funnel_section
from crosspath.reports.lead_table import rate_words
from crosspath.types import Cell, Decomposition, Headline, Judgement, PlannedCell, Score


@dataclass(frozen=True)
class Part:
    """A part of a section."""

    text: str
    """Markdown, its first line a heading of the third level; without one where it opens its section."""
    folded: bool = False
    """Long or seldom needed: folded where a reader can unfold."""


def headline_lines(headline: Headline) -> list[str]:
    """The headline as items of a Markdown list: the sentence, and under it how sure it is and what to do."""
    return [
        f"- **{markdown(headline.sentence)}**",
        f"  - How sure: {markdown(headline.sure)}",
        f"  - Next: {step_markdown(headline)}",
    ]


def step_markdown(headline: Headline) -> str:
    """The next step, its command as code."""
    before, command, after = headline.next_step.partition(headline.command or "\0")
    if not command or "`" in command:
        return markdown(headline.next_step)
    return " ".join(part for part in (markdown(before), f"`{one_line(command)}`", markdown(after)) if part).replace("` ,", "`,")


def candidate_parts(
    decomposition: Decomposition,
    judgement: Judgement,
    planned: Sequence[PlannedCell],
    scores: Sequence[Score],
    wordings: str = "",
) -> Iterator[Part]:
    """The parts of one candidate's section; those that have nothing to say are left out."""
    name, cells = decomposition.candidate, decomposition.cells
    parts = (
        Part(_two_by_two(decomposition)),
        Part(funnel_section(judgement, name), folded=True),
        Part(effects_table(decomposition, wordings)),
        Part(_control(decomposition)),
        Part(_causes(cells), folded=True),
        Part(_rates(cells), folded=True),
        Part(breakdown_section(judgement, name) or _tiers(cells), folded=True),
        Part(failing_tasks(name, planned, scores), folded=True),
    )
    return (Part(headed(part.text), part.folded) for part in parts if part.text)


def headed(part: str) -> str:
    """The part with its first line as a heading of the third level, where it is a line of text."""
    first, rest = part.split("\n", 1) if "\n" in part else (part, "")
    if first.startswith(("#", "|", "-", ">", "`", " ")) or not first:
        return part
    return f"### {first}\n{rest}"


def _two_by_two(decomposition: Decomposition) -> str:
    """All four squares; a single cell needs none: its numbers stand where the trials went."""
    if len(decomposition.cells) == 1 and not decomposition.not_applicable:
        return ""
    columns = [f"done {side}{_named(decomposition, side, 1)}" for side in "RN"]
    rows = [
        [f"told {told}{_named(decomposition, told, 0)}", *(_square(decomposition, told + done) for done in "RN")] for told in "RN"
    ]
    return "What the model was told, and how its replies were done\n\n" + table(["told", *columns], rows)


def _named(decomposition: Decomposition, side: str, place: int) -> str:
    """The contract (place 0) or transport (place 1) that stands on a side of the table."""
    names = {(cell.contract, cell.transport)[place]: None for cell in decomposition.cells if cell.name[place] == side}
    return f" ({', '.join(names)})" if names else ""


def _square(decomposition: Decomposition, name: str) -> str:
    cell = decomposition.cell(name)
    if cell is None:
        reason = decomposition.not_applicable.get(name)
        return f"{name}: not applicable, {reason}" if reason else f"{name}: not planned"
    return f"{name}: {counts(cell)}, {rate_words(cell)}"


def _rates(cells: Sequence[Cell]) -> str:
    head = [
        "cell", "attempted", "scored", "faults", "unstable", "passed", "of attempted", "of scored",
        "rate (mean over tasks, or families: see estimand), 95 %", "estimand", "method", "worst to best",
        "mean over families, 95 %", "silent wrong", "false alarms",
    ]  # fmt: skip
    return "Rates\n\n" + table(head, [_rate_row(cell) for cell in cells])


def _rate_row(cell: Cell) -> list[object]:
    rate = cell.rate
    return [
        cell.name, cell.planned, cell.scored, cell.faults, cell.unstable, cell.passed,
        percent(cell.passed / cell.planned if cell.planned else None),
        percent(cell.passed / cell.scored if cell.scored else None),
        with_interval(rate, signed=False), rate.estimand, rate.method, span(rate.worst, rate.best, signed=False),
        with_interval(cell.population, signed=False) if cell.population else NONE, sum(cell.silent_causes.values()),
        alarm_counts(cell),
    ]  # fmt: skip


def _causes(cells: Sequence[Cell]) -> str:
    causes = sorted({cause for cell in cells for cause in cell.causes}, key=lambda cause: (stage_of(cause), cause))
    if not causes:
        return ""
    rows = [[stage_of(cause), cause, *(_cause_count(cell, cause) for cell in cells)] for cause in causes]
    return "Causes by stage (in brackets: reported as fine by the path)\n\n" + table(
        ["stage", "cause", *(cell.name for cell in cells)], rows
    )


def _cause_count(cell: Cell, cause: str) -> str:
    silent = cell.silent_causes.get(cause, 0)
    return f"{cell.causes.get(cause, 0)}" + (f" ({silent} silent)" if silent else "")


def _tiers(cells: Sequence[Cell]) -> str:
    tiers = sorted({tier for cell in cells for tier in cell.tiers})
    if not tiers:
        return ""
    rows = [[tier, *(" of ".join(map(str, cell.tiers.get(tier, (0, 0)))) for cell in cells)] for tier in tiers]
    return "Passed by tier\n\n" + table(["tier", *(cell.name for cell in cells)], rows)


def _control(decomposition: Decomposition) -> str:
    control = decomposition.control
    lines = [f"{markdown(control_line(decomposition))}.\n"]
    if control.differing:
        lines.append(f"Differ every time: {markdown(', '.join(control.differing))}.\n")
    if control.unstable:
        lines.append(f"Unstable, left out of every rate and effect: {markdown(', '.join(control.unstable))}.\n")
    return "Control\n\n" + "\n".join(lines)
