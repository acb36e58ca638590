"""The shipped tasks, tried with plain processes in temporary directories: what must hold for the product to measure anything."""

import os
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from crosspath.catalogue import catalogue_tasks
from crosspath.types import FileEntry, Task

TASKS = {task.id: task for task in catalogue_tasks() if task.infeasible is None}
BENIGN = [task for task in TASKS.values() if task.tier == 0]
HOSTILE = [task for task in TASKS.values() if task.tier]


def nested(command: str) -> str:
    """The path that is measured first: the reply between double quotes, not escaped."""
    return f'bash -c "{command}"'


@dataclass(frozen=True)
class Outcome:
    state_ok: bool
    exit_code: int

    @property
    def silent_wrong(self) -> bool:
        return not self.state_ok and self.exit_code == 0


def passed(task: Task, outcome: Outcome) -> bool:
    """The right state, and the right exit status where it matters."""
    return outcome.state_ok and task.expected_exit in (None, outcome.exit_code)


def execute(task: Task, command: str, base: Path) -> Outcome:
    """``bash -c COMMAND`` in a fresh work directory with the task's fixture, setup and programs."""
    work, programs, home = (base / name for name in ("work", "programs", "home"))
    for directory in (work, programs, home):
        directory.mkdir(parents=True)
    write(task.fixture, work)
    write([filled_in(program, work) for program in task.programs], programs)
    env = {
        "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "WORK": str(work),
    }
    if task.setup:
        subprocess.run(["bash", "-c", task.setup], cwd=work, env=env, check=True, capture_output=True)
    done = subprocess.run(["bash", "-c", command], cwd=work, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=20)
    return Outcome(state_of(task, work) == expected_of(task) and observed(task, work, env), done.returncode)


def write(entries: tuple[FileEntry, ...] | list[FileEntry], top: Path) -> None:
    """Files of a fixture, or programs, with their modes."""
    for entry in entries:
        path = top / os.fsdecode(entry.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(entry.content)
        path.chmod(entry.mode or 0o644)


def filled_in(program: FileEntry, work: Path) -> FileEntry:
    """The program as the sandbox hands it over: ``{work}`` replaced."""
    return program.model_copy(update={"content": program.content.replace(b"{work}", os.fsencode(work))})


def state_of(task: Task, work: Path) -> dict[bytes, tuple[bytes, bool]]:
    """Path -> content and whether it is executable, without what the task ignores."""
    files = {os.fsencode(path.relative_to(work)): path for path in work.rglob("*") if path.is_file()}
    return {
        name: (path.read_bytes(), bool(path.stat().st_mode & 0o111))
        for name, path in files.items()
        if not any(fnmatchcase(name.decode(), glob) for glob in task.ignore)
    }


def expected_of(task: Task) -> dict[bytes, tuple[bytes, bool]]:
    """The same for the declared state."""
    return {entry.path: (entry.content, False) for entry in task.expected}


def observed(task: Task, work: Path, env: Mapping[str, str]) -> bool:
    """Whether every observer prints what it should."""
    return all(
        subprocess.run(["bash", "-c", observer.command], cwd=work, env=env, capture_output=True).stdout == observer.expected
        for observer in task.observers
    )


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Outcome]:
    """Every task by its oracle, its naive command, and its oracle between double quotes."""
    base = tmp_path_factory.mktemp("catalogue")
    results: dict[tuple[str, str], Outcome] = {}
    for task in TASKS.values():
        assert task.oracle
        assert task.naive
        ways = {"oracle": task.oracle, "naive": task.naive, "oracle nested": nested(task.oracle)}
        for way, command in ways.items():
            results[task.id, way] = execute(task, command, base / task.id.replace("/", "-") / way.replace(" ", "-"))
    return results


@pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
def test_oracle_is_right_raw(task: Task, outcomes: dict[tuple[str, str], Outcome]) -> None:
    """The oracle of every shipped task leaves exactly the expected state when it is run raw, and ends with the right status."""
    assert outcomes[task.id, "oracle"] == Outcome(state_ok=True, exit_code=task.expected_exit or 0)


@pytest.mark.parametrize("task", BENIGN, ids=lambda task: task.id)
def test_benign_tasks_survive_every_simple_path(task: Task, tmp_path: Path) -> None:
    """A tier-0 oracle and naive command come through double quotes, single quotes and a script file unharmed."""
    for name, command in (("oracle", task.oracle), ("naive", task.naive)):
        assert command is not None
        script = tmp_path / "script"
        script.write_text(command)
        ways = [
            command,
            nested(command),
            f"bash -c '{command}'",
            f"bash {script}",
            f"sh {script}",
            f"eval {shlex.quote(command)}",
        ]
        for number, way in enumerate(ways):
            assert execute(task, way, tmp_path / f"{name}{number}").state_ok, way


def test_double_quotes_harm_the_oracles_of_hostile_tasks(outcomes: dict[tuple[str, str], Outcome]) -> None:
    """Embedded between double quotes, every hostile oracle goes wrong, and at least a third of them without any sign."""
    damaged = [task.id for task in HOSTILE if not outcomes[task.id, "oracle nested"].state_ok]
    silent = [task.id for task in HOSTILE if outcomes[task.id, "oracle nested"].silent_wrong]
    assert len(damaged) == len(HOSTILE), sorted({task.id for task in HOSTILE} - set(damaged))
    assert len(silent) >= len(HOSTILE) // 3, silent


def test_naive_commands_fail_hostile_tasks(outcomes: dict[tuple[str, str], Outcome]) -> None:
    """The tempting command is right on tier 0 and wrong on every higher tier, though not a syntax error everywhere."""
    assert all(outcomes[task.id, "naive"].state_ok for task in BENIGN)
    assert [task.id for task in HOSTILE if passed(task, outcomes[task.id, "naive"])] == []
    assert any(outcomes[task.id, "naive"].silent_wrong for task in HOSTILE)
