"""The report of one evaluation as Markdown, and its short form for a terminal.

Order of the report: what must not be missed (broken controls, warnings), plain words, then per candidate the 2x2, rates, effects,
causes, control; then comparisons, spend, the whole configuration and the limits of the method.
"""

from collections.abc import Mapping, Sequence

from crosspath.analysis.abstention import abstention_lines, abstention_section
from crosspath.analysis.alarms import alarm_counts
from crosspath.analysis.configuration import configuration_section
from crosspath.analysis.coverage import infeasible_only
from crosspath.analysis.partitions import partition_lines, partition_section
from crosspath.analysis.path_tables import path_lines, path_section
from crosspath.analysis.stages import stage_of
from crosspath.analysis.styles import style_lines, style_section
from crosspath.analysis.task_rows import failing_tasks
from crosspath.analysis.wording import (
    NONE,
    control_line,
    control_warning,
    counts,
    paragraph,
    percent,
    span,
    spend_line,
    table,
    title,
    with_interval,
)
from crosspath.analysis.wording_tables import beside_compensation, wording_lines, wording_section
from crosspath.escaping import markdown, one_line
from crosspath.reports.comparison_tables import comparison_section
from crosspath.reports.cost_tables import spend_section
from crosspath.reports.effect_tables import effects_table
from crosspath.reports.stability_tables import ranking_section
from crosspath.types import Cell, Decomposition, EvaluationHead, Facts, Judgement, PlannedCell

_LIMITS = """\
- `these_replies` is exact for the stored replies and says nothing about the next draw; `these_tasks` holds for exactly these
  tasks; `task_population` speaks of families like these and needs families, not trials, to become narrow.
- Intervals are 95 % each, not simultaneous over candidates and effects.
- Where all family means are equal the interval is an exact bound and wide: few families can't exclude a rare different one.
- Damage, compensation and matched gap share one set of trials, so their sum is exact; what that set leaves out is in `missing`.
- `worst` to `best` is not a confidence interval: it is what the lost trials could have made of the value.
- Compensation compares two separate generations: it contains the chance of both draws.
"""


MOST_IN_FULL = 16
"""So many candidates at most have a paragraph each in a terminal, and figures of their own."""


def summary_text(judgement: Judgement) -> str:
    """The evaluation in plain words for a terminal: what must not be missed, one paragraph per candidate, spend."""
    blocks = [f"WARNING: {warning}" for warning in judgement.warnings]
    wordings = beside_compensation(judgement.wording_spreads)
    for decomposition in () if in_short(judgement) else judgement.decompositions:
        blocks.append(paragraph(decomposition, wordings.get(decomposition.candidate, "")))
        blocks += [] if infeasible_only(decomposition) else [f"  {control_line(decomposition)}."]
    blocks += _beside(judgement)
    blocks += [f"WARNING: {comparison.warning}." for comparison in judgement.comparisons if comparison.warning]
    lines = [*blocks, f"Spent: {spend_line(judgement.spend)}."]
    return "\n".join(one_line(line) for line in lines) + "\n"  # a served model's name must not add a line


def in_short(judgement: Judgement) -> bool:
    """Whether there are so many candidates through so many paths that a terminal shows the ranking in their place."""
    return bool(judgement.path_rankings) and len(judgement.decompositions) > MOST_IN_FULL


def _beside(judgement: Judgement) -> list[str]:
    """One plain sentence for each thing that is kept apart from rates and effects."""
    return [
        *abstention_lines(judgement.abstentions),
        *partition_lines(judgement.partition_gaps),
        *style_lines(judgement.style_spreads),
        *wording_lines(judgement.wording_spreads),
        *path_lines(judgement.path_rankings),
    ]


def report_markdown(facts: Facts, judgement: Judgement) -> str:
    """The whole report."""
    head, planned = facts.head, facts.cells
    wordings = beside_compensation(judgement.wording_spreads)
    sections = [
        f"# {markdown(head.id)}\n",
        _derivation(head),
        _warnings(judgement, head),
        "## In plain words\n",
        *(markdown(paragraph(one, wordings.get(one.candidate, ""))) + "\n" for one in judgement.decompositions),
        *(markdown(line) + "\n" for line in _beside(judgement)),
        path_section(judgement.path_rankings),
        *(_candidate(decomposition, judgement, planned) for decomposition in judgement.decompositions),
        abstention_section(judgement.abstentions, planned, judgement.scores),
        partition_section(judgement.partition_gaps),
        style_section(judgement.style_spreads),
        wording_section(judgement.wording_spreads),
        comparison_section(judgement),
        ranking_section(judgement.decompositions),
        spend_section(judgement),
        configuration_section(head, facts.lock),
        "## Limits of the method\n",
        _LIMITS,
    ]
    return "\n".join(section for section in sections if section)


def report_short(facts: Facts, judgement: Judgement) -> str:
    """The report without its long tables, for places that hold little text: what must not be missed, plain words, effects."""
    wordings = beside_compensation(judgement.wording_spreads)
    sections = [
        f"# {markdown(facts.head.id)}\n",
        _derivation(facts.head),
        _warnings(judgement, facts.head),
        *(markdown(paragraph(one, wordings.get(one.candidate, ""))) + "\n" for one in judgement.decompositions),
        *(markdown(line) + "\n" for line in _beside(judgement)),
        *(_effects_of(one, wordings) for one in judgement.decompositions),
    ]
    return "\n".join(section for section in sections if section)


def _effects_of(decomposition: Decomposition, wordings: Mapping[str, str]) -> str:
    text = effects_table(decomposition, wordings.get(decomposition.candidate, ""))
    return f"## {markdown(title(decomposition))}\n\n{text}" if text else ""


def _derivation(head: EvaluationHead) -> str:
    reason = markdown(head.derivation or "no reason given")
    return f"Derived from {markdown(head.derived_from)}: {reason}.\n" if head.derived_from else ""


def _warnings(judgement: Judgement, head: EvaluationHead) -> str:
    controls = [
        f"{decomposition.candidate}: {warning}"
        for decomposition in judgement.decompositions
        if (warning := control_warning(decomposition))
    ]
    stopped = (
        [] if head.status == "finished" else [f"The evaluation is {head.status}: what is missing is a fault, not a failure."]
    )
    comparisons = [comparison.warning for comparison in judgement.comparisons if comparison.warning]
    lines = [*controls, *stopped, *judgement.warnings, *comparisons]
    return "".join(f"> **{markdown(line)}**\n>\n" for line in lines)


def _candidate(decomposition: Decomposition, judgement: Judgement, planned: Sequence[PlannedCell]) -> str:
    if infeasible_only(decomposition):
        return ""
    sections = [
        f"## {markdown(title(decomposition))}\n",
        _two_by_two(decomposition),
        _rates(decomposition.cells),
        effects_table(decomposition, beside_compensation(judgement.wording_spreads).get(decomposition.candidate, "")),
        _causes(decomposition.cells),
        _tiers(decomposition.cells),
        failing_tasks(decomposition.candidate, planned, judgement.scores),
        _control(decomposition),
    ]
    return "\n".join(section for section in sections if section)


def _two_by_two(decomposition: Decomposition) -> str:
    columns = [f"done {side}{_named(decomposition, side, 1)}" for side in "RN"]
    rows = [
        [f"told {told}{_named(decomposition, told, 0)}", *(_square(decomposition, told + done) for done in "RN")] for told in "RN"
    ]
    return table([" ", *columns], rows)


def _named(decomposition: Decomposition, side: str, place: int) -> str:
    """The contract (place 0) or transport (place 1) that stands on a side of the table."""
    names = {(cell.contract, cell.transport)[place]: None for cell in decomposition.cells if cell.name[place] == side}
    return f" ({', '.join(names)})" if names else ""


def _square(decomposition: Decomposition, name: str) -> str:
    cell = decomposition.cell(name)
    if cell is None:
        reason = decomposition.not_applicable.get(name)
        return f"{name}: not applicable, {reason}" if reason else f"{name}: not planned"
    return f"{name}: {counts(cell)}, {percent(cell.rate.value)}"


def _rates(cells: Sequence[Cell]) -> str:
    head = [
        "cell", "attempted", "scored", "faults", "unstable", "passed", "of attempted", "of scored", "rate, 95 %", "estimand",
        "method", "worst to best", "families, 95 %", "silent wrong", "false alarms",
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
    lines = [f"Control: {markdown(control_line(decomposition))}.\n"]
    if control.differing:
        lines.append(f"Differ every time: {markdown(', '.join(control.differing))}.\n")
    if control.unstable:
        lines.append(f"Unstable, left out of every rate and effect: {markdown(', '.join(control.unstable))}.\n")
    return "\n".join(lines)
