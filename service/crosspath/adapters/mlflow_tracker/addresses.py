"""Where MLflow's store is by default, how to open its UI, and links into it. Nothing here imports MLflow."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
_QUIET_SERVER: Mapping[str, str] = {
    **QUIET_ENVIRONMENT,
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    # What MLflow's own imports do is nothing that a user could mend.
    "PYTHONWARNINGS": "ignore:starlette.middleware.wsgi is deprecated",
}
_SERVER_NOISE = ("[MLflow] Security middleware enabled",)
"""Starts of lines that MLflow's server prints to standard error on each start, and that say that nothing is wrong."""
HIDDEN = "***"


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


def absolute(tracking_uri: str) -> str:
    """The address as it is from any directory: the file of an embedded store may be named relative to this one."""
    file = database_file(tracking_uri)
    return tracking_uri if file is None or file.is_absolute() else f"sqlite:///{file.resolve()}"


def without_password(text: str, tracking_uri: str) -> str:
    """``text`` with the password that the address may hold as ``***``: a message must not give it away."""
    for before, password, after in _passwords(tracking_uri):
        text = text.replace(f"{before}{password}{after}", f"{before}{HIDDEN}{after}")
    return text


def _passwords(tracking_uri: str) -> Iterator[tuple[str, str, str]]:
    """Passwords in an address, each with what stands around it: ``user:PASSWORD@host``, ``?password=PASSWORD``."""
    try:
        parts = urlsplit(tracking_uri)
    except ValueError:
        return
    if parts.password:
        yield ":", parts.password, "@"
    for pair in parts.query.split("&"):
        name, _, value = pair.partition("=")
        if value and any(word in name.lower() for word in ("pass", "pwd", "secret", "token")):
            yield f"{name}=", value, ""


def file_name(experiment: str) -> str:
    """An experiment's name as a directory name."""
    return "".join(char if char.isascii() and (char.isalnum() or char in "-_.") else "_" for char in experiment)[:80]


def is_server(tracking_uri: str) -> bool:
    """Whether the URI names a running server, which has a UI of its own."""
    return tracking_uri.startswith(("http://", "https://"))


@dataclass(frozen=True)
class Server:
    """How to start the program that serves MLflow's UI on this machine only."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    """To be set on top of the present one. It names the store, because a command line with a password can be read by anybody."""
    noise: tuple[str, ...] = _SERVER_NOISE


def ui_server(tracking_uri: str, port: int = UI_PORT) -> Server:
    """The server of a store that has none.

    Raises:
        ValueError: the address is a running server's; open it in a browser.
    """
    if is_server(tracking_uri):
        raise ValueError(f"{tracking_uri} is a running server: open it in a browser")
    command = (
        sys.executable, "-m", "mlflow", "server",
        "--host", UI_HOST,
        "--port", str(port),
        "--workers", "1",
        "--uvicorn-opts", "--log-level warning",
    )  # fmt: skip
    stores = {"MLFLOW_BACKEND_STORE_URI": tracking_uri, "MLFLOW_REGISTRY_STORE_URI": tracking_uri}
    return Server(command, {**_QUIET_SERVER, **stores})


def evaluation_url(tracking_uri: str, experiment_id: str, run_id: str | None = None, other: str | None = None) -> str:
    """The evaluation-runs page, with one run opened and another one beside it.

    For an embedded store it is the address that ``crosspath ui`` serves.
    """
    base = _without_login(tracking_uri).rstrip("/") if is_server(tracking_uri) else f"http://{UI_HOST}:{UI_PORT}"
    query = {"selectedRunUuid": run_id, "compareToRunUuid": other}
    chosen = urlencode({key: value for key, value in query.items() if value})
    return f"{base}/#/experiments/{experiment_id}/evaluation-runs" + (f"?{chosen}" if chosen else "")


def run_url(tracking_uri: str, experiment_id: str, run_id: str) -> str:
    """The page of one run, which opens with its description."""
    return f"{evaluation_url(tracking_uri, experiment_id).removesuffix('/evaluation-runs')}/runs/{run_id}"


def _without_login(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
