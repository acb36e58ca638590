"""What a command sees of the machine: programs and libraries, a minimal ``/etc``, ``/proc`` and ``/dev``. No home, no secrets."""

import os
import shutil
from pathlib import Path

from crosspath.adapters.sandboxing.workdir import write_entries
from crosspath.errors import SandboxError
from crosspath.types import FileEntry

INSIDE = "/run/crosspath"
UID = 1000
FIRST_PROGRAM = f"{INSIDE}/sh"
"""A shell that can be executed, not read."""
_PASSWD = f"root:x:0:0:root:/:/bin/sh\nuser:x:{UID}:{UID}:user:{INSIDE}/home:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/sh\n"
_GROUP = f"root:x:0:\nuser:x:{UID}:\nnogroup:x:65534:\n"
_ETC = {
    "passwd": _PASSWD,
    "group": _GROUP,
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "hosts": "127.0.0.1 localhost\n",
    "hostname": "sandbox\n",
}


def write_system(base: int) -> None:
    """Write ``etc`` and the first program to the spawner's tmpfs; ``base`` is its descriptor and closed here."""
    entries = [FileEntry(path=f"etc/{path}".encode(), content=text.encode()) for path, text in _ETC.items()]
    cache = Path("/etc/ld.so.cache")
    if cache.is_file():
        entries.append(FileEntry(path=b"etc/ld.so.cache", content=cache.read_bytes()))
    entries.append(FileEntry(path=b"etc/alternatives", kind="directory"))
    entries.append(FileEntry(path=b"job", kind="directory", mode=0o711))
    entries.append(FileEntry(path=b"lib", kind="directory"))
    entries.append(FileEntry(path=b"sh", content=_shell().read_bytes(), mode=0o111))
    write_entries(base, entries)
    os.close(base)


def _shell() -> Path:
    found = shutil.which("sh")
    if found is None:
        raise SandboxError("there is no program 'sh' on this machine")
    return Path(found)


def system_arguments(base: str) -> tuple[str, ...]:
    """The part of ``bwrap``'s arguments that is the same for every start."""
    arguments = [
        "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
        "--disable-userns", "--uid", str(UID), "--gid", str(UID), "--hostname", "sandbox",
        "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL", "--ro-bind", "/usr", "/usr",
    ]  # fmt: skip
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        place = Path("/", name)
        if place.is_symlink():
            arguments += ["--symlink", os.readlink(place), str(place)]  # noqa: PTH115 - Path.readlink resolves nothing either
        elif place.is_dir():
            arguments += ["--ro-bind", str(place), str(place)]
    arguments += ["--ro-bind", f"{base}/etc", "/etc", "--proc", "/proc", "--dev", "/dev"]
    arguments += ["--ro-bind", f"{base}/sh", FIRST_PROGRAM]
    if Path("/etc/alternatives").is_dir():
        arguments += ["--ro-bind", "/etc/alternatives", "/etc/alternatives"]
    return tuple(arguments)
