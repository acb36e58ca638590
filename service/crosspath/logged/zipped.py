# pyright: standard
"""Members of a zip archive, read within bounds, also those packed with Zstandard, as Inspect's are."""

import struct
import zipfile
import zlib
from collections.abc import Sequence
from typing import BinaryIO

from crosspath.logged.shapes import Unreadable

MAX_MEMBER_BYTES = 256 * 2**20
MAX_TOTAL_BYTES = 4 * 2**30
ZSTANDARD = 93
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_ENCRYPTED = 1


class Archive:
    """A zip file. Nothing is unpacked beyond ``MAX_MEMBER_BYTES`` a member and ``MAX_TOTAL_BYTES`` in all."""

    def __init__(self, file: BinaryIO) -> None:
        """Read the table of contents.

        Raises:
            Unreadable: it is no zip file.
        """
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, struct.error, ValueError, OSError, NotImplementedError) as error:
            raise Unreadable("no zip file that can be read", str(error)) from None
        self._file = file
        self._members = {info.filename: info for info in self._zip.infolist()}
        self._left = MAX_TOTAL_BYTES

    @property
    def names(self) -> Sequence[str]:
        """The members' names; of two with one name the later one counts."""
        return tuple(self._members)

    def read(self, name: str) -> bytes:
        """The content of a member.

        Raises:
            Unreadable: it is damaged, encrypted, packed in a way that is not known, or too long.
        """
        info = self._members[name]
        limit = min(MAX_MEMBER_BYTES, self._left)
        if info.flag_bits & _ENCRYPTED:
            raise Unreadable("is encrypted")
        content = self._zstandard(info, limit) if info.compress_type == ZSTANDARD else self._known(info, limit)
        if len(content) > limit:
            raise _too_long()
        self._left -= len(content)
        return content

    def _known(self, info: zipfile.ZipInfo, limit: int) -> bytes:
        try:
            with self._zip.open(info) as member:
                return member.read(limit + 1)
        except NotImplementedError:
            raise Unreadable(f"is packed by method {info.compress_type}, which is not known here") from None
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, struct.error) as error:
            raise Unreadable("is damaged", str(error)) from None

    def _zstandard(self, info: zipfile.ZipInfo, limit: int) -> bytes:
        import pyarrow

        if info.compress_size > limit:
            raise _too_long()
        packed = self._packed(info)
        try:
            with pyarrow.CompressedInputStream(pyarrow.BufferReader(packed), "zstd") as stream:
                content = stream.read(limit + 1)
        except (OSError, pyarrow.ArrowException) as error:
            raise Unreadable("is damaged", str(error)[:80]) from None
        if len(content) <= limit and zlib.crc32(content) != info.CRC:
            raise Unreadable("is damaged", "its checksum is another one")
        return content

    def _packed(self, info: zipfile.ZipInfo) -> bytes:
        """The packed bytes behind the member's own header."""
        self._file.seek(info.header_offset)
        header = self._file.read(_LOCAL_HEADER.size)
        if len(header) < _LOCAL_HEADER.size or not header.startswith(b"PK\3\4"):
            raise Unreadable("is damaged", "no header")
        _, name_bytes, extra_bytes = _LOCAL_HEADER.unpack(header)
        self._file.seek(name_bytes + extra_bytes, 1)
        return self._file.read(info.compress_size)


def _too_long() -> Unreadable:
    return Unreadable(f"unpacks to more than {MAX_MEMBER_BYTES // 2**20} MiB, or {MAX_TOTAL_BYTES // 2**30} GiB with the others")
