"""``crosspath import``: logged model calls as recorded replies to tasks that are known."""

import os
import tempfile
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import zip_longest
from pathlib import Path
from typing import IO

from crosspath import catalogue
from crosspath.app.adapters import store_directory
from crosspath.app.adapters import tracking_uri as default_uri
from crosspath.app.import_counts import EXAMPLES, Counts
from crosspath.app.logged_sources import read_logged
from crosspath.app.task_checks import known_tasks
from crosspath.errors import ConfigError
from crosspath.logged import LoggedCall
from crosspath.logged.instructions import Instructions
from crosspath.logged.keys import KeyExpression, places_of
from crosspath.logged.messages import texts_of
from crosspath.logged.numbering import Trials
from crosspath.logged.recording import recorded_line
from crosspath.tasks import RecordedReply, parse_recorded
from crosspath.tasks.places import shown
from crosspath.types import Task

_CALLS_LOOKED_AT = 20
"""Calls without a task in which ids of tasks are looked for, to suggest an expression."""
_IN_MEMORY_BYTES = 64 * 2**20
"""A longer recording is kept in a file until all of it is known."""


@dataclass(frozen=True)
class Naming:
    """How the names of a recorded reply are found in a logged call."""

    task_key: KeyExpression | None = None
    match_instruction: bool = False
    contract: str | None = None
    """None: the contract whose text a system message is, word for word; else ``raw``."""
    contract_key: KeyExpression | None = None
    model: str | None = None
    model_key: KeyExpression | None = None
    messages: bool = True
    """Whether the messages that were sent are written."""


@dataclass(frozen=True)
class Imported:
    """A recording that was made, and what it was made of."""

    counts: Counts
    file: str | None
    """Where it was written; None: nowhere."""
    content: IO[str]

    def lines(self) -> Iterator[str]:
        """The recorded replies, one JSON object each."""
        self.content.seek(0)
        return (line.removesuffix("\n") for line in self.content)


@contextmanager
def import_replies(
    sources: Sequence[str],
    kind: str,
    names: Naming,
    *,
    files: Sequence[Path] = (),
    out: Path | None = None,
    force: bool = False,
    tracking_uri: str | None = None,
    store: str | None = None,
) -> Generator[Imported]:
    """Read logs, and make a recording of the calls that belong to a task. Nothing is written where none does.

    The recording itself can be read inside of the ``with`` block.

    Raises:
        ConfigError: a source, an option or a task file is wrong, or ``out`` exists and would change.
        TrackerError: MLflow can't be reached.
    """
    tasks, counts = known_tasks(files), Counts()
    calls = read_logged(sources, kind, tracking_uri or default_uri(store_directory(store)))
    with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES, "w+", encoding="ascii", newline="\n") as content:
        content.writelines(f"{line}\n" for line in recorded_lines(calls, tasks, names, counts))
        if not counts.read:
            raise ConfigError(f"holds no model call that --from {kind} knows", source=", ".join(sources))
        counts.too_long = content.tell() > catalogue.MAX_BYTES
        wanted = out if counts.matched else None
        if wanted is not None:
            _write(wanted, content, force)
        yield Imported(counts, None if wanted is None else str(wanted), content)


def _write(out: Path, content: IO[str], force: bool) -> None:
    """All of it or nothing; over another file only where that is asked for, or changes nothing."""
    try:
        if out.exists() and not force:
            _require_equal(out, content)
            return
        with tempfile.NamedTemporaryFile(
            "w", encoding="ascii", newline="\n", dir=out.parent, prefix=".new-", delete=False
        ) as file:
            content.seek(0)
            file.writelines(content)
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).chmod(0o644)
        Path(file.name).replace(out)
    except OSError as error:
        raise ConfigError(f"can't be written: {error.strerror}", source=str(out), field="--out") from None


def _require_equal(out: Path, content: IO[str]) -> None:
    content.seek(0)
    with catalogue.opened(out) as file:
        if any(old != new for old, new in zip_longest(file, (line.encode("ascii") for line in content))):
            raise ConfigError(
                "exists and holds something else; name another file, or take --force", source=str(out), field="--out"
            )


def recorded_lines(calls: Iterable[LoggedCall], tasks: Sequence[Task], naming: Naming, counts: Counts) -> Iterator[str]:
    """Each call that belongs to a task, as a line of a recording; ``counts`` is filled on the way.

    Raises:
        ConfigError: neither a task key nor the instruction says which task a call belongs to.
    """
    matcher = _Matcher(tasks, naming)
    trials = Trials()
    for call in calls:
        counts.read += 1
        if call.reply is None:
            counts.without_reply.add(call.problem or "no reply", call.place)
        elif isinstance(task := matcher.task_of(call), _Unmatched):
            counts.unmatched.add(task.reason, f"{call.place}{task.detail}")
            _suggest(counts, call, matcher)
        elif (model := matcher.model_of(call)) is None:
            counts.unmatched.add("no model is named in it; name it with --model", call.place)
        elif (contract := matcher.contract_of(call)) is None:
            counts.unmatched.add("--contract-key finds nothing in it", call.place)
        else:
            yield from _lines(call, (model, task, contract), trials, counts, naming.messages)


def _lines(call: LoggedCall, key: tuple[str, str, str], trials: Trials, counts: Counts, with_messages: bool) -> Iterator[str]:
    assert call.reply is not None
    model, task, contract = key
    recorded = RecordedReply(model=model, task=task, contract=contract, reply=call.reply)
    try:
        parse_recorded(recorded_line(recorded), call.place)
    except ConfigError as error:
        counts.without_reply.add(f"can't be a recorded reply: {error.field}: {error.problem}"[:160], call.place)
        return
    trial, turn = trials.number(key, call, call.reply)
    _count(counts, call, key, turn)
    messages = call.messages if with_messages else ()
    yield recorded_line(recorded.model_copy(update={"trial": trial, "turn": turn, "messages": messages}))


def _count(counts: Counts, call: LoggedCall, key: tuple[str, str, str], turn: int | None) -> None:
    model, task, contract = key
    counts.matched += 1
    counts.further_turns += bool(turn)
    counts.lossy += bool(call.losses)
    counts.tasks.add(task)
    counts.models[model] = counts.models.get(model, 0) + 1
    counts.unshaped += call.reply is not None and contract == "raw" and bool(call.reply.tool_calls)
    for loss in call.losses:
        counts.losses.add(loss, call.place)


def _suggest(counts: Counts, call: LoggedCall, matcher: "_Matcher") -> None:
    if sum(counts.unmatched.counts.values()) <= _CALLS_LOOKED_AT:
        for expression in places_of(call.entry, matcher.ids):
            counts.suggestions[expression] = counts.suggestions.get(expression, 0) + 1


@dataclass(frozen=True)
class _Unmatched:
    reason: str
    detail: str = ""


class _Matcher:
    """Names for one logged call after another."""

    def __init__(self, tasks: Sequence[Task], naming: Naming) -> None:
        self.ids: Collection[str] = {task.id for task in tasks}
        self._naming = naming
        self._instructions = Instructions(tasks) if naming.match_instruction else None
        self._contracts = (
            {} if naming.contract else {catalogue.contract(name).text.strip(): name for name in catalogue.contract_names()}
        )

    def task_of(self, call: LoggedCall) -> "str | _Unmatched":
        """The id of its task, or why it has none."""
        key = self._naming.task_key
        named = key.of(call.entry) if key else call.task
        if named in self.ids:
            return str(named)
        if self._instructions is not None:
            return self._by_instruction(call)
        if named is None:
            return _Unmatched("--task-key finds nothing in it" if key else "it names no task")
        near = get_close_matches(named, self.ids, n=1)
        return _Unmatched("its task is not known", f": {shown(named)}" + (f" (did you mean {near[0]!r}?)" if near else ""))

    def _by_instruction(self, call: LoggedCall) -> "str | _Unmatched":
        assert self._instructions is not None
        found = self._instructions.tasks_of(call)
        if len(found) == 1:
            return found[0]
        if found:
            return _Unmatched("it holds the instructions of several tasks", f": {', '.join(found[:EXAMPLES])}")
        return _Unmatched("no message of the user holds a task's instruction")

    def model_of(self, call: LoggedCall) -> str | None:
        """The name of the model: as given, as the expression finds it, as it was asked for, or as it was served."""
        naming = self._naming
        if naming.model_key is not None:
            return naming.model_key.of(call.entry)
        return naming.model or call.model or (call.reply.served_model if call.reply else None)

    def contract_of(self, call: LoggedCall) -> str | None:
        """The name of the contract that the model was told: as given, as the expression finds it, or by its own words."""
        key, given = self._naming.contract_key, self._naming.contract
        if given or key:
            return given or (key.of(call.entry) if key else None)
        told = (self._contracts.get(text.strip()) for text in texts_of(call.messages, "system"))
        return call.contract or next((name for name in told if name), "raw")


def naming(
    *,
    task_key: str | None,
    match_instruction: bool,
    contract: str | None,
    contract_key: str | None,
    model: str | None,
    model_key: str | None,
    messages: bool = True,
) -> Naming:
    """The arguments of the command, checked.

    Raises:
        ConfigError: an expression is none, two options say the same, or none says which task a call belongs to.
    """
    if task_key is None and not match_instruction:
        raise ConfigError(
            "missing; say where a call names its task, for instance metadata.task or custom_id, or take --match-instruction",
            field="--task-key",
        )
    for name, given, key in (("--contract", contract, contract_key), ("--model", model, model_key)):
        if given is not None and key is not None:
            raise ConfigError(f"says the same as {name}-key; give one of them", field=name)
    return Naming(
        task_key=_expression(task_key, "--task-key"),
        match_instruction=match_instruction,
        contract=contract,
        contract_key=_expression(contract_key, "--contract-key"),
        model=model,
        model_key=_expression(model_key, "--model-key"),
        messages=messages,
    )


def _expression(text: str | None, option: str) -> KeyExpression | None:
    return None if text is None else KeyExpression(text, option)
