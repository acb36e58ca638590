"""What keeps a reply from forging an observer's output.

Observers run when everything of the reply is dead and its state has been read, in a sandbox of their own where the work
directory is read-only, with an environment that the reply could not touch. Tools still read configuration out of the work
directory itself; of git's, everything that can run programs or reword output is replaced first. So an observer can't see a
repository's own configuration: a task that expects some compares the file ``.git/config``.

Not prevented: objects that don't match their name (``git fsck`` finds them) and index bits such as ``assume-unchanged``.
"""

import contextlib
import os

from crosspath.adapters.sandboxing.environment import Places, environment
from crosspath.adapters.sandboxing.workdir import remove_tree
from crosspath.types import FinalState, Observer, Task

_GIT_SETTINGS = {
    "safe.directory": "*",
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.attributesFile": "/dev/null",
    "core.commitGraph": "false",
    "core.multiPackIndex": "false",
    "diff.external": "",
    "log.showSignature": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
_SAFE_GIT_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfilemode = true\n"
_FORGEABLE = (b"config", b"config.worktree", b"shallow", b"info/grafts", b"info/attributes", b"objects/info/commit-graph")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def observer_argv(observer: Observer) -> tuple[bytes, ...]:
    """An observer is a line for bash, without any start-up file."""
    return (b"bash", b"--norc", b"--noprofile", b"-c", observer.command.encode("utf-8", "surrogateescape"))


def observer_environment(places: Places, task: Task) -> dict[str, str]:
    """The task's variables, and a git that reads no configuration but this one."""
    git = {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        "GIT_CEILING_DIRECTORIES": places.work.rsplit("/", 1)[0],
        "GIT_CONFIG_COUNT": str(len(_GIT_SETTINGS)),
    }
    for number, (name, value) in enumerate(_GIT_SETTINGS.items()):
        git[f"GIT_CONFIG_KEY_{number}"], git[f"GIT_CONFIG_VALUE_{number}"] = name, value
    return environment(places, task.env, tuple(git.items()))


def disarm_repositories(root: int, state: FinalState) -> None:
    """Replace the configuration of every git directory below ``root``; the facts in ``state`` stay as they were read."""
    for path in sorted(_git_directories(state)):
        with contextlib.ExitStack() as opened:
            directory = _open_below(root, path, opened)
            for name in _FORGEABLE:
                _remove_below(directory, name)
            fd = os.open(b"config", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=directory)
            opened.callback(os.close, fd)
            os.write(fd, _SAFE_GIT_CONFIG)
            os.fchmod(fd, 0o644)


def _git_directories(state: FinalState) -> set[bytes]:
    """Directories that git could take for a repository or a linked work tree: those that hold an entry HEAD."""
    return {entry.path.rpartition(b"/")[0] for entry in state.entries if entry.path.rpartition(b"/")[2].lower() == b"head"}


def _open_below(root: int, path: bytes, opened: contextlib.ExitStack) -> int:
    fd = os.dup(root)
    opened.callback(os.close, fd)
    for part in filter(None, path.split(b"/")):
        fd = os.open(part, _DIRECTORY, dir_fd=fd)
        opened.callback(os.close, fd)
    return fd


def _remove_below(directory: int, name: bytes) -> None:
    *parents, last = name.split(b"/")
    with contextlib.ExitStack() as opened, contextlib.suppress(FileNotFoundError, NotADirectoryError, OSError):
        remove_tree(last, _open_below(directory, b"/".join(parents), opened))
