"""Archives for fixtures: the same members give the same bytes in every version of Python, as digests of tasks depend on them."""

from collections.abc import Mapping

_BLOCK = 512
_MAX_NAME_BYTES = 100
_LONG_NAME = b"././@LongLink"


def tar_archive(members: Mapping[str, str]) -> bytes:
    """A tar archive of files in their order, mode 0644, of user and group 0, last changed at the start of 1970.

    Source: GNU tar manual, "Basic Tar Format"; a name of more than 100 bytes stands in front of its member as one of type ``L``.
    """
    return b"".join(_member(name.encode(), text.encode()) for name, text in members.items()) + bytes(2 * _BLOCK)


def _member(name: bytes, content: bytes) -> bytes:
    long_name = b""
    if len(name) > _MAX_NAME_BYTES:
        long_name = _header(_LONG_NAME, len(name) + 1, b"L") + _padded(name + b"\0")
    return long_name + _header(name[:_MAX_NAME_BYTES], len(content), b"0") + _padded(content)


def _header(name: bytes, size: int, kind: bytes) -> bytes:
    """One block; its checksum is the sum of all bytes, its own eight taken as blanks."""
    front = name.ljust(_MAX_NAME_BYTES, b"\0") + b"0000644\0" + b"0000000\0" * 2 + b"%011o\0" % size + b"00000000000\0"
    back = kind + bytes(100) + b"ustar  \0"
    total = sum(front) + 8 * ord(" ") + sum(back)
    return (front + b"%06o\0 " % total + back).ljust(_BLOCK, b"\0")


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _BLOCK)
