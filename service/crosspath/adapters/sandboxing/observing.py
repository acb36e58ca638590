"""What keeps a reply from forging an observer's output.

Observers run when everything of the reply is dead and its state has been read, in a sandbox of their own where the work
directory is read-only, with an environment that the reply could not touch. Tools still read what lies in the work directory
itself: git repositories there are made safe first (``repositories``), and git is told to start nothing. So an observer can't
see a repository's own configuration: a task that expects some compares the file ``.git/config``.
"""

from collections.abc import Sequence

from crosspath.adapters.sandboxing.environment import Places, environment
from crosspath.types import Observer, Task

_GIT_SETTINGS = {
    "safe.directory": "*",
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.useReplaceRefs": "false",
    "core.untrackedCache": "false",
    "core.sshCommand": "false",
    "core.askPass": "false",
    "credential.helper": "",
    "protocol.allow": "never",
    "submodule.recurse": "false",
    "core.commitGraph": "false",
    "core.multiPackIndex": "false",
    "diff.external": "",
    "log.showSignature": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}


def observer_argv(observer: Observer) -> tuple[bytes, ...]:
    """An observer is a line for bash, without any start-up file."""
    return (b"bash", b"--norc", b"--noprofile", b"-c", observer.command.encode("utf-8", "surrogateescape"))


def pack_check(indexes: Sequence[bytes]) -> tuple[bytes, ...]:
    """A command that succeeds if every object in these packs has the name that it is filed under."""
    return (b"bash", b"--norc", b"--noprofile", b"-c", b'git verify-pack -- "$@"', b"bash", *(b"./" + path for path in indexes))


def observer_environment(places: Places, task: Task) -> dict[str, str]:
    """The task's variables, and a git that reads no configuration but this one."""
    git = {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ASKPASS": "false",
        "GIT_SSH_COMMAND": "false",
        "GIT_EDITOR": "false",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        "GIT_CEILING_DIRECTORIES": places.work.rsplit("/", 1)[0],
        "GIT_CONFIG_COUNT": str(len(_GIT_SETTINGS)),
    }
    for number, (name, value) in enumerate(_GIT_SETTINGS.items()):
        git[f"GIT_CONFIG_KEY_{number}"], git[f"GIT_CONFIG_VALUE_{number}"] = name, value
    return environment(places, task.env, tuple(git.items()))
