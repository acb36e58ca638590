"""Replies that do one thing and try to make the observers of the final state say another."""

import shutil
from collections.abc import Iterator

import pytest

from crosspath.adapters.bubblewrap_sandbox import BubblewrapSandbox
from crosspath.types import Command, Execution, Observer, ReplayJob, ReplayKey, SandboxLimits, StateEntry, Task, TrialKey

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
IDENTITY = "git -c user.name=a -c user.email=a@b"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[BubblewrapSandbox]:
    opened = BubblewrapSandbox(SandboxLimits(disk_bytes=8 << 20, inodes=500))
    yield opened
    opened.close()


def run(sandbox: BubblewrapSandbox, text: str, setup: str = "true", observers: tuple[Observer, ...] = ()) -> Execution:
    key = ReplayKey(trial=TrialKey(generation="g", task="t", index=0), path="p")
    task = Task(id="t", family="f", setup=setup, observers=observers)
    (result,) = sandbox.run([ReplayJob(key=key, task=task, commands=(Command(argv=(b"bash", b"-c", text.encode())),))])
    assert isinstance(result, Execution), result
    return result


def entries(execution: Execution) -> dict[bytes, StateEntry]:
    return {entry.path: entry for entry in execution.state.entries}


def log_of(sandbox: BubblewrapSandbox, forging: str, command: str = "git log --format=%s") -> bytes:
    """What an observer prints in a repository with the single commit ``truth`` after the reply ``forging``."""
    setup = f"git init -q && {IDENTITY} commit -q --allow-empty -m truth"
    observers = (Observer(name="o", command=command),)
    (observation,) = run(sandbox, forging, setup=setup, observers=observers).state.observations
    return observation.output


EXCHANGE = """
import sys
data, (a, b) = bytearray(open(sys.argv[1], "rb").read()), map(bytes.fromhex, sys.argv[2:])
count = int.from_bytes(data[1028:1032], "big")
x, y = (1032 + 24 * count + (data.index(name) - 1032) // 20 * 4 for name in (a, b))
data[x : x + 4], data[y : y + 4] = data[y : y + 4], data[x : x + 4]
open(sys.argv[1], "wb").write(data)
"""
"""Exchanges two objects' places in the index of a pack."""


@pytest.mark.parametrize(
    "forging",
    [
        f"{IDENTITY} commit -q --allow-empty -m lie; l=$(git rev-parse HEAD); git reset -q --hard HEAD~; git replace HEAD $l",
        "printf '#!/bin/sh\\necho lie\\n' > .git/hooks/post-index-change; chmod +x .git/hooks/*",
        "git config core.fsmonitor 'echo lie >&2; echo lie'",
        "git config core.pager 'echo lie'; git config pager.log 'echo lie'",
        "git config log.showSignature true; git config gpg.program 'echo lie'",
        "git config alias.log '!echo lie'; git config format.pretty lie; git config log.date format:lie",
        "git config --global alias.log '!echo lie'; git config --global core.pager 'echo lie'",
        "git config include.path ../lie; printf '[core]\\n\\tpager = echo lie\\n' > lie",
        "git init -q /tmp/other; git config core.worktree /tmp/other",
        "printf 'echo lie\\n' > ~/.bashrc; printf 'echo lie\\n' > ~/.profile; export BASH_ENV=~/.bashrc",
        "mkdir -p ~/bin; printf '#!/bin/sh\\necho lie\\n' > ~/bin/git; cp ~/bin/git .; chmod +x git ~/bin/git",
        "printf '%s %s\\n' $(git rev-parse HEAD) 0000000000000000000000000000000000000001 > .git/info/grafts",
        "rm .git/config; ln -s /tmp/lie .git/config",
        "rm .git/config; mkdir .git/config",
        "mkdir .git/x; cp -r .git/[or]* .git/x; git config -f .git/x/config format.pretty lie; echo x > .git/commondir",
        "mkdir lib; mv .git/* lib/; rmdir .git; echo 'gitdir: lib' > .git; git config format.pretty lie",
        f"git gc -q; {IDENTITY} commit -q --allow-empty -m lie; git reset -q --hard HEAD~",
    ],
    ids=[
        *("replace", "hook", "fsmonitor", "pager", "signature", "alias", "global", "include", "worktree", "bashrc"),
        *("path", "grafts", "config-link", "config-directory", "commondir", "gitdir", "packed"),
    ],
)
def test_git_log(sandbox: BubblewrapSandbox, forging: str) -> None:
    """Whatever a reply does to git's configuration, an observer prints the repository's true log."""
    assert log_of(sandbox, forging) == b"truth\n"


@pytest.mark.parametrize("exchange", ["loose", "packed"])
def test_objects_under_another_name(sandbox: BubblewrapSandbox, exchange: str) -> None:
    """An object that has another content than its name says is no evidence, loose or packed."""
    forging = f"t=$(git rev-parse HEAD); {IDENTITY} commit -q --amend --allow-empty -m lie; l=$(git rev-parse HEAD);"
    if exchange == "loose":
        forging += """f() { printf ".git/objects/%s" $1 | sed "s|objects/..|&/|"; }; cp -f $(f $t) $(f $l)"""
    else:
        forging += "git gc -q; chmod -R +w .git; python3 -c '" + EXCHANGE + "' .git/objects/pack/*.idx $t $l"
    setup = f"git init -q && {IDENTITY} commit -q --allow-empty -m truth"
    observers = (Observer(name="o", command="git log --format=%s"),)
    execution = run(sandbox, forging + "; git log --format=%s > shown; true", setup=setup, observers=observers)
    assert entries(execution)[b"shown"].content == b"truth\n"
    assert execution.state.observations[0].output == b""


def test_a_transport_of_the_reply(sandbox: BubblewrapSandbox) -> None:
    """Git does not fetch a missing object by a program of the reply."""
    forging = (
        "mkdir .git/x; mv .git/objects .git/refs .git/x/; echo x > .git/commondir;"
        "git config -f .git/x/config core.repositoryformatversion 1; git config -f .git/x/config extensions.partialClone o;"
        "git config -f .git/x/config remote.o.url 'ext::sh .git/x/lie'; git config -f .git/x/config remote.o.promisor true;"
        "git config -f .git/x/config protocol.ext.allow always; b=$(git symbolic-ref HEAD);"
        "echo 1111111111111111111111111111111111111111 > .git/x/$b; echo 'echo lie > /proc/$PPID/fd/1' > .git/x/lie"
    )
    assert log_of(sandbox, forging) == b""


def test_git_status_and_textconv(sandbox: BubblewrapSandbox) -> None:
    """Filters and text converters that a reply configures are not run by an observer."""
    forging = (
        "echo new > f; git add f; echo '* diff=lie filter=lie' > .gitattributes;"
        "for key in diff.lie.textconv diff.lie.command filter.lie.clean; do git config $key 'echo lie'; done"
    )
    printed = log_of(sandbox, forging, "git status --porcelain; git diff --cached; git cat-file -p :f")
    assert b"lie" not in printed
    assert printed.endswith(b"new\n")


def test_facts_stay_as_the_reply_left_them(sandbox: BubblewrapSandbox) -> None:
    """The configuration is replaced for observers only: the state holds the reply's own."""
    setup = "git init -q"
    observers = (Observer(name="o", command="true"),)
    execution = run(sandbox, "git config user.name someone", setup=setup, observers=observers)
    assert b"someone" in (entries(execution)[b".git/config"].content or b"")


def test_observers_change_nothing(sandbox: BubblewrapSandbox) -> None:
    """Observers see a read-only work directory and do not see each other's traces."""
    observers = (
        Observer(name="write", command="touch f || echo refused; touch /tmp/trace"),
        Observer(name="trace", command="ls /tmp"),
    )
    first, second = run(sandbox, "touch /tmp/of-the-reply", observers=observers).state.observations
    assert (first.output, second.output) == (b"refused\n", b"")


def test_a_full_disk_is_no_forged_observation(sandbox: BubblewrapSandbox) -> None:
    """With the disk full to the last byte an observer prints the truth or nothing."""
    forging = "git config alias.log '!echo lie'; git config format.pretty lie; head -c 1G /dev/zero > big; true"
    assert log_of(sandbox, forging) in (b"truth\n", b"")
