"""Files of the work directory that an observer executes although a reply can write them and nothing compares them.

A path is taken for such a one where a word of the observer's command, a module that it imports, a makefile that it implies, or a
program on a ``PATH`` below the work directory is covered by the task's ``ignore``: any other path is either compared or surplus.
Whether the observer really executes it shows when it is overwritten by a program that prints what the observer should print.
"""

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crosspath.types import Observer, Task

_WORK = re.compile(r"(?:\{work\}|\$\{?(?:WORK|PWD)\}?)(?=/|$)")
_IMPORT = re.compile(r"(?:^|[\s;'\"])(?:import|from|-m)\s+([A-Za-z_]\w*)")
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_END = re.compile(r"[|;&<>)\n]")


@dataclass(frozen=True)
class OwnProgram:
    """A path that an observer may execute, and what it has to print for which arguments (as one text)."""

    path: str
    answers: tuple[tuple[str, bytes], ...]


def own_programs(task: Task, compared: Sequence[Observer]) -> tuple[OwnProgram, ...]:
    """Every such path of the task, with the observers' expected outputs."""
    answers: dict[str, list[tuple[str, bytes]]] = {}
    for observer in compared:
        for path in dict.fromkeys(_candidates(task, observer)):
            if task.ignores(path.encode("utf-8", "surrogateescape")):
                answers.setdefault(path, []).append((_arguments(observer.command, path), observer.expected or b""))
    return tuple(OwnProgram(path, tuple(each)) for path, each in answers.items())


def overwrite(programs: Sequence[OwnProgram]) -> str:
    """Shell lines that put a lying program into the place of each."""
    return "\n".join(_placed(program) for program in programs) + "\n"


def _candidates(task: Task, observer: Observer) -> Iterator[str]:
    words = _words(observer.command)
    for word in words:
        yield from _below_work(word)
    for module in _IMPORT.findall(observer.command):
        yield from (f"{module}.py", f"{module}/__init__.py", f"{module}/__main__.py")
    if "make" in words:
        yield from _MAKEFILES
    for directory in _searched(task, observer):
        yield from (posixpath.normpath(f"{directory}/{word}") for word in words if "/" not in word)
        yield f"{directory}/sitecustomize.py"
    for _, value in task.env:
        yield from _below_work(value)


def _words(command: str) -> list[str]:
    """Words as a shell would see them, cut at what can't be part of a path."""
    return [word for word in re.split(r"[\s|;&<>()'\"`=]+", _WORK.sub(".", command)) if word]


def _below_work(word: str) -> Iterator[str]:
    path = posixpath.normpath(_WORK.sub(".", word))
    if path != "." and not path.startswith(("/", "../", "-")) and path != ".." and "$" not in path:
        yield path


def _searched(task: Task, observer: Observer) -> list[str]:
    """Directories of the work directory that programs or modules are looked for in."""
    values = [value for name, value in task.env if name in ("PATH", "PYTHONPATH", "PERL5LIB", "NODE_PATH")]
    values += re.findall(r"\b(?:PATH|PYTHONPATH|PERL5LIB|NODE_PATH)=(\S+)", observer.command)
    parts = [part.strip("'\"") for value in values for part in value.split(":")]
    return [path for part in parts for path in ((".",) if _WORK.sub(".", part) == "." else _below_work(part))]


def _arguments(command: str, path: str) -> str:
    """What stands behind the path in the command, joined as ``$*`` joins it."""
    rest = _WORK.sub(".", command).partition(path)[2].lstrip("'\"")
    try:
        return " ".join(shlex.split(_END.split(rest)[0]))
    except ValueError:
        return ""


def _placed(program: OwnProgram) -> str:
    path = shlex.quote("./" + program.path)
    above = f"mkdir -p {shlex.quote('./' + posixpath.dirname(program.path))}; " if "/" in program.path else ""
    return f"{above}rm -rf {path}; printf %s {shlex.quote(_source(program))} > {path}; chmod +x {path}"


def _source(program: OwnProgram) -> str:
    """A program that prints the answer, in the language that the path's ending suggests; else one for sh and Python at once."""
    answer = program.answers[0][1]
    octal = "".join(f"\\{byte:03o}" for byte in answer)
    if posixpath.basename(program.path) in _MAKEFILES:
        return f"all:\n\t@printf '{octal}'\n.DEFAULT:\n\t@printf '{octal}'\n"
    written = {
        ".pl": f'print "{octal}"; exit 0;\n',
        ".awk": f'BEGIN {{ printf "{octal}"; exit }}\n',
        ".js": f'process.stdout.write(Buffer.from("{answer.hex()}", "hex"));\n',
        ".sql": f"SELECT CAST(x'{answer[:-1].hex()}' AS TEXT);\n",  # it ends the line by itself
    }
    return written.get(posixpath.splitext(program.path)[1], _for_sh_and_python(program.answers))


def _for_sh_and_python(answers: Sequence[tuple[str, bytes]]) -> str:
    """For Python all that sh reads is a text; sh ends before it comes to what Python reads."""
    cases = "".join(f"{shlex.quote(arguments)} ) printf '%b' '{_zero_octal(answer)}' ;;\n" for arguments, answer in answers)
    fallback = f"* ) printf '%b' '{_zero_octal(answers[0][1])}' ;;\n"
    known = dict(answers)
    python = f"import os, sys\nos.write(1, {known!r}.get(' '.join(sys.argv[1:]), {answers[0][1]!r}))\nos._exit(0)\n"
    return f"#!/bin/sh\n''':'\ncase \"$*\" in\n{cases}{fallback}esac\nexit 0\n'''\n{python}"


def _zero_octal(data: bytes) -> str:
    return "".join(f"\\0{byte:03o}" for byte in data)
