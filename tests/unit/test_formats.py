"""What older versions wrote remains readable, and no record changes without a version, a step to it and a file it has left."""

import gzip
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from crosspath.adapters.gx_validator import GxValidator
from crosspath.app import auditing, verifying
from crosspath.app.auditing import audit
from crosspath.app.verifying import verify_card
from crosspath.errors import StoreError
from crosspath.pipeline.judge import judge
from crosspath.store.bundle import FORMAT, read_bundle, read_judgement, read_trials, write_bundle
from crosspath.store.database import Database, Older, Schema
from crosspath.store.lease import Lease
from crosspath.store.ledger import Ledger
from crosspath.store.ledger_schemas import LEDGER
from crosspath.store.migrations import BUNDLE, DRIFT, ENTRY, Form
from crosspath.types import CARD_FORMAT, VERDICT_FORMAT, Attempt, Facts, Judgement
from crosspath.types.drift import DRIFT_FORMAT, ENTRY_FORMAT, Drift, SeriesEntry
from formats import DIGESTS, RECORDS, fixtures, records_digest

WHAT_TO_DO = """
The records of {name!r} are not those that version {version} was fixed with. If version {version} is released:
  1. append a step to {name!r} in store/migrations.py (empty, where every older document is read as it is), and raise the number
     beside the record, where there is one; where rows of the ledger change, too: a schema in store/ledger_schemas.py;
  2. PYTHONPATH=service:tests python scripts/write_format_fixtures.py, and commit what it wrote.
If it is not released, 2. alone. See "When a record changes" in CONTRIBUTING.md.
"""
LEDGER_VERSION = len(LEDGER.older) + 1
VERSIONS = {name: form.version for name, (form, _) in RECORDS.items()} | {"ledger": LEDGER_VERSION}


def _left(name: str) -> list[Path]:
    """What all versions of a form have left."""
    return [path for version in range(1, VERSIONS[name] + 1) for path in fixtures(name, version)]


BUNDLES, LEDGERS = _left("bundle"), _left("ledger")


@pytest.mark.parametrize("name", RECORDS)
def test_no_record_changes_without_a_version(name: str) -> None:
    """Another field, type, bound or default makes another version: old documents are not read by luck."""
    version = RECORDS[name][0].version
    fixed = json.loads(DIGESTS.read_text())[name].get(str(version))
    assert records_digest(name) == fixed, WHAT_TO_DO.format(name=name, version=version)


def test_versions_are_those_of_the_records() -> None:
    """The number beside a record is the number of its form's steps and one."""
    stated = {"bundle": FORMAT, "verdict": VERDICT_FORMAT, "card": CARD_FORMAT, "entry": ENTRY_FORMAT, "drift": DRIFT_FORMAT}
    assert stated | {"ledger": LEDGER_VERSION} == VERSIONS


def test_every_version_has_left_something() -> None:
    """No version of a form is without a file that a test reads."""
    wanted = [(name, version) for name, newest in VERSIONS.items() for version in range(1, newest + 1)]
    assert [one for one in wanted if not fixtures(*one)] == []


# -- bundles ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.name)
def test_a_bundle_of_any_version_gives_its_scores_again(bundle: Path) -> None:
    """Facts of every version are read and judged anew: each replay's verdict and each effect are those that were stored."""
    facts, stored = read_bundle(bundle), read_judgement(bundle)
    again = judge(facts, GxValidator())
    assert _scores(again) == _scores(stored)
    assert _rates(again) == _rates(stored)
    assert len(facts.trials) > 0
    assert read_trials(bundle) == facts.trials


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.name)
def test_an_older_bundle_is_written_as_one_of_today(bundle: Path, tmp_path: Path) -> None:
    """What was read can be written again, and is the same then."""
    facts, stored = read_bundle(bundle), read_judgement(bundle)
    write_bundle(facts, stored, tmp_path / "bundle", pages=False)
    assert json.loads((tmp_path / "bundle" / "index.json").read_text())["format"] == FORMAT
    assert (read_bundle(tmp_path / "bundle"), read_judgement(tmp_path / "bundle")) == (facts, stored)


def test_what_the_fixtures_hold() -> None:
    """Together they have every shape of a reply, a fault, an unstable replay, a style, held-out tasks and a deployment."""
    every = [read_bundle(bundle) for bundle in fixtures("bundle", FORMAT)]
    contracts = {contract.shape for facts in every for contract in facts.contract_specs}
    judgements = [read_judgement(bundle) for bundle in fixtures("bundle", FORMAT)]
    assert contracts == {"text", "json", "tools"}
    assert any(trial.fault for facts in every for trial in facts.trials)
    assert any(cell.unstable for one in judgements for decomposition in one.decompositions for cell in decomposition.cells)
    assert any(style.name == "terse" for facts in every for style in facts.styles)
    assert any(task.partition == "heldout" for facts in every for task in facts.tasks)
    assert any(facts.head.spec["deployment"] for facts in every)


def test_a_bundle_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    """One line says which version wrote it, and what to do."""
    for version, message in ((FORMAT + 1, "update it"), (0, "is no version of a bundle"), ("2", "reading the bundle")):
        shutil.rmtree(tmp_path / "bundle", ignore_errors=True)
        shutil.copytree(fixtures("bundle", FORMAT)[0], tmp_path / "bundle")
        index = json.loads((tmp_path / "bundle" / "index.json").read_text())
        (tmp_path / "bundle" / "index.json").write_text(json.dumps(index | {"format": version}))
        for read in (read_bundle, read_judgement, read_trials):
            with pytest.raises(StoreError) as caught:
                read(tmp_path / "bundle")
            assert "\n" not in str(caught.value)
        with pytest.raises(StoreError, match=message):
            read_bundle(tmp_path / "bundle")


def _scores(judgement: Judgement) -> dict[str, Any]:
    return {score.key.to_json(): (score.state_ok, score.reported_ok, score.passed, score.cause) for score in judgement.scores}


def _rates(judgement: Judgement) -> dict[tuple[str, str], Any]:
    cells = {(one.candidate, cell.told + cell.done): cell.rate.value for one in judgement.decompositions for cell in one.cells}
    effects = {(one.candidate, effect.name): effect.these.value for one in judgement.decompositions for effect in one.effects}
    return {**cells, **effects}


# -- ledgers ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def opened() -> Iterator[list[Ledger]]:
    ledgers: list[Ledger] = []
    yield ledgers
    for ledger in ledgers:
        ledger.close()


def _store(fixture: Path, directory: Path) -> Path:
    directory.mkdir()
    (directory / "ledger.db").write_bytes(gzip.decompress(fixture.read_bytes()))
    return directory


def _every(ledger: Ledger) -> list[Facts]:
    return [ledger.facts(head.id) for head in ledger.heads()]


@pytest.mark.parametrize("fixture", LEDGERS, ids=lambda path: path.name)
def test_a_ledger_of_any_schema_is_read_where_it_lies(fixture: Path, tmp_path: Path) -> None:
    """To read, nothing is written: neither to the file nor beside it."""
    store = _store(fixture, tmp_path / "store")
    before = (store / "ledger.db").read_bytes()
    with closing(Ledger(store, reading=True)) as ledger:
        every = _every(ledger)
    assert (store / "ledger.db").read_bytes() == before
    finished = next(facts for facts in every if facts.trials)
    assert all(trial.reply or trial.fault for trial in finished.trials)
    assert judge(finished, GxValidator()).scores
    assert any(attempt.ended_at is None for facts in every for attempt in facts.attempts)


@pytest.mark.parametrize("fixture", LEDGERS, ids=lambda path: path.name)
def test_a_ledger_of_any_schema_becomes_one_of_today(fixture: Path, tmp_path: Path, opened: list[Ledger]) -> None:
    """Opened to write it has today's tables and all that it had: nothing is lost, and what was in flight still is."""
    store = _store(fixture, tmp_path / "store")
    with closing(Ledger(store, reading=True)) as ledger:
        before = _every(ledger)
    (tmp_path / "new").mkdir()
    opened += [Ledger(store), Ledger(tmp_path / "new")]
    assert _every(opened[0]) == before
    with closing(sqlite3.connect(store / "ledger.db")) as one, closing(sqlite3.connect(tmp_path / "new" / "ledger.db")) as other:
        assert _made(one) == _made(other)
    unfinished = next(facts.head.id for facts in before if facts.head.status == "running")
    in_flight = sum(attempt.ended_at is None for facts in before for attempt in facts.attempts)
    assert opened[0].abandon_in_flight(unfinished) == in_flight > 0
    assert opened[0].facts(unfinished).bought_again == in_flight


@pytest.mark.parametrize("fixture", LEDGERS, ids=lambda path: path.name)
def test_an_older_ledger_goes_on(fixture: Path, tmp_path: Path, opened: list[Ledger]) -> None:
    """An observation that it holds is known by its key: the same one again stands behind it, not in its place."""
    opened.append(Ledger(_store(fixture, tmp_path / "store")))
    before = next(facts for facts in _every(opened[0]) if facts.trials and facts.head.status != "finished")
    trial = next(one for one in before.trials if one.reply)
    replay = next(one for one in before.replays if one.execution)
    other = trial.model_copy(update={"reply": before.trials[-2].reply})
    opened[0].append(before.head.id, [other, replay.model_copy(update={"delivery": before.replays[-1].delivery})])
    assert opened[0].facts(before.head.id) == before
    opened[0].append(before.head.id, [Attempt(request_key="new", number=1, session=9, started_at=1.0)])
    assert len(opened[0].facts(before.head.id).attempts) == len(before.attempts) + 1


def test_a_finished_evaluation_of_an_older_ledger_never_changes(tmp_path: Path, opened: list[Ledger]) -> None:
    """The first schema had nothing that refused it; today's tables do."""
    store = _store(fixtures("ledger", 1)[0], tmp_path / "store")
    with closing(sqlite3.connect(store / "ledger.db")) as direct, direct:
        direct.execute("UPDATE evaluations SET status = 'finished', head = replace(head, '\"stopped\"', '\"finished\"')")
    opened.append(Ledger(store))
    with pytest.raises(StoreError, match="never changes"):
        opened[0].start_session(opened[0].heads()[0].id, 1.0)


def test_a_migration_that_fails_leaves_the_ledger_as_it_was(tmp_path: Path) -> None:
    """All steps are one transaction: one that fails in the end undoes the first ones, too."""
    store = _store(fixtures("ledger", 1)[0], tmp_path / "store")
    broken = Schema(LEDGER.statements, LEDGER.versioned, (*LEDGER.older[:-1], _ending_in(LEDGER.older[-1])), LEDGER.functions)
    with closing(sqlite3.connect(store / "ledger.db")) as direct:
        before = "\n".join(direct.iterdump())
        with pytest.raises(StoreError, match="no such table: nowhere"):
            Database.to_write(store / "ledger.db", broken)
        assert "\n".join(direct.iterdump()) == before
    Ledger(store).close()


def _ending_in(one: Older) -> Older:
    return Older(one.version, one.tables, (*one.steps, "DELETE FROM nowhere"))


def test_an_older_ledger_in_use_is_left_alone(tmp_path: Path) -> None:
    """While another process works with it, its tables are not changed under it."""
    store = _store(fixtures("ledger", 1)[0], tmp_path / "store")
    before = (store / "ledger.db").read_bytes()
    other = Lease(store)
    other.acquire()
    with pytest.raises(StoreError, match="is using this store"):
        Ledger(store)
    assert (store / "ledger.db").read_bytes() == before
    other.release()
    Ledger(store).close()


def test_an_unknown_schema_is_refused(tmp_path: Path) -> None:
    """Known tables and one column more: nothing is guessed, in one line, and nothing is changed."""
    for fixture in LEDGERS:
        store = _store(fixture, tmp_path / fixture.name)
        with closing(sqlite3.connect(store / "ledger.db")) as direct, direct:
            direct.execute("ALTER TABLE trials ADD COLUMN other TEXT")
            direct.execute("PRAGMA user_version=1")
        before = (store / "ledger.db").read_bytes()
        for reading in (False, True):
            with pytest.raises(StoreError, match="written by another version of Crosspath") as caught:
                Ledger(store, reading=reading)
            assert "\n" not in str(caught.value)
        assert (store / "ledger.db").read_bytes() == before


def _made(connection: sqlite3.Connection) -> tuple[int, list[Any]]:
    """Its version, and its tables as they were made."""
    tables = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name").fetchall()
    return connection.execute("PRAGMA user_version").fetchone()[0], tables


# -- verdicts, cards, series -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", _left("verdict"), ids=lambda path: path.name)
def test_a_verdict_follows_from_its_artifacts(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version reads a gate's directory and draws the same verdict from it, whatever words it would use for it."""
    monkeypatch.setattr(auditing, "__version__", "later")
    found = audit(place)
    words = ("sentence", "reasons", "next_steps")
    assert [one for one in found.differences if not any(word in one.split(" is ")[0] for word in words)] == []
    assert found.verdict.rules


@pytest.mark.parametrize("card", _left("card"), ids=lambda path: path.name)
def test_a_card_is_verified(card: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version finds a card as it was written, and its counts those of its outcomes."""
    monkeypatch.setattr(verifying, "__version__", "later")
    found = verify_card(card)
    assert [check for check in found.checks if check.status == "differs" and check.about not in ("page",)] == []


@pytest.mark.parametrize("file", _left("entry"), ids=lambda path: path.name)
def test_an_entry_of_a_series_is_read(file: Path) -> None:
    """Its trials and its configuration are there, in today's form."""
    entry = ENTRY.parsed(SeriesEntry, file.read_bytes(), file.name)
    assert (entry.version, entry.deployment, entry.candidate) == (ENTRY_FORMAT, "bot", "deployed")
    assert {trial.task for trial in entry.trials} == set(entry.tasks)
    assert entry.configuration["contract"] == "nested-shell"


@pytest.mark.parametrize("file", _left("drift"), ids=lambda path: path.name)
def test_a_look_is_read(file: Path) -> None:
    """Its three parts and its evidence, which the next look goes on with."""
    found = DRIFT.parsed(Drift, file.read_bytes(), file.name)
    assert (found.version, found.deployment, found.configuration.status) == (DRIFT_FORMAT, "bot", "no drift")
    assert found.toolchain.evidence
    assert found.points


# -- the mechanism ---------------------------------------------------------------------------------------------------------

STEPS = Form(
    "a thing",
    (
        {"head": lambda head: {"was": head["name"], "name": head["name"] + "!"}},
        {},
        {"head": lambda head: {**head, "more": []}, "rows": lambda row: {**row, "x": 1}},
    ),
)


def test_steps_lead_from_any_version_to_today() -> None:
    """Each document goes through the steps behind its version, in their order, and stays as it was itself."""
    document = {"name": "a"}
    assert STEPS.version == 4
    assert STEPS.upgraded(document, 1, "head") == {"was": "a", "name": "a!", "more": []}
    assert document == {"name": "a"}
    assert STEPS.upgraded(document, 2, "head") == STEPS.upgraded(document, 3, "head") == {"name": "a", "more": []}
    assert STEPS.upgraded(document, 4, "head") == document
    assert STEPS.upgraded(document, 1, "another part") == document
    assert (STEPS.changes("rows", 1), STEPS.changes("rows", 4), STEPS.changes("other", 1)) == (True, False, False)


@pytest.mark.parametrize(("version", "message"), [(5, "version 5; .* up to 4: update it"), (0, "0 is no version of a thing")])
def test_a_version_that_does_not_exist(version: int, message: str) -> None:
    """A newer one needs an update, anything else is none."""
    with pytest.raises(StoreError, match=message):
        STEPS.upgraded({}, version, "head")
    for odd in (None, "1", True, 1.0, -1):
        with pytest.raises(StoreError, match="is no version of a thing"):
            STEPS.changes("head", odd)


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{", b"null", b'{"version": 99}', b'{"version": "1"}', b"{}", b"[" * 100_000, b"\xff"]
)
def test_what_is_no_document_is_one_line(data: bytes) -> None:
    """Whatever lies there, the message names it and has one line."""
    with pytest.raises(StoreError, match=r"^entry\.json") as caught:
        ENTRY.parsed(SeriesEntry, data, "entry.json")
    assert "\n" not in str(caught.value)


def test_rows_of_older_bundles_go_through_their_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step for a table changes each of its rows, and only where the bundle is older."""

    def renamed(row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "fault": None}

    one = next(path for path in fixtures("bundle", 1))
    monkeypatch.setattr("crosspath.store.bundle.BUNDLE", Form("a bundle", ({**BUNDLE.steps[0], "trials": renamed},)))
    assert not any(trial.fault for trial in read_bundle(one).trials)
    newer = next(path for path in fixtures("bundle", 2) if path.name == "bundle-2")
    assert any(trial.fault for trial in read_bundle(newer).trials)
