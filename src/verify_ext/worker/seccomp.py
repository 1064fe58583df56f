"""A seccomp filter: system calls that a job has no use for are refused with EPERM.

Structures from include/uapi/linux/filter.h and seccomp.h, meaning from
Documentation/userspace-api/seccomp_filter.rst; numbers from the kernel's system call tables.
Refused, not killed: libraries try some of these and go on without.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
from collections.abc import Iterator

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24
_X32 = 0x40000000

_NAMESPACES = 0x7E020000  # every CLONE_NEW* flag of clone(2)
_FAMILIES_OF_IP = (2, 10)
_STREAM, _TYPE_MASK = 1, 0xF

# name: (x86_64, aarch64); None where the architecture has no such call.
_REFUSED: dict[str, tuple[int | None, int | None]] = {
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    # keys
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    # file systems and namespaces
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "unshare": (272, 97), "setns": (308, 268), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "fanotify_init": (300, 262), "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    # wide kernel interfaces
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "modify_ldt": (154, None), "iopl": (172, None), "ioperm": (173, None), "personality": (135, 92),
    # the machine
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "syslog": (103, 116),
    "sethostname": (170, 161), "setdomainname": (171, 162), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171),
    "vhangup": (153, 58),
}  # fmt: skip
_SOCKET, _CLONE, _CLONE3 = (41, 198), (56, 220), (435, 435)
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

_libc = ctypes.CDLL(None, use_errno=True)


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


def supported() -> bool:
    """Return whether a filter can be made for this machine's system calls."""
    return platform.machine() in _ARCHITECTURES


def refuse(*, tcp: bool) -> None:
    """Refuse the listed calls and every new socket, for this process and its children.

    With `tcp`, sockets for TCP are allowed; where they may connect to is Landlock's to say.
    Needs no_new_privs. Raises OSError.
    """
    column, architecture = _ARCHITECTURES[platform.machine()]
    instructions = list(_filter(column, architecture, tcp))
    program = _Program(len(instructions), (_Instruction * len(instructions))(*instructions))
    if _libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), "seccomp")


def _filter(column: int, architecture: int, tcp: bool) -> Iterator[_Instruction]:
    yield _Instruction(_LOAD, 0, 0, _ARCHITECTURE)
    yield _Instruction(_EQUAL, 1, 0, architecture)
    yield _Instruction(_RETURN, 0, 0, _KILL_PROCESS)
    yield _Instruction(_LOAD, 0, 0, _NUMBER)
    yield _Instruction(_AT_LEAST, 0, 1, _X32)
    yield _refused(errno.EPERM)
    for numbers in _REFUSED.values():
        number = numbers[column]
        if number is not None:
            yield from _if_called(number, _refused(errno.EPERM))
    # clone3 hides its flags behind a pointer; without it libc uses clone, whose flags can be seen.
    yield from _if_called(_CLONE3[column], _refused(errno.ENOSYS))
    yield from _if_called(
        _CLONE[column],
        _Instruction(_LOAD, 0, 0, _FIRST_ARGUMENT),
        _Instruction(_ANY_BIT, 0, 1, _NAMESPACES),
        _refused(errno.EPERM),
        _Instruction(_RETURN, 0, 0, _ALLOW),
    )
    yield from _if_called(_SOCKET[column], *(_only_tcp() if tcp else (_refused(errno.EPERM),)))
    yield _Instruction(_RETURN, 0, 0, _ALLOW)


def _only_tcp() -> Iterator[_Instruction]:
    ipv4, ipv6 = _FAMILIES_OF_IP
    yield _Instruction(_LOAD, 0, 0, _FIRST_ARGUMENT)
    yield _Instruction(_EQUAL, 2, 0, ipv4)
    yield _Instruction(_EQUAL, 1, 0, ipv6)
    yield _refused(errno.EPERM)
    yield _Instruction(_LOAD, 0, 0, _SECOND_ARGUMENT)
    yield _Instruction(_AND, 0, 0, _TYPE_MASK)
    yield _Instruction(_EQUAL, 1, 0, _STREAM)
    yield _refused(errno.EPERM)
    yield _Instruction(_RETURN, 0, 0, _ALLOW)


def _if_called(number: int, *then: _Instruction) -> Iterator[_Instruction]:
    """Yield instructions that do `then`, which must end in a return, for one system call."""
    yield _Instruction(_EQUAL, 0, len(then), number)
    yield from then


def _refused(error: int) -> _Instruction:
    return _Instruction(_RETURN, 0, 0, _ERRNO | error)
