"""An evaluation as a directory: readable with any tool, and complete enough to replay, re-validate and audit from.

Rows are Parquet files with a few readable columns beside one lossless ``json`` column (ASCII JSON, so even lone surrogates in a
model's text survive); texts are files; ``index.json`` holds the row count and the SHA-256 of every file. The directory appears
complete or not at all: it is written beside its place and renamed. A bundle may come from anywhere, so a reader wants exactly the
files that the index lists, and none outside of the directory: no link, no ``..``, no file too many.
"""

import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import pyarrow as pa
import pyarrow.parquet as pq

from crosspath import __version__
from crosspath.errors import StoreError, boundary
from crosspath.reports.card import card_files
from crosspath.reports.figures import evaluation_figures
from crosspath.reports.html import report_html
from crosspath.reports.markdown import in_short, report_markdown
from crosspath.store.bundle_tables import FACT_TABLES, Table, judgement_tables
from crosspath.store.migrations import BUNDLE
from crosspath.types import (
    Contract,
    EvaluationHead,
    Facts,
    Judgement,
    Lock,
    PathSpec,
    PlannedCell,
    Record,
    Score,
    Text,
    Trial,
)

FORMAT = BUNDLE.version
"""Version of the layout and of the records in it; older ones are brought to it when they are read, a newer one is refused."""
INDEX = "index.json"
TEXT_KINDS = {"contracts": ".md", "transports": ".yaml", "suites": ".yaml", "styles": ".md"}
"""Field of ``Facts`` that holds texts -> ending of their files."""

_PLAN_FIELDS = {"cells", "not_applicable", "sessions", "bought_again", "contract_specs", "path_specs"}

R = TypeVar("R", bound=Record)


def write_bundle(facts: Facts, judgement: Judgement, directory: Path, *, pages: bool = True) -> None:
    """Write the whole evaluation to ``directory``, replacing what was there. ``pages``: with reports, figures and cards, too.

    Raises:
        StoreError: the place can't be written.
    """
    with boundary(StoreError, f"writing the bundle {directory}"):
        directory.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
        try:
            _write_everything(facts, judgement, fresh, pages)
            _swap(fresh, directory)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)


def read_bundle(directory: Path) -> Facts:
    """The facts of a bundle, after every file was compared with the index.

    Raises:
        StoreError: no bundle, a torn or changed one, or one of a newer version of Crosspath.
    """
    index = _checked_index(directory)
    with boundary(StoreError, f"reading the bundle {directory}"):
        head, lock, plan = (_document(directory, part, index) for part in ("head", "lock", "plan"))
        tables = {table.name: _read_table(directory, table, index) for table in FACT_TABLES}
        return Facts(
            head=EvaluationHead.model_validate(head),
            lock=Lock.model_validate(lock),
            cells=tuple(PlannedCell.model_validate(cell) for cell in plan["cells"]),
            not_applicable=plan["not_applicable"],
            sessions=tuple((start, end) for start, end in plan["sessions"]),
            bought_again=plan["bought_again"],
            contract_specs=tuple(Contract.model_validate(contract) for contract in plan["contract_specs"]),
            path_specs=tuple(PathSpec.model_validate(path) for path in plan["path_specs"]),
            **{kind: tuple(_read_text(directory, entry) for entry in plan.get(kind, ())) for kind in TEXT_KINDS},
            **cast("dict[str, Any]", tables),
        )


def read_trials(directory: Path) -> tuple[Trial, ...]:
    """The trials of a bundle of which nothing else need be there but its index.

    Raises:
        StoreError: they are missing, torn or changed.
    """
    table = next(table for table in FACT_TABLES if table.name == "trials")
    with boundary(StoreError, f"reading the bundle {directory}"):
        index = _json(directory / INDEX)
        _require_unchanged(directory / f"{table.name}.parquet", index["files"][f"{table.name}.parquet"])
        return cast("tuple[Trial, ...]", _read_table(directory, table, index))


def read_judgement(directory: Path) -> Judgement:
    """The judgement that was stored with the facts.

    Raises:
        StoreError: as :func:`read_bundle`.
    """
    index = _checked_index(directory)
    with boundary(StoreError, f"reading the bundle {directory}"):
        rest = _document(directory, "judgement", index)
        scores = Table("scores", Score, {})
        return Judgement.model_validate(rest | {"scores": _read_table(directory, scores, index)})


def index_digest(directory: Path) -> str:
    """SHA-256 of the index, which covers every file: the identity of a bundle's content.

    Raises:
        StoreError: no bundle.
    """
    with boundary(StoreError, f"reading the bundle {directory}"):
        return hashlib.sha256((directory / INDEX).read_bytes()).hexdigest()


def drop_unlisted(directory: Path) -> None:
    """Take away the files that the index of a downloaded bundle does not list.

    Raises:
        StoreError: no bundle, or its index can't be read.
    """
    with boundary(StoreError, f"reading the bundle {directory}"):
        listed = {INDEX, *_json(directory / INDEX)["files"]}
        for path in list(directory.rglob("*")):
            if path.relative_to(directory).as_posix() not in listed and not stat.S_ISDIR(path.lstat().st_mode):
                path.unlink()


def _write_everything(facts: Facts, judgement: Judgement, into: Path, pages: bool) -> None:
    rows = {table.name: _write_table(table, getattr(facts, table.name), into) for table in FACT_TABLES}
    for table, records in judgement_tables(judgement):
        rows[table.name] = _write_table(table, records, into)
    _write(into / "head.json", _pretty(facts.head.model_dump(mode="json")))
    _write(into / "lock.json", _pretty(facts.lock.model_dump(mode="json")))
    _write(into / "plan.json", _pretty(_plan(facts, into)))
    _write(into / "judgement.json", _pretty(judgement.model_dump(mode="json", exclude={"scores"})))
    if pages:
        _write_reports(facts, judgement, into)
        _write_cards(facts, judgement, into)
    files = {name: _file_entry(into / name) for name in sorted(_files(into))}
    _write(into / INDEX, _pretty({"format": FORMAT, "crosspath": __version__, "rows": rows, "files": files}))


def _plan(facts: Facts, into: Path) -> dict[str, Any]:
    plan: dict[str, Any] = facts.model_dump(mode="json", include=_PLAN_FIELDS)
    for kind in TEXT_KINDS:
        plan[kind] = [_write_text(text, kind, number, into) for number, text in enumerate(getattr(facts, kind))]
    return plan


def _write_text(text: Text, kind: str, number: int, into: Path) -> dict[str, Any]:
    """The text as a file; what doesn't fit into a file name is replaced, so the entry holds the true name."""
    safe = "".join(char if char.isascii() and (char.isalnum() or char in "-_.") else "_" for char in text.name)[:80].lstrip(".")
    taken = into / kind / f"{safe}{TEXT_KINDS[kind]}"
    name = f"{kind}/{safe or 'text'}{f'-{number}' if taken.exists() or not safe else ''}{TEXT_KINDS[kind]}"
    _write(into / name, text.content.encode("utf-8", "surrogatepass"))
    return {"name": text.name, "version": text.version, "digest": text.digest, "file": name}


def _read_text(directory: Path, entry: Mapping[str, str]) -> Text:
    if not _is_inside(entry["file"]):
        raise StoreError(f"bundle {directory}: its plan names {entry['file']!r}, which is no name of a file in it")
    content = (directory / entry["file"]).read_bytes().decode("utf-8", "surrogatepass")
    return Text(name=entry["name"], version=entry["version"], digest=entry["digest"], content=content)


def _write_reports(facts: Facts, judgement: Judgement, into: Path) -> None:
    """The report in both forms, and its figures: they stand in the HTML, too, so that this one file is enough."""
    figures = evaluation_figures(facts, judgement)
    for name, picture in figures.items():
        _write(into / f"figures/{name}", picture)
    pages = {"report.md": report_markdown(facts, judgement), "report.html": report_html(facts, judgement, figures)}
    for name, text in pages.items():
        _write(into / name, text.encode("utf-8", "backslashreplace"))


def _write_cards(facts: Facts, judgement: Judgement, into: Path) -> None:
    """The card of each candidate; of very many paths none, because `crosspath card` makes the one that is wanted."""
    for name, text in () if in_short(judgement) else card_files(facts, judgement):
        _write(into / f"cards/{name}", text.encode("utf-8", "backslashreplace"))


def _write_table(table: Table, records: Sequence[Record], into: Path) -> int:
    columns: dict[str, Any] = {name: pa.array([of(one) for one in records], kind) for name, (kind, of) in table.columns.items()}
    columns["json"] = pa.array([one.to_json() for one in records], pa.large_string())
    pq.write_table(pa.table(columns), into / f"{table.name}.parquet", compression="zstd")
    return len(records)


def _document(directory: Path, part: str, index: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON file of the bundle as today's version writes it."""
    return BUNDLE.upgraded(_json(directory / f"{part}.json"), index["format"], part)


def _read_table(directory: Path, table: Table, index: Mapping[str, Any]) -> tuple[Record, ...]:
    texts = pq.read_table(directory / f"{table.name}.parquet", columns=["json"]).column("json").to_pylist()
    rows, version = index["rows"].get(table.name), index["format"]
    if len(texts) != rows:
        raise StoreError(f"bundle {directory}: {table.name}.parquet has {len(texts)} rows, the index says {rows}")
    if not BUNDLE.changes(table.name, version):
        return tuple(table.record.from_json(text) for text in texts)
    return tuple(table.record.model_validate(BUNDLE.upgraded(json.loads(text), version, table.name)) for text in texts)


def _checked_index(directory: Path) -> dict[str, Any]:
    """The index, after all files were found unchanged."""
    if not (directory / INDEX).is_file():
        raise StoreError(f"no bundle of an evaluation: {directory} has no {INDEX}")
    with boundary(StoreError, f"reading the bundle {directory}"):
        index = _json(directory / INDEX)
        if index["format"] > FORMAT:
            raise StoreError(
                f"bundle {directory} was written by Crosspath {index['crosspath']}; this is {__version__}: update it"
            )
        _require_same_names(directory, index["files"])
        for name, entry in index["files"].items():
            _require_unchanged(directory / name, entry)
        return index


def _require_same_names(directory: Path, listed: Mapping[str, object]) -> None:
    """Every file is listed, everything that is listed is a file of its own in the directory."""
    for name in listed:
        if not _is_inside(name):
            raise StoreError(f"bundle {directory}: its index lists {name!r}, which is no name of a file in it")
    for path in sorted(directory.rglob("*")):
        name, mode = path.relative_to(directory).as_posix(), path.lstat().st_mode
        if stat.S_ISDIR(mode):
            continue
        if not stat.S_ISREG(mode):
            kind = "a symbolic link" if stat.S_ISLNK(mode) else "no regular file"
            raise StoreError(f"bundle {directory}: {name!r} is {kind}; a bundle has files and directories only")
        if name not in listed and name != INDEX:
            raise StoreError(f"bundle {directory}: its index does not list {name!r}; take away what does not belong to it")


def _is_inside(name: str) -> bool:
    """Whether a name is relative, without ``..`` and in its one form, on any system."""
    parts = name.split("/")
    return not {"", ".", ".."} & set(parts) and not {"\\", "\0"} & set(name) and ":" not in parts[0]


def _require_unchanged(path: Path, entry: Mapping[str, object]) -> None:
    if not path.is_file():
        raise StoreError(f"torn bundle: {path} is missing")
    found = _file_entry(path)
    if found != entry:
        raise StoreError(
            f"torn bundle: {path} has {found['size']} bytes and another content than the index says ({entry['size']})"
        )


def _file_entry(path: Path) -> dict[str, object]:
    with path.open("rb") as file:
        return {"size": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _files(directory: Path) -> Iterable[str]:
    return (path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())


def _json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_bytes(), parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> Callable[[], None]:
    raise ValueError(f"not strict JSON: {name}")


def _pretty(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=True, allow_nan=False, indent=2) + "\n").encode("ascii")


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)


def _swap(fresh: Path, directory: Path) -> None:
    """Put ``fresh`` in the place of ``directory``; after a crash in between, the old one is still beside it."""
    for path in (fresh / name for name in _files(fresh)):
        _sync(path)
    fresh.chmod(0o755)
    old = directory.with_name(f".{directory.name}-old")
    shutil.rmtree(old, ignore_errors=True)
    if directory.exists():
        directory.rename(old)
    fresh.rename(directory)
    _sync(directory.parent)
    shutil.rmtree(old, ignore_errors=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
