"""Git repositories below a work directory, made safe to look at.

Git starts programs that a repository names (a transport for objects that are missing, a file system monitor, filters, hooks,
pagers) and lets it reword what is printed. Any directory may be one, and may say that its configuration is somewhere else
(``commondir``). So nothing is searched for that is known to be bad: of everything that could be a repository only plain
references and objects stay, objects whose content has the name they go by, an index that is written anew, and a configuration
of ours. What no observer can see with that: linked work trees, hooks, and what a repository says of itself.
"""

import contextlib
import hashlib
import os
import re
import zlib
from collections.abc import Iterator, Mapping

from crosspath.adapters.sandboxing.git_index import rewritten_index
from crosspath.adapters.sandboxing.workdir import remove_tree
from crosspath.types import FinalState, StateEntry

_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfilemode = true\n"
_KEPT = {
    "file": re.compile(
        rb"HEAD|[A-Z_]+_HEAD|packed-refs|index|description|[A-Z]+_(?:EDITMSG|MSG|MODE)|(?:refs|logs|modules|rebase-merge|rebase-apply|sequencer)/.*"
        rb"|objects/[0-9a-f]{2}/[0-9a-f]{38}|objects/pack/pack-[0-9a-f]{40}\.(?:pack|idx)",
        re.DOTALL,
    ),
    "directory": re.compile(
        rb"(?:refs|logs|modules|rebase-merge|rebase-apply|sequencer)(?:/.*)?|objects|objects/[0-9a-f]{2}|objects/pack", re.DOTALL
    ),
}
_LOOSE = re.compile(rb"objects/([0-9a-f]{2})/([0-9a-f]{38})")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1 << 20
MAX_PACKS = 64


class Untrustworthy(Exception):
    """The work directory can't be made safe: what an observer would print is no evidence."""


def disarm_repositories(root: int, state: FinalState, unpacked_bytes: int) -> tuple[bytes, ...]:
    """Make every repository below the open directory ``root`` safe; ``state`` are the facts about it, and stay as they are.

    Returns the paths of indexes of packs, which nobody has checked yet. Loose objects are unpacked to be checked, up to
    ``unpacked_bytes`` in all; those beyond are removed, too.

    Raises:
        Untrustworthy: that can't be done.
    """
    if state.truncated:
        raise Untrustworthy("not everything in the work directory was seen")
    entries = {entry.path: entry for entry in state.entries}
    packs: list[bytes] = []
    budget = _Budget(unpacked_bytes)
    try:
        for path in sorted(_heads(entries)):
            prefix = path + b"/" if path else b""
            _remove(root, prefix + b"commondir")
            if prefix + b"objects" in entries and prefix + b"refs" in entries:
                packs += _disarm(root, path, _below(entries, prefix), budget)
    except OSError as error:
        raise Untrustworthy(str(error)) from error
    if len(packs) > MAX_PACKS:
        raise Untrustworthy(f"there are more than {MAX_PACKS} packs of objects")
    return tuple(packs)


class _Budget:
    def __init__(self, size: int) -> None:
        self.left = size


def _heads(entries: Mapping[bytes, StateEntry]) -> set[bytes]:
    """Directories that git could take for a repository or a linked work tree: those that hold an entry HEAD."""
    return {path.rpartition(b"/")[0] for path in entries if path.rpartition(b"/")[2].lower() == b"head"}


def _below(entries: Mapping[bytes, StateEntry], prefix: bytes) -> dict[bytes, StateEntry]:
    return {path[len(prefix) :]: entry for path, entry in entries.items() if path.startswith(prefix)}


def _disarm(root: int, path: bytes, inside: Mapping[bytes, StateEntry], budget: _Budget) -> Iterator[bytes]:
    with contextlib.ExitStack() as opened:
        try:
            directory = _open_below(root, path, opened)
        except FileNotFoundError:  # it lay in another repository, and is gone
            return
        for name, entry in _kept(directory, inside):
            if name.endswith(b".idx"):
                yield path + b"/" + name
            elif (loose := _LOOSE.fullmatch(name)) and not _has_its_name(directory, name, loose[1] + loose[2], budget):
                _remove(directory, name)
            elif name == b"index":
                _rewrite_index(directory, entry.size)
        _write(directory, b"config", _CONFIG)


def _kept(directory: int, inside: Mapping[bytes, StateEntry]) -> Iterator[tuple[bytes, StateEntry]]:
    """What may stay; all else is removed."""
    removed = b""
    for name, entry in sorted(inside.items(), key=lambda item: item[0].split(b"/")):
        if removed and name.startswith(removed + b"/"):
            continue
        allowed = _KEPT.get(entry.kind)
        if (allowed and allowed.fullmatch(name)) or (name == b"HEAD" and _points_to_a_branch(entry)):
            yield name, entry
        else:
            _remove(directory, name)
            removed = name


def _points_to_a_branch(entry: StateEntry) -> bool:
    return entry.kind == "symlink" and entry.target.startswith(b"refs/heads/") and b".." not in entry.target.split(b"/")


def _has_its_name(directory: int, name: bytes, oid: bytes, budget: _Budget) -> bool:
    """Whether a loose object's content has the hash that it is filed under."""
    unpacker, hashed = zlib.decompressobj(), hashlib.sha1(usedforsecurity=False)
    with _reading(directory, name) as fd:
        while not unpacker.eof and budget.left > 0:
            packed = unpacker.unconsumed_tail or os.read(fd, _CHUNK)
            if not packed:
                return False
            try:
                chunk = unpacker.decompress(packed, _CHUNK)
            except zlib.error:
                return False
            budget.left -= len(chunk) + 1
            hashed.update(chunk)
        return unpacker.eof and not unpacker.unused_data and not os.read(fd, 1) and hashed.hexdigest().encode() == oid


def _rewrite_index(directory: int, size: int) -> None:
    with _reading(directory, b"index") as fd:
        data = b"".join(iter(lambda: os.read(fd, _CHUNK), b"")) if size <= 1 << 26 else b""
    _remove(directory, b"index")
    with contextlib.suppress(ValueError):  # without a readable index everything that is committed counts as deleted
        _write(directory, b"index", rewritten_index(data))


@contextlib.contextmanager
def _reading(directory: int, name: bytes) -> Iterator[int]:
    *parents, last = name.split(b"/")
    with contextlib.ExitStack() as opened:
        parent = _open_below(directory, b"/".join(parents), opened)
        fd = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
        opened.callback(os.close, fd)
        yield fd


def _write(directory: int, name: bytes, data: bytes) -> None:
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=directory)
    try:
        os.fchmod(fd, 0o644)
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
    finally:
        os.close(fd)


def _open_below(root: int, path: bytes, opened: contextlib.ExitStack) -> int:
    fd = os.dup(root)
    opened.callback(os.close, fd)
    for part in filter(None, path.split(b"/")):
        fd = os.open(part, _DIRECTORY, dir_fd=fd)
        opened.callback(os.close, fd)
    return fd


def _remove(directory: int, name: bytes) -> None:
    """Take ``name`` away, if it is there at all."""
    *parents, last = name.split(b"/")
    with contextlib.ExitStack() as opened:
        try:
            parent = _open_below(directory, b"/".join(parents), opened)
        except (FileNotFoundError, NotADirectoryError):
            return
        remove_tree(last, parent)
