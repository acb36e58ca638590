"""Traces that anybody has logged, as plain values: those of an experiment, or those of one run."""

import re
from collections.abc import Iterator
from typing import Any

from crosspath.adapters.mlflow_tracker.vendor import MlflowClient, TracingClient
from crosspath.errors import ConfigError

TRACES_IN_A_CALL = 100
_RUN_ID = re.compile(r"[0-9a-f]{32}")
_OLDEST_FIRST = ["timestamp_ms ASC"]


def logged_traces(client: MlflowClient, tracing: TracingClient, named: str) -> Iterator[dict[str, Any]]:
    """Each trace in the form of ``trace.to_dict()``, oldest first. One whose spans can't be fetched comes without any.

    Raises:
        ConfigError: there is no such experiment or run.
    """
    experiment, run_id = _place(client, named)
    token: str | None = None
    while True:
        where = {"locations": [experiment], "run_id": run_id, "max_results": TRACES_IN_A_CALL, "order_by": _OLDEST_FIRST}
        heads = tracing.search_traces(**where, page_token=token, include_spans=False)
        whole = {trace.info.trace_id: trace for trace in tracing.search_traces(**where, page_token=token)}
        yield from (whole.get(head.info.trace_id, head).to_dict() for head in heads)
        token = heads.token
        if not token:
            return


def _place(client: MlflowClient, named: str) -> tuple[str, str | None]:
    """Experiment id, and run id where a run is named."""
    experiment = client.get_experiment_by_name(named)
    if experiment is not None:
        return experiment.experiment_id, None
    known = client.search_experiments(max_results=1000)
    if any(one.experiment_id == named for one in known):
        return named, None
    if _RUN_ID.fullmatch(named):
        return client.get_run(named).info.experiment_id, named
    names = ", ".join(one.name for one in known[:12])
    raise ConfigError(f"no file, experiment or run has this name; the experiments here: {names}", source=named)
