"""Feeding a running command and capturing what it writes, until it is known dead, its time is over, or it wrote too much."""

import contextlib
import os
import select
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from crosspath.types import OutputStream

_CHUNK = 1 << 16


@dataclass
class _Kept:
    cap: int
    data: bytearray = field(default_factory=bytearray)
    size: int = 0

    def take(self, chunk: bytes) -> None:
        self.size += len(chunk)
        room = self.cap - len(self.data)
        if room > 0:
            self.data += chunk[:room]


class Capture:
    """Both output streams and the standard input of one command.

    ``poll`` moves what is ready. The descriptors are ours from then on and closed by ``close``.
    """

    def __init__(self, stdin: int | None, data: bytes, stdout: int, stderr: int, cap_bytes: int) -> None:
        self._streams = {stdout: _Kept(cap_bytes), stderr: _Kept(cap_bytes)}
        self._stdout, self._stderr = self._streams[stdout], self._streams[stderr]
        self._poll = select.poll()
        for fd in self._streams:
            os.set_blocking(fd, False)
            self._poll.register(fd, select.POLLIN)
        self._stdin, self._input = stdin, memoryview(data)
        if stdin is not None:
            os.set_blocking(stdin, False)
            self._poll.register(stdin, select.POLLOUT)
            self._feed(stdin)

    @property
    def stdout(self) -> OutputStream:
        """What was kept, and how much there was."""
        return OutputStream(data=bytes(self._stdout.data), size=self._stdout.size)

    @property
    def stderr(self) -> OutputStream:
        """The same for standard error."""
        return OutputStream(data=bytes(self._stderr.data), size=self._stderr.size)

    @property
    def total_bytes(self) -> int:
        """Written so far on both streams."""
        return self._stdout.size + self._stderr.size

    def watch(self, fd: int) -> None:
        """Let ``poll`` return when ``fd`` is readable, too."""
        self._poll.register(fd, select.POLLIN)

    def unwatch(self, fd: int) -> None:
        """Forget ``fd``."""
        self._poll.unregister(fd)

    def poll(self, timeout_s: float) -> set[int]:
        """Move what is ready; returns those watched descriptors that are readable or at their end."""
        ready: set[int] = set()
        for fd, _ in self._poll.poll(max(0, int(timeout_s * 1000) + 1)):
            if fd in self._streams:
                self._read(fd)
            elif fd == self._stdin:
                self._feed(fd)
            else:
                ready.add(fd)
        return ready

    def drain(self) -> None:
        """Take what the dead left in the pipes."""
        for fd in list(self._streams):
            while self._read(fd):
                pass

    def close(self) -> None:
        """Close all descriptors that are still open."""
        for fd in [*self._streams, self._stdin]:
            if fd is not None:
                os.close(fd)
        self._streams, self._stdin = {}, None

    def _read(self, fd: int) -> bool:
        try:
            chunk = os.read(fd, _CHUNK)
        except BlockingIOError:
            return False
        if chunk:
            self._streams[fd].take(chunk)
        else:
            self._poll.unregister(fd)
            del self._streams[fd]
            os.close(fd)
        return bool(chunk)

    def _feed(self, fd: int) -> None:
        # A command that does not read its input is its own affair.
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            while self._input:
                self._input = self._input[os.write(fd, self._input) :]
        if not self._input or _reader_gone(fd):
            self._poll.unregister(fd)
            os.close(fd)
            self._stdin = None


def _reader_gone(fd: int) -> bool:
    probe = select.poll()
    probe.register(fd, select.POLLOUT)
    return any(event & select.POLLERR for _, event in probe.poll(0))


@dataclass(frozen=True)
class Pumped:
    """How the pumping ended."""

    timed_out: bool
    too_much_output: bool


def pump(capture: Capture, ended: Callable[[set[int]], bool], deadline: float, output_total_bytes: int) -> Pumped:
    """Pump until ``ended`` says so (it sees the watched descriptors that are ready), the deadline, or too much output."""
    while True:
        if ended(capture.poll(min(1.0, max(0.0, deadline - time.monotonic())))):
            return Pumped(timed_out=False, too_much_output=False)
        if capture.total_bytes > output_total_bytes:
            return Pumped(timed_out=False, too_much_output=True)
        if time.monotonic() >= deadline:
            return Pumped(timed_out=True, too_much_output=False)
