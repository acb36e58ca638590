"""What an evaluation looks like in MLflow, as plain data: one parent run, and two nested runs for each candidate.

The parent carries the whole bundle, the spend and the report. A candidate's *matched* run (told and executed its own way) carries
the effects, and its reference cells as tags; its *reference* run carries what they are measured against. All other cells are in
the bundle.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from crosspath.adapters.mlflow_tracker.names import (
    MAX_PARAM,
    NOTE_TAG,
    check_run,
    clean_name,
    fit_name,
    fit_note,
    prompt_name,
    shown,
)
from crosspath.adapters.mlflow_tracker.params import (
    abstention_metrics,
    cell_metrics,
    cell_params,
    estimate_text,
    lock_candidate,
    parent_params,
    partition_metrics,
    path_metrics,
    spend_metrics,
    style_metrics,
    wording_metrics,
)
from crosspath.adapters.mlflow_tracker.rows import Row, RowSource, select_rows
from crosspath.analysis import effect_label
from crosspath.analysis.abstention import one_sentence
from crosspath.analysis.alarms import alarm_counts
from crosspath.analysis.decompose import as_deployed
from crosspath.analysis.partitions import partition_lines
from crosspath.analysis.styles import style_lines
from crosspath.analysis.wording_tables import wording_lines
from crosspath.escaping import markdown
from crosspath.reports.figures import figure_prefix
from crosspath.reports.markdown import in_short, report_short
from crosspath.types import (
    Abstention,
    Cell,
    Decomposition,
    Effect,
    EvaluationHead,
    Facts,
    Judgement,
    PathCost,
    Text,
    WordingSpread,
    digest,
)

EVALUATION_TAG, CANDIDATE_TAG, CELL_TAG = "crosspath.evaluation", "crosspath.candidate", "crosspath.cell"
IDENTITY_TAG = "crosspath.identity"
"""What tells an evaluation from one of the same id: ids are counted in each ledger, and many ledgers may log to one server."""
LOGGED_TAG = "crosspath.logged"
"""Digest of the bundle's index, set last: a run without it was not logged to its end."""
RUN_TYPE = ("mlflow.runType", "genai_evaluate")
"""Without this tag MLflow's default view hides the run."""
EFFECT_WORDS = {
    "damage": "the path damages the same replies",
    "compensation": "the model compensates when told",
    "matched_gap": "what a matched score shows",
    "contract_effect": "the contract alone changes",
}


@dataclass(frozen=True)
class RunContent:
    """One run: everything that is written to it."""

    name: str
    params: dict[str, str]
    metrics: dict[str, float]
    tags: dict[str, str]
    long_params: dict[str, str]
    """Param -> text that is too long for MLflow; logged as a file, its digest as the param."""
    figures: tuple[str, ...] = ()
    """Files of the bundle that are shown on this run."""
    rows: tuple[Row, ...] = ()
    prompts: tuple[str, ...] = ()
    """Contracts that this run's model was told."""
    complete: bool = True
    """False: MLflow shows the run as failed, because results are still missing, or there are none at all."""


@dataclass(frozen=True)
class Layout:
    """A whole evaluation."""

    experiment: str
    parent: RunContent
    nested: tuple[RunContent, ...]
    contracts: tuple[Text, ...]

    def check(self) -> None:
        """Refuse what MLflow would cut or drop.

        Raises:
            TrackerError: see :func:`crosspath.adapters.mlflow_tracker.names.check_run`.
        """
        for run in (self.parent, *self.nested):
            check_run(run.name, run.params, run.metrics, run.tags)


def layout(facts: Facts, judgement: Judgement, max_rows: int) -> Layout:
    """The runs of an evaluation; at most ``max_rows`` per-task rows over all of them."""
    shown_cells = _once(facts, judgement) if in_short(judgement) else list(_shown_cells(judgement))
    source = RowSource(facts, judgement)
    all_rows = [source.rows(one.candidate, cell.name) for _, one, cell in shown_cells]
    rows = select_rows(all_rows, max_rows)
    nested = tuple(
        _nested(facts, judgement, number, one, cell, rows[place], len(all_rows[place]))
        for place, (number, one, cell) in enumerate(shown_cells)
    )
    return Layout(facts.head.experiment, _parent(facts, judgement), nested, facts.contracts)


def _shown_cells(judgement: Judgement) -> Iterator[tuple[int, Decomposition, Cell]]:
    """Each candidate with its place and the cells that get a run."""
    for number, one in enumerate(judgement.decompositions):
        yield from ((number, one, cell) for cell in shown_cells_of(one))


def _once(facts: Facts, judgement: Judgement) -> list[tuple[int, Decomposition, Cell]]:
    """Many candidates on many paths: every matched cell, and a reference only where no other run shows the same replays."""
    same = {(one.candidate, one.name): (one.generation.digest, one.path, one.validator) for one in facts.cells if not one.control}
    every = list(_shown_cells(judgement))
    matched = {(one.candidate, shown_cells_of(one)[0].name) for _, one, _ in every}
    taken = {same[key] for key in matched if key in same}
    found: list[tuple[int, Decomposition, Cell]] = []
    for number, one, cell in every:
        key = (one.candidate, cell.name)
        if key in matched or same.get(key) not in taken:
            found.append((number, one, cell))
            taken |= {same[key]} if key in same else set()
    return found


def identity(head: EvaluationHead) -> str:
    """The same for an evaluation that went on, and another one for any other evaluation, in whatever ledger."""
    return digest([head.id, head.created_at, head.spec_digest])


def shown_cells_of(decomposition: Decomposition) -> tuple[Cell, ...]:
    """The cell that is the candidate as deployed first, then the reference; one cell where they are the same."""
    own, reference = as_deployed(decomposition), decomposition.cell("RR")
    found = (own, reference) if own is not reference else (own,)
    return tuple(cell for cell in found if cell) or decomposition.cells[-1:]


def run_name(candidate: str, cell: Cell) -> str:
    """``candidate · told X, done Y``."""
    return f"{candidate} · told {cell.contract}, done {cell.transport}"


def parent_name(facts: Facts) -> str:
    """``SPEC · date``, in UTC to the minute; of a derived evaluation also how it was derived."""
    head = facts.head
    date = f"{datetime.fromtimestamp(head.created_at, UTC):%Y-%m-%d %H:%M}"
    return " · ".join(part for part in (head.name, date, head.derivation) if part)


def _parent(facts: Facts, judgement: Judgement) -> RunContent:
    note = fit_note(report_short(facts, judgement), "bundle/report.md")
    tags = _common_tags(facts) | {"crosspath.role": "evaluation", NOTE_TAG: note}
    told = tuple(text.name for text in facts.contracts)
    scored = any(cell.scored for one in judgement.decompositions for cell in one.cells)
    scored = scored or any(one.scored for one in judgement.abstentions)
    complete = scored and facts.head.status == "finished"
    name = parent_name(facts)
    return _run(name, parent_params(facts), spend_metrics(judgement), tags, prompts=told, complete=complete)


def _is_complete(facts: Facts, cell: Cell, declining: Abstention | None) -> bool:
    """A candidate may have all its results although the evaluation was stopped, and none although it was not."""
    counted = (cell, declining) if declining else (cell,)
    unstable = cell.unstable + (declining.recall.unstable if declining else 0)
    missing = unstable < sum(one.planned - one.scored for one in counted)
    return any(one.scored for one in counted) and (facts.head.status == "finished" or not missing)


def _nested(
    facts: Facts,
    judgement: Judgement,
    number: int,
    decomposition: Decomposition,
    cell: Cell,
    rows: tuple[Row, ...],
    of: int,
) -> RunContent:
    candidate = lock_candidate(facts.lock, decomposition.candidate)
    matched = cell is shown_cells_of(decomposition)[0]
    params = cell_params(facts, candidate, cell) if candidate else {"candidate": decomposition.candidate}
    metrics = cell_metrics(cell, decomposition if matched else None) | _beside(judgement, decomposition.candidate, cell)
    tags = _common_tags(facts) | _cell_tags(decomposition, cell, matched)
    declining = _declining(judgement, decomposition.candidate, cell)
    lines = [*_note_lines(facts.head.id, decomposition, cell, matched, len(rows), of), *_declining_lines(declining)]
    lines += _beside_lines(judgement, decomposition.candidate, cell)
    tags[NOTE_TAG] = fit_note("\n".join(lines) + "\n", "bundle/report.md")
    prefix = figure_prefix(decomposition.candidate, number)
    figures = (f"figures/{prefix}-two-by-two.png", f"figures/{prefix}-causes.png") if matched else ()
    name = run_name(decomposition.candidate, cell)
    complete = _is_complete(facts, cell, declining)
    return _run(name, params, metrics, tags, figures=figures, rows=rows, prompts=(cell.contract,), complete=complete)


def _declining(judgement: Judgement, candidate: str, cell: Cell) -> Abstention | None:
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
    for line in (*partition_lines(gaps), *style_lines(spreads), *wording_lines(_wordings(judgement, candidate, cell))):
        yield ""
        yield markdown(line)


def _wordings(judgement: Judgement, candidate: str, cell: Cell) -> list[WordingSpread]:
    """Those that the candidate has a part in; they are about what the told replies do on the path."""
    return [one for one in judgement.wording_spreads if cell.name == "NN" and candidate in one.candidates.values()]


def _beside(judgement: Judgement, candidate: str, cell: Cell) -> dict[str, float]:
    """What is kept apart from pass rates and effects: declining, held-out tasks, request styles, wordings."""
    found: dict[str, float] = {}
    if declining := _declining(judgement, candidate, cell):
        found |= abstention_metrics(declining)
    for gap in judgement.partition_gaps:
        if (gap.candidate, gap.cell) == (candidate, cell.name):
            found |= partition_metrics(gap)
    for spread in judgement.style_spreads:
        if candidate in spread.candidates.values() and spread.cell == cell.name:
            found |= style_metrics(spread, candidate)
    for worded in _wordings(judgement, candidate, cell):
        found |= wording_metrics(worded, candidate)
    for path in _ranked(judgement, candidate, cell):
        found |= path_metrics(path)
    return found


def _ranked(judgement: Judgement, candidate: str, cell: Cell) -> list[PathCost]:
    """The cell's path in the ranking of those that carried the same replies."""
    paths = (path for ranking in judgement.path_rankings for path in ranking.paths)
    return [path for path in paths if (path.candidate, path.cell.name) == (candidate, cell.name)]


def _run(
    name: str,
    params: dict[str, str],
    metrics: dict[str, float],
    tags: dict[str, str],
    *,
    figures: tuple[str, ...] = (),
    rows: tuple[Row, ...] = (),
    prompts: tuple[str, ...] = (),
    complete: bool = True,
) -> RunContent:
    """Moves params that MLflow can't hold to files, with their digest in the param's place."""
    long = {key: value for key, value in params.items() if len(value) > MAX_PARAM}
    params = {key: f"sha256:{digest(value)} (long_params/{key}.txt)" if key in long else value for key, value in params.items()}
    return RunContent(fit_name(name), params, metrics, tags, long, figures, rows, prompts, complete)


def _common_tags(facts: Facts) -> dict[str, str]:
    head, lock = facts.head, facts.lock
    tags = {
        RUN_TYPE[0]: RUN_TYPE[1],
        EVALUATION_TAG: head.id,
        IDENTITY_TAG: identity(head),
        "lock.digest": lock.digest,
        "crosspath.status": head.status,
        # MLflow shows it as the run's source: a command that gives all of it.
        "mlflow.source.name": f"crosspath report {shown(head.id)}",
        "mlflow.source.type": "LOCAL",
    }
    optional = {"derived_from": head.derived_from, "derivation": head.derivation, "mlflow.source.git.commit": lock.commit}
    return tags | {key: shown(value) for key, value in optional.items() if value}


def _cell_tags(decomposition: Decomposition, cell: Cell, matched: bool) -> dict[str, str]:
    control = decomposition.control
    tags = {
        CANDIDATE_TAG: shown(decomposition.candidate),
        CELL_TAG: cell.name,
        "crosspath.role": "matched" if matched else "reference",
        "crosspath.control": f"{control.kind}: {control.status}",
    }
    if not matched:
        return tags
    for other in decomposition.cells:
        if other is not cell:
            tags[f"cell.{other.name}"] = _cell_words(other)
    for name, reason in decomposition.not_applicable.items():
        tags[f"cell.{clean_name(name)}"] = shown(f"not applicable: {reason}")[:1000]
    for effect in decomposition.effects:
        tags[f"effect.{effect.name}"] = _effect_words(effect)
    return tags


def _cell_words(cell: Cell) -> str:
    rate = "no score" if not cell.scored else f"{cell.passed} of {cell.scored} passed"
    return shown(f"told {cell.contract}, done {cell.transport}: {rate}" + (f", {cell.faults} faults" if cell.faults else ""))


def _effect_words(effect: Effect) -> str:
    """Short, because MLflow cuts a tag's name before its value; intervals and methods are in the description."""
    return f"{effect.minuend} - {effect.subtrahend} = {_points(effect.these.value)}"


def _note_lines(evaluation: str, decomposition: Decomposition, cell: Cell, matched: bool, rows: int, of: int) -> Iterator[str]:
    """The description of a nested run: plain words first, then the candidate's cells and effects."""
    kind = "its own way" if matched else "as the reference: what the effects are measured against"
    done = f"executed through *{markdown(cell.transport)}* ({kind})"
    yield f"**{markdown(decomposition.candidate)}**, told *{markdown(cell.contract)}* and {done}, in {markdown(evaluation)}."
    unseen = f"{cell.faults} could not be observed, {cell.unstable} are unstable"
    yield f"{cell.passed} of {cell.scored} scored replays passed; {unseen}."
    yield ""
    yield from _cells_table(decomposition, cell)
    yield ""
    if matched and decomposition.effects:
        yield from _effects_table(decomposition)
    control = decomposition.control
    reason = f" ({markdown(control.reason)})" if control.reason else ""
    yield f"Control ({control.kind}): **{control.status}**, {control.compared} compared, {len(control.differing)} differ{reason}."
    if rows < of:
        yield f"Rows: {rows} of {of} replays are shown as traces, the rest is in `bundle/scores.parquet` of the parent run."


def _cells_table(decomposition: Decomposition, cell: Cell) -> Iterator[str]:
    yield "| cell | told | executed through | passed | silently wrong | false alarms | causes |"
    yield "|---|---|---|---|---|---|---|"
    for one in decomposition.cells:
        causes = ", ".join(f"{count} {cause}" for cause, count in sorted(one.causes.items(), key=lambda item: -item[1]))
        mark = f"**{one.name}** (this run)" if one is cell else one.name
        wrong = "" if one.silent_wrong.value is None else f"{100 * one.silent_wrong.value:.0f} %"
        passed = f"{one.passed} of {one.scored}"
        path = f"{markdown(one.contract)} | {markdown(one.transport)}"
        yield f"| {mark} | {path} | {passed} | {wrong} | {alarm_counts(one)} | {markdown(causes) or '-'} |"
    for name, reason in decomposition.not_applicable.items():
        yield f"| {markdown(name)} | | | not applicable | | | {markdown(reason)} |"


def _effects_table(decomposition: Decomposition) -> Iterator[str]:
    yield "| effect | what it says | these replies | task population |"
    yield "|---|---|---|---|"
    for effect in decomposition.effects:
        label = effect_label(decomposition, effect.name)
        words = EFFECT_WORDS[effect.name] if label == effect.name.replace("_", " ") else "told about another path than this one"
        name = f"{markdown(label)} ({effect.minuend} - {effect.subtrahend})"
        yield f"| {name} | {words} | {_points(effect.these.value)} | {estimate_text(effect.population, 'pp')} |"
    yield ""


def _points(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:+.1f} pp"


__all__ = ["Layout", "RunContent", "layout", "parent_name", "prompt_name", "run_name", "shown_cells_of"]
