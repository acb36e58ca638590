"""What is written to last, the records in it, and the files in ``tests/data/formats`` that each version of it has left."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from crosspath.store.migrations import BUNDLE, CARD, DRIFT, ENTRY, VERDICT, Form
from crosspath.types import JSON, Card, Evidence, Facts, Judgement, Record, Verdict, digest
from crosspath.types.drift import Drift, SeriesEntry

FORMATS = Path(__file__).parent / "data" / "formats"
DIGESTS = FORMATS / "records.json"
"""Name of a form -> its version -> digest of its records' JSON schemas when that version was fixed."""
RECORDS: Mapping[str, tuple[Form, tuple[type[Record], ...]]] = {
    "bundle": (BUNDLE, (Facts, Judgement)),
    "verdict": (VERDICT, (Verdict, Evidence)),
    "card": (CARD, (Card,)),
    "entry": (ENTRY, (SeriesEntry,)),
    "drift": (DRIFT, (Drift,)),
}
_WORDS = frozenset({"title", "description", "examples"})
"""Of a JSON schema: what is said about a field, not what it is."""


def records_digest(name: str) -> str:
    """Of everything that decides which documents of a form can be read: fields, types, bounds and defaults."""
    _, records = RECORDS[name]
    return digest([_bare(record.model_json_schema()) for record in records])


def fixtures(name: str, version: int) -> list[Path]:
    """What that version of a form has left: files or directories ``NAME-VERSION``, perhaps with a further word."""
    return sorted(path for path in FORMATS.iterdir() if f"{path.name.split('.')[0]}-".startswith(f"{name}-{version}-"))


def _bare(schema: Any) -> JSON:
    if isinstance(schema, list):
        return [_bare(one) for one in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    fields = cast("dict[str, Any]", schema)
    # A property may be called like a word: then what stands there is a schema.
    return {key: _bare(value) for key, value in fields.items() if key not in _WORDS or isinstance(value, dict)}
