"""A git index without what a reply could lie with in it. Pure.

Left out are the times and sizes by which git takes a file for unchanged, the bits that keep it from looking at all
(assume-unchanged, skip-worktree), and every extension (cached trees, caches of untracked files, file system monitors, shared
halves). What is left says which content is staged under which path. Format: ``gitformat-index(5)``, versions 2 to 4.
"""

import hashlib
import struct
from collections.abc import Iterator

_EXTENDED, _STAGE = 0x4000, 0x3000
_INTENT_TO_ADD = 0x2000
_LONGEST_NAME = 0xFFF
_FIXED = 62
"""Bytes of an entry up to and with its flags: 24 of times and places, mode, 12 more, 20 of the object's name, 2 of flags."""


def rewritten_index(data: bytes) -> bytes:
    """The same entries, nothing else.

    Raises:
        ValueError: it is no index that git would read.
    """
    try:
        entries = list(_entries(data))
    except (struct.error, IndexError) as error:
        raise ValueError("the index ends too early") from error
    version = 3 if any(intended for *_, intended in entries) else 2
    body = b"DIRC" + struct.pack(">II", version, len(entries))
    body += b"".join(_entry(mode, oid, stage, path, intended) for mode, oid, stage, path, intended in entries)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _entries(data: bytes) -> Iterator[tuple[int, bytes, int, bytes, bool]]:
    """Mode, object name, stage bits, path, and whether it is only intended to be added."""
    magic, version, count = struct.unpack_from(">4sII", data)
    if magic != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("not an index of version 2, 3 or 4")
    place, path = 12, b""
    for _ in range(count):
        mode, oid, flags = struct.unpack_from(">24xI12x20sH", data, place)
        more = struct.unpack_from(">H", data, place + _FIXED)[0] if flags & _EXTENDED else 0
        start = place + _FIXED + (2 if flags & _EXTENDED else 0)
        if version == 4:
            stripped, start = _varint(data, start)
            end = data.index(b"\0", start)
            path = path[: len(path) - stripped] + data[start:end]
            place = end + 1
        else:
            end = data.index(b"\0", start)
            path = data[start:end]
            place += (end - place + 8) // 8 * 8
        yield mode, oid, flags & _STAGE, path, bool(more & _INTENT_TO_ADD)


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """A number as packs write offsets, and the place after it."""
    byte = data[place]
    value = byte & 0x7F
    while byte & 0x80:
        place += 1
        byte = data[place]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, place + 1


def _entry(mode: int, oid: bytes, stage: int, path: bytes, intended: bool) -> bytes:
    flags = stage | min(len(path), _LONGEST_NAME) | (_EXTENDED if intended else 0)
    entry = struct.pack(">24xI12x20sH", mode, oid, flags)
    if intended:
        entry += struct.pack(">H", _INTENT_TO_ADD)
    entry += path
    return entry + b"\0" * (8 - len(entry) % 8)
