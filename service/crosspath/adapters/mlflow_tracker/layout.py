"""What an evaluation looks like in MLflow, as plain data: one parent run, and two nested runs for each candidate.

The parent carries the whole bundle, the spend and the report. A candidate's *matched* run (told and executed its own way) carries
the effects, and its reference cells as tags; its *reference* run carries what they are measured against. All other cells are in
the bundle.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from crosspath.adapters.mlflow_tracker.beside_metrics import (
    abstention_metrics,
    partition_metrics,
    path_metrics,
    spend_metrics,
    style_metrics,
    wording_metrics,
)
from crosspath.adapters.mlflow_tracker.evidence_metrics import evidence_metrics, order_metrics
from crosspath.adapters.mlflow_tracker.metrics import cell_metrics, in_reading_order
from crosspath.adapters.mlflow_tracker.names import (
    MAX_PARAM,
    NOTE_TAG,
    check_run,
    clean_name,
    fit_name,
    fit_note,
    shown,
)
from crosspath.adapters.mlflow_tracker.notes import CellRun, declining, note_lines, points_text, wordings
from crosspath.adapters.mlflow_tracker.params import cell_params, lock_candidate, parent_params
from crosspath.adapters.mlflow_tracker.parent_note import parent_note
from crosspath.adapters.mlflow_tracker.row_source import RowSource
from crosspath.adapters.mlflow_tracker.rows import Row, select_rows, with_stages
from crosspath.adapters.mlflow_tracker.series_entries import entry_content
from crosspath.adapters.mlflow_tracker.task_sets import TaskSet, task_set
from crosspath.analysis.decompose import as_deployed
from crosspath.pipeline.series import entry_of
from crosspath.reports.figures import planned_figures
from crosspath.reports.headlines import headlines
from crosspath.reports.markdown import in_short
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
    digest,
)

EVALUATION_TAG, CANDIDATE_TAG, CELL_TAG = "crosspath.evaluation", "crosspath.candidate", "crosspath.cell"
IDENTITY_TAG = "crosspath.identity"
"""What tells an evaluation from one of the same id: ids are counted in each ledger, and many ledgers may log to one server."""
LOGGED_TAG = "crosspath.logged"
"""Digest of the bundle's index, set last: a run without it was not logged to its end."""
RUN_TYPE = ("mlflow.runType", "genai_evaluate")
"""Without this tag MLflow's default view hides the run."""
MAX_ROWS = 600
"""Rows of one evaluation by default; each takes about 15 ms on an embedded store."""
MAX_STAGED = 200
"""Rows of one evaluation that have a span for each stage, by default."""


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
    tasks: TaskSet | None = None
    entry: str = ""
    """Text of the entry in its deployment's series; empty: it is of none."""
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


def layout(facts: Facts, judgement: Judgement, max_rows: int | None = None, max_staged: int | None = None) -> Layout:
    """The runs of an evaluation; at most ``max_rows`` per-task rows over all of them, ``max_staged`` of them with a span for each
    stage. None: all.
    """
    shown_cells = _once(facts, judgement) if in_short(judgement) else list(_shown_cells(judgement))
    source, said = RowSource(facts, judgement), {one.candidate: one for one in headlines(facts, judgement)}
    matched = [_is_matched(one, cell) for one, cell in shown_cells]
    all_rows = [source.rows(one.candidate, cell.name, matched=_is_matched(one, cell)) for one, cell in shown_cells]
    rows = with_stages(select_rows(all_rows, matched, max_rows), matched, max_staged)
    nested = tuple(
        _nested(facts, judgement, CellRun(
            evaluation=facts.head.id, decomposition=one, cell=cell, matched=matched[place],
            headline=said.get(one.candidate), rows=rows[place], tasks=len(all_rows[place]),
        ))
        for place, (one, cell) in enumerate(shown_cells)
    )  # fmt: skip
    return Layout(facts.head.experiment, _parent(facts, judgement), nested, facts.contracts)


def _is_matched(decomposition: Decomposition, cell: Cell) -> bool:
    return cell is shown_cells_of(decomposition)[0]


def _shown_cells(judgement: Judgement) -> Iterator[tuple[Decomposition, Cell]]:
    """Each candidate with the cells that get a run."""
    for one in judgement.decompositions:
        yield from ((one, cell) for cell in shown_cells_of(one))


def _once(facts: Facts, judgement: Judgement) -> list[tuple[Decomposition, Cell]]:
    """Many candidates on many paths: every matched cell, and a reference only where no other run shows the same replays."""
    same = {(one.candidate, one.name): (one.generation.digest, one.path, one.validator) for one in facts.cells if not one.control}
    every = list(_shown_cells(judgement))
    matched = {(one.candidate, shown_cells_of(one)[0].name) for one, _ in every}
    taken = {same[key] for key in matched if key in same}
    found: list[tuple[Decomposition, Cell]] = []
    for one, cell in every:
        key = (one.candidate, cell.name)
        if key in matched or same.get(key) not in taken:
            found.append((one, cell))
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
    note = fit_note(parent_note(facts, judgement), "report.md")
    entry = entry_content(entry_of(facts, judgement))
    tags = _common_tags(facts) | {"crosspath.role": "evaluation", NOTE_TAG: note} | entry.tags
    told = tuple(text.name for text in facts.contracts)
    scored = any(cell.scored for one in judgement.decompositions for cell in one.cells)
    scored = scored or any(one.scored for one in judgement.abstentions)
    return _run(
        parent_name(facts),
        parent_params(facts),
        order_metrics(judgement) | spend_metrics(judgement),
        tags,
        figures=_figures(facts, judgement, None),
        prompts=told,
        tasks=task_set(facts),
        entry=entry.text,
        complete=scored and facts.head.status == "finished",
    )


def _figures(facts: Facts, judgement: Judgement, candidate: str | None) -> tuple[str, ...]:
    """Files of the bundle that show this candidate; None: those of the whole evaluation."""
    return tuple(f"figures/{one.name}" for one in planned_figures(facts, judgement) if one.candidate == candidate)


def _is_complete(facts: Facts, cell: Cell, declined: Abstention | None) -> bool:
    """A candidate may have all its results although the evaluation was stopped, and none although it was not."""
    counted = (cell, declined) if declined else (cell,)
    unstable = cell.unstable + (declined.recall.unstable if declined else 0)
    missing = unstable < sum(one.planned - one.scored for one in counted)
    return any(one.scored for one in counted) and (facts.head.status == "finished" or not missing)


def _nested(facts: Facts, judgement: Judgement, run: CellRun) -> RunContent:
    decomposition, cell, matched = run.decomposition, run.cell, run.matched
    name = decomposition.candidate
    candidate = lock_candidate(facts.lock, name)
    params = cell_params(facts, candidate, cell) if candidate else {"candidate": name}
    metrics = cell_metrics(cell, decomposition if matched else None) | _beside(judgement, name, cell)
    metrics |= evidence_metrics(judgement, name, cell.name) if matched else {}
    note = fit_note("\n".join(note_lines(run, judgement)) + "\n", "report.md of the parent run")
    return _run(
        run_name(name, cell),
        params,
        in_reading_order(metrics),
        _common_tags(facts) | _cell_tags(decomposition, cell, matched) | {NOTE_TAG: note},
        figures=_figures(facts, judgement, name) if matched else (),
        rows=tuple(run.rows),
        prompts=(cell.contract,),
        tasks=task_set(facts),
        complete=_is_complete(facts, cell, declining(judgement, name, cell)),
    )


def _beside(judgement: Judgement, candidate: str, cell: Cell) -> dict[str, float]:
    """What is kept apart from pass rates and effects: declining, held-out tasks, request styles, wordings."""
    found: dict[str, float] = {}
    if declined := declining(judgement, candidate, cell):
        found |= abstention_metrics(declined)
    for gap in judgement.partition_gaps:
        if (gap.candidate, gap.cell) == (candidate, cell.name):
            found |= partition_metrics(gap)
    for spread in judgement.style_spreads:
        if candidate in spread.candidates.values() and spread.cell == cell.name:
            found |= style_metrics(spread, candidate)
    for worded in wordings(judgement, candidate, cell):
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
    tasks: TaskSet | None = None,
    entry: str = "",
    complete: bool = True,
) -> RunContent:
    """Moves params that MLflow can't hold to files, with their digest in the param's place."""
    long = {key: value for key, value in params.items() if len(value) > MAX_PARAM}
    params = {key: f"sha256:{digest(value)} (long_params/{key}.txt)" if key in long else value for key, value in params.items()}
    return RunContent(fit_name(name), params, metrics, tags, long, figures, rows, prompts, tasks, entry, complete)


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
    return f"{effect.minuend} - {effect.subtrahend} = {points_text(effect.these.value)}"
