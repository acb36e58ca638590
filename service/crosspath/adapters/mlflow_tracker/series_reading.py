"""A deployment's evaluations in MLflow: found by their tags; their entries are fetched in threads, and kept below the store."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from crosspath.adapters.mlflow_tracker.entry_cache import EntryCache
from crosspath.adapters.mlflow_tracker.layout import EVALUATION_TAG, IDENTITY_TAG, LOGGED_TAG
from crosspath.adapters.mlflow_tracker.runs import BUNDLE, OWN_TAG
from crosspath.adapters.mlflow_tracker.series_entries import DEPLOYMENT_TAG, ENTRY, ENTRY_TAG, ROLE_TAG, entry_digest
from crosspath.adapters.mlflow_tracker.vendor import MlflowClient, Run, ViewType, download_artifacts
from crosspath.errors import ConfigError, CrosspathError, StoreError, TrackerError, boundary
from crosspath.pipeline.series import entry_of
from crosspath.spec.resolution import name_problem, near
from crosspath.store import migrations
from crosspath.store.bundle import drop_unlisted, read_bundle, read_judgement
from crosspath.types.drift import SeriesEntry, SeriesHistory, UnreadableEntry

RUNS_IN_A_CALL = 1000
EXPERIMENTS_IN_A_CALL = 500
AT_ONCE = 8
"""Entries that are fetched at the same time."""
MOST_NAMES = 1000
"""So many of the newest evaluations are looked through for names of deployments, where one is unknown."""
_EVALUATIONS = "tags.`crosspath.role` = 'evaluation'"


class Unusable(Exception):
    """Why an entry can't be used; one line."""


@dataclass(frozen=True)
class SeriesReader:
    """Reads the series of a store."""

    client: MlflowClient
    uri: str
    """With its password, where it has one."""
    cache: EntryCache

    def history(self, deployment: str, experiment: str | None) -> SeriesHistory:
        """All evaluations of a deployment, oldest first.

        Raises:
            ConfigError: there is no such deployment or experiment, or it is in several experiments and none is named.
            TrackerError: what answers is no MLflow.
        """
        places = experiments(self.client)
        if not places and not self.client.search_experiments(ViewType.ALL, max_results=1):
            # MLflow makes one when it starts, and keeps those that are deleted.
            raise TrackerError(f"{self.uri} answers and knows no experiment at all, not even a deleted one: is it MLflow?")
        runs = list(self._runs(places, deployment)) if name_problem(deployment) is None else []
        place = self._place(deployment, experiment, places, runs)
        found = self._read_all(_once(run for run in runs if run.info.experiment_id == place), deployment)
        entries = sorted((one for one in found if isinstance(one, SeriesEntry)), key=lambda one: (one.created_at, one.evaluation))
        unreadable = tuple(one for one in found if isinstance(one, UnreadableEntry))
        return SeriesHistory(deployment=deployment, experiment=places[place], entries=tuple(entries), unreadable=unreadable)

    def _runs(self, places: Mapping[str, str], deployment: str) -> Iterator[Run]:
        wanted = f"{_EVALUATIONS} and tags.`{DEPLOYMENT_TAG}` = '{deployment}'"
        yield from all_runs(self.client, list(places), wanted)

    def _place(self, deployment: str, experiment: str | None, places: Mapping[str, str], runs: Sequence[Run]) -> str:
        """Id of the one experiment that the evaluations are in."""
        there = sorted({places[run.info.experiment_id] for run in runs})
        if experiment is not None and experiment not in places.values():
            raise ConfigError(f"there is no experiment {experiment!r}; {near(experiment, there or places.values())}")
        if not there:
            known = self._deployments(places)
            how = "" if known else ": it begins with the first evaluation in MLflow of a spec that names it (deployment:)"
            raise ConfigError(f"there is no deployment {deployment!r}; {near(deployment, known)}{how}")
        if experiment is None and len(there) > 1:
            raise ConfigError(
                f"evaluations of deployment {deployment!r} are in several experiments: {', '.join(there)};"
                " name one of them with --experiment"
            )
        if experiment is not None and experiment not in there:
            raise ConfigError(
                f"experiment {experiment!r} has no evaluation of deployment {deployment!r}; those are in: {', '.join(there)}"
            )
        wanted = experiment or there[0]
        return next(number for number, name in places.items() if name == wanted)

    def _deployments(self, places: Mapping[str, str]) -> set[str]:
        wanted, order = f"{_EVALUATIONS} and tags.`{DEPLOYMENT_TAG}` != ''", ["attributes.start_time DESC"]
        runs = self.client.search_runs(list(places), wanted, ViewType.ACTIVE_ONLY, MOST_NAMES, order)
        return {run.data.tags[DEPLOYMENT_TAG] for run in runs}

    def _read_all(self, runs: Sequence[Run], deployment: str) -> list[SeriesEntry | UnreadableEntry]:
        """Those of the cache at once, the others in threads: MLflow's client may be used in several."""
        cached = {run.info.run_id: entry for run in runs if (entry := self._cached(run, deployment))}
        missing = [run for run in runs if run.info.run_id not in cached]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            try:
                fetched = list(pool.map(lambda run: self._read(run, deployment), missing))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        if missing:
            self.cache.trim()
        return [*cached.values(), *fetched]

    def _cached(self, run: Run, deployment: str) -> SeriesEntry | None:
        data = self.cache.read(run.data.tags.get(ENTRY_TAG, "")) if LOGGED_TAG in run.data.tags else None
        try:
            return _parsed(data, run, deployment) if data else None
        except Unusable:
            return None

    def _read(self, run: Run, deployment: str) -> SeriesEntry | UnreadableEntry:
        """The entry, else what the bundle says, else why neither can be read.

        Raises:
            Exception: the server does not answer any more.
        """
        evaluation = run.data.tags.get(EVALUATION_TAG, "")
        try:
            if LOGGED_TAG not in run.data.tags:
                raise Unusable(f"it was not logged to its end; `crosspath log {evaluation}` finishes it")
            try:
                return self._fetched(run, deployment)
            except StoreError as error:
                return self._from_bundle(run, deployment, str(error))
        except Unusable as error:
            role = "reference" if run.data.tags.get(ROLE_TAG) == "reference" else "day"
            at = run.info.start_time / 1000
            return UnreadableEntry(run=run.info.run_id, evaluation=evaluation, problem=str(error), role=role, at=at)

    def _fetched(self, run: Run, deployment: str) -> SeriesEntry:
        with tempfile.TemporaryDirectory(prefix="crosspath-") as temporary:
            data = download(self.client, self.uri, run, ENTRY, Path(temporary)).read_bytes()
        if entry_digest(data) != run.data.tags.get(ENTRY_TAG):
            raise StoreError(f"{ENTRY} is not what was logged")
        entry = _parsed(data, run, deployment)
        self.cache.write(data)
        return entry

    def _from_bundle(self, run: Run, deployment: str, problem: str) -> SeriesEntry:
        """The entry made once more, from the facts and the judgement that were logged."""
        with tempfile.TemporaryDirectory(prefix="crosspath-") as temporary:
            try:
                bundle = download(self.client, self.uri, run, BUNDLE, Path(temporary))
                if OWN_TAG not in run.data.tags:
                    drop_unlisted(bundle)
                entry = entry_of(read_bundle(bundle), read_judgement(bundle))
            except CrosspathError as error:
                raise Unusable(f"{problem}; {str(error).replace(f'{temporary}/', '')}") from error
        if entry is None or entry.deployment != deployment:
            raise Unusable(f"{problem}; its bundle is of another deployment")
        return entry.model_copy(update={"run": run.info.run_id})


def download(client: MlflowClient, uri: str, run: Run, artifact: str, into: Path) -> Path:
    """An artifact of a run, without a question about the run for each. ``uri``: the server's, with its password.

    Raises:
        StoreError: it is not there, or can't be fetched; the server itself answers.
        MlflowException: the server does not answer any more.
    """
    place = f"{(run.info.artifact_uri or '').rstrip('/')}/{artifact}"
    try:
        with boundary(StoreError, f"{artifact} can't be fetched"):
            return Path(download_artifacts(artifact_uri=place, dst_path=str(into), tracking_uri=uri))
    except StoreError:
        client.get_run(run.info.run_id)
        raise


def experiments(client: MlflowClient) -> dict[str, str]:
    """Id -> name of each experiment that was not deleted."""
    found: dict[str, str] = {}
    token = None
    while True:
        page = client.search_experiments(max_results=EXPERIMENTS_IN_A_CALL, page_token=token)
        found |= {one.experiment_id: one.name for one in page}
        token = page.token
        if not token:
            return found


def all_runs(client: MlflowClient, places: Sequence[str], wanted: str) -> Iterator[Run]:
    """Every run that a filter finds, page by page, the newest first."""
    for start in range(0, len(places), EXPERIMENTS_IN_A_CALL):
        token, known = None, set[str]()
        while True:
            some = list(places[start : start + EXPERIMENTS_IN_A_CALL])
            order = ["attributes.start_time DESC"]
            page = client.search_runs(some, wanted, ViewType.ACTIVE_ONLY, RUNS_IN_A_CALL, order, token)
            yield from page
            token = page.token
            if not token:
                break
            if token in known:
                raise TrackerError("the server gives the same page again and again: is it MLflow?")
            known.add(token)


def _once(runs: Iterable[Run]) -> list[Run]:
    """One run for each evaluation; the one that was logged to its end, where there is another attempt."""
    found: dict[str, Run] = {}
    for run in runs:
        name = run.data.tags.get(IDENTITY_TAG, run.info.run_id)
        if name not in found or LOGGED_TAG not in found[name].data.tags:
            found[name] = run
    return list(found.values())


def _parsed(data: bytes, run: Run, deployment: str) -> SeriesEntry:
    """An entry whose digest was compared.

    Raises:
        Unusable: of a newer version, of another deployment, or none at all.
    """
    try:
        entry = migrations.ENTRY.parsed(SeriesEntry, data, ENTRY)
    except StoreError as error:
        raise Unusable(str(error)) from error
    if entry.deployment != deployment:
        raise Unusable(f"{ENTRY} is of another deployment")
    return entry.model_copy(update={"run": run.info.run_id})
