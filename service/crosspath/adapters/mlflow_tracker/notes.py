"""Descriptions of a candidate's runs: plain words first, then its cells and effects, then where the rest is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from crosspath.adapters.mlflow_tracker.rows import Row
from crosspath.analysis import effect_label
from crosspath.analysis.abstention import one_sentence
from crosspath.analysis.alarms import alarm_counts
from crosspath.analysis.partitions import partition_lines
from crosspath.analysis.styles import style_lines
from crosspath.analysis.wording import table
from crosspath.analysis.wording_tables import wording_lines
from crosspath.escaping import markdown, one_line
from crosspath.reports.candidate_sections import headline_lines
from crosspath.types import (
    Abstention,
    Cell,
    Decomposition,
    Effect,
    Estimate,
    Funnel,
    FunnelStage,
    Headline,
    Judgement,
    WordingSpread,
)

EFFECT_WORDS: Mapping[str, str] = {
    "damage": "the path damages the same replies",
    "compensation": "the model compensates when told",
    "matched_gap": "what a matched score shows",
    "contract_effect": "the contract alone changes",
}
NO_NUMBER = "-"
STAGE_WORDS: Mapping[FunnelStage, str] = {
    "generated": "replied",
    "answered": "answered",
    "well_formed": "well-formed",
    "executed": "executed",
    "right_state": "right",
}


@dataclass(frozen=True)
class CellRun:
    """What a run of one cell is about."""

    evaluation: str
    decomposition: Decomposition
    cell: Cell
    matched: bool
    headline: Headline | None
    rows: Sequence[Row]
    tasks: int
    """How many rows there are in all."""


def note_lines(run: CellRun, judgement: Judgement) -> Iterator[str]:
    """The description of a nested run, line by line."""
    name = run.decomposition.candidate
    yield from (*headline_lines(run.headline), "") if run.headline and run.matched else ()
    yield from _opening(run)
    yield ""
    yield cells_table(run.decomposition, run.cell)
    if run.matched and run.decomposition.effects:
        yield "Effects, in points, with 95 % intervals of each alone and of all together:"
        yield ""
        yield effects_table(run.decomposition)
    yield from _funnel_lines(judgement, name, run.cell) if run.matched else ()
    yield _control_line(run.decomposition)
    yield from _declining_lines(declining(judgement, name, run.cell))
    yield from _beside_lines(judgement, name, run.cell)
    yield ""
    yield from _where(run)


def _opening(run: CellRun) -> Iterator[str]:
    cell = run.cell
    kind = "its own way" if run.matched else "as the reference: what the effects are measured against"
    done = f"executed through *{markdown(cell.transport)}* ({kind})"
    candidate = markdown(run.decomposition.candidate)
    yield f"**{candidate}**, told *{markdown(cell.contract)}* and {done}, in {markdown(run.evaluation)}."
    unseen = f"{cell.faults} could not be observed, {cell.unstable} are unstable"
    yield f"{cell.passed} of {cell.scored} scored replays passed; {unseen}."


def cells_table(decomposition: Decomposition, this: Cell) -> str:
    """Every cell of the candidate, this run's own in bold."""
    head = ["cell", "told", "executed through", "passed", "silently wrong", "false alarms", "causes"]
    rows = [_cell_row(cell, "(this run)" if cell is this else "") for cell in decomposition.cells]
    rows += [[name, "", "", "not applicable", "", "", reason] for name, reason in decomposition.not_applicable.items()]
    return table(head, rows)


def _cell_row(cell: Cell, mark: str) -> list[str]:
    causes = ", ".join(f"{count} {cause}" for cause, count in sorted(cell.causes.items(), key=lambda item: -item[1]))
    wrong = "" if cell.silent_wrong.value is None else f"{100 * cell.silent_wrong.value:.0f} %"
    name = f"{cell.name} {mark}".strip()
    return [name, cell.contract, cell.transport, f"{cell.passed} of {cell.scored}", wrong, alarm_counts(cell), causes or "-"]


def effects_table(decomposition: Decomposition) -> str:
    """The effects for these replies and for the population, with the interval of each alone and of all together."""
    head = ["effect", "what it says", "these replies", "task population", "all effects together"]
    return table(head, [_effect_row(decomposition, effect) for effect in decomposition.effects])


def _effect_row(decomposition: Decomposition, effect: Effect) -> list[str]:
    label = effect_label(decomposition, effect.name)
    own = label == effect.name.replace("_", " ")
    together = effect.together
    return [
        f"{label} ({effect.minuend} - {effect.subtrahend})",
        EFFECT_WORDS[effect.name] if own else "told about another path than this one",
        points_text(effect.these.value),
        estimate_text(effect.population, "pp"),
        _span(together, "+") if together and together.low is not None else "-",
    ]


def _funnel_lines(judgement: Judgement, candidate: str, cell: Cell) -> Iterator[str]:
    """``108 attempted → 108 replied → ...``, and what stopped the others."""
    found: Funnel | None = next(
        (one for one in judgement.funnels if (one.candidate, one.cell) == (candidate, cell.name) and one.attempted), None
    )
    if found is None:
        return
    reached = [f"{found.reached.get(stage, 0)} {word}" for stage, word in STAGE_WORDS.items()]
    yield f"Stages: {' → '.join([f'{found.attempted} attempted', *reached])}."
    yield ""


def _control_line(decomposition: Decomposition) -> str:
    control = decomposition.control
    reason = f" ({markdown(control.reason)})" if control.reason else ""
    counted = f"{control.compared} compared, {len(control.differing)} differ"
    return f"Control ({control.kind}): **{control.status}**, {counted}{reason}."


def _where(run: CellRun) -> Iterator[str]:
    """From here to each task, and to everything else."""
    failing = [row for row in run.rows if not row.wholly_right]
    staged = sum(row.staged for row in run.rows)
    if not run.rows and run.tasks:
        yield f"No rows: those of the {run.tasks} tasks are on the runs of candidates as deployed."
    elif len(run.rows) < run.tasks:
        yield f"Rows: {len(run.rows)} of {run.tasks} tasks are shown as traces, failing ones first."
    if staged:
        yield f"Traces: {staged} of {len(failing)} failing tasks have a span for each stage, from the reply to the final state."
    if len(run.rows) < run.tasks or (run.matched and staged < len(failing)):
        yield _more(run)
    yield "The whole report: `report.html` and `report.md` in the artifacts of the parent run."


def _more(run: CellRun) -> str:
    return f"{_code(f'crosspath log {run.evaluation} --traces all')} logs all of them."


def _code(command: str) -> str:
    """A command to copy; as plain text where it holds what would end the markup of code."""
    if not command:
        return ""
    return markdown(command) if "`" in command else f"`{one_line(command)}`"


# -- beside rates and effects -----------------------------------------------------------------------------------------


def declining(judgement: Judgement, candidate: str, cell: Cell) -> Abstention | None:
    """How the cell's replies decline, where there are tasks that can't be done."""
    found = (one for one in judgement.abstentions if one.planned and (one.candidate, one.cell) == (candidate, cell.name))
    return next(found, None)


def _declining_lines(found: Abstention | None) -> Iterator[str]:
    if found:
        yield ""
        yield f"{markdown(one_sentence(found))} Not among the trials above."
        yield f"Precision {estimate_text(found.precision)}, recall {estimate_text(found.recall)}."


def _beside_lines(judgement: Judgement, candidate: str, cell: Cell) -> Iterator[str]:
    """Held-out tasks, request styles and wordings in words, where the cell has them."""
    gaps = [gap for gap in judgement.partition_gaps if (gap.candidate, gap.cell) == (candidate, cell.name)]
    spreads = [one for one in judgement.style_spreads if candidate in one.candidates.values() and one.cell == cell.name]
    for line in (*partition_lines(gaps), *style_lines(spreads), *wording_lines(wordings(judgement, candidate, cell))):
        yield ""
        yield markdown(line)


def wordings(judgement: Judgement, candidate: str, cell: Cell) -> list[WordingSpread]:
    """Those that the candidate has a part in; they are about what the told replies do on the path."""
    return [one for one in judgement.wording_spreads if cell.name == "NN" and candidate in one.candidates.values()]


# -- numbers in words ---------------------------------------------------------------------------------------------------


def estimate_text(estimate: Estimate, unit: str = "%") -> str:
    """``64 % [51, 77] (t on family means, n = 24)``; says so where nothing could be estimated."""
    if estimate.value is None:
        return f"unknown ({estimate.method}, n = {estimate.n})"
    sign = "+" if unit == "pp" else ""
    interval = f" {_span(estimate, sign)}" if estimate.low is not None and estimate.high is not None else ""
    return f"{100 * estimate.value:{sign}.1f} {unit}{interval} ({estimate.method}, n = {estimate.n})"


def interval_text(estimate: Estimate) -> str:
    """``-75.0 [-77.6, -56.6]``, in points; a dash where nothing could be estimated."""
    if estimate.value is None:
        return NO_NUMBER
    interval = f" {_span(estimate, '+')}" if estimate.low is not None and estimate.high is not None else ""
    return f"{100 * estimate.value:+.1f}{interval}"


def _span(estimate: Estimate, sign: str) -> str:
    low, high = estimate.low or 0.0, estimate.high or 0.0
    return f"[{100 * low:{sign}.1f}, {100 * high:{sign}.1f}]"


def points_text(share: float | None) -> str:
    """A difference of shares in points, or that it is unknown."""
    return "unknown" if share is None else f"{100 * share:+.1f} pp"
