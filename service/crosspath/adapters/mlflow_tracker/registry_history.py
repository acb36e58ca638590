"""The history of a model's aliases in MLflow: the versions of a registered model of its own."""

from datetime import UTC, datetime
from typing import Any

from crosspath.adapters.mlflow_tracker.connection import Connection
from crosspath.adapters.mlflow_tracker.vendor import MlflowClient, MlflowException, RegisteredVersion
from crosspath.errors import ConfigError
from crosspath.escaping import markdown
from crosspath.store.promotions import HISTORY_SUFFIX, version_words
from crosspath.types import Decision, DecisionState

RECORD_TAG = "crosspath.decision"
"""The entry as JSON. The other tags are for people, but for the state."""
STATE_TAG = "state"
_MISSING, _EXISTS = "RESOURCE_DOES_NOT_EXIST", "RESOURCE_ALREADY_EXISTS"


def missing(error: MlflowException) -> bool:
    """Whether MLflow says that there is no such thing; an alias that is not there it calls an invalid parameter."""
    return error.error_code == _MISSING or ("alias" in str(error).lower() and "not found" in str(error).lower())


def registered(client: MlflowClient, name: str, description: str) -> None:
    """Make a registered model, unless there is one."""
    try:
        client.create_registered_model(name, description=description)
    except MlflowException as error:
        if error.error_code != _EXISTS:
            raise


class MlflowHistory:
    """What an alias is moved by: see :class:`crosspath.store.promotions.AliasStore`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known: MlflowClient | None = None

    def entries(self, model: str) -> list[Decision]:
        """All entries, as they were written and closed."""
        with self._connection.calling(f"reading the decisions about {model}"):
            found: list[Decision] = []
            token: Any = None
            while True:
                page = self._client().search_model_versions(_named(model), max_results=1000, page_token=token)
                found += [entry for version in page if (entry := _entry(version))]
                token = page.token
                if not token:
                    return found

    def append(self, entry: Decision) -> None:
        """Add an entry: number and tags in one transaction."""
        with self._connection.calling(f"writing a decision about {entry.model}"):
            client, name = self._client(), f"{entry.model}{HISTORY_SUFFIX}"
            words = f"When the aliases of {entry.model} moved, and on which verdict: each version is a decision. Do not edit."
            registered(client, name, words)
            client.create_model_version(
                name, f"runs:/{entry.verdict_run}/verdict", entry.verdict_run, _tags(entry), description=_words(entry),
                await_creation_for=0,
            )  # fmt: skip

    def close(self, entry: Decision, state: DecisionState) -> None:
        """Write down how it ended."""
        with self._connection.calling(f"closing decision {entry.number} about {entry.model}"):
            self._client().set_model_version_tag(f"{entry.model}{HISTORY_SUFFIX}", str(entry.number), STATE_TAG, state)

    def alias(self, model: str, alias: str) -> int | None:
        """Where it points to; None: nowhere."""
        with self._connection.calling(f"looking for {model}@{alias}"):
            try:
                version = self._client().get_registered_model(model).aliases.get(alias)
            except MlflowException as error:
                if not missing(error):
                    raise
                return None
            return None if version is None else int(version)

    def move(self, model: str, alias: str, version: int | None) -> None:
        """Point it to a version; None: take it away.

        Raises:
            ConfigError: there is no such version any more.
        """
        with self._connection.calling(f"moving {model}@{alias}"):
            if version is None:
                self._client().delete_registered_model_alias(model, alias)
                return
            try:
                self._client().set_registered_model_alias(model, alias, str(version))
            except MlflowException as error:
                if not missing(error):
                    raise
                raise ConfigError(f"models:/{model}/{version} does not exist any more; {model}@{alias} was not moved") from None

    def _client(self) -> MlflowClient:
        """Asked for a sign of life once."""
        self._known = self._known or self._connection.client()
        return self._known


def _named(model: str) -> str:
    return f"name = '{model}{HISTORY_SUFFIX}'"


def _entry(version: RegisteredVersion) -> Decision | None:
    """None: somebody else's version."""
    record = version.tags.get(RECORD_TAG)
    if record is None:
        return None
    closed = version.tags.get(STATE_TAG)
    state = closed if closed in ("done", "withdrawn") else "unfinished"
    return Decision.from_json(record).model_copy(update={"number": int(version.version), "state": state})


def _tags(entry: Decision) -> dict[str, str]:
    return {
        "what": entry.kind,
        "alias": entry.alias,
        "from": version_words(entry.from_version),
        "to": version_words(entry.to_version),
        "verdict": entry.verdict,
        RECORD_TAG: entry.to_json(),
    }


def _words(entry: Decision) -> str:
    """No markup at its beginning: the table of versions shows it as it is."""
    moved = f"{version_words(entry.from_version)} → {version_words(entry.to_version)}"
    when = f"{datetime.fromtimestamp(entry.decided_at, UTC):%Y-%m-%d %H:%M} UTC"
    return f"{markdown(entry.alias)}: {moved}, {entry.kind}, {when}; its verdict is the source run"
