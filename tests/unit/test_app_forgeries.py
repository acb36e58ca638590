"""The tricks that `crosspath tasks check` plays: they work where nothing protects the observers, or they would prove nothing."""

import os
import subprocess
from pathlib import Path

import pytest

from crosspath.app.forgeries import forgeries
from crosspath.catalogue import catalogue_tasks
from crosspath.types import Observer, Task

COMMIT = {task.id: task for task in catalogue_tasks()}["commit-message/charge"]
TRICKS = dict(forgeries(COMMIT))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The work directory of the task, on this machine and without any protection."""
    work = tmp_path / "work"
    work.mkdir()
    for entry in COMMIT.fixture:
        (work / os.fsdecode(entry.path)).write_bytes(entry.content)
    shell(COMMIT.setup or "", work)
    return work


def shell(line: str, work: Path) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(work.parent), "LANG": "C.UTF-8"}
    return subprocess.run(["bash", "-c", line], cwd=work, env=environment, capture_output=True, text=True, check=False).stdout


def test_git_replace_deceives_an_unprotected_observer(repository: Path) -> None:
    """After the trick git shows the right message, although another one was committed."""
    shell(TRICKS["git replace"], repository)
    message = "git cat-file commit HEAD | sed '1,/^$/d'"
    assert shell(message, repository) == "Charge $3 a call (was $2.50)\n"
    assert shell(f"GIT_NO_REPLACE_OBJECTS=1 {message}", repository) == "forged\n"


def test_configuration_runs_a_program_of_the_reply(repository: Path) -> None:
    """After the trick git runs what the reply has put into its configuration."""
    shell(TRICKS["git configuration and hooks"], repository)
    assert shell("git config core.fsmonitor", repository).strip().endswith("/.git/fake")
    assert shell(".git/fake", repository) == "Charge $3 a call (was $2.50)\n"


def test_an_object_under_another_name_deceives_an_unprotected_observer(repository: Path) -> None:
    """After the trick git shows the right message of a commit whose name belongs to the wrong one."""
    shell(TRICKS["git object under another's name"], repository)
    assert shell("git cat-file commit HEAD | sed '1,/^$/d'", repository) == "Charge $3 a call (was $2.50)\n"
    assert "hash mismatch" in shell("git fsck 2>&1", repository)


def test_a_transport_deceives_an_unprotected_observer(repository: Path) -> None:
    """After the trick git runs a program of the reply, which prints the right message, although another one was committed."""
    shell(TRICKS["git commondir and a transport"], repository)
    assert shell("git cat-file commit HEAD | sed '1,/^$/d'", repository) == "Charge $3 a call (was $2.50)\n"


def test_only_tasks_with_compared_observers_have_forgeries() -> None:
    """Where nothing is observed, nothing can be forged; without git there are only fake programs."""
    assert list(forgeries(Task(id="a", family="f"))) == []
    assert list(forgeries(Task(id="a", family="f", observers=(Observer(name="o", command="cat x"),)))) == []
    plain = Task(id="a", family="f", observers=(Observer(name="o", command="wc -c < x | sort", expected=b"1\xff\n"),))
    ((name, command),) = forgeries(plain)
    assert name == "fake programs and start-up files"
    assert "bin/wc" in command
    assert "bin/sort" in command
    assert command.endswith("\ntrue")
