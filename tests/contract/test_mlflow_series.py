"""What is particular to MLflow about a deployment's series: what a person finds there, and what survives damage and kills."""

import hashlib
import itertools
import json
import os
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Condition, Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
from mlflow.entities import Run

import builders
import series
from crosspath.adapters.mlflow_tracker import MlflowTracker
from crosspath.adapters.mlflow_tracker.addresses import embedded_uri
from crosspath.adapters.mlflow_tracker.connection import Connection
from crosspath.adapters.mlflow_tracker.entry_cache import DEAD_AFTER_S, EntryCache
from crosspath.adapters.mlflow_tracker.look_logging import LookLogger
from crosspath.adapters.mlflow_tracker.runs import Store
from crosspath.adapters.mlflow_tracker.series import MlflowSeries
from crosspath.adapters.mlflow_tracker.vendor import MlflowClient
from crosspath.errors import TrackerError
from crosspath.pipeline.series import entry_of
from crosspath.store.bundle import read_bundle, write_bundle
from crosspath.types.drift import Drift
from deployments import deployed, look, written

# SQLAlchemy 2.1 deprecates a loader strategy that MLflow 3.17 uses for its own tables.
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning")
_NAMES = (f"bot {number}" for number in itertools.count(1))


class Place:
    """An embedded store, and everything that works on it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.uri = embedded_uri(directory)
        self.tracker, self.series = MlflowTracker(self.uri), MlflowSeries(self.uri)
        self.tracker.check()
        self.client = MlflowClient(self.uri, self.uri)

    def log(self, deployment: str, day: int = 0, parent: str | None = None) -> Run:
        facts, judgement = deployed(deployment, day)
        bundle = self.directory / "bundle"
        write_bundle(facts, judgement, bundle)
        return self.client.get_run(self.tracker.log(facts, judgement, bundle, parent).run_id)

    def find(self, kind: str, deployment: str) -> list[Run]:
        wanted = f"tags.`crosspath.kind` = '{kind}' and tags.`crosspath.deployment` = '{deployment}'"
        return list(self.client.search_runs([one.experiment_id for one in self.client.search_experiments()], wanted))

    def charted(self, deployment: str, key: str = "pass_rate") -> list[tuple[int, float]]:
        (found,) = self.find("drift-series", deployment)
        return [(one.step, one.value) for one in self.client.get_metric_history(found.info.run_id, key)]

    def logger(self, drift: Drift, directory: Path, client: Any = None) -> LookLogger:
        known = Connection(self.uri).store(self.client)
        return LookLogger(Store(client or self.client, known.tracing, known.name, known.artifact_root), drift, directory)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("mlflow"))


@pytest.fixture
def bot() -> str:
    """A deployment of its own for each test."""
    return next(_NAMES)


def artifact(run: Run, name: str) -> Path:
    return Path(urlsplit(run.info.artifact_uri or "").path) / name


class TestEntries:
    def test_on_the_parent_run(self, place: Place, bot: str) -> None:
        """The parent run has the entry as a file and its digest in a tag; nested runs and other evaluations have neither."""
        run = place.log(bot)
        data = artifact(run, "series/entry.json").read_bytes()
        tags = ("crosspath.deployment", "crosspath.deployment_role", "crosspath.entry")
        assert [run.data.tags[tag] for tag in tags] == [bot, "day", hashlib.sha256(data).hexdigest()]
        nested = place.client.search_runs([run.info.experiment_id], f"tags.`mlflow.parentRunId` = '{run.info.run_id}'")
        assert nested
        assert not any(tag in one.data.tags for one in nested for tag in tags)

    @pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_bytes(file.read_bytes() + b" ")])
    def test_made_anew_from_the_bundle(self, place: Place, bot: str, damage: Callable[[Path], None]) -> None:
        """A missing or changed entry is what the evaluation's facts and judgement say."""
        run = place.log(bot)
        damage(artifact(run, "series/entry.json"))
        (found,) = place.series.history(bot).entries
        expected = entry_of(*deployed(bot))
        assert expected
        assert found == expected.model_copy(update={"run": run.info.run_id})

    def test_neither_can_be_read(self, place: Place, bot: str) -> None:
        """With a damaged bundle, too, an evaluation is named with both reasons, and the others are there."""
        run = place.log(bot)
        place.log(bot, 1)
        artifact(run, "series/entry.json").write_text("{}")
        artifact(run, "bundle/trials.parquet").write_bytes(b"")
        history = place.series.history(bot)
        assert len(history.entries) == 1
        (lost,) = history.unreadable
        assert (lost.run, lost.evaluation) == (run.info.run_id, deployed(bot)[0].head.id)
        assert lost.problem.startswith("series/entry.json is not what was logged; torn bundle: bundle/trials.parquet ")
        assert "\n" not in lost.problem

    def test_newer_format(self, place: Place, bot: str) -> None:
        """An entry of a newer version is not guessed at: the line says to update."""
        run = place.log(bot)
        file = artifact(run, "series/entry.json")
        file.write_text(json.dumps(json.loads(file.read_text()) | {"version": 2, "more": 1}))
        place.client.set_tag(run.info.run_id, "crosspath.entry", hashlib.sha256(file.read_bytes()).hexdigest())
        (lost,) = place.series.history(bot).unreadable
        assert "reads versions up to 1: update it" in lost.problem

    def test_interrupted_logging(self, place: Place, bot: str) -> None:
        """What was not logged to its end is no entry, and the line says how to finish it; then it is one."""
        run = place.log(bot)
        place.client.delete_tag(run.info.run_id, "crosspath.logged")
        history = place.series.history(bot)
        assert history.entries == ()
        assert f"`crosspath log {deployed(bot)[0].head.id}`" in history.unreadable[0].problem
        place.log(bot)
        history = place.series.history(bot)
        assert (len(history.entries), history.unreadable) == (1, ())

    def test_deleted_run(self, place: Place, bot: str) -> None:
        """An evaluation that somebody deleted in MLflow is not part of the history any more."""
        place.log(bot)
        place.client.delete_run(place.log(bot, 1).info.run_id)
        assert len(place.series.history(bot).entries) == 1

    def test_parent_run_of_another(self, place: Place, bot: str, tmp_path: Path) -> None:
        """A run that `mlflow run` opened holds the entry; logged again with fewer files, its bundle can still be read."""
        opened = place.client.create_run(place.client.create_experiment(f"opened {bot}"), run_name="x").info.run_id
        run = place.log(bot, 0, opened)
        (place.directory / "more").mkdir(exist_ok=True)
        (place.directory / "more" / "left.txt").write_text("of an earlier logging")
        place.client.log_artifacts(opened, str(place.directory / "more"), "bundle/figures")
        place.client.set_tag(opened, "crosspath.logged", "another")
        assert place.log(bot, 0, opened).info.run_id == run.info.run_id == opened
        assert [one.run for one in place.series.history(bot).entries] == [opened]
        assert read_bundle(place.tracker.fetch(opened, tmp_path / "fetched")) == deployed(bot)[0]

    def test_no_deployment_any_more(self, place: Place, bot: str) -> None:
        """An evaluation that goes on without a deployment, under a run of somebody else's, leaves its series."""
        opened = place.client.create_run(place.client.create_experiment(f"left {bot}"), run_name="x").info.run_id
        place.log(bot, 0, opened)
        facts, judgement = deployed(bot)
        spec = {key: value for key, value in facts.head.spec.items() if key != "deployment"}
        facts = facts.model_copy(update={"head": facts.head.model_copy(update={"spec": spec})})
        write_bundle(facts, judgement, place.directory / "bundle")
        place.tracker.log(facts, judgement, place.directory / "bundle", opened)
        assert not [
            tag for tag in place.client.get_run(opened).data.tags if tag.startswith(("crosspath.deploy", "crosspath.entry"))
        ]


class TestCache:
    """Entries below the store."""

    def test_read_without_the_artifacts(self, place: Place, bot: str, tmp_path: Path) -> None:
        """What was read once is not fetched again."""
        run = place.log(bot)
        cached = MlflowSeries(place.uri, cache=tmp_path / "cache")
        first = cached.history(bot)
        artifact(run, "series/entry.json").unlink()
        artifact(run, "bundle/index.json").unlink()
        assert cached.history(bot) == first
        assert place.series.history(bot).entries == ()

    def test_damaged(self, place: Place, bot: str, tmp_path: Path) -> None:
        """A damaged file in the cache is fetched again, and mended."""
        place.log(bot)
        cached = MlflowSeries(place.uri, cache=tmp_path / "cache")
        first = cached.history(bot)
        (file,) = (tmp_path / "cache").iterdir()
        good = file.read_bytes()
        file.write_bytes(good[:100])
        assert cached.history(bot) == first
        assert file.read_bytes() == good

    def test_place_that_can_not_be_written(self, place: Place, bot: str, tmp_path: Path) -> None:
        """The history is read all the same."""
        place.log(bot)
        (tmp_path / "file").write_text("no directory")
        assert len(MlflowSeries(place.uri, cache=tmp_path / "file" / "cache").history(bot).entries) == 1
        assert len(MlflowSeries(place.uri, cache=tmp_path / "file").history(bot).entries) == 1

    def test_bounded(self, tmp_path: Path) -> None:
        """The oldest go where there are too many files or bytes; so does what a killed program left half written."""
        cache = EntryCache(tmp_path / "cache", most_bytes=30, most_files=2)
        cache.trim()
        for number in range(4):
            cache.write(f"entry {number}".encode())
        (tmp_path / "cache" / ".new-abc").write_bytes(b"x" * 40)
        cache.trim()
        assert sum(file.stat().st_size for file in (tmp_path / "cache").iterdir()) <= 30
        assert len(list((tmp_path / "cache").iterdir())) <= 2

    def test_what_a_killed_program_left(self, tmp_path: Path) -> None:
        """A half-written file goes though there is room, but not while another program may still write it."""
        cache = EntryCache(tmp_path)
        cache.write(b"entry")
        (tmp_path / ".new-young").write_bytes(b"ent")
        (tmp_path / ".new-old").write_bytes(b"ent")
        past = time.time() - DEAD_AFTER_S - 60
        for old in (".new-old", f"{hashlib.sha256(b'entry').hexdigest()}.json"):
            os.utime(tmp_path / old, (past, past))
        cache.trim()
        assert {file.suffix or file.name for file in tmp_path.iterdir()} == {".json", ".new-young"}

    @pytest.mark.parametrize("name", ["", "../secret", "a/b", "0" * 64])
    def test_names_that_are_none(self, tmp_path: Path, name: str) -> None:
        """A tag is somebody else's text: it leads nowhere else."""
        (tmp_path / "secret.json").write_text("x")
        assert EntryCache(tmp_path / "cache").read(name) is None


class TestLooks:
    def test_what_a_person_finds(self, place: Place, bot: str, tmp_path: Path) -> None:
        """Each day is a run below the run of the series, whose name, description and charts are up to date."""
        for drift in (look(bot, 1), look(bot, 2, passes=0)):
            place.series.log_look(drift, written(drift, tmp_path / drift.id))
        (run,) = place.find("drift-series", bot)
        looks = sorted(place.find("drift", bot), key=lambda one: one.info.start_time)
        state = "DRIFT: provider"
        assert [one.info.run_name for one in looks] == ["2026-10-03 · not enough: provider", f"2026-10-04 · {state}"]
        assert (run.info.run_name, run.info.status) == (f"drift {bot} · {state}", "FINISHED")
        assert {one.data.tags["mlflow.parentRunId"] for one in looks} == {run.info.run_id}
        assert {one.info.status for one in looks} == {"FINISHED"}
        assert not any(one.data.metrics for one in looks)  # they would be the first columns of MLflow's table
        assert looks[1].data.tags["mlflow.note.content"] in run.data.tags["mlflow.note.content"]
        assert looks[1].info.run_id in run.data.tags["mlflow.note.content"]
        assert place.charted(bot) == [(1, 1.0), (2, 0.0)]
        assert place.charted(bot, "reference_rate") == [(1, 1.0), (2, 1.0)]
        assert (artifact(looks[0], "figures/rate.svg")).is_file()
        note = place.client.get_experiment(run.info.experiment_id).tags["mlflow.note.content"]
        assert f"Drift of **{bot}**: {state} on 2026-10-04, [charts and looks](#/experiments/" in note

    def test_another_look_of_the_day(self, place: Place, bot: str, tmp_path: Path) -> None:
        """In the charts its numbers stand beside those of the earlier one only where they differ; the last are the later ones."""
        for drift in (look(bot, 1, "a"), look(bot, 1.1, "b"), look(bot, 1.2, "c", passes=0)):
            place.series.log_look(drift, written(drift, tmp_path / drift.id))
        assert place.charted(bot) == [(1, 1.0), (1, 0.0)]
        assert place.find("drift-series", bot)[0].data.metrics["pass_rate"] == 0
        assert place.charted(bot, "reference_rate") == [(1, 1.0)]

    @pytest.mark.parametrize("tag", ["", "some day"])
    def test_a_series_run_that_somebody_edited(self, place: Place, bot: str, tmp_path: Path, tag: str) -> None:
        """Without a readable first day its charts begin with the day of the run itself, and the look is logged."""
        first, second = look(bot, 1), look(bot, 2)
        place.series.log_look(first, written(first, tmp_path / "1"))
        (run,) = place.find("drift-series", bot)
        place.client.set_tag(run.info.run_id, "crosspath.first_day", tag)
        place.series.log_look(second, written(second, tmp_path / "2"))
        assert len(place.find("drift", bot)) == 2

    def test_damaged_and_newer_looks_are_passed_over(self, place: Place, bot: str, tmp_path: Path) -> None:
        """What is known goes on from the newest look that can be read."""
        for day in (1, 2, 3):
            drift = look(bot, day)
            place.series.log_look(drift, written(drift, tmp_path / drift.id))
        runs = {run.data.tags["crosspath.day"]: run for run in place.find("drift", bot)}
        artifact(runs["2026-10-05"], "drift.json").write_text("{}")
        newer = json.dumps(json.loads(look(bot, 2).to_json()) | {"version": 2})
        artifact(runs["2026-10-04"], "drift.json").write_text(newer)
        place.client.set_tag(runs["2026-10-04"].info.run_id, "crosspath.logged", hashlib.sha256(newer.encode()).hexdigest())
        assert place.series.last_look(bot, "watch") == look(bot, 1)

    def test_series_run_that_was_deleted(self, place: Place, bot: str, tmp_path: Path) -> None:
        """The next look makes it anew, with the looks below it and their numbers in its charts."""
        for day in (1, 2):
            drift = look(bot, day)
            place.series.log_look(drift, written(drift, tmp_path / drift.id))
        place.client.delete_run(place.find("drift-series", bot)[0].info.run_id)
        drift = look(bot, 3)
        place.series.log_look(drift, written(drift, tmp_path / drift.id))
        (run,) = place.find("drift-series", bot)
        assert {one.data.tags["mlflow.parentRunId"] for one in place.find("drift", bot)} == {run.info.run_id}
        assert sorted(place.charted(bot)) == [(1, 1.0), (2, 1.0), (3, 1.0)]

    def test_killed_anywhere(self, place: Place, tmp_path: Path) -> None:
        """Killed before any of its calls, a second look of a day leaves one that can be read; the next look mends the rest."""
        for calls in range(3, 100, 2):  # the first ones only read
            bot = next(_NAMES)
            first, second, third = look(bot, 1, "a"), look(bot, 1.1, "b", passes=0), look(bot, 2)
            for drift in (first, second, third):
                written(drift, tmp_path / bot / drift.id)
            place.series.log_look(first, tmp_path / bot / first.id)
            try:
                place.logger(second, tmp_path / bot / second.id, Dying(place.client, calls)).log()
            except Killed:
                assert place.series.last_look(bot, "watch") in (first, second)
                if place.series.last_look(bot, "watch") == first:
                    place.series.log_look(second, tmp_path / bot / second.id)
                place.series.log_look(third, tmp_path / bot / third.id)
            else:
                assert calls > 15
                break
            assert sorted(run.data.tags["crosspath.drift"] for run in place.find("drift", bot)) == [second.id, third.id]
            assert place.charted(bot) == [(1, 1.0), (1, 0.0), (2, 1.0)]

    @pytest.mark.parametrize("turns", ["bbaaa", "bbaaaaa", "bbbaaaaa", "a" * 9, "a" * 15])
    @pytest.mark.parametrize("b_day", [0.99, 1.01])
    def test_any_order_of_calls(self, place: Place, bot: str, tmp_path: Path, b_day: float, turns: str) -> None:
        """Two first looks of a series at once, in any order of their calls: the newer one stays, below the one series run."""
        looks = {"a": look(bot, 1, "a", passes=0), "b": look(bot, b_day, "b")}
        order = Turns(turns)

        def log(who: str) -> None:
            directory = written(looks[who], tmp_path / looks[who].id)
            with order.taking_part(who):
                place.logger(looks[who], directory, order.client(place.client, who)).log()

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(log, looks))
        (run,) = place.find("drift-series", bot)
        (kept,) = place.find("drift", bot)
        newest = max(looks.values(), key=lambda drift: drift.created_at)
        assert (kept.data.tags["crosspath.drift"], kept.info.status) == (newest.id, "FINISHED")
        assert kept.data.tags["mlflow.parentRunId"] == run.info.run_id
        assert run.data.tags["crosspath.newest_look"] == kept.info.run_id
        assert float(newest is looks["b"]) in [value for _, value in place.charted(bot)]

    def test_two_at_once(self, place: Place, tmp_path: Path) -> None:
        """Of looks that are logged at the same time one stays for the day, below one run of the series."""
        for _ in range(3):
            bot = next(_NAMES)
            drifts = [look(bot, 1 + number / 100, str(number)) for number in range(3)]
            with ThreadPoolExecutor(len(drifts)) as pool:
                places = [written(drift, tmp_path / bot / drift.id) for drift in drifts]
                list(pool.map(place.series.log_look, drifts, places))
            (run,) = place.find("drift-series", bot)
            (kept,) = place.find("drift", bot)
            assert (kept.data.tags["crosspath.drift"], kept.info.status) == (drifts[-1].id, "FINISHED")
            assert kept.data.tags["mlflow.parentRunId"] == run.info.run_id
            assert run.data.tags["crosspath.newest_look"] == kept.info.run_id

    def test_abandoned_attempt(self, place: Place, bot: str, tmp_path: Path) -> None:
        """What nobody logs to its end any more is taken away; what was begun a moment ago is somebody else's."""
        drift = look(bot, 1)
        place.series.log_look(drift, written(drift, tmp_path / drift.id))
        experiment = place.find("drift", bot)[0].info.experiment_id
        tags = {"crosspath.kind": "drift", "crosspath.deployment": bot, "crosspath.day": "2026-10-03"}
        for began in ("1000000000", "9999999999"):
            place.client.create_run(experiment, round(series.NOON * 1000), tags | {"crosspath.began": began}, began)
        drift = look(bot, 2)
        place.series.log_look(drift, written(drift, tmp_path / drift.id))
        assert sorted((run.info.run_name or "")[:10] for run in place.find("drift", bot)) == [
            "2026-10-03",
            "2026-10-04",
            "9999999999",
        ]


class Killed(BaseException):
    """The process ends here."""


class Dying:
    """A client of MLflow that is killed before one of its calls."""

    def __init__(self, client: MlflowClient, calls: int) -> None:
        self._client, self._left = client, calls

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            self._left -= 1
            if self._left < 0:
                raise Killed
            return getattr(self._client, name)(*args, **named)

        return call


class Turns:
    """Who may call MLflow next: as the letters say, then ``b`` to its end, then ``a`` to its own."""

    def __init__(self, letters: str) -> None:
        self._letters, self._changed = deque(letters), Condition()
        self._takes_part = {"a", "b"}

    @contextmanager
    def taking_part(self, who: str) -> Iterator[None]:
        try:
            yield
        finally:
            with self._changed:
                self._takes_part.remove(who)
                self._changed.notify_all()

    def client(self, client: MlflowClient, who: str) -> Any:
        """A client whose calls wait for their turn."""
        return Waiting(client, lambda call: self._call(who, call))

    def _call(self, who: str, call: Callable[[], Any]) -> Any:
        with self._changed:
            assert self._changed.wait_for(lambda: self._next() == who, 60)
            if self._letters:
                self._letters.popleft()
            try:
                return call()
            finally:
                self._changed.notify_all()

    def _next(self) -> str:
        while self._letters and self._letters[0] not in self._takes_part:
            self._letters.popleft()
        return self._letters[0] if self._letters else max(self._takes_part)


class Waiting:
    """A client of MLflow whose calls somebody else makes."""

    def __init__(self, client: MlflowClient, turn: Callable[[Callable[[], Any]], Any]) -> None:
        self._client, self._turn = client, turn

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *args, **named: self._turn(lambda: getattr(self._client, name)(*args, **named))


@contextmanager
def answering(body: str) -> Iterator[str]:
    """Another server that has one answer for everything; its address, with a password."""

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body.encode())

        do_POST = do_GET

        def log_message(self, format: str, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://me:secret@127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class TestWhatIsNoPlace:
    @pytest.mark.parametrize("body", ["{}", '{"status": "ok"}', '{"experiments": 5}', "[]"])
    def test_another_server(self, body: str) -> None:
        """What answers everything with some JSON is no MLflow: one line says so, not that the deployment is unknown."""
        with answering(body) as uri, pytest.raises(TrackerError, match=r"^[^\n]*127\.0\.0\.1[^\n]*$") as caught:
            MlflowSeries(uri).history("bot")
        assert "secret" not in str(caught.value)

    def test_a_store_that_can_not_be_written(self, place: Place, bot: str, tmp_path: Path) -> None:
        """A look that the database refuses is one line with the database's own words."""
        drift = look(bot, 1)
        refusal = "BEFORE INSERT ON runs BEGIN SELECT RAISE(ABORT, 'attempt to write a readonly database'); END"
        with closing(sqlite3.connect(place.directory / "mlflow.db", isolation_level=None)) as database:
            database.execute(f"CREATE TRIGGER refusal {refusal}")
            try:
                with pytest.raises(TrackerError, match=r"^logging [^\n]*mlflow\.db: attempt to write a readonly database$"):
                    place.series.log_look(drift, written(drift, tmp_path / "look"))
            finally:
                database.execute("DROP TRIGGER refusal")


def test_of_none_is_left_alone(place: Place) -> None:
    """An evaluation whose spec names no deployment is logged as before."""
    facts, judgement = builders.evaluation("of-none-2")
    write_bundle(facts, judgement, place.directory / "bundle")
    run = place.client.get_run(place.tracker.log(facts, judgement, place.directory / "bundle").run_id)
    assert not [tag for tag in run.data.tags if tag.startswith(("crosspath.deploy", "crosspath.entry"))]
    assert not artifact(run, "series").exists()
