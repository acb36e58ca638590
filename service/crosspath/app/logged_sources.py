"""Where logged calls are read from: files and directories of each format, and experiments and runs of MLflow."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from crosspath import catalogue
from crosspath.app.adapters import is_missing, logged_traces, without_password
from crosspath.errors import ConfigError
from crosspath.logged import KINDS, Kind, LoggedCall
from crosspath.logged.documents import document, documents, table, whole
from crosspath.logged.inspect_logs import sample_calls
from crosspath.logged.langfuse_exports import is_generation, langfuse_calls, observations, wrappers
from crosspath.logged.mlflow_traces import is_trace, mlflow_calls
from crosspath.logged.openai_lines import batch_request, openai_calls
from crosspath.logged.shapes import Unreadable, fields, is_object, objects
from crosspath.logged.zipped import Archive
from crosspath.tasks.places import known_names

_SUFFIXES: dict[Kind, tuple[str, ...]] = {
    "mlflow": (".json", ".jsonl", ".ndjson"),
    "inspect": (".eval", ".json"),
    "openai": (".jsonl", ".ndjson", ".json"),
    "langfuse": (".jsonl", ".ndjson", ".json", ".csv"),
    "recorded": (".jsonl", ".ndjson"),
}
"""Files of a directory that are read."""
_TOO_DEEP = "nested too deeply"


def read_logged(sources: Sequence[str], kind: str, tracking_uri: str | None = None) -> Iterator[LoggedCall]:
    """The calls of all sources in their order, one by one; pieces that can't be read are calls with a ``problem``.

    Args:
        sources: files or directories; with ``mlflow`` also the name or id of an experiment, or the id of a run.
        kind: one of ``KINDS``.
        tracking_uri: where MLflow's experiments are.

    Raises:
        ConfigError: an unknown kind, or a source that is not there or holds nothing of this kind.
        TrackerError: MLflow can't be reached.
    """
    if kind not in KINDS:
        raise ConfigError(f"{kind!r} is no kind of log; {known_names(KINDS, kind)}", field="--from")
    readers: dict[str, Callable[[Sequence[Path]], Iterator[LoggedCall]]] = {
        "openai": _openai, "inspect": _inspect, "langfuse": _langfuse, "recorded": _recorded, "mlflow": _mlflow,
    }  # fmt: skip
    for source in sources:
        files = _files(source, kind)
        if files is None:
            yield from _experiment(source, tracking_uri)
    yield from readers[kind]([file for source in sources for file in _files(source, kind) or ()])


def _files(source: str, kind: Kind) -> list[Path] | None:
    """The files that a source names; None for an experiment or run."""
    path = Path(source)
    if "\0" not in source and path.is_dir():
        found = sorted(file for file in path.iterdir() if file.suffix.lower() in _SUFFIXES[kind] and file.is_file())
        if not found:
            raise ConfigError(f"has no file that ends in {' or '.join(_SUFFIXES[kind])}", source=source)
        return found
    named = "/" in source or path.suffix.lower() in _SUFFIXES[kind]
    return None if kind == "mlflow" and not named and not path.is_file() else [path]


def _experiment(named: str, uri: str | None) -> Iterator[LoggedCall]:
    if uri is None or is_missing(uri):
        where = f"; nothing was logged at {without_password(uri)}" if uri else ""
        raise ConfigError(f"is no file, and as an experiment or run of MLflow it needs --tracking-uri{where}", source=named)
    for trace in logged_traces(named, uri):
        yield from _safely(partial(mlflow_calls, trace, f"trace {fields(trace.get('info')).get('trace_id')}"), named)


def _safely(read: Callable[[], Iterable[LoggedCall]], place: str) -> list[LoggedCall]:
    """What a parser makes of one piece of a log; it may be nested deeper than Python can follow."""
    try:
        return list(read())
    except RecursionError:
        return [LoggedCall(place, {}, problem=_TOO_DEEP)]


def _values(files: Sequence[Path]) -> Iterator[tuple[str, object]]:
    """Every value of the files, with its place."""
    for file in files:
        wrong: list[Unreadable] = []
        readable = False
        with catalogue.opened(file) as content:
            for place, value in (table if file.suffix.lower() == ".csv" else documents)(content, str(file)):
                if isinstance(value, Unreadable):
                    wrong = wrong or [value]
                readable = readable or is_object(value)
                yield place, value
        if wrong and not readable:
            raise ConfigError(f"nothing in it can be read: {wrong[0]}", source=str(file))


def _readable(files: Sequence[Path]) -> Iterator[tuple[str, dict[str, Any] | LoggedCall]]:
    """Every object of the files; a call with a problem for what is none."""
    for place, value in _values(files):
        if isinstance(value, Unreadable):
            yield place, _unreadable(place, value)
        elif not isinstance(value, dict):
            yield place, LoggedCall(place, {}, problem="no JSON object")
        else:
            yield place, fields(value)


def _openai(files: Sequence[Path]) -> Iterator[LoggedCall]:
    """A batch's input file has the requests, its output file the responses: both may be given."""
    asked = (batch_request(value) for _, value in _readable(files) if isinstance(value, dict))
    requests = dict(request for request in asked if request is not None)
    for place, value in _readable(files):
        if isinstance(value, LoggedCall):
            yield value
        elif batch_request(value) is None:
            yield from _safely(partial(openai_calls, value, place, requests), place)


def _langfuse(files: Sequence[Path]) -> Iterator[LoggedCall]:
    wrapping = wrappers(one for _, value in _values(files) for one in observations(value))
    for place, value in _values(files):
        if isinstance(value, Unreadable):
            yield _unreadable(place, value)
        for number, one in enumerate(observations(value)):
            if is_generation(one) and str(one.get("id")) not in wrapping:
                where = place if one is value else f"{place}, observation {number}"
                yield from _safely(partial(langfuse_calls, one, where), place)


def _mlflow(files: Sequence[Path]) -> Iterator[LoggedCall]:
    for place, value in _readable(files):
        if isinstance(value, LoggedCall):
            yield value
        elif not is_trace(value):
            yield LoggedCall(place, value, problem="no trace in MLflow's form (info and data)")
        else:
            yield from _safely(partial(mlflow_calls, value, place), place)


def _inspect(files: Sequence[Path]) -> Iterator[LoggedCall]:
    for file in files:
        with catalogue.opened(file) as content:
            zipped = content.read(4).startswith(b"PK")
            content.seek(0)
            try:
                samples = _zipped_samples(Archive(content)) if zipped else _plain_samples(document(whole(content)))
                for place, log, sample in samples:
                    where = f"{file}{place}"
                    if isinstance(sample, Unreadable):
                        yield _unreadable(where, sample)
                    else:
                        yield from _safely(partial(sample_calls, log, sample, str(file)), where)
            except Unreadable as error:
                raise ConfigError(str(error), source=str(file)) from None


def _unreadable(place: str, error: Unreadable) -> LoggedCall:
    return LoggedCall(f"{place}: {error.detail}" if error.detail else place, {}, problem=error.reason)


def _plain_samples(value: object) -> Iterator[tuple[str, dict[str, Any], dict[str, Any] | Unreadable]]:
    log = fields(value)
    if "eval" not in log:
        raise Unreadable("is no log of Inspect (it has no field 'eval')")
    yield from (("", log, sample) for sample in objects(log.get("samples")))


def _zipped_samples(archive: Archive) -> Iterator[tuple[str, dict[str, Any], dict[str, Any] | Unreadable]]:
    """Each sample with its place and the log's header, first epochs first; a damaged one as what is wrong with it."""
    head = next((name for name in ("header.json", "_journal/start.json") if name in archive.names), None)
    if head is None:
        raise Unreadable("is no log of Inspect (it has neither header.json nor _journal/start.json)")
    log = fields(document(archive.read(head)))
    for name in sorted((name for name in archive.names if name.startswith("samples/")), key=_epoch):
        try:
            yield f", {name}", log, fields(document(archive.read(name)))
        except Unreadable as error:
            yield f", {name}", log, error


def _epoch(name: str) -> int:
    number = name.removesuffix(".json").rpartition("_epoch_")[2]
    return int(number) if number.isdecimal() and len(number) < 10 else 0


def _recorded(files: Sequence[Path]) -> Iterator[LoggedCall]:
    for file in files:
        for number, line in enumerate(catalogue.read_recorded(file), start=1):
            entry = line.model_dump(mode="json")
            place = f"{file}, reply {number}"
            yield LoggedCall(
                place, entry, line.reply, None, (), line.model, line.messages, None, line.task, line.contract
            )  # fmt: skip
