"""What a command may ask the kernel for: a filter in classic BPF (seccomp(2)), put together by hand. Pure.

Namespaces do not cover everything: virtual sockets reach the hypervisor, key rings are shared by all jobs of a uid, and
pidfd_getfd(2) takes descriptors from neighbours. Calls that programs try and do without are answered as a kernel does that
lacks them (ENOSYS); all else that is refused gets EPERM. Numbers: ``asm/unistd_64.h`` and ``asm-generic/unistd.h`` of Linux.
"""

import errno
import struct
from collections.abc import Iterator
from dataclasses import dataclass

_LOAD_WORD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
"""Offsets in ``struct seccomp_data``; both machines are little-endian, so the low half of an argument comes first."""
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_X32_BIT = 0x40000000
NAMESPACE_FLAGS = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET; CLONE_NEWTIME needs privileges that a command lacks."""
FAMILIES = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6, AF_NETLINK."""
PERSONALITIES = (0, 0xFFFFFFFF)
"""Linux as it is, and the question which one it is."""

_ABSENT = {"io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "clone3": 435}
"""The same on all machines. clone3's flags lie in memory, where no filter can see them: the C library falls back to clone."""
_REFUSED = {
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443, "open_tree_attr": 467,
}  # fmt: skip


@dataclass(frozen=True)
class _Machine:
    architecture: int
    """``AUDIT_ARCH_...``"""
    refused: dict[str, int]
    sockets: tuple[int, int]
    """socket, socketpair"""
    namespaces: tuple[int, int]
    """clone, unshare: both have their flags first"""
    personality: int
    x32: bool = False


_MACHINES = {
    "x86_64": _Machine(
        0xC000003E,
        {
            "ptrace": 101, "syslog": 103, "uselib": 134, "modify_ldt": 154, "pivot_root": 155, "acct": 163, "mount": 165,
            "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169, "iopl": 172, "ioperm": 173, "init_module": 175,
            "delete_module": 176, "quotactl": 179, "lookup_dcookie": 212, "kexec_load": 246, "add_key": 248,
            "request_key": 249, "keyctl": 250, "perf_event_open": 298, "name_to_handle_at": 303, "open_by_handle_at": 304,
            "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "finit_module": 313,
            "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323,
        },
        sockets=(41, 53), namespaces=(56, 272), personality=135, x32=True,
    ),
    "aarch64": _Machine(
        0xC00000B7,
        {
            "lookup_dcookie": 18, "umount2": 39, "mount": 40, "pivot_root": 41, "quotactl": 60, "acct": 89, "kexec_load": 104,
            "init_module": 105, "delete_module": 106, "syslog": 116, "ptrace": 117, "reboot": 142, "add_key": 217,
            "request_key": 218, "keyctl": 219, "swapon": 224, "swapoff": 225, "perf_event_open": 241,
            "name_to_handle_at": 264, "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270,
            "process_vm_writev": 271, "kcmp": 272, "finit_module": 273, "bpf": 280, "userfaultfd": 282,
            "kexec_file_load": 294,
        },
        sockets=(198, 199), namespaces=(220, 97), personality=92,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class _Instruction:
    code: int
    value: int
    then: str = ""
    """Label to go on at where a comparison holds; nothing: the next instruction. The same for ``otherwise``."""
    otherwise: str = ""
    label: str = ""


def filter_program(machine: str) -> bytes | None:
    """The filter for a machine as ``uname -m`` names it, as an array of ``struct sock_filter``; None where there is none."""
    found = _MACHINES.get(machine)
    return None if found is None else _assembled(list(_instructions(found)))


def _instructions(machine: _Machine) -> Iterator[_Instruction]:
    yield _Instruction(_LOAD_WORD, _ARCHITECTURE)
    yield _Instruction(_JUMP_EQUAL, machine.architecture, otherwise="kill")
    yield _Instruction(_LOAD_WORD, _NUMBER)
    if machine.x32:
        yield _Instruction(_JUMP_AT_LEAST, _X32_BIT, then="absent")
    for number in sorted(_ABSENT.values()):
        yield _Instruction(_JUMP_EQUAL, number, then="absent")
    for number in sorted((_REFUSED | machine.refused).values()):
        yield _Instruction(_JUMP_EQUAL, number, then="refused")
    for number in machine.sockets:
        yield _Instruction(_JUMP_EQUAL, number, then="family")
    for number in machine.namespaces:
        yield _Instruction(_JUMP_EQUAL, number, then="flags")
    yield _Instruction(_JUMP_EQUAL, machine.personality, then="personality", otherwise="allow")
    yield from _one_of("family", FAMILIES, "unsupported")
    yield from _one_of("personality", PERSONALITIES, "refused")
    yield _Instruction(_LOAD_WORD, _FIRST_ARGUMENT, label="flags")
    yield _Instruction(_JUMP_ANY_BIT, NAMESPACE_FLAGS, then="refused")
    yield _Instruction(_RETURN, _ALLOW, label="allow")
    yield _Instruction(_RETURN, _ERRNO | errno.EPERM, label="refused")
    yield _Instruction(_RETURN, _ERRNO | errno.ENOSYS, label="absent")
    yield _Instruction(_RETURN, _ERRNO | errno.EAFNOSUPPORT, label="unsupported")
    yield _Instruction(_RETURN, _KILL, label="kill")


def _one_of(label: str, values: tuple[int, ...], otherwise: str) -> Iterator[_Instruction]:
    """Allow a call whose first argument is one of ``values``."""
    yield _Instruction(_LOAD_WORD, _FIRST_ARGUMENT, label=label)
    for value in values[:-1]:
        yield _Instruction(_JUMP_EQUAL, value, then="allow")
    yield _Instruction(_JUMP_EQUAL, values[-1], then="allow", otherwise=otherwise)


def _assembled(instructions: list[_Instruction]) -> bytes:
    """Labels become the number of instructions to skip, which one byte must hold."""
    places = {instruction.label: place for place, instruction in enumerate(instructions) if instruction.label}
    program = bytearray()
    for place, instruction in enumerate(instructions):
        then, otherwise = (places[label] - place - 1 if label else 0 for label in (instruction.then, instruction.otherwise))
        program += struct.pack("=HBBI", instruction.code, then, otherwise, instruction.value)
    return bytes(program)
