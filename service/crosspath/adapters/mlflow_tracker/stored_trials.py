"""Replies that evaluations of an experiment bought already: two files of each bundle, not the whole of it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from crosspath.adapters.mlflow_tracker.layout import EVALUATION_TAG, LOGGED_TAG
from crosspath.adapters.mlflow_tracker.runs import BUNDLE
from crosspath.adapters.mlflow_tracker.vendor import MlflowClient, Run, ViewType
from crosspath.errors import ConfigError, CrosspathError, StoreError, boundary
from crosspath.store.bundle import INDEX, read_trials
from crosspath.types import LoggedTrials

MOST_EVALUATIONS = 100
"""So many of the newest evaluations of an experiment are looked through."""
_WANTED = f"tags.`crosspath.role` = 'evaluation' and tags.`{LOGGED_TAG}` != ''"


def stored_trials(client: MlflowClient, experiment: str) -> Iterator[LoggedTrials]:
    """The trials of each evaluation of an experiment, the newest first.

    Raises:
        ConfigError: there is no such experiment.
    """
    found = client.get_experiment_by_name(experiment)
    if found is None:
        raise ConfigError(f"there is no experiment {experiment!r}", field="reuse")
    for run in _newest_first(client, found.experiment_id):
        name, evaluation = run.info.run_id, run.data.tags.get(EVALUATION_TAG, "")
        with tempfile.TemporaryDirectory(prefix="crosspath-") as temporary:
            try:
                yield LoggedTrials(run=name, evaluation=evaluation, trials=read_trials(_download(client, name, Path(temporary))))
            except CrosspathError as error:
                yield LoggedTrials(run=name, evaluation=evaluation, problem=str(error))


def _newest_first(client: MlflowClient, experiment: str) -> list[Run]:
    order = ["attributes.start_time DESC"]
    return list(client.search_runs([experiment], _WANTED, ViewType.ACTIVE_ONLY, MOST_EVALUATIONS, order))


def _download(client: MlflowClient, run: str, into: Path) -> Path:
    """The index and the trials, as a directory that looks like a bundle."""
    with boundary(StoreError, f"fetching the replies of run {run}"):
        for name in (INDEX, "trials.parquet"):
            found = Path(client.download_artifacts(run, f"{BUNDLE}/{name}", str(into)))
            found.replace(into / name)
    return into
