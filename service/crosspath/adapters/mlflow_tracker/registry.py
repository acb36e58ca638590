"""MLflow's model registry: the ``Registry`` port.

A version of a registered model has the logged model of a candidate as its source, and its id in a tag: MLflow 3.17 returns no
``model_id``. The history of a model's aliases is a registered model of its own, ``NAME.decisions``, and each version of that is
one decision: its number and its tags are written together, in one transaction of the store, which numbers versions without a gap.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from crosspath.adapters.mlflow_tracker.addresses import evaluation_url, run_url
from crosspath.adapters.mlflow_tracker.connection import Connection
from crosspath.adapters.mlflow_tracker.gate_runs import GateRunLogger, fetch_verdict
from crosspath.adapters.mlflow_tracker.layout import CANDIDATE_TAG, EVALUATION_TAG, IDENTITY_TAG
from crosspath.adapters.mlflow_tracker.logged_models import EVALUATION_RUN_TAG, logged_models, model_of
from crosspath.adapters.mlflow_tracker.names import NOTE_TAG
from crosspath.adapters.mlflow_tracker.registry_history import MlflowHistory, missing, registered
from crosspath.adapters.mlflow_tracker.runs import PARENT_TAG
from crosspath.adapters.mlflow_tracker.tracker import MlflowRef
from crosspath.adapters.mlflow_tracker.vendor import LoggedModel, MlflowClient, MlflowException, RegisteredVersion
from crosspath.errors import ConfigError, TrackerError
from crosspath.escaping import markdown
from crosspath.store.promotions import AliasMover, in_order, require_model_name
from crosspath.types import Decision, EvidenceRef, ModelVersion, Verdict, digest
from crosspath.types.base import Record

SOURCE_TAG = "crosspath.source"
"""Where a version comes from, as JSON. The other tags, short enough for the table of versions, are for people."""
VERSIONS_TAG = "mlflow.modelVersions"
"""MLflow's server sets it on a logged model that is registered; on an embedded store nobody else does."""


class Source(Record):
    """What a version stands for."""

    evaluation: str
    candidate: str
    identity: str
    """Of the evaluation, in whatever ledger: see ``layout.identity``."""
    logged_model: str
    experiment: str
    configuration: str
    """Digest of the logged model's params."""


class MlflowRegistry:
    """Registered models, verdicts and decisions at an MLflow server or in an embedded SQLite store."""

    def __init__(self, tracking_uri: str, artifact_root: Path | None = None) -> None:
        """``artifact_root``: where an embedded store keeps artifacts (default: beside the database)."""
        self._connection = Connection(tracking_uri, artifact_root)

    # -- models ------------------------------------------------------------------------------------------------------------

    def register(self, run_id: str, candidate: str, model: str) -> ModelVersion:
        """Make a candidate of a logged evaluation a version of a registered model; twice is once.

        Raises:
            ConfigError: the name is not one for a model.
            TrackerError: the server can't be reached, no such run or candidate.
        """
        require_model_name(model)
        client = self._connection.client()
        with self._connection.calling(f"registering {candidate!r} of run {run_id}"):
            found = self._logged_model(client, run_id, candidate)
            registered(client, model, "Deployment configurations that Crosspath has evaluated: each version is a candidate.")
            same = [one for one in _versions(client, model) if _same(one, found)]
            version = same[-1] if same else self._create(client, model, found)
            return _read(client, version, _aliases(client, model))

    def _logged_model(self, client: MlflowClient, run_id: str, candidate: str) -> LoggedModel:
        run = client.get_run(run_id)
        parent, experiment = run.data.tags.get(PARENT_TAG, run_id), run.info.experiment_id
        if found := model_of(client, experiment, parent, candidate):
            return found
        there = logged_models(client, experiment, f"tags.`{EVALUATION_RUN_TAG}` = '{parent}'")
        known = ", ".join(sorted(one.tags.get(CANDIDATE_TAG, "") for one in there))
        missing_ = f"there: {known}" if known else "it was logged without any: log it again, crosspath log"
        raise TrackerError(f"run {run_id} holds no candidate {candidate!r} as a logged model; {missing_}")

    def _create(self, client: MlflowClient, model: str, found: LoggedModel) -> RegisteredVersion:
        candidate, evaluation = found.tags[CANDIDATE_TAG], found.tags[EVALUATION_TAG]
        source = Source(
            evaluation=evaluation,
            candidate=candidate,
            identity=found.tags[IDENTITY_TAG],
            logged_model=found.model_id,
            experiment=found.experiment_id,
            configuration=digest(dict(found.params)),
        )
        tags = {
            "candidate": candidate,
            "evaluation": evaluation,
            "lock.digest": found.tags["lock.digest"],
            "configuration.digest": source.configuration,
            SOURCE_TAG: source.to_json(),
        }
        url = evaluation_url(self._connection.uri, found.experiment_id, found.source_run_id)
        note = found.tags.get(NOTE_TAG, "")
        # By its place and not as `models:/m-...`: an embedded store would look that up in MLflow's default store.
        version = client.create_model_version(
            model, found.artifact_location, found.source_run_id, tags,
            description=f"{markdown(candidate)} of {markdown(evaluation)}: [its evaluation]({url})\n\n{note}",
            await_creation_for=0, model_id=found.model_id,
        )  # fmt: skip
        entry = {"name": model, "version": int(version.version)}
        now = json.loads(client.get_logged_model(found.model_id).tags.get(VERSIONS_TAG, "[]"))
        if entry not in now:
            client.set_logged_model_tags(found.model_id, {VERSIONS_TAG: json.dumps([*now, entry])})
        return version

    def find(self, ref: EvidenceRef) -> ModelVersion:
        """The version that a reference to a model names.

        Raises:
            ConfigError: there is no such model, version or alias, or Crosspath did not make it.
            TrackerError: the server can't be reached.
        """
        model = ref.model or ""
        require_model_name(model)
        client = self._connection.client()
        with self._connection.calling(f"looking for {ref}"):
            try:
                if ref.alias is not None:
                    version = client.get_model_version_by_alias(model, ref.alias)
                else:
                    version = client.get_model_version(model, str(ref.version))
            except MlflowException as error:
                if not missing(error):
                    raise
                raise ConfigError(f"there is no {ref} at {self._connection.name}; there: {_known(client, model)}") from None
            if SOURCE_TAG not in version.tags:
                raise ConfigError(f"{ref} was not registered by Crosspath: there is no evaluation behind it")
            return _read(client, version, _aliases(client, model))

    def versions(self, model: str) -> tuple[ModelVersion, ...]:
        """All versions of a registered model that Crosspath made, oldest first; none where there is no such model."""
        require_model_name(model)
        client = self._connection.client()
        with self._connection.calling(f"reading the versions of {model}"):
            aliases = _aliases(client, model)
            return tuple(_read(client, one, aliases) for one in _versions(client, model))

    def aliases(self, model: str) -> Mapping[str, int]:
        """Alias -> version that it points to now; empty where there is no such model."""
        require_model_name(model)
        client = self._connection.client()
        with self._connection.calling(f"reading the aliases of {model}"):
            return _aliases(client, model)

    # -- verdicts ----------------------------------------------------------------------------------------------------------

    def log_verdict(self, verdict: Verdict, directory: Path, experiment: str) -> MlflowRef:
        """A run of its own for a verdict, with its directory as artifacts; the same verdict again changes nothing."""
        client = self._connection.client()
        with self._connection.calling(f"logging {verdict.id} to MLflow"):
            logger = GateRunLogger(self._connection.store(client), self._connection.uri)
            place, run_id = logger.log(verdict, directory, experiment)
        return MlflowRef(run_id, run_url(self._connection.uri, place, run_id))

    def fetch_verdict(self, run_id: str, into: Path) -> Path:
        """Download the directory of a verdict."""
        client = self._connection.client()
        with self._connection.calling(f"no verdict in run {run_id}"):
            return fetch_verdict(self._connection.store(client), run_id, into)

    # -- decisions ---------------------------------------------------------------------------------------------------------

    def promote(self, version: ModelVersion, alias: str, expected: int | None, verdict: Verdict, run_id: str) -> Decision:
        """Move an alias to ``version``; see :class:`crosspath.store.promotions.AliasMover`."""
        return self._mover(version.model).promote(version, alias, expected, verdict, run_id)

    def rollback(self, model: str, alias: str) -> Decision:
        """Take the last promotion of an alias back."""
        return self._mover(model).rollback(model, alias)

    def finish(self, model: str, alias: str) -> Decision:
        """Carry out what was left unfinished."""
        return self._mover(model).finish(model, alias)

    def decisions(self, model: str, alias: str | None = None) -> tuple[Decision, ...]:
        """The whole history, oldest first."""
        require_model_name(model)
        return in_order(self._history().entries(model), alias)

    def _mover(self, model: str) -> AliasMover:
        require_model_name(model)
        return AliasMover(self._history())

    def _history(self) -> MlflowHistory:
        return MlflowHistory(self._connection)


def _versions(client: MlflowClient, model: str) -> list[RegisteredVersion]:
    found = [one for one in _all_versions(client, model) if SOURCE_TAG in one.tags]
    return sorted(found, key=lambda one: int(one.version))


def _all_versions(client: MlflowClient, model: str) -> Iterator[RegisteredVersion]:
    """Every version of a registered model, page by page."""
    token: Any = None
    while True:
        page = client.search_model_versions(f"name = '{model}'", max_results=1000, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def _same(version: RegisteredVersion, model: LoggedModel) -> bool:
    """Of the same candidate of the same evaluation; also where that was logged anew, under other ids."""
    source = Source.from_json(version.tags[SOURCE_TAG])
    ours = (source.identity, source.candidate, source.configuration)
    return ours == (model.tags.get(IDENTITY_TAG), model.tags.get(CANDIDATE_TAG), digest(dict(model.params)))


def _read(client: MlflowClient, version: RegisteredVersion, aliases: Mapping[str, int]) -> ModelVersion:
    """The version as a record, with the configuration of its logged model.

    Raises:
        TrackerError: its logged model is gone, or not the one that was registered.
    """
    source, name = Source.from_json(version.tags[SOURCE_TAG]), f"models:/{version.name}/{version.version}"
    logged = _logged(client, source)
    if logged is None:
        raise TrackerError(f"the evaluation behind {name} is gone: {source.evaluation}, candidate {source.candidate}")
    if digest(dict(logged.params)) != source.configuration:
        raise TrackerError(f"the configuration behind {name} is not the one that was registered")
    return ModelVersion(
        model=version.name,
        version=int(version.version),
        aliases=tuple(sorted(alias for alias, number in aliases.items() if number == int(version.version))),
        evaluation_run=logged.tags[EVALUATION_RUN_TAG],
        evaluation=source.evaluation,
        candidate=source.candidate,
        configuration=dict(logged.params),
    )


def _logged(client: MlflowClient, source: Source) -> LoggedModel | None:
    """The logged model behind a version; where its evaluation was logged anew since, the new one."""
    with suppress(MlflowException):
        return client.get_logged_model(source.logged_model)
    found = logged_models(client, source.experiment, f"tags.`{IDENTITY_TAG}` = '{source.identity}'")
    return next((one for one in found if one.tags.get(CANDIDATE_TAG) == source.candidate), None)


def _aliases(client: MlflowClient, model: str) -> dict[str, int]:
    try:
        return {alias: int(version) for alias, version in client.get_registered_model(model).aliases.items()}
    except MlflowException as error:
        if not missing(error):
            raise
        return {}


def _known(client: MlflowClient, model: str) -> str:
    numbers = [str(one.version) for one in _versions(client, model)][-8:]
    aliases = [f"@{alias}" for alias in sorted(_aliases(client, model))][:8]
    return ", ".join([*(f"version {number}" for number in numbers), *aliases]) or "nothing of this name"
