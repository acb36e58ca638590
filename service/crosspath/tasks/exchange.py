"""The exchange format of tasks: one JSON object a line. The YAML families expand to the same objects."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from crosspath.tasks.choosing import same_name
from crosspath.tasks.entries import read_bytes, read_directories, read_entries, with_compare
from crosspath.tasks.jsonlines import json_lines
from crosspath.tasks.places import (
    Place,
    as_integer,
    as_json,
    as_list,
    as_number,
    as_object,
    as_text,
    as_texts,
    known_names,
)
from crosspath.tasks.toolbox import read_programs
from crosspath.types import FileEntry, Message, Observer, Partition, Secret, Task

TASK_FIELDS = (
    "id", "family", "tier", "hazards", "instruction", "messages", "fixture", "directories", "programs", "setup", "expected",
    "compare", "ignore", "observe", "expected_observed", "expected_exit", "env", "settle_s", "timeout_s", "infeasible",
    "secrets", "partition", "twin", "oracle", "naive", "meta", "canary",
)  # fmt: skip
PARTITIONS: tuple[Partition, ...] = ("public", "heldout")
MIN_SECRET_BYTES = 6
ROLES = ("system", "user", "assistant")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_ID = 200
_Value = TypeVar("_Value")
_Default = TypeVar("_Default")


def parse_tasks(text: str, source: str) -> tuple[Task, ...]:
    """Tasks as JSON lines; ``source`` names the file in complaints.

    Raises:
        ConfigError: a line is no task, or has the id of an earlier one (up to case and Unicode form).
    """
    return tasks_of(json_lines(text, source), Place(source), "no task in this file; one JSON object a line is expected")


def tasks_of(records: Iterable[tuple[Place, object]], whole: Place, nothing: str) -> tuple[Task, ...]:
    """The tasks of a list, each with its place; ``nothing`` says what is wrong with an empty one.

    Raises:
        ConfigError: one is no task, has the id of an earlier one (up to case and Unicode form), or there is none.
    """
    tasks: list[Task] = []
    seen: dict[str, str] = {}
    for place, value in records:
        task = task_from_object(value, place)
        earlier = seen.setdefault(same_name(task.id), place.source)
        if earlier != place.source:
            raise place.at("id").refuse(f"{task.id!r} is taken by the task at {earlier} (case and Unicode form do not count)")
        tasks.append(task)
    if not tasks:
        raise whole.refuse(nothing)
    return tuple(tasks)


def task_from_object(value: object, place: Place) -> Task:
    """One task of the exchange format.

    Raises:
        ConfigError: naming the field, its value and what would be right.
    """
    reading = _Reading(as_object(value, place, TASK_FIELDS), place)
    name = reading.need("id", "a text such as 'family/name'", _task_id)
    return Task(
        id=name,
        family=reading.get("family", _non_empty, name.split("/")[0]),
        tier=reading.get("tier", lambda value, there: as_integer(value, there, 0, 3), None),
        hazards=reading.get("hazards", as_texts, ()),
        **reading.prompt(),
        **reading.states(),
        programs=reading.get("programs", read_programs, ()),
        setup=reading.get("setup", _non_empty, None),
        ignore=reading.get("ignore", as_texts, ()),
        observers=reading.observers(),
        env=reading.get("env", _environment, ()),
        settle_s=reading.get("settle_s", lambda value, there: as_number(value, there, 0, 60, "seconds"), 0.0),
        timeout_s=reading.get("timeout_s", lambda value, there: as_number(value, there, 0.01, 600, "seconds"), 10.0),
        **reading.feasibility(),
        secrets=reading.get("secrets", read_secrets, ()),
        partition=cast(Partition, reading.get("partition", _partition, "public")),
        twin=reading.get("twin", _task_id, None),
        naive=reading.get("naive", _non_empty, None),
        meta=reading.get("meta", as_json, dict[str, Any]()) | reading.get("canary", _canary, dict[str, Any]()),
    )


@dataclass(frozen=True)
class _Reading:
    """The fields of one task; null means the same as leaving a field out."""

    fields: dict[str, object]
    place: Place

    def get(self, name: str, read: Callable[[object, Place], _Value], default: _Default) -> _Value | _Default:
        value = self.fields.get(name)
        return default if value is None else read(value, self.place.at(name))

    def need(self, name: str, right: str, read: Callable[[object, Place], _Value]) -> _Value:
        if self.fields.get(name) is None:
            raise self.place.at(name).refuse(f"missing; give {right}")
        return read(self.fields[name], self.place.at(name))

    def prompt(self) -> dict[str, Any]:
        """Instruction or conversation: exactly one of them."""
        instruction = self.get("instruction", _non_empty, "")
        messages = self.get("messages", read_messages, ())
        if bool(instruction) == bool(messages):
            raise self.place.at("instruction").refuse("give either 'instruction' or 'messages'")
        return {"instruction": instruction, "messages": messages}

    def states(self) -> dict[str, Any]:
        """The state before and after. Of a task that can't be done the latter is the former, so that it may be left out."""
        fixture = self.get("fixture", lambda value, there: read_entries(value, there, "fixture"), ())
        directories = self.get("directories", lambda value, there: read_directories(as_texts(value, there), there), None)
        if self.fields.get("infeasible") is not None and self.fields.get("setup") is None:
            expected = self._untouched(fixture)
            directories = empty_directories(fixture) if directories is None else directories
        else:
            right = "every file that must exist afterwards, {} for none"
            expected = self.need("expected", right, lambda value, there: read_entries(value, there, "expected"))
        expected = self.get("compare", lambda value, there: with_compare(expected, value, there), expected)
        return {"fixture": fixture, "directories": directories, "expected": expected}

    def _untouched(self, fixture: tuple[FileEntry, ...]) -> tuple[FileEntry, ...]:
        given = self.get("expected", lambda value, there: read_entries(value, there, "fixture"), None)
        if given is not None and _contents(given) != _contents(fixture):
            raise self.place.at("expected").refuse(
                "a task that can't be done ('infeasible') leaves the fixture as it was: leave 'expected' out"
            )
        return untouched(fixture)

    def feasibility(self) -> dict[str, Any]:
        """A right command, or the reason why there is none: never both. Who declines runs nothing, so no exit status is set."""
        infeasible, oracle = self.get("infeasible", _non_empty, None), self.get("oracle", _non_empty, None)
        status = self.get("expected_exit", lambda value, there: as_integer(value, there, 0, 255), None)
        if infeasible is not None and oracle is not None:
            raise self.place.at("oracle").refuse("a task that can't be done ('infeasible') has no right command")
        if infeasible is not None and status is not None:
            raise self.place.at("expected_exit").refuse("a task that can't be done ('infeasible') has no right exit status")
        return {"infeasible": infeasible, "oracle": oracle, "expected_exit": status}

    def observers(self) -> tuple[Observer, ...]:
        lines = self.get("observe", _named_texts, dict[str, str]())
        there = self.place.at("expected_observed")
        right = self.get("expected_observed", as_object, dict[str, object]())
        for name in right:
            if name not in lines:
                raise there.refuse(f"no observer {name!r} in 'observe'; {known_names(lines, name)}")
        return tuple(
            Observer(name=name, command=line, expected=read_bytes(right[name], there.at(name)) if name in right else None)
            for name, line in lines.items()
        )


def untouched(fixture: tuple[FileEntry, ...]) -> tuple[FileEntry, ...]:
    """The fixture as an expected state: every entry with the very mode that it was given."""
    modes = {"file": 0o644, "directory": 0o755}
    return tuple(
        entry if entry.kind == "symlink" or entry.mode is not None else entry.model_copy(update={"mode": modes[entry.kind]})
        for entry in fixture
    )


def empty_directories(fixture: tuple[FileEntry, ...]) -> tuple[bytes, ...]:
    """Directories of a fixture with nothing below them: an expected state that lists them allows no other empty one."""
    return tuple(
        entry.path
        for entry in fixture
        if entry.kind == "directory" and not any(other.path.startswith(entry.path + b"/") for other in fixture)
    )


def _contents(entries: tuple[FileEntry, ...]) -> dict[bytes, tuple[str, bytes, bytes]]:
    return {entry.path: (entry.kind, entry.content, entry.target) for entry in entries if entry.kind != "directory"}


def read_messages(value: object, place: Place) -> tuple[Message, ...]:
    """A conversation: a list of ``{role, content}``."""
    return tuple(_message(item, place.at(number)) for number, item in enumerate(as_list(value, place)))


def read_secrets(value: object, place: Place) -> tuple[Secret, ...]:
    """An object ``name -> {text or base64, allowed: [globs]}``, sorted by name.

    Raises:
        ConfigError: a secret is shorter than ``MIN_SECRET_BYTES``: it would be found by chance.
    """
    return tuple(_secret(name, item, place.at(name)) for name, item in sorted(as_object(value, place).items()))


def _secret(name: str, value: object, place: Place) -> Secret:
    fields = as_object(value, place, ("text", "base64", "allowed"))
    content = read_bytes({key: item for key, item in fields.items() if key != "allowed"}, place)
    if len(content) < MIN_SECRET_BYTES:
        raise place.refuse(f"a secret has at least {MIN_SECRET_BYTES} bytes: a shorter one would be found by chance")
    return Secret(name=name, value=content, allowed=as_texts(fields.get("allowed", []), place.at("allowed")))


def _partition(value: object, place: Place) -> Partition:
    for partition in PARTITIONS:
        if value == partition:
            return partition
    raise place.refuse(f"unknown partition {value!r}; {known_names(PARTITIONS, str(value))}")


def _canary(value: object, place: Place) -> dict[str, Any]:
    return {"canary": _non_empty(value, place)}


def _message(value: object, place: Place) -> Message:
    fields = as_object(value, place, ("role", "content"))
    role = fields.get("role")
    if role not in ROLES:
        raise place.at("role").refuse(f"unknown role {role!r}; {known_names(ROLES, str(role))}")
    return Message(role=role, content=as_text(fields.get("content"), place.at("content")))


def _task_id(value: object, place: Place) -> str:
    text = as_text(value, place, empty=False)
    if not text.isprintable() or text.strip() != text or len(text) > _MAX_ID or "#" in text:
        raise place.wrong(text, f"an id: at most {_MAX_ID} printable characters without '#', no blank at either end")
    return text


def _non_empty(value: object, place: Place) -> str:
    return as_text(value, place, empty=False)


def _named_texts(value: object, place: Place) -> dict[str, str]:
    return {_non_empty(name, place): _non_empty(text, place.at(name)) for name, text in as_object(value, place).items()}


def _environment(value: object, place: Place) -> tuple[tuple[str, str], ...]:
    for name in (variables := as_object(value, place)):
        if not _VARIABLE.fullmatch(name):
            raise place.wrong(name, "a name of an environment variable")
    return tuple((name, as_text(text, place.at(name))) for name, text in sorted(variables.items()))
