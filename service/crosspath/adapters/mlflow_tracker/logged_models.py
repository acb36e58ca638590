"""Each candidate of a logged evaluation as an *external logged model*: its configuration, linked to the metrics of its run.

The model itself is elsewhere; MLflow keeps what it takes to tell it from others, and a version of a registered model points here.
About 140 ms a candidate on an embedded store and 180 to 360 ms behind a server (two busy cores), however many there are.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from crosspath.adapters.mlflow_tracker.layout import CANDIDATE_TAG, EVALUATION_TAG, IDENTITY_TAG, RunContent
from crosspath.adapters.mlflow_tracker.names import NOTE_TAG, chunks, shown
from crosspath.adapters.mlflow_tracker.vendor import (
    LoggedModel,
    LoggedModelInput,
    LoggedModelStatus,
    Metric,
    MlflowClient,
    Run,
)
from crosspath.errors import TrackerError

EVALUATION_RUN_TAG = "crosspath.evaluation_run"
MODEL_TYPE = "crosspath candidate"
EXTERNAL_TAG = "mlflow.model.isExternal"
MAX_KEY = 250
_UNUSUAL = re.compile(r"""[/:.%"'\x00-\x1f]""")
_Configurations = Mapping[str, Mapping[str, str]]


def stored(configuration: Mapping[str, str]) -> dict[str, str]:
    """A configuration as every store can hold it; what is compared with one that was stored has to go through this, too."""
    return {shown(key)[:MAX_KEY]: shown(value) for key, value in configuration.items()}


class CandidateModels:
    """The logged models of one evaluation."""

    def __init__(self, client: MlflowClient, experiment: str, parent: str) -> None:
        self._client = client
        self._experiment = experiment
        self._parent = parent

    def complete(self, matched: Sequence[Run], contents: Iterable[RunContent], configurations: _Configurations) -> None:
        """One model for each matched run. What is there stays; what an interrupted attempt left is made anew.

        Raises:
            TrackerError: MLflow did not keep a configuration as it was logged.
        """
        ready = {one.source_run_id for one in self._existing() if self._usable(one)}
        content = {run.tags.get(CANDIDATE_TAG): run for run in contents if run.tags.get("crosspath.role") == "matched"}
        for run in matched:
            candidate = run.data.tags.get(CANDIDATE_TAG, "")
            if run.info.run_id not in ready and candidate in content:
                self._log(run, candidate, content[candidate], configurations.get(candidate, {}))

    def delete(self) -> None:
        """Take all of them away: their runs go, too."""
        for model in self._existing():
            self._client.delete_logged_model(model.model_id)

    def _existing(self) -> list[LoggedModel]:
        wanted = f"tags.`{EVALUATION_RUN_TAG}` = '{self._parent}'"
        return list(logged_models(self._client, self._experiment, wanted))

    def _usable(self, model: LoggedModel) -> bool:
        if model.status == LoggedModelStatus.READY:
            return True
        self._client.delete_logged_model(model.model_id)
        return False

    def _log(self, run: Run, candidate: str, content: RunContent, configuration: Mapping[str, str]) -> None:
        tags = {
            EXTERNAL_TAG: "true",
            NOTE_TAG: content.tags.get(NOTE_TAG, "").split("\n\n")[0],
            CANDIDATE_TAG: candidate,
            EVALUATION_RUN_TAG: self._parent,
            **{key: run.data.tags[key] for key in (EVALUATION_TAG, IDENTITY_TAG, "lock.digest") if key in run.data.tags},
        }
        params = stored(configuration)
        first, *rest = [dict(batch) for batch in chunks(list(params.items()))] or [{}]
        run_id, started = run.info.run_id, run.info.start_time
        model = self._client.create_logged_model(
            self._experiment, model_name(candidate), run_id, tags=tags, params=first, model_type=MODEL_TYPE
        )
        for batch in rest:
            self._client.log_model_params(model.model_id, batch)
        linked = [Metric(key, value, started, 0, model_id=model.model_id) for key, value in content.metrics.items()]
        self._client.log_batch(run_id, metrics=linked)
        # As its input: a run with a model as its output is hidden from MLflow's page of evaluation runs.
        self._client.log_inputs(run_id, models=[LoggedModelInput(model.model_id)])
        ended = self._client.finalize_logged_model(model.model_id, "READY")
        if ended.params != params:
            raise TrackerError(f"MLflow did not keep the configuration of {candidate!r} as it was logged")


def model_of(client: MlflowClient, experiment: str, evaluation_run: str, candidate: str) -> LoggedModel | None:
    """The logged model of a candidate."""
    found = logged_models(client, experiment, f"tags.`{EVALUATION_RUN_TAG}` = '{evaluation_run}'")
    return next((one for one in found if one.tags.get(CANDIDATE_TAG) == shown(candidate)), None)


def logged_models(client: MlflowClient, experiment: str, wanted: str) -> Iterator[LoggedModel]:
    """All logged models of an experiment that a filter finds, page by page."""
    token: Any = None
    while True:
        page = client.search_logged_models([experiment], wanted, max_results=100, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def model_name(candidate: str) -> str:
    """The candidate's name without what MLflow refuses in a logged model's; the tag has it whole."""
    return _UNUSUAL.sub("_", shown(candidate))[:MAX_KEY] or "_"
