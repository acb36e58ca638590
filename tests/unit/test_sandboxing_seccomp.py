"""The filter of system calls, run by an interpreter for the few instructions that it is made of."""

import errno
import struct

import pytest

from crosspath.adapters.sandboxing.seccomp import filter_program

X86_64, AARCH64, I386 = 0xC000003E, 0xC00000B7, 0x40000003
ALLOW, KILL = 0x7FFF0000, 0x80000000
CLONE_FOR_FORK, CLONE_FOR_THREAD, NEWUSER = 0x01200011, 0x003D0F00, 0x10000000


def answer(machine: str, architecture: int, number: int, first_argument: int = 0) -> int:
    """What the kernel would do with a call: ALLOW, KILL, or the number of the error."""
    program = filter_program(machine)
    assert program is not None
    data = struct.pack("<IIQQ", number, architecture, 0, first_argument)
    instructions = list(struct.iter_unpack("=HBBI", program))
    place = accumulator = 0
    while True:
        code, then, otherwise, value = instructions[place]
        place += 1
        if code == 0x06:
            return value if value in (ALLOW, KILL) else value & 0xFFFF
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        else:
            holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[code]
            place += then if holds else otherwise


@pytest.mark.parametrize(
    ("machine", "architecture", "read", "socket", "clone", "unshare", "personality"),
    [("x86_64", X86_64, 0, 41, 56, 272, 135), ("aarch64", AARCH64, 63, 198, 220, 97, 92)],
)
def test_arguments(machine: str, architecture: int, read: int, socket: int, clone: int, unshare: int, personality: int) -> None:
    """Families of sockets, flags of new processes and personalities decide; ordinary calls pass."""
    assert answer(machine, architecture, read) == ALLOW
    for family in (1, 2, 10, 16):
        assert answer(machine, architecture, socket, family) == ALLOW
    for family in (0, 3, 17, 31, 38, 40, 44):
        assert answer(machine, architecture, socket, family) == errno.EAFNOSUPPORT
    for flags in (CLONE_FOR_FORK, CLONE_FOR_THREAD):
        assert answer(machine, architecture, clone, flags) == ALLOW
    for call in (clone, unshare):
        assert answer(machine, architecture, call, NEWUSER | 17) == errno.EPERM
    assert answer(machine, architecture, personality, 0xFFFFFFFF) == ALLOW
    assert answer(machine, architecture, personality, 0x0040000) == errno.EPERM


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        *((number, errno.EPERM) for number in (101, 248, 249, 250, 165, 166, 298, 304, 308, 310, 311, 321, 323, 428, 438, 442)),
        *((number, errno.ENOSYS) for number in (425, 426, 427, 435)),
    ],
)
def test_refused_calls(number: int, expected: int) -> None:
    """What namespaces don't cover is refused; what programs try and do without is absent."""
    assert answer("x86_64", X86_64, number) == expected


def test_other_ways_to_call() -> None:
    """32-bit calls kill, and the x32 numbers are absent: their tables are not checked."""
    assert answer("x86_64", I386, 1) == KILL
    assert answer("aarch64", X86_64, 0) == KILL
    assert answer("x86_64", X86_64, 0x40000000 + 438) == errno.ENOSYS


def test_other_machines() -> None:
    """Where we don't know the numbers there is no filter."""
    assert filter_program("riscv64") is None


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_jumps_lead_forward_and_stay_inside(machine: str) -> None:
    """The kernel takes it: every jump ends inside, the last instruction returns, and it fits into a page."""
    program = filter_program(machine)
    assert program is not None
    instructions = list(struct.iter_unpack("=HBBI", program))
    assert len(program) <= 4096
    assert instructions[-1][0] == 0x06
    assert all(place + 1 + max(then, other) < len(instructions) for place, (_, then, other, _) in enumerate(instructions[:-1]))
