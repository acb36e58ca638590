"""Replies that leave a database which only looks right: the observers of ``sql-insert`` tell the difference."""

import shutil
from collections.abc import Iterator

import pytest

from crosspath.adapters.bubblewrap_sandbox import BubblewrapSandbox
from crosspath.catalogue import catalogue_dir, read_tasks
from crosspath.types import Command, Execution, ReplayJob, ReplayKey, SandboxLimits, TrialKey

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
TASK = next(task for task in read_tasks(catalogue_dir("tasks") / "sql-insert.yaml") if task.tier == 1)
ORACLE = TASK.oracle or ""
RIGHT = {observer.name: observer.expected for observer in TASK.observers}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[BubblewrapSandbox]:
    opened = BubblewrapSandbox(SandboxLimits(disk_bytes=8 << 20, inodes=500))
    yield opened
    opened.close()


def observed(sandbox: BubblewrapSandbox, reply: str) -> dict[str, bytes]:
    """What the observers print after a reply, by name."""
    key = ReplayKey(trial=TrialKey(generation="g", task=TASK.id, index=0), path="p")
    (result,) = sandbox.run([ReplayJob(key=key, task=TASK, commands=(Command(argv=(b"bash", b"-c", reply.encode())),))])
    assert isinstance(result, Execution), result
    assert result.results[-1].exit_code == 0, result.results[-1].stderr
    return {observation.name: observation.output for observation in result.state.observations}


def test_a_right_database_is_recognised(sandbox: BubblewrapSandbox) -> None:
    """The right command gives what is expected, so the other tests can tell something."""
    assert observed(sandbox, ORACLE) == RIGHT
    assert observed(sandbox, f"sql archive.db 'PRAGMA journal_mode = WAL'; {ORACLE}") == RIGHT


@pytest.mark.parametrize(
    "statements",
    [
        ["ALTER TABLE labels RENAME TO other", "CREATE VIEW labels AS SELECT * FROM other"],
        ["CREATE TRIGGER t AFTER INSERT ON labels BEGIN DELETE FROM labels WHERE id = 1; END"],
        ["CREATE INDEX i ON labels (label)"],
        ["UPDATE labels SET label = CAST(label AS BLOB) WHERE id = 4"],
        ["UPDATE labels SET shelf = 'seven' WHERE id = 4"],
        ["UPDATE labels SET label = CAST(x'4fff' AS TEXT) WHERE id = 4"],
        ["UPDATE labels SET label = label || char(0) WHERE id = 4"],
        ["UPDATE labels SET id = 5 WHERE id = 4"],
        ["DELETE FROM labels WHERE id = 2"],
        ["DROP TABLE labels"],
    ],
    ids=["view", "trigger", "index", "blob", "number", "no-text", "nul", "id", "other-row", "no-table"],
)
def test_a_database_that_differs_is_seen(sandbox: BubblewrapSandbox, statements: list[str]) -> None:
    """Another kind of table, type, id or row is no right final state, even where the rows look alike."""
    calls = [f'sql archive.db "{statement}"' for statement in statements]
    assert observed(sandbox, "\n".join([ORACLE, *calls])) != RIGHT


@pytest.mark.parametrize("module", ["sqlite3", "json", "sys", "sitecustomize", "encodings"])
def test_modules_of_a_reply_are_not_imported(sandbox: BubblewrapSandbox, module: str) -> None:
    """Python files in the work directory, the home directory and PYTHONPATH play no part in what an observer prints."""
    places = (
        "for d in . ~ ~/.local/lib/python3.*/site-packages /tmp; do mkdir -p $d; echo 'print(1)' > $d/" + module + ".py; done"
    )
    assert observed(sandbox, f"{ORACLE}\n{places}\nexport PYTHONPATH=$PWD") == RIGHT


def test_a_missing_database_is_no_empty_one(sandbox: BubblewrapSandbox) -> None:
    """Where the file is gone, observers print nothing."""
    assert set(observed(sandbox, "rm archive.db").values()) == {b""}
