"""Ledgers of older versions, and how each becomes the next one: SQL that is carried out as a whole or not at all."""

import json
from collections.abc import Callable, Mapping

from crosspath.store.database import Older, Schema
from crosspath.store.migrations import BUNDLE
from crosspath.types import ReplayKey, TrialKey

_NEVER = "SELECT RAISE(ABORT, 'a finished evaluation never changes')"
_FINISHED = "(SELECT status FROM evaluations WHERE id = NEW.evaluation) = 'finished'"
_TABLES = (
    "CREATE TABLE evaluations (id TEXT PRIMARY KEY, created_at REAL, spec_digest TEXT, status TEXT, head TEXT, frame TEXT)",
    "CREATE TABLE sessions (evaluation TEXT, number INTEGER, started_at REAL, ended_at REAL, PRIMARY KEY (evaluation, number))",
    "CREATE TABLE attempts (evaluation TEXT, request_key TEXT, number INTEGER, state INTEGER, record TEXT,"
    " PRIMARY KEY (evaluation, request_key, number))",
    "CREATE TABLE trials (seq INTEGER PRIMARY KEY, evaluation TEXT, key TEXT, observed INTEGER, record TEXT)",
    "CREATE TABLE replays (seq INTEGER PRIMARY KEY, evaluation TEXT, key TEXT, observed INTEGER, record TEXT)",
    "CREATE INDEX trials_of ON trials (evaluation)",
    "CREATE INDEX replays_of ON replays (evaluation)",
    *(
        f"CREATE TRIGGER finished_{table} BEFORE INSERT ON {table} WHEN {_FINISHED} BEGIN {_NEVER}; END"
        for table in ("sessions", "attempts", "trials", "replays")
    ),
    "CREATE TRIGGER finished_evaluation BEFORE UPDATE ON evaluations WHEN OLD.status = 'finished'"
    f" AND (NEW.status, NEW.frame, NEW.spec_digest) IS NOT (OLD.status, OLD.frame, OLD.spec_digest) BEGIN {_NEVER}; END",
)
"""Those of today."""
_FIRST_RECORDS = 2
"""The records of a ledger whose version follows from its tables alone."""
_SINCE_KEYS = _TABLES
"""Those of the second schema, as today: when ``_TABLES`` changes, this one has to stay as it is."""
_OLDER = (
    Older(
        version=1,
        tables="67b4b9c400aa4880dfc43193ecbd0e58ad39342ae44f2de69b5b096f3e94cd24",
        steps=(
            "DROP INDEX trials_of",
            "DROP INDEX replays_of",
            *(f"ALTER TABLE {table} RENAME TO old_{table}" for table in ("attempts", "trials", "replays")),
            *_SINCE_KEYS[2:7],
            "INSERT INTO attempts SELECT evaluation, request_key, number, ended, record FROM old_attempts ORDER BY rowid",
            "INSERT INTO trials SELECT seq, evaluation, key_of(record), has_reply, record FROM old_trials ORDER BY seq",
            "INSERT INTO replays SELECT seq, evaluation, key_of(record), has_facts, record FROM old_replays ORDER BY seq",
            *(f"DROP TABLE old_{table}" for table in ("attempts", "trials", "replays")),
            *_SINCE_KEYS[7:],
        ),
    ),
    Older(version=1, tables="8e4d539c274d2650742acf9b795090f04839ff51eb812ccd8a59175d1b9882a2", steps=()),
)
"""Oldest first; each leads to the next one, the last to today's.

1. Columns of their own for the parts of a trial's key, and nothing that refuses to change a finished evaluation.
2. Today's tables, before the version of a ledger followed from them.
"""


def _key_of(record: str) -> str:
    """The key of a trial's or replay's record, as its row names it."""
    key = json.loads(record)["key"]
    return (ReplayKey if "trial" in key else TrialKey).model_validate(key).to_json()


def _upgraded(part: str, version: int, record: str) -> str:
    """A record of a bundle's version as it is written today, for steps that change rows."""
    return json.dumps(BUNDLE.upgraded(json.loads(record), version, part), ensure_ascii=True, separators=(",", ":"))


_FUNCTIONS: Mapping[str, Callable[..., str]] = {"key_of": _key_of, "upgraded": _upgraded}
LEDGER = Schema(
    statements=_TABLES,
    versioned=_TABLES if BUNDLE.version == _FIRST_RECORDS else (*_TABLES, f"records {BUNDLE.version}"),
    older=_OLDER,
    functions=_FUNCTIONS,
)
"""That of today; its version follows from the tables, and from the version of the records in them."""
