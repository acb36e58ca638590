"""Which adapter stands behind each port: the only module that names them. Vendors are imported when they are first needed."""

import os
import shlex
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from crosspath.errors import ConfigError
from crosspath.ports import Executor, Model, Registry, Sandbox, Series, Tracker, Validator
from crosspath.spec import Spec
from crosspath.types import Reply

if TYPE_CHECKING:
    from crosspath.adapters.mlflow_tracker.addresses import Server
    from crosspath.adapters.mlflow_tracker.scoring import Judge

STORE_VARIABLE = "CROSSPATH_STORE"
TRACKING_VARIABLE = "MLFLOW_TRACKING_URI"


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
            withheld=filter(None, [spec.tasks.heldout_seed_env]),
        )
    raise ConfigError(f"{kind!r} is not an executor; known: local, ray", field="executor.kind")


def make_validator() -> Validator:
    """Great Expectations."""
    from crosspath.adapters.gx_validator import GxValidator

    return GxValidator()


def tracking_uri(store: Path) -> str:
    """``$MLFLOW_TRACKING_URI``, else a SQLite file in the store."""
    from crosspath.adapters.mlflow_tracker.addresses import absolute, embedded_uri

    named = os.environ.get(TRACKING_VARIABLE)
    return absolute(named) if named else embedded_uri(store)


def stored_uri(stored: str, store: Path) -> str:
    """An address as an evaluation keeps it, with the password that was left out there.

    Raises:
        ConfigError: it had a password, and ``$MLFLOW_TRACKING_URI`` does not give it.
    """
    from crosspath.adapters.mlflow_tracker.addresses import HIDDEN, without_password

    known = tracking_uri(store)
    if without_password(known, known) == stored:
        return known
    if HIDDEN in stored:
        raise ConfigError(f"it was logged to {stored}: give that address with its password", field=TRACKING_VARIABLE)
    return stored


def make_tracker(store: Path, uri: str | None = None, traces: int | Literal["all"] | None = None) -> Tracker:
    """MLflow, at the given address or the default one. ``traces``: failing tasks shown stage by stage; None: as usual."""
    from crosspath.adapters.mlflow_tracker import MlflowTracker
    from crosspath.adapters.mlflow_tracker.addresses import embedded_uri

    chosen = uri or tracking_uri(store)
    own = chosen == embedded_uri(store)
    root = (store / "mlflow-artifacts").resolve() if own else None
    return MlflowTracker(chosen, artifact_root=root, traces=traces)


def make_registry(store: Path, uri: str | None = None) -> Registry:
    """MLflow's model registry, at the given address or the default one."""
    from crosspath.adapters.mlflow_tracker.addresses import embedded_uri
    from crosspath.adapters.mlflow_tracker.registry import MlflowRegistry

    chosen = uri or tracking_uri(store)
    own = chosen == embedded_uri(store)
    return MlflowRegistry(chosen, artifact_root=(store / "mlflow-artifacts").resolve() if own else None)


def make_series(store: Path, uri: str | None = None) -> Series:
    """Deployments' evaluations in MLflow, at the given address or the default one; their entries are kept below the store."""
    from crosspath.adapters.mlflow_tracker.addresses import embedded_uri
    from crosspath.adapters.mlflow_tracker.series import MlflowSeries

    chosen = uri or tracking_uri(store)
    own = chosen == embedded_uri(store)
    root = (store / "mlflow-artifacts").resolve() if own else None
    return MlflowSeries(chosen, artifact_root=root, cache=store / "series")


def make_scorer(judge: "Judge", name: str) -> Any:
    """A scorer for ``mlflow.genai.evaluate``."""
    from crosspath.adapters.mlflow_tracker.scoring import make_scorer

    return make_scorer(judge, name)


def logged_traces(named: str, uri: str) -> Iterator[dict[str, Any]]:
    """The traces of an experiment or run of MLflow, at the given address.

    Raises:
        ConfigError: there is no such experiment or run.
        TrackerError: the server can't be reached, or refuses.
    """
    from crosspath.adapters.mlflow_tracker import MlflowTracker

    return MlflowTracker(uri).traces(named)


def is_missing(uri: str) -> bool:
    """Whether the address is a file's that does not exist: nothing was logged there, and asking would make it."""
    from crosspath.adapters.mlflow_tracker.addresses import database_file

    file = database_file(uri)
    return file is not None and not file.exists()


def ui_server(uri: str, port: int) -> "Server | None":
    """How to serve MLflow's UI on a store; None where a server runs already."""
    from crosspath.adapters.mlflow_tracker import addresses

    return None if addresses.is_server(uri) else addresses.ui_server(uri, port)


def ui_url(uri: str, port: int) -> str:
    """Where the UI of a store is, or will be; without a password."""
    from crosspath.adapters.mlflow_tracker import addresses

    return without_password(uri) if addresses.is_server(uri) else f"http://{addresses.UI_HOST}:{port}"


def run_url(server: str, experiment_id: str, run_id: str) -> str:
    """The page of one run on a server."""
    from crosspath.adapters.mlflow_tracker.addresses import evaluation_url

    return evaluation_url(server, experiment_id, run_id)


def without_password(uri: str) -> str:
    """A tracking address to be printed."""
    from crosspath.adapters.mlflow_tracker import addresses

    return addresses.without_password(uri, uri)


def ui_instruction(store: Path, uri: str) -> str | None:
    """The command that serves the store that ``uri`` names, to be given in this directory; None where a server runs already."""
    from crosspath.adapters.mlflow_tracker.addresses import HIDDEN, embedded_uri, is_server

    if is_server(uri):
        return None
    if uri != embedded_uri(store):
        # A password is in the environment and nowhere else.
        return "crosspath ui" if HIDDEN in uri else f"crosspath ui --tracking-uri {shlex.quote(uri)}"
    usual = Path(".crosspath").resolve()
    return "crosspath ui" if store.resolve() == usual else f"crosspath ui --store {shlex.quote(str(store.resolve()))}"
