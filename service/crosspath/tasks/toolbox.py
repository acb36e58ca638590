"""``programs`` of a task: a name on PATH -> one of the built-in programs, with its settings."""

import re
from collections.abc import Callable

from crosspath.tasks import programs
from crosspath.tasks.entries import relative_path
from crosspath.tasks.places import Place, as_integer, as_list, as_object, as_text, as_texts, known_names
from crosspath.types import FileEntry

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_programs(value: object, place: Place) -> tuple[FileEntry, ...]:
    """An object ``name -> {kind: ..., ...}`` as executables.

    Raises:
        ConfigError: a name that is none, an unknown kind, or settings that the kind does not have.
    """
    return tuple(_program(name, program, place.at(name)) for name, program in sorted(as_object(value, place).items()))


def _program(name: str, value: object, place: Place) -> FileEntry:
    if not _NAME.fullmatch(name):
        raise place.refuse("a program's name has letters, digits, '.', '_' and '-', at most 64")
    kind = as_object(value, place).get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise place.at("kind").refuse(f"unknown program kind {kind!r}; {known_names(_KINDS, str(kind))}")
    return FileEntry(path=name.encode(), content=_KINDS[kind](value, place).encode(), mode=0o755)


def _argv_recorder(value: object, place: Place) -> str:
    fields = as_object(value, place, ("kind", "file", "stdin"))
    stdin = _path(fields["stdin"], place.at("stdin")) if fields.get("stdin") is not None else None
    return programs.argv_recorder(_file(fields, place), stdin)


def _env_recorder(value: object, place: Place) -> str:
    fields = as_object(value, place, ("kind", "file", "variables"))
    variables = as_texts(fields.get("variables"), place.at("variables"))
    for name in variables:
        if not _VARIABLE.fullmatch(name):
            raise place.at("variables").wrong(name, "a name of an environment variable")
    return programs.env_recorder(_file(fields, place), variables)


def _remote_shell(value: object, place: Place) -> str:
    fields = as_object(value, place, ("kind", "hosts"))
    hosts = as_object(fields.get("hosts"), place.at("hosts"))
    if not hosts:
        raise place.at("hosts").refuse("name at least one host and the directory that stands for it")
    there = place.at("hosts")
    return programs.remote_shell({name: _path(directory, there.at(name)) for name, directory in hosts.items()})


def _stub(value: object, place: Place) -> str:
    fields = as_object(value, place, ("kind", "answers", "record"))
    answers = as_list(fields.get("answers"), place.at("answers"))
    record = None if fields.get("record") is None else _path(fields["record"], place.at("record"))
    return programs.stub([_answer(answer, place.at("answers").at(number)) for number, answer in enumerate(answers)], record)


def _script(value: object, place: Place) -> str:
    return as_text(as_object(value, place, ("kind", "text")).get("text"), place.at("text"), empty=False)


def _answer(value: object, place: Place) -> programs.StubAnswer:
    fields = as_object(value, place, ("argv", "stdout", "stderr", "exit"))
    patterns = as_list(fields.get("argv"), place.at("argv"))
    return programs.StubAnswer(
        argv=tuple(as_text(pattern, place.at("argv").at(number)) for number, pattern in enumerate(patterns)),
        stdout=as_text(fields.get("stdout", ""), place.at("stdout")),
        stderr=as_text(fields.get("stderr", ""), place.at("stderr")),
        exit=as_integer(fields.get("exit", 0), place.at("exit"), 0, 255),
    )


def _file(fields: dict[str, object], place: Place) -> str:
    return _path(fields.get("file"), place.at("file"))


def _path(value: object, place: Place) -> str:
    return relative_path(as_text(value, place), place).decode()


_KINDS: dict[str, Callable[[object, Place], str]] = {
    "argv-recorder": _argv_recorder,
    "env-recorder": _env_recorder,
    "remote-shell": _remote_shell,
    "stub": _stub,
    "script": _script,
}
