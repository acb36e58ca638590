"""A small program that starts sandboxes and makes mounts for its parent. Standard library only: it is run by its path.

It is a process of its own, because a fork of a large interpreter is slow, because ``bwrap --die-with-parent`` follows the
starting thread, and because mounts, limits and the uid it sets up for itself must not touch the worker. When its parent is
gone, its socket ends, it exits, and every sandbox dies with it.

Started by root it becomes two processes in one private mount namespace: one keeps root and mounts, the other is an
unprivileged uid and starts ``bwrap``. (A sandbox started by root with a mapped uid could still write ``/proc/sys``: those
files only ask who the owner is.) Otherwise one process in a user namespace of its own does both.

A message is 8 bytes of length and then NUL-separated words; file descriptors travel with the length. Arguments:
``SOCKET-FD MOUNT-FD BASE UID LIMITS`` where LIMITS is ``NAME=VALUE,...`` of ``resource``.
"""

import array
import contextlib
import ctypes
import fcntl
import os
import resource
import signal
import socket
import sys

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE, MNT_DETACH = 2, 4, 0x4000, 1 << 18, 2
AT_FDCWD, AT_EMPTY_PATH, AT_RECURSIVE = -100, 0x1000, 0x8000
OPEN_TREE_CLONE, MOVE_MOUNT_F_EMPTY_PATH = 1, 4
MOUNT_ATTR_RDONLY, MOUNT_ATTR_IDMAP = 0x1, 0x100000
PR_SET_CHILD_SUBREAPER = 36
SYS_OPEN_TREE, SYS_MOVE_MOUNT, SYS_MOUNT_SETATTR = 428, 429, 442
MAX_FDS = 8
DEFAULT_SIGNALS = (signal.SIGCHLD, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ)
"""What Python or this program ignores; a command must not inherit that."""

NO_NAMESPACES = b"no namespaces: "
"""Before the reason, where this machine does not let us make them."""
SAYABLE = (OSError, ValueError, OverflowError, TypeError)

libc = ctypes.CDLL(None, use_errno=True)


def checked(result: int, doing: str) -> None:
    """Raise OSError with the C library's errno unless ``result`` is 0."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{doing}: {os.strerror(number)}")


def said(error: BaseException) -> bytes:
    """An error in one line that a message has room for."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else f"{error}" or type(error).__name__
    return " ".join(text.split()).encode(errors="replace")[:400]


def mount_tmpfs(target: bytes, options: bytes) -> None:
    """Mount a tmpfs without devices and set-uid programs."""
    checked(libc.mount(b"tmpfs", target, b"tmpfs", MS_NOSUID | MS_NODEV, options), "mount a tmpfs")


class MountAttr(ctypes.Structure):
    """``struct mount_attr`` of mount_setattr(2)."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("attr_set", "attr_clr", "propagation", "userns_fd")]


def bind(source: bytes, target: bytes, uid: int) -> None:
    """Show ``source`` read-only on ``target``; as root in such a way that root's files belong to ``uid``, where that works.

    Otherwise an unprivileged uid could not use what a user bound out of a directory that is private to root.
    """
    tree = libc.syscall(SYS_OPEN_TREE, AT_FDCWD, source, OPEN_TREE_CLONE | AT_RECURSIVE | os.O_CLOEXEC)
    checked(min(tree, 0), "bind " + os.fsdecode(source))
    try:
        attributes = MountAttr(MOUNT_ATTR_RDONLY, 0, 0, 0)
        flags = AT_EMPTY_PATH | AT_RECURSIVE
        failed = libc.syscall(SYS_MOUNT_SETATTR, tree, b"", flags, ctypes.byref(attributes), ctypes.sizeof(attributes))
        checked(failed, "make a bind read-only")
        # Not every file system and not every container can do this; then the files keep their owner.
        with contextlib.suppress(OSError):
            users = user_namespace_mapping_root_to(uid)
            attributes = MountAttr(MOUNT_ATTR_IDMAP, 0, 0, users)
            libc.syscall(SYS_MOUNT_SETATTR, tree, b"", AT_EMPTY_PATH, ctypes.byref(attributes), ctypes.sizeof(attributes))
            os.close(users)
        moved = libc.syscall(SYS_MOVE_MOUNT, tree, b"", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH)
        checked(moved, "bind " + os.fsdecode(source))
    finally:
        os.close(tree)


def user_namespace_mapping_root_to(uid: int) -> int:
    """A descriptor of a user namespace in which 0 is ``uid`` and every other number is itself."""
    ready_read, ready_write = os.pipe()
    wait_read, wait_write = os.pipe()
    child = os.fork()
    if child == 0:
        libc.unshare(CLONE_NEWUSER)
        os.close(wait_write)
        os.write(ready_write, b"x")
        os.read(wait_read, 1)
        os._exit(0)
    try:
        os.read(ready_read, 1)
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{child}/{name}", "w") as file:  # noqa: PTH123
                file.write(f"0 {uid} 1\n1 1 {uid - 1}\n")
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY)
    finally:
        for fd in (ready_read, ready_write, wait_read, wait_write):
            os.close(fd)


def enter_namespaces(base: bytes, uid: int) -> None:
    """A private mount namespace (and a user namespace, unless root) with an empty tmpfs on ``base``."""
    user, group = os.getuid(), os.getgid()
    checked(libc.unshare(CLONE_NEWNS if uid else CLONE_NEWNS | CLONE_NEWUSER), "unshare")
    if not uid:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123
                file.write(text)
    checked(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "make mounts private")
    mount_tmpfs(base, b"mode=0711")


def limit_resources(text: str) -> None:
    """Lower our own limits; everything that is started inherits them."""
    for pair in filter(None, text.split(",")):
        name, _, value = pair.partition("=")
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        bound = int(value) if hard == resource.RLIM_INFINITY else min(int(value), hard)
        resource.setrlimit(kind, (bound, bound))


def leave(base: bytes) -> None:
    """Take our directory with us, in case the parent was killed and can't."""
    libc.umount2(base, MNT_DETACH)
    with contextlib.suppress(OSError):
        os.rmdir(base)  # noqa: PTH106 - bytes


def receive(channel: socket.socket) -> "tuple[list[bytes], list[int]] | None":
    """The next message and its descriptors; None at the end."""
    head, ancillary, _, _ = channel.recvmsg(8, socket.CMSG_SPACE(MAX_FDS * 4), socket.MSG_WAITALL | socket.MSG_CMSG_CLOEXEC)
    if len(head) < 8:
        return None
    fds = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    size, body = int.from_bytes(head, "big"), bytearray()
    while len(body) < size:
        part = channel.recv(min(size - len(body), 1 << 20))
        if not part:  # the parent was killed in the middle of a message
            return None
        body += part
    return bytes(body).split(b"\0"), list(fds)


def receive_or_end(channel: socket.socket) -> "tuple[list[bytes], list[int]] | None":
    """The next message; None at the end, however the parent ended."""
    try:
        return receive(channel)
    except OSError:
        return None


def spawn(words: list[bytes], fds: list[int]) -> None:
    """Start a program with ``fds`` as its descriptors 0, 1, 2, ...; nobody waits for it."""
    actions = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(fds)]
    os.posix_spawn(words[0], words, {"PATH": "/usr/bin:/bin"}, file_actions=actions, setsigdef=DEFAULT_SIGNALS)


def handle(words: list[bytes], fds: list[int]) -> list[int]:
    """Carry out one message; returns descriptors to send back."""
    if words[0] == b"spawn":
        spawn(words[1:], fds)
    elif words[0] == b"mount":
        mount_tmpfs(words[1], words[2])
        return [os.open(words[1], os.O_RDONLY | os.O_DIRECTORY)]
    elif words[0] == b"unmount":
        checked(libc.umount2(words[1], MNT_DETACH), "unmount")
    elif words[0] == b"bind":
        bind(words[1], words[2], int(words[3]))
    elif words[0] == b"open":
        return [os.open(words[1], os.O_RDONLY | os.O_DIRECTORY)]
    return []


def serve(channel: socket.socket) -> None:
    """Answer messages until the parent is gone."""
    while (message := receive_or_end(channel)) is not None:
        words, fds = message
        try:
            back = handle(words, fds)
            socket.send_fds(channel, [b"ok"], back) if back else channel.send(b"ok")
        except SAYABLE as error:
            back = []
            with contextlib.suppress(OSError):  # nobody listens any more: there will be no next message
                channel.send(said(error))
        for fd in fds + back:
            os.close(fd)


def drop_to(uid: int) -> None:
    """Become an unprivileged user for good."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def move_descriptors_up(numbers: list[int]) -> list[socket.socket]:
    """Our sockets above the numbers that ``spawn`` gives to what it starts, so that none is overwritten."""
    sockets: list[socket.socket] = []
    for number in numbers:
        # With O_CLOEXEC on the copy: what is started must not hold our sockets.
        sockets.append(socket.socket(fileno=fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 100)))  # 100, or the next that is free
        os.close(number)
    return sockets


def main() -> None:
    """Set up, tell the parent, then serve."""
    spawn_fd, mount_fd, base, uid, limits = sys.argv[1:]
    spawn_channel, mount_channel = move_descriptors_up([int(spawn_fd), int(mount_fd)])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps for us
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    os.umask(0o022)
    try:
        enter_namespaces(os.fsencode(base), int(uid))
    except OSError as error:
        spawn_channel.send(NO_NAMESPACES + said(error))
        return
    try:
        limit_resources(limits)
    except SAYABLE as error:
        spawn_channel.send(said(error))
        return
    if int(uid):
        if os.fork():
            spawn_channel.close()
            serve(mount_channel)
            leave(os.fsencode(base))
            return
        mount_channel.close()
        drop_to(int(uid))
    # Orphans are ours: a first process that outlives its bwrap would else stay a zombie until someone else's init looks,
    # and zombies count as processes.
    checked(libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "become a reaper")
    spawn_channel.send(b"ok")
    serve(spawn_channel)
    if not int(uid):
        leave(os.fsencode(base))


if __name__ == "__main__":
    main()
