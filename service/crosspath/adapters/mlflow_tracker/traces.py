"""Rows of MLflow's evaluation pages: a trace with its spans and assessments for each, written and counted."""

from collections.abc import Mapping, Sequence

from crosspath.adapters.mlflow_tracker.names import chunks
from crosspath.adapters.mlflow_tracker.rows import Row, span_records
from crosspath.adapters.mlflow_tracker.vendor import (
    Assessment,
    AssessmentError,
    AssessmentSource,
    Feedback,
    Span,
    TraceInfo,
    TraceLocation,
    TraceState,
    TracingClient,
)
from crosspath.errors import TrackerError

ROWS_IN_A_CALL = 50


def log_rows(tracing: TracingClient, experiment: str, run_id: str, rows: Sequence[Row]) -> None:
    """Write the rows of a run, then count what MLflow holds: each trace, and each span of the staged ones.

    Raises:
        TrackerError: a row or a span is missing.
    """
    written: dict[str, int] = {}
    for batch in chunks(rows, ROWS_IN_A_CALL):
        written |= _write_rows(tracing, experiment, run_id, batch)
    found = _trace_ids(tracing, experiment, run_id)
    if set(found) != written.keys() or len(found) != len(written):
        raise TrackerError(f"run {run_id}: {len(rows)} rows were logged, MLflow kept {len(found)}")
    _require_spans(tracing, run_id, {trace: spans for trace, spans in written.items() if spans > 1})


def _require_spans(tracing: TracingClient, run_id: str, wanted: Mapping[str, int]) -> None:
    for batch in chunks(list(wanted), ROWS_IN_A_CALL):
        kept = {trace.info.trace_id: len(trace.data.spans) for trace in tracing.batch_get_traces(list(batch))}
        if short := next((trace for trace in batch if kept.get(trace) != wanted[trace]), None):
            raise TrackerError(
                f"run {run_id}: trace {short} was logged with {wanted[short]} spans, MLflow kept {kept.get(short, 0)}"
            )


def delete_rows(tracing: TracingClient, experiment: str, run_id: str) -> None:
    """Take away the rows of a run."""
    for batch in chunks(_trace_ids(tracing, experiment, run_id)):
        tracing.delete_traces(experiment, trace_ids=list(batch))


def _write_rows(tracing: TracingClient, experiment: str, run_id: str, rows: Sequence[Row]) -> dict[str, int]:
    """A trace with its spans and assessments for each row; all spans travel in one call. Trace id -> number of its spans."""
    traces = [[Span.from_dict(record) for record in span_records(row)] for row in rows]
    for row, spans in zip(rows, traces, strict=True):
        tracing.start_trace(_trace_info(experiment, run_id, row, spans[0]))
    tracing.log_spans(experiment, [span for spans in traces for span in spans])
    return {spans[0].trace_id: len(spans) for spans in traces}


def _trace_info(experiment: str, run_id: str, row: Row, span: Span) -> TraceInfo:
    """What the list of rows shows; ``mlflow.sourceRun`` ties the trace to its run."""
    return TraceInfo(
        trace_id=span.trace_id,
        trace_location=TraceLocation.from_experiment_id(experiment),
        request_time=round(row.started_s * 1000),
        state=TraceState.ERROR if row.fault else TraceState.OK,
        request_preview=row.request_text,
        response_preview=row.preview,
        client_request_id=row.name,
        execution_duration=round(row.duration_s * 1000),
        trace_metadata={"mlflow.sourceRun": run_id},
        tags={"mlflow.traceName": row.name, **row.tags},
        assessments=_assessments(row, run_id),
    )


def _assessments(row: Row, run_id: str) -> list[Assessment]:
    source = AssessmentSource("CODE", "crosspath")
    return [
        Feedback(
            name=verdict.name,
            value=verdict.value,
            error=AssessmentError("FAULT", verdict.fault) if verdict.fault else None,
            source=source,
            rationale=verdict.rationale or None,
            metadata={"mlflow.assessment.sourceRunId": run_id},
        )
        for verdict in row.verdicts
    ]


def _trace_ids(tracing: TracingClient, experiment: str, run_id: str) -> list[str]:
    found: list[str] = []
    token: str | None = None
    while True:
        page = tracing.search_traces(
            [experiment], f"metadata.`mlflow.sourceRun` = '{run_id}'", max_results=500, page_token=token, include_spans=False
        )
        found += [trace.info.trace_id for trace in page]
        token = page.token
        if not token:
            return found
