"""Where MLflow's store is by default, how to open its UI, and links into it. Nothing here imports MLflow."""

import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlencode, urlsplit

UI_HOST, UI_PORT = "127.0.0.1", 5000
QUIET_ENVIRONMENT: Mapping[str, str] = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    # MLflow's server imports litellm, which otherwise fetches its price map from the network.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    # No background workers of the server: Crosspath gives them nothing to do, and they are seven processes.
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
}
"""Environment of every process that imports MLflow: nothing but the tracking server is contacted."""


def embedded_uri(directory: Path) -> str:
    """The embedded default: a SQLite store in ``directory`` (usually ``.crosspath``)."""
    return f"sqlite:///{(directory / 'mlflow.db').resolve()}"


def artifacts_beside(tracking_uri: str) -> Path | None:
    """``artifacts`` in the directory of an embedded store's database file; None for servers and other databases."""
    file = database_file(tracking_uri)
    return file.parent / "artifacts" if file else None


def database_file(tracking_uri: str) -> Path | None:
    """The file of an embedded store."""
    return Path(unquote(urlsplit(tracking_uri).path)[1:]) if tracking_uri.startswith("sqlite:///") else None


def without_password(text: str, tracking_uri: str) -> str:
    """``text`` with the password that the address may hold as ``***``: a message must not give it away."""
    password = urlsplit(tracking_uri).password
    return text.replace(f":{password}@", ":***@") if password else text


def file_name(experiment: str) -> str:
    """An experiment's name as a directory name."""
    return "".join(char if char.isascii() and (char.isalnum() or char in "-_.") else "_" for char in experiment)[:80]


def is_server(tracking_uri: str) -> bool:
    """Whether the URI names a running server, which has a UI of its own."""
    return tracking_uri.startswith(("http://", "https://"))


def ui_command(tracking_uri: str, port: int = UI_PORT) -> list[str]:
    """Arguments of the program that serves MLflow's UI on this machine only. Run it with ``QUIET_ENVIRONMENT``.

    Raises:
        ValueError: the URI is a server's; open it in a browser.
    """
    if is_server(tracking_uri):
        raise ValueError(f"{tracking_uri} is a running server: open it in a browser")
    return [
        sys.executable, "-m", "mlflow", "server",
        "--backend-store-uri", tracking_uri,
        "--host", UI_HOST,
        "--port", str(port),
        "--workers", "1",
    ]  # fmt: skip


def evaluation_url(tracking_uri: str, experiment_id: str, run_id: str | None = None, other: str | None = None) -> str:
    """The evaluation-runs page, with one run opened and another one beside it.

    For an embedded store it is the address that ``crosspath ui`` serves.
    """
    base = tracking_uri.rstrip("/") if is_server(tracking_uri) else f"http://{UI_HOST}:{UI_PORT}"
    query = {"selectedRunUuid": run_id, "compareToRunUuid": other}
    chosen = urlencode({key: value for key, value in query.items() if value})
    return f"{base}/#/experiments/{experiment_id}/evaluation-runs" + (f"?{chosen}" if chosen else "")
