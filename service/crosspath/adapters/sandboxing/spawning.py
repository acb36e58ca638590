"""The worker's side of the spawner program: start it, send it messages, notice when it is gone."""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

from crosspath.adapters.sandboxing.failures import JobFailure
from crosspath.adapters.sandboxing.leftovers import left_behind, own_prefix
from crosspath.adapters.sandboxing.spawner import NO_NAMESPACES
from crosspath.errors import SandboxError

_FIRST_HOST_UID = 1_879_048_192
"""Far above what distributions, directories of users and subordinate ranges hand out."""


_NEEDS_NAMESPACES = (
    "this machine does not let us make namespaces ({0}); allow it (in a container: --privileged, or CAP_SYS_ADMIN and no seccomp "
    "filter; on Ubuntu: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0), or choose --sandbox none"
)


def unprivileged_uid(uid_map: str | None = None) -> int:
    """A host uid for this worker's sandboxes, if we are root; 0: we have no choice and stay who we are.

    In a container only some numbers exist: those that ``uid_map`` (of ``/proc/self``) lists.
    """
    if os.geteuid() != 0:
        return 0
    text = Path("/proc/self/uid_map").read_text() if uid_map is None else uid_map
    ranges = [(int(first), int(count)) for first, _, count in (line.split() for line in text.splitlines())]
    wanted = _FIRST_HOST_UID + os.getpid() % 1_000_000
    if any(first <= wanted < first + count for first, count in ranges):
        return wanted
    first, count = max(ranges)
    return first + count - 1 - os.getpid() % max(1, count // 2)


_NO_NAMESPACES = NO_NAMESPACES.decode()


class Spawner:
    """One spawner program, with a private mount namespace in which ``base`` is a tmpfs.

    Raises:
        SandboxError: the namespaces can't be made here.
    """

    def __init__(self, uid: int, limits: Mapping[str, int]) -> None:
        self.uid, self._owner = uid, os.getpid()
        place = Path("/tmp" if Path("/tmp").is_dir() else tempfile.gettempdir())
        _remove_stale(place)
        self.base = tempfile.mkdtemp(prefix=own_prefix(), dir=place)
        Path(self.base).chmod(0o711)
        self._spawn, spawn_theirs = socket.socketpair()
        self._mount, mount_theirs = socket.socketpair()
        text = ",".join(f"{name}={value}" for name, value in limits.items())
        with spawn_theirs, mount_theirs:
            numbers = (spawn_theirs.fileno(), mount_theirs.fileno())
            script = str(Path(__file__).with_name("spawner.py"))
            argv = [sys.executable, "-I", "-S", script, *map(str, numbers), self.base, str(uid), text]
            self._process = subprocess.Popen(argv, pass_fds=numbers, stdin=subprocess.DEVNULL, start_new_session=True)
        if not uid:
            self._mount.close()
            self._mount = self._spawn
        self.close = weakref.finalize(self, _end, os.getpid(), self._process, (self._spawn, self._mount), self.base)
        try:
            self._expect_ok(self._spawn, "start")
        except SandboxError as error:
            self.close()
            raise SandboxError(_not_set_up(str(error))) from error

    def spawn(self, argv: Sequence[bytes], fds: Sequence[int]) -> None:
        """Start ``argv`` with ``fds`` as its descriptors 0, 1, 2, ...

        Raises:
            JobFailure: it can't be started (too long, NUL inside, ...).
        """
        self._ask(self._spawn, [b"spawn", *argv], fds)

    def mount(self, path: str, options: str) -> int:
        """Mount a tmpfs on the existing directory ``path`` and return a descriptor of its root."""
        return self._ask(self._mount, [b"mount", path.encode(), options.encode()])[0]

    def bind(self, source: str, target: str) -> None:
        """Show a host path on ``target`` such that our unprivileged uid can read what root can."""
        self._ask(self._mount, [b"bind", os.fsencode(source), target.encode(), str(self.uid).encode()])

    def unmount(self, path: str) -> None:
        """Detach what is mounted on ``path``; it is freed when the last descriptor is closed."""
        self._ask(self._mount, [b"unmount", path.encode()])

    def open(self, path: str) -> int:
        """A descriptor of a directory as the spawner sees it."""
        return self._ask(self._mount, [b"open", path.encode()])[0]

    def end_programs(self) -> None:
        """Kill all that was started, from any thread: the part that starts programs ends, and they die with it."""
        if os.getpid() != self._owner:
            return  # a fork of the worker: what runs is the worker's
        with contextlib.suppress(OSError):  # it is gone already
            self._spawn.shutdown(socket.SHUT_RDWR)

    def require_alive(self) -> None:
        """Both parts are there.

        Raises:
            SpawnerGone: they aren't.
        """
        for channel in (self._spawn, self._mount):
            with contextlib.suppress(BlockingIOError):
                try:
                    data = channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
                except ConnectionError:
                    data = b""
                if not data:
                    raise SpawnerGone("the spawner program was killed")

    def _ask(self, channel: socket.socket, words: Sequence[bytes], fds: Sequence[int] = ()) -> list[int]:
        body = b"\0".join(words)
        if body.count(b"\0") != len(words) - 1:
            raise JobFailure("start_failed", "an argument or a variable contains a NUL byte")
        try:
            socket.send_fds(channel, [len(body).to_bytes(8, "big")], fds)
            channel.sendall(body)
        except OSError as error:
            raise SpawnerGone(f"the spawner program is gone: {error}") from error
        return self._expect_ok(channel, os.fsdecode(words[0]))

    def _expect_ok(self, channel: socket.socket, doing: str) -> list[int]:
        try:
            data, fds, _, _ = socket.recv_fds(channel, 500, 1)
        except ConnectionResetError:
            data, fds = b"", []
        if data == b"ok":
            return fds
        if not data:
            raise SpawnerGone(f"the spawner program ended while it was asked to {doing}")
        raise JobFailure("start_failed", f"{doing}: {data.decode(errors='replace')}")


def _not_set_up(reason: str) -> str:
    """What to do about it, where we know that; another sandbox is no help against anything but missing namespaces."""
    _, found, why = reason.partition(_NO_NAMESPACES)
    return _NEEDS_NAMESPACES.format(why) if found else f"the program that starts sandboxes can't be set up: {reason}"


class SpawnerGone(JobFailure):
    """The spawner program was killed, and every sandbox with it; a new one can be started."""

    def __init__(self, message: str) -> None:
        super().__init__("sandbox_failed", message, retryable=True)


def _end(owner: int, process: "subprocess.Popen[bytes]", channels: Sequence[socket.socket], base: str) -> None:
    for channel in channels:
        channel.close()
    if os.getpid() != owner:
        return  # a fork of the worker ends: the rest is the worker's
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    with contextlib.suppress(FileNotFoundError):
        Path(base).rmdir()


def _remove_stale(place: Path) -> None:
    """Empty mount points of workers that were killed together with their spawner."""
    for path in left_behind(place.glob("crosspath-*")):
        with contextlib.suppress(OSError):
            path.rmdir()
