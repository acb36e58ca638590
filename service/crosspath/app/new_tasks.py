"""``crosspath tasks new``: a family from an incident, which is a record in a file or a reply of an evaluation that failed."""

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from crosspath import catalogue
from crosspath.app.showing import select
from crosspath.errors import ConfigError
from crosspath.pipeline.plan import matched_cell
from crosspath.strict_yaml import read_document
from crosspath.tasks.families import NAME
from crosspath.tasks.incidents import NewFamily, incident_task, new_family
from crosspath.tasks.jsonlines import json_lines
from crosspath.tasks.places import Place
from crosspath.tasks.writing import exchange_object
from crosspath.transports import assemble, preset
from crosspath.types import Candidate, Facts, Trial

_FILES = (".json", ".jsonl", ".yaml", ".yml", ".ndjson")


def is_file(source: str) -> bool:
    """Whether ``--from`` names a file; everything else is an evaluation."""
    try:
        return "/" in source or source.lower().endswith(_FILES) or Path(source).is_file()
    except OSError:  # no file could have such a name
        return False


def family_from_file(file: Path, pick: str | None, name: str | None) -> NewFamily:
    """The family of one incident record of a file: JSON, JSON lines or YAML; ``pick``: its id, or its number from 1.

    Raises:
        ConfigError: the file can't be read, holds no incident or several and none was picked, or one is not acceptable.
    """
    place, record = _picked(list(_records(file)), pick, file)
    wanted = family_name(name or _text(record, "family") or _text(record, "id") or file.stem)
    programs = cast(Mapping[str, object], record).get("programs") if isinstance(record, dict) else None
    return new_family(incident_task(record, place, wanted), wanted, programs)


def family_from_evaluation(facts: Facts, task: str, candidate: str | None, trial: int, name: str | None) -> NewFamily:
    """The family of a reply of an evaluation, as the raw path would run it.

    Raises:
        ConfigError: it has no such task, candidate or trial, or no reply that holds a command.
    """
    chosen = select(facts, task, candidate=candidate, trial=trial)
    who = next(one for one in facts.lock.candidates if one.name == (candidate or chosen.cells[0].candidate))
    wanted = family_name(name or chosen.task.family)
    record = exchange_object(chosen.task) | {"reply": _command(facts, who, task, trial)}
    return new_family(incident_task(record, Place(facts.head.id, task), wanted), wanted)


def family_name(text: str) -> str:
    """A family's name made from any text: lower case, digits and dashes.

    Raises:
        ConfigError: nothing of it is left.
    """
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if not NAME.fullmatch(name):
        raise ConfigError(f"{text!r} gives no name of a family; give one in lower case, such as 'quoted-note'", field="--name")
    return name


def write_family(family: NewFamily, out: Path | None) -> Path:
    """Write the family's file; nothing is ever overwritten.

    Raises:
        ConfigError: the file exists, or can't be written.
    """
    path = out or Path(f"{family.name}.yaml")
    try:
        if path.is_dir():
            path = path / f"{family.name}.yaml"
        if path.suffix.lower() not in (".yaml", ".yml"):
            raise ConfigError("must end in .yaml: a family is YAML", source=str(path), field="--out")
        _write_new(path, family.text)
    except FileExistsError:
        raise ConfigError("exists already; give another name with --out", source=str(path)) from None
    except OSError as error:
        raise ConfigError(f"can't be written: {error.strerror}", source=str(path)) from None
    return path


def _write_new(path: Path, text: str) -> None:
    """All of it or nothing, and never over another file."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, prefix=".new-") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
        Path(file.name).chmod(0o644)
        os.link(file.name, path)


def _records(file: Path) -> Iterator[tuple[Place, object]]:
    """Each record with its place."""
    text = catalogue.read_text(file)
    if file.suffix.lower() in (".yaml", ".yml"):
        document = read_document(text, str(file))
        many = document.value if isinstance(document.value, list) else [document.value]
        yield from ((Place(f"{file}:{document.line((number,)) or 1}"), record) for number, record in enumerate(many))
        return
    if not _is_lines(text):  # one object over several lines: no JSON text holds a bare line end
        text = " ".join(text.splitlines())
    yield from json_lines(text, str(file))


def _is_lines(text: str) -> bool:
    """Whether the first line is a whole JSON value."""
    try:
        json.loads(text.strip().split("\n")[0] or "0")
    except (ValueError, RecursionError):
        return False
    return True


def _picked(records: list[tuple[Place, object]], pick: str | None, file: Path) -> tuple[Place, object]:
    if not records:
        raise ConfigError("holds no incident", source=str(file))
    if pick is None and len(records) == 1:
        return records[0]
    names = [_text(record, "id") or str(number) for number, (_, record) in enumerate(records, 1)]
    if pick in names:
        return records[names.index(pick)]
    if pick is not None and pick.isdigit() and 1 <= int(pick) <= len(records):
        return records[int(pick) - 1]
    shown = ", ".join(names[:8]) + (" ..." if len(names) > 8 else "")
    raise ConfigError(f"holds {len(records)} incidents; name one with --pick, by id or number: {shown}", source=str(file))


def _text(record: object, field: str) -> str | None:
    value = cast(Mapping[str, object], record).get(field) if isinstance(record, dict) else None
    return value if isinstance(value, str) and value else None


def _command(facts: Facts, candidate: Candidate, task: str, trial: int) -> str:
    """The shell text of the reply that the candidate gave when told its own contract."""
    told = matched_cell(facts.cells, candidate.name)
    found = next((one for one in facts.trials if _is(one, told.generation.digest, task, trial)), None)
    contract = next((one for one in facts.contract_specs if one.name == told.contract), None)
    if found is None or found.reply is None:
        raise ConfigError(f"{candidate.name!r} has no reply for {task!r}, trial {trial}", field="--task")
    delivery = assemble(preset("raw"), contract, candidate.harness).deliver(found.reply)
    texts = [action.command.argv[-1].decode("utf-8", "replace") for action in delivery.actions if len(action.command.argv) > 2]
    if not texts:
        raise ConfigError(f"the reply of {candidate.name!r} for {task!r} holds no command: {delivery.reason}", field="--task")
    return "\n".join(texts)


def _is(trial: Trial, generation: str, task: str, index: int) -> bool:
    return (trial.key.generation, trial.key.task, trial.key.index) == (generation, task, index)
