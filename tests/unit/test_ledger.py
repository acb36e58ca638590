"""The ledger: durable, append-only, honest about what was in flight."""

import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from builders import STARTED_AT, evaluation
from crosspath.errors import ConfigError, StoreError
from crosspath.store.database import schema_version
from crosspath.store.ledger import Ledger
from crosspath.store.ordering import in_order
from crosspath.types import Attempt, Facts, Fault, Reply, Usage
from small_disks import small_disk

LOST = Fault(boundary="executor", type="executor", message="died", retryable=True)


@pytest.fixture
def facts() -> Facts:
    """A whole evaluation that is still running, as the ledger tells it: with nothing that only an end brings."""
    made, _ = evaluation()
    return in_order(made.model_copy(update={"head": made.head.model_copy(update={"status": "running"})}))


_OPEN: list[Ledger] = []


def _opened(directory: Path, *, reading: bool = False) -> Ledger:
    """A ledger that is closed when its test ends, if the test does not do it."""
    _OPEN.append(Ledger(directory, reading=reading))
    return _OPEN[-1]


@pytest.fixture(autouse=True)
def _closing() -> Iterator[None]:
    yield
    while _OPEN:
        _OPEN.pop().close()


def _empty(facts: Facts) -> Facts:
    return facts.model_copy(update={"trials": (), "attempts": (), "replays": (), "sessions": ()})


def _filled(directory: Path, facts: Facts) -> Ledger:
    ledger = _opened(directory)
    ledger.open_evaluation(_empty(facts))
    session = ledger.start_session(facts.head.id, STARTED_AT)
    started = [attempt.model_copy(update={"ended_at": None, "usage": None}) for attempt in facts.attempts]
    ledger.append(facts.head.id, started)
    ledger.append(facts.head.id, [*facts.attempts, *facts.trials, *facts.replays])
    ledger.end_session(facts.head.id, session, STARTED_AT + 4)
    return ledger


def test_what_is_written_is_read_by_another_process(tmp_path: Path, facts: Facts) -> None:
    """All facts come back equal after the file was closed, hostile bytes and all."""
    _filled(tmp_path, facts).close()
    assert _opened(tmp_path).facts(facts.head.id) == facts


def test_facts_come_in_the_order_of_the_plan(tmp_path: Path, facts: Facts) -> None:
    """Whoever was done first: order of rows is that of cells, tasks and trials
    (https://github.com/confident-ai/deepeval/pull/3159).
    """
    backwards = facts.model_copy(
        update={name: tuple(reversed(getattr(facts, name))) for name in ("trials", "attempts", "replays")}
    )
    assert _filled(tmp_path, backwards).facts(facts.head.id) == facts


def test_a_request_without_an_end_is_counted_once_and_kept(tmp_path: Path, facts: Facts) -> None:
    """Attempts that were in flight are given up once, count as bought again for good, and their rows stay."""
    ledger = _opened(tmp_path)
    ledger.open_evaluation(_empty(facts))
    rows = [Attempt(request_key=f"key-{n}", number=1, session=1, started_at=STARTED_AT, local=n == 2) for n in range(4)]
    ledger.append(facts.head.id, rows)
    ledger.append(facts.head.id, [rows[0].model_copy(update={"ended_at": STARTED_AT + 1})])
    assert ledger.abandon_in_flight(facts.head.id) == 2  # number 2 was a look-up, which costs nothing
    assert ledger.abandon_in_flight(facts.head.id) == 0
    found = ledger.facts(facts.head.id)
    assert found.bought_again == 2
    assert len(found.attempts) == 4


def test_every_attempt_has_its_row(tmp_path: Path, facts: Facts) -> None:
    """A failed attempt and the one that succeeded are two rows with their own usage
    (https://github.com/promptfoo/promptfoo/issues/4673).
    """
    ledger = _opened(tmp_path)
    ledger.open_evaluation(_empty(facts))
    first = Attempt(request_key="key", number=1, session=1, started_at=STARTED_AT)
    second = first.model_copy(update={"number": 2})
    usage = Usage(prompt_tokens=10, completion_tokens=5)
    ledger.append(facts.head.id, [first])
    ledger.append(facts.head.id, [first.model_copy(update={"ended_at": STARTED_AT + 1, "fault": LOST})])
    ledger.append(facts.head.id, [second])
    ledger.append(facts.head.id, [second.model_copy(update={"ended_at": STARTED_AT + 2, "usage": usage})])
    assert [(row.fault, row.usage) for row in ledger.facts(facts.head.id).attempts] == [(LOST, None), (None, usage)]


def test_an_observation_is_never_replaced(tmp_path: Path, facts: Facts) -> None:
    """A second reply or execution stands after the first; a fault gives way to an observation, not the other way round."""
    ledger = _opened(tmp_path)
    ledger.open_evaluation(_empty(facts))
    trial, replay = facts.trials[0], facts.replays[0]
    fault = trial.model_copy(update={"reply": None, "fault": LOST})
    other = trial.model_copy(update={"reply": Reply(text="another")})
    ledger.append(facts.head.id, [fault, replay.model_copy(update={"execution": None, "fault": LOST})])
    assert ledger.facts(facts.head.id).trials == (fault,)
    ledger.append(facts.head.id, [trial, replay])
    ledger.append(facts.head.id, [other, fault, replay.model_copy(update={"execution": None, "fault": LOST})])
    found = ledger.facts(facts.head.id)
    assert found.trials == (trial,)
    assert found.replays == (replay,)


def test_a_finished_evaluation_never_changes(tmp_path: Path, facts: Facts) -> None:
    """The database refuses to add to it or to alter it; only where it was logged may be noted."""
    ledger = _filled(tmp_path, facts)
    finished = facts.model_copy(update={"head": facts.head.model_copy(update={"status": "finished"})})
    ledger.update(finished)
    for change in (
        lambda: ledger.append(facts.head.id, [facts.trials[0]]),
        lambda: ledger.append(facts.head.id, [facts.replays[0]]),
        lambda: ledger.start_session(facts.head.id, STARTED_AT),
        lambda: ledger.update(facts),
        lambda: ledger.update(finished.model_copy(update={"not_applicable": {"a": "b"}})),
    ):
        with pytest.raises(StoreError, match="a finished evaluation never changes"):
            change()
    noted = finished.model_copy(update={"head": finished.head.model_copy(update={"mlflow_run": "r", "mlflow_uri": "u"})})
    ledger.update(noted)
    assert ledger.facts(facts.head.id) == noted


def test_where_it_was_logged_is_noted_whatever_version_wrote_it(tmp_path: Path, facts: Facts) -> None:
    """A finished evaluation whose frame was written with fewer fields than records have today can still be logged."""
    _opened(tmp_path).open_evaluation(facts)
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as older, older:
        older.execute("UPDATE evaluations SET frame = frame || ' ', status = 'finished'")
    head = facts.head.model_copy(update={"status": "finished", "mlflow_run": "r1"})
    ledger = _opened(tmp_path)
    with pytest.raises(StoreError, match="never changes"):
        ledger.update(facts.model_copy(update={"head": head}))
    ledger.update_head(head)
    assert ledger.heads()[0].mlflow_run == "r1"


def test_a_derived_evaluation_may_be_born_finished(tmp_path: Path, facts: Facts) -> None:
    """``validate`` writes facts and end in one transaction."""
    ledger = _opened(tmp_path)
    finished = facts.model_copy(update={"head": facts.head.model_copy(update={"status": "finished"})})
    ledger.open_evaluation(finished)
    assert ledger.facts(facts.head.id).replays == facts.replays
    assert ledger.unfinished(facts.head.spec_digest) is None


def test_unfinished_is_the_newest_of_the_same_configuration(tmp_path: Path, facts: Facts) -> None:
    """A run is resumed only by a command for the very same configuration."""
    ledger = _opened(tmp_path)
    ledger.open_evaluation(_empty(facts))
    assert ledger.unfinished(facts.head.spec_digest) == facts.head.id
    assert ledger.unfinished("another") is None


def test_a_write_is_all_or_nothing(tmp_path: Path, facts: Facts) -> None:
    """One row that can't be written leaves none of its group, and the ledger goes on."""
    ledger = _opened(tmp_path)
    ledger.open_evaluation(_empty(facts))
    attempt = Attempt(request_key="key", number=1, session=1, started_at=STARTED_AT)
    ledger.append(facts.head.id, [attempt])
    with pytest.raises(StoreError, match="UNIQUE"):
        ledger.append(facts.head.id, [facts.trials[0], attempt])
    ledger.append(facts.head.id, [facts.trials[1]])
    assert ledger.facts(facts.head.id).trials == (facts.trials[1],)


@pytest.mark.parametrize("lost_bytes", [5, 5_000])
def test_a_torn_end_costs_the_last_rows_only(tmp_path: Path, facts: Facts, lost_bytes: int) -> None:
    """When the machine dies in the middle of a write, what was durable before is still there
    (https://github.com/UKGovernmentBEIS/inspect_ai/issues/2949).
    """
    ledger = _opened(tmp_path / "whole")
    ledger.open_evaluation(_empty(facts))
    for trial in facts.trials:
        ledger.append(facts.head.id, [trial])
    torn = tmp_path / "torn"
    torn.mkdir()
    for name in ("ledger.db", "ledger.db-wal"):
        data = (tmp_path / "whole" / name).read_bytes()
        (torn / name).write_bytes(data[: len(data) - lost_bytes] if name.endswith("wal") else data)
    found = _opened(torn).facts(facts.head.id).trials
    assert found == facts.trials[: len(found)]
    assert len(facts.trials) - 4 <= len(found) < len(facts.trials)


@pytest.mark.parametrize("content", [b"no database at all", bytes(range(256)) * 100])
def test_a_file_that_is_no_ledger_is_an_error_with_its_name(tmp_path: Path, content: bytes) -> None:
    """A foreign file is refused in one line, and left as it is."""
    (tmp_path / "ledger.db").write_bytes(content)
    with pytest.raises(StoreError, match=r"ledger\.db: file is not a database"):
        _opened(tmp_path)
    assert (tmp_path / "ledger.db").read_bytes() == content


def test_a_record_that_can_t_be_read_names_its_evaluation(tmp_path: Path, facts: Facts) -> None:
    """Rows of a broken ledger are never silently left out."""
    _filled(tmp_path, facts).close()
    with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as direct:
        direct.execute("UPDATE trials SET record = substr(record, 1, length(record) - 5) WHERE seq = 1")
    with pytest.raises(StoreError, match=f"evaluation {facts.head.id} can't be read"):
        _opened(tmp_path).facts(facts.head.id)


@pytest.mark.parametrize("version", [0, 1, 99])
def test_a_ledger_of_another_version_is_refused(tmp_path: Path, version: int) -> None:
    """Other tables are not guessed at, neither to write nor to read, and left as they are."""
    with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as direct:
        direct.execute("CREATE TABLE evaluations (id TEXT)")
        direct.execute(f"PRAGMA user_version={version}")
    before = (tmp_path / "ledger.db").read_bytes()
    for reading in (False, True):
        with pytest.raises(StoreError, match="written by another version of Crosspath; use that one, or another store"):
            _opened(tmp_path, reading=reading)
    assert (tmp_path / "ledger.db").read_bytes() == before


def test_the_version_of_a_ledger_follows_its_tables() -> None:
    """Whoever changes a table changes the version; nobody has to remember it."""
    tables = ("CREATE TABLE a (b TEXT)", "CREATE TABLE c (d TEXT)")
    changed = ("CREATE TABLE a (b TEXT)", "CREATE TABLE c (d TEXT, e TEXT)")
    assert schema_version(tables) != schema_version(changed)
    assert 0 < schema_version(tables) < 2**31


@pytest.fixture
def tmpfs(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of 1 MB."""
    with small_disk(tmp_path / "small", "1m") as place:
        yield place


@pytest.mark.parametrize("killed", [False, True])
def test_a_read_only_store_is_read(tmpfs: Path, facts: Facts, killed: bool) -> None:
    """A store on a read-only file system is read, also when its last writer was killed; writing names the reason."""
    ledger = _filled(tmpfs / "store", facts)
    copied = shutil.copytree(tmpfs / "store", tmpfs / "killed")  # as it lies there while it is open
    ledger.close()
    (copied / "ledger.db-shm").unlink()
    store = copied if killed else tmpfs / "store"
    subprocess.run(["mount", "-o", "remount,ro", str(tmpfs)], check=True)
    reading = _opened(store, reading=True)
    assert reading.facts(facts.head.id) == facts
    reading.close()
    with pytest.raises(StoreError, match=r"not writable \(Read-only file system\)"):
        _opened(store)


@pytest.mark.parametrize("killed", [False, True])
def test_a_full_store_is_read(tmpfs: Path, facts: Facts, killed: bool) -> None:
    """Where no byte is free the evaluations can still be read; writing says that the disk is full."""
    ledger = _filled(tmpfs / "store", facts)
    copied = shutil.copytree(tmpfs / "store", tmpfs / "killed")
    ledger.close()
    (copied / "ledger.db-shm").unlink()
    store = copied if killed else tmpfs / "store"
    with suppress(OSError), (tmpfs / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(b"x" * 4096)
    reading = _opened(store, reading=True)
    assert reading.facts(facts.head.id) == facts
    reading.close()
    with pytest.raises(StoreError, match="the disk is full"):
        _opened(store).start_session(facts.head.id, STARTED_AT)


def test_reading_what_is_not_there_makes_nothing(tmp_path: Path) -> None:
    """A directory without a ledger reads as an empty one and stays as it was."""
    assert _opened(tmp_path, reading=True).heads() == ()
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_that_was_deleted_takes_no_more(tmp_path: Path, facts: Facts) -> None:
    """Whoever deletes or replaces the file of a running evaluation hears of it at the next write, not never."""
    for number, lose in enumerate((Path.unlink, lambda path: path.rename(path.with_name("away")), _replaced)):
        ledger = _filled(tmp_path / str(number), facts)
        lose(ledger.path)
        with pytest.raises(StoreError, match="moved or deleted while it was in use"):
            ledger.start_session(facts.head.id, STARTED_AT)


def _replaced(path: Path) -> None:
    shutil.copy(path, path.with_name("copy"))
    path.with_name("copy").replace(path)


def test_an_unknown_evaluation_names_the_known_ones(tmp_path: Path, facts: Facts) -> None:
    """A wrong id is the user's mistake, and the message helps."""
    ledger = _opened(tmp_path)
    ledger.open_evaluation(_empty(facts))
    with pytest.raises(ConfigError, match=f"known: {facts.head.id}"):
        ledger.facts("nothing")


def test_ids_count_up_within_a_day(tmp_path: Path, facts: Facts) -> None:
    """``NAME-YYYYMMDD-N`` with the first free N."""
    ledger = _opened(tmp_path)
    assert ledger.new_id("quoting", STARTED_AT) == "quoting-20251129-1"
    assert ledger.new_id("support-bot watch", STARTED_AT) == "support-bot-watch-20251129-1"
    head = facts.head.model_copy(update={"id": "quoting-20251129-1"})
    ledger.open_evaluation(_empty(facts).model_copy(update={"head": head}))
    assert ledger.new_id("quoting", STARTED_AT) == "quoting-20251129-2"


def test_a_place_that_can_t_be_a_store_is_an_error_with_its_name(tmp_path: Path) -> None:
    """A file where the directory should be gives one clear line."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="the store can't be created"):
        _opened(tmp_path / "file" / "store")


def test_the_lease_is_held_by_one(tmp_path: Path) -> None:
    """A second holder waits, is told for whom, and gets it when the first lets go."""
    first, second = _opened(tmp_path), _opened(tmp_path)
    first.lease.acquire()
    said: list[str] = []
    with pytest.raises(StoreError, match="is using this store"):
        second.lease.acquire(on_wait=said.append, timeout_s=0.2)
    assert len(said) == 1
    first.close()
    second.lease.acquire(timeout_s=0)
    second.close()
