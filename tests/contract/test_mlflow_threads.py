"""MLflow's notion of an active run belongs to a thread; results must not follow it."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mlflow
import pytest

from builders import evaluation
from crosspath.adapters.mlflow_tracker import MlflowRef, MlflowTracker
from crosspath.adapters.mlflow_tracker.addresses import embedded_uri
from crosspath.adapters.mlflow_tracker.vendor import MlflowClient
from crosspath.store.bundle import write_bundle

# SQLAlchemy 2.1 deprecates a loader strategy that MLflow 3.17 uses for its own tables.
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning")


def test_results_go_to_their_own_runs_from_any_thread(tmp_path: Path) -> None:
    """With a run of the user's active in the main thread, an evaluation that is logged from a pool has all its runs and metrics;
    the user's run gets none, and no further run appears
    (https://github.com/mlflow/mlflow/issues/15131, https://github.com/mlflow/mlflow/issues/159).
    """
    uri = embedded_uri(tmp_path)
    tracker = MlflowTracker(uri)

    def log(name: str) -> MlflowRef:
        facts, judgement = evaluation(name)
        write_bundle(facts, judgement, tmp_path / name)
        return tracker.log(facts, judgement, tmp_path / name, None)

    def runs_of(client: MlflowClient) -> dict[str, dict[str, float]]:
        experiments = [one.experiment_id for one in client.search_experiments()]
        return {run.info.run_id: run.data.metrics for run in client.search_runs(experiments)}

    alone = log("alone")
    client = MlflowClient(uri, uri)
    before = runs_of(client)
    uri_of_user = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(uri)
    try:
        with mlflow.start_run() as active, ThreadPoolExecutor(1) as pool:
            pooled = pool.submit(log, "pooled").result()
            current = mlflow.active_run()
            assert current is not None
            assert current.info.run_id == active.info.run_id
    finally:
        mlflow.set_tracking_uri(uri_of_user)
    after = runs_of(client)
    assert after.pop(active.info.run_id) == {}
    assert len(after) == 2 * len(before)
    assert after[pooled.run_id].keys() == before[alone.run_id].keys()
