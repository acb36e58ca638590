"""One row per task for MLflow's evaluation pages: request, response and assessments, as plain data.

MLflow pairs the rows of two runs by equal requests, so a request holds the task and nothing of the candidate. All trials of a
task are one row. MLflow shows the mean of an assessment over the rows, so ``passed`` is true or false where a task has one
trial, and the share of its trials that pass where it has several: either way the mean is the pass rate over these tasks.
"""

import json
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from crosspath.adapters.mlflow_tracker.stages import ShownTrial, stage_records, stages_of


@dataclass(frozen=True)
class Verdict:
    """One assessment of a row. ``fault`` instead of ``value``: it could not be observed."""

    name: str
    value: bool | float | str | None = None
    rationale: str = ""
    fault: str | None = None


@dataclass(frozen=True)
class Row:
    """All trials of one task in one cell; a reply, commands and a final state are those of the trial that is shown."""

    task: str
    request: Mapping[str, Any]
    request_text: str
    """What the list of rows shows and pairs by; equal for the same task in every run."""
    response: Mapping[str, Any]
    verdicts: tuple[Verdict, ...]
    started_s: float
    duration_s: float
    preview: str = ""
    """The response in one line, for the list of rows."""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Of the row as a whole: what MLflow counts (tokens) where there are no stages."""
    shown: ShownTrial | None = None
    staged: bool = False
    """Whether its trace has a span for each stage of the shown trial; else it is a single span."""

    @property
    def name(self) -> str:
        return self.task

    @property
    def fault(self) -> str | None:
        """Why there is nothing to judge."""
        return next((verdict.fault for verdict in self.verdicts if verdict.fault), None)

    @property
    def cause(self) -> str:
        """Why the trial that is shown fails."""
        return next((str(verdict.value) for verdict in self.verdicts if verdict.name == "cause"), self.fault or "")

    @property
    def wholly_right(self) -> bool:
        """Every trial passed."""
        return bool(self.verdicts) and self.verdicts[0].value in (True, 1.0)


def span_records(row: Row) -> list[dict[str, Any]]:
    """The row as the spans of a new trace, the root first, in the form that MLflow's ``Span.from_dict`` reads."""
    trace_id = f"tr-{secrets.token_hex(16)}"
    root = {
        "mlflow.traceRequestId": trace_id,
        "mlflow.spanType": "TASK",
        "mlflow.spanInputs": row.request,
        "mlflow.spanOutputs": row.response,
        **({} if row.staged else row.attributes),
    }
    start = int(row.started_s * 1e9)
    record = {
        "trace_id": trace_id,
        "span_id": secrets.token_hex(8),
        "parent_span_id": None,
        "name": row.name,
        "start_time_unix_nano": start,
        "end_time_unix_nano": start + int(row.duration_s * 1e9),
        "status": {"code": "ERROR" if row.fault else "OK", "message": row.fault or ""},
        "attributes": {name: json.dumps(value, ensure_ascii=False) for name, value in root.items()},
    }
    stages = stages_of(row.shown) if row.staged and row.shown else ()
    return [record, *stage_records(stages, record)]


def with_stages(runs: Sequence[Sequence[Row]], matched: Sequence[bool], most: int | None) -> list[tuple[Row, ...]]:
    """The rows, at most ``most`` of them with a span for each stage: failing tasks of matched runs, as many in each.

    Where not all can be had, each kind of failure is there before any is there twice. None: all failing tasks of all runs.
    """
    each = None if most is None else most // max(1, sum(matched))
    chosen = [{row.task for row in _kinds_first(rows)[:each]} if mine or most is None else set[str]()
              for rows, mine in zip(runs, matched, strict=True)]  # fmt: skip
    return [tuple(replace(row, staged=row.task in tasks) for row in rows) for rows, tasks in zip(runs, chosen, strict=True)]


def _kinds_first(rows: Sequence[Row]) -> list[Row]:
    """Failing rows: the first of each cause and family, then the second ones."""
    seen: Counter[tuple[str, str]] = Counter()
    ranked: list[tuple[int, Row]] = []
    for row in rows:
        if not row.wholly_right:
            kind = (row.cause, row.tags.get("family", ""))
            ranked.append((seen[kind], row))
            seen[kind] += 1
    return [row for _, row in sorted(ranked, key=lambda pair: pair[0])]


def select_rows(runs: Sequence[Sequence[Row]], matched: Sequence[bool], most: int | None) -> list[tuple[Row, ...]]:
    """At most ``most`` rows over all runs, the same tasks in each, so that candidates stay comparable; failed tasks first.

    Matched runs have theirs first; the others (reference runs) have the same ones where all of those still fit, else none. None:
    all.
    """
    if most is None:
        return [tuple(rows) for rows in runs]
    chosen = set(_by_interest(runs)[: most // max(1, sum(matched))])
    kept = [tuple(row for row in rows if row.task in chosen) for rows in runs]
    fits = sum(map(len, kept)) <= most
    return [rows if mine or fits else () for rows, mine in zip(kept, matched, strict=True)]


def _by_interest(cells: Sequence[Sequence[Row]]) -> list[str]:
    """Tasks that fail somewhere first, else in their order."""
    tasks = list(dict.fromkeys(row.task for rows in cells for row in rows))
    failed = {row.task for rows in cells for row in rows if not row.wholly_right}
    return sorted(tasks, key=lambda task: task not in failed)
