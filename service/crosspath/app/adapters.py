"""Which adapter stands behind each port: the only module that names them. Vendors are imported when they are first needed."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from crosspath.errors import ConfigError
from crosspath.ports import Executor, Model, Sandbox, Tracker, Validator
from crosspath.spec import Spec
from crosspath.types import Reply

STORE_VARIABLE = "CROSSPATH_STORE"


def store_directory(store: str | Path | None = None) -> Path:
    """The ledger's directory: as given, else ``$CROSSPATH_STORE``, else ``.crosspath`` here."""
    return Path(store or os.environ.get(STORE_VARIABLE) or ".crosspath")


def make_model(answers: Mapping[str, Reply]) -> Model:
    """litellm, with the answers that need no endpoint."""
    from crosspath.adapters.litellm_model import LitellmModel

    return LitellmModel(answers=answers)


def make_sandbox(spec: Spec) -> Sandbox:
    """Bubblewrap, or none where the spec says so explicitly."""
    if spec.sandbox == "none":
        from crosspath.adapters.process_sandbox import ProcessSandbox

        return ProcessSandbox(limits=spec.sandbox_limits)
    from crosspath.adapters.bubblewrap_sandbox import BubblewrapSandbox

    return BubblewrapSandbox(limits=spec.sandbox_limits)


def make_executor(kind: str, spec: Spec, answers: Mapping[str, Reply]) -> Executor:
    """``local`` or ``ray``."""
    model, sandbox = partial(make_model, dict(answers)), partial(make_sandbox, spec)
    workers = spec.executor.replay_workers or len(os.sched_getaffinity(0))
    if kind == "local":
        from crosspath.adapters.local_executor import LocalExecutor

        return LocalExecutor(model, sandbox, replay_workers=workers)
    if kind == "ray":
        from crosspath.adapters.ray_executor import RayExecutor

        return RayExecutor(
            model,
            sandbox,
            address=spec.executor.address,
            replay_workers=workers,
            model_concurrency=spec.executor.model_concurrency,
        )
    raise ConfigError(f"{kind!r} is not an executor; known: local, ray", field="executor.kind")


def make_validator() -> Validator:
    """Great Expectations."""
    from crosspath.adapters.gx_validator import GxValidator

    return GxValidator()


def tracking_uri(store: Path) -> str:
    """``$MLFLOW_TRACKING_URI``, else a SQLite file in the store."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{(store / 'mlflow.db').resolve()}"


def make_tracker(store: Path, uri: str | None = None) -> Tracker:
    """MLflow, at the given address or the default one."""
    from crosspath.adapters.mlflow_tracker import MlflowTracker

    chosen = uri or tracking_uri(store)
    embedded = chosen.startswith("sqlite:")
    return MlflowTracker(chosen, artifact_root=(store / "mlflow-artifacts").resolve() if embedded else None)


def ui_command(store: Path, port: int) -> tuple[list[str], dict[str, str], str]:
    """How to serve MLflow's UI: command (empty where a server runs already), environment, address."""
    from crosspath.adapters.mlflow_tracker import addresses

    uri = tracking_uri(store)
    if addresses.is_server(uri):
        return [], {}, uri
    return addresses.ui_command(uri, port), dict(addresses.QUIET_ENVIRONMENT), f"http://{addresses.UI_HOST}:{port}"
