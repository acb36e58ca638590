"""The shipped paths have the faults that were reported of paths like them: the recorded faulty result, byte for byte."""

import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import run

import pytest

from crosspath.app.adapters import make_sandbox
from crosspath.ports import Sandbox
from crosspath.spec import Spec
from crosspath.tasks import parse_tasks
from crosspath.transports import assemble, preset, preset_names
from crosspath.types import Execution, ReplayJob, ReplayKey, Reply, Task, TrialKey

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "incidents.jsonl"
TASKS = {task.id: task for task in parse_tasks(DATA.read_text(encoding="utf-8"), DATA.name)}
Result = tuple[int | None, Mapping[str, bytes | None]]


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return make_sandbox(Spec())


def through(sandbox: Sandbox, name: str, task: Task) -> Result:
    """Exit status and files that the right command leaves on a path."""
    path = assemble(preset(name))
    commands = tuple(action.command for action in path.deliver(Reply(text=task.oracle)).actions)
    key = ReplayKey(trial=TrialKey(generation="incident", task=task.id, index=0), path=path.digest)
    (done,) = sandbox.run([ReplayJob(key=key, task=task, commands=commands)])
    assert isinstance(done, Execution), done
    files = {entry.path.decode("utf-8", "surrogateescape"): entry.content for entry in done.state.entries if entry.kind == "file"}
    return done.results[-1].exit_code, files


def recorded(files: Mapping[str, str]) -> dict[str, bytes]:
    """Contents of the collection: text that is not UTF-8 is written ``hex:...``."""
    return {name: bytes.fromhex(text[4:]) if text.startswith("hex:") else text.encode() for name, text in files.items()}


@pytest.mark.parametrize("task", list(TASKS.values()), ids=list(TASKS))
def test_the_named_path_gives_the_recorded_fault(task: Task, sandbox: Sandbox) -> None:
    """Raw, the right command leaves what is expected; through its path, the recorded faulty files and exit status."""
    assert through(sandbox, "raw", task)[1] == {entry.path.decode(): entry.content for entry in task.expected}
    assert through(sandbox, task.meta["path"], task) == (task.meta["faulty_exit"], recorded(task.meta["faulty_files"]))


def test_every_reported_fault_has_a_path_with_its_source() -> None:
    """Each incident names a preset, and each preset with a source stands for an incident or a variant of one."""
    paths = {task.meta["path"] for task in TASKS.values()}
    sources = {task.meta["source"] for task in TASKS.values()}
    assert paths <= set(preset_names())
    assert {spec.source for spec in map(preset, preset_names()) if spec.source} <= sources


def test_the_page_of_paths_is_what_the_program_prints() -> None:
    """docs/paths.md is generated from what ships (`make docs`), so it can't be out of date."""
    printed = run([sys.executable, "scripts/paths_page.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "paths.md").read_text(encoding="utf-8") == printed
