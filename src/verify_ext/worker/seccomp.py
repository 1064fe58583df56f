"""A seccomp filter: system calls that a job has no use for are refused with EPERM.

Structures from include/uapi/linux/filter.h and seccomp.h, meaning from
Documentation/userspace-api/seccomp_filter.rst; numbers from the kernel's system call tables.
Refused, not killed: libraries try some of these and go on without. A filter sees the numbers that
a call is given, and nothing behind a pointer: no path.
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
_NUMBER, _ARCHITECTURE = 0, 4
_ARGUMENTS = (16, 24, 32)  # the low halves of the first, the second and the third
_HIGH = 4  # from the low half of an argument to its high one, on machines that are little-endian
_X32 = 0x40000000

_NAMESPACES = 0x7E020000  # every CLONE_NEW* flag of clone(2)
_UNIX, _FAMILIES_OF_IP = 1, (2, 10)
_STREAM, _SEQUENCE, _TYPE_MASK = 1, 5, 0xF
_TERMINAL_CALLS, _GROUP_OF_CALLS = 0x5400, 0xFF00

# name: (x86_64, aarch64); None where the architecture has no such call.
_REFUSED: dict[str, tuple[int | None, int | None]] = {
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "migrate_pages": (256, 238), "move_pages": (279, 239),
    # memory that is in no process, outlives it, or is shared with whoever knows its number
    "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193),
    "semtimedop": (220, 192), "semctl": (66, 191), "msgget": (68, 186), "msgsnd": (69, 189),
    "msgrcv": (70, 188), "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181),
    # keys
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    # file systems and namespaces
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "open_tree_attr": (467, 467), "move_mount": (429, 429),
    "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "unshare": (272, 97), "setns": (308, 268), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "fanotify_init": (300, 262), "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    # wide kernel interfaces
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "lookup_dcookie": (212, 18),
    "modify_ldt": (154, None), "iopl": (172, None), "ioperm": (173, None), "personality": (135, 92),
    # the machine
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "syslog": (103, 116),
    "sethostname": (170, 161), "setdomainname": (171, 162), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171),
    "vhangup": (153, 58),
}  # fmt: skip
# What changes a process that the caller names: allowed where the arguments say "this one".
_ON_ITSELF: dict[str, tuple[tuple[int, int], tuple[int, ...]]] = {
    "prlimit64": ((302, 261), (0,)),
    "sched_setaffinity": ((203, 122), (0,)),
    "sched_setscheduler": ((144, 119), (0,)),
    "sched_setparam": ((142, 118), (0,)),
    "sched_setattr": ((314, 274), (0,)),
    "setpriority": ((141, 140), (0, 0)),
    "ioprio_set": ((251, 30), (1, 0)),
}
# Landlock knows neither modes nor owners nor times, so a job that has kept its user could change
# those of every file of that user. It is told that it was done: who copies a file sets them too.
_ATTRIBUTES: dict[str, tuple[int | None, int | None]] = {
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
}  # fmt: skip
# Of these, the argument that holds the times. Where it is NULL ("now"), a path is only touched, and
# whoever touches one that is not there must be told so: Path.touch then makes it, and is content if
# it is there and the times stay as they are.
_TIMES: dict[str, tuple[int | None, int | None, int]] = {
    "utime": (132, None, 1), "utimes": (235, None, 1), "futimesat": (261, None, 2), "utimensat": (280, 88, 2),
}  # fmt: skip
# The same for what file systems need not offer, and mostly do not: whoever tries goes on without.
_EXTENDED_ATTRIBUTES: dict[str, tuple[int | None, int | None]] = {
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "removexattrat": (466, 466), "file_setattr": (469, 469),
}  # fmt: skip
_SOCKET, _SOCKETPAIR, _IOCTL = (41, 198), (53, 199), (16, 29)
_CLONE, _CLONE3 = (56, 220), (435, 435)
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


def refuse(*, tcp: bool, attributes: bool) -> None:
    """Refuse the listed calls and every new socket, for this process and its children.

    With `tcp`, sockets for TCP are allowed; where they may connect to is Landlock's to say. With
    `attributes`, modes, owners and times of files stay as they are, whoever asks for a change.
    Needs no_new_privs. Raises OSError.
    """
    column, architecture = _ARCHITECTURES[platform.machine()]
    instructions = list(_filter(column, architecture, tcp, attributes))
    program = _Program(len(instructions), (_Instruction * len(instructions))(*instructions))
    if _libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), "seccomp")


def _filter(column: int, architecture: int, tcp: bool, attributes: bool) -> Iterator[_Instruction]:
    yield _Instruction(_LOAD, 0, 0, _ARCHITECTURE)
    yield _Instruction(_EQUAL, 1, 0, architecture)
    yield _Instruction(_RETURN, 0, 0, _KILL_PROCESS)
    yield _Instruction(_LOAD, 0, 0, _NUMBER)
    yield _Instruction(_AT_LEAST, 0, 1, _X32)
    yield _refused(errno.EPERM)
    yield from _all(_REFUSED, column, errno.EPERM)
    yield from _all(_EXTENDED_ATTRIBUTES, column, errno.EOPNOTSUPP)
    if attributes:
        yield from _all(_ATTRIBUTES, column, 0)
        yield from _times(column)
    for numbers, itself in _ON_ITSELF.values():
        yield from _if_called(numbers[column], *_only(*((value,) for value in itself)))
    # clone3 hides its flags behind a pointer; without it libc uses clone, whose flags can be seen.
    yield from _if_called(_CLONE3[column], _refused(errno.ENOSYS))
    yield from _if_called(
        _CLONE[column],
        _Instruction(_LOAD, 0, 0, _ARGUMENTS[0]),
        _Instruction(_ANY_BIT, 0, 1, _NAMESPACES),
        _refused(errno.EPERM),
        _Instruction(_RETURN, 0, 0, _ALLOW),
    )
    # Only what a terminal answers; the other calls change flags of files that may merely be read.
    yield from _if_called(
        _IOCTL[column],
        *_only(None, (_TERMINAL_CALLS,), masks=(0, _GROUP_OF_CALLS), error=errno.ENOTTY),
    )
    types = (0, _TYPE_MASK)
    yield from _if_called(
        _SOCKET[column],
        *(_only(_FAMILIES_OF_IP, (_STREAM,), masks=types) if tcp else (_refused(errno.EPERM),)),
    )
    # A pair for datagrams could be turned to the address of another program's socket.
    yield from _if_called(_SOCKETPAIR[column], *_only((_UNIX,), (_STREAM, _SEQUENCE), masks=types))
    yield _Instruction(_RETURN, 0, 0, _ALLOW)


def _all(calls: dict[str, tuple[int | None, int | None]], column: int, error: int) -> Iterator[_Instruction]:
    """Yield instructions that answer each of these calls with an error; 0 says that it was done."""
    for numbers in calls.values():
        number = numbers[column]
        if number is not None:
            yield from _if_called(number, _refused(error))


def _times(column: int) -> Iterator[_Instruction]:
    """Yield instructions that say of times that they were set, except where a path is touched."""
    for name, (*numbers, argument) in _TIMES.items():
        number, done = numbers[column], _refused(0)
        if number is None:
            continue
        tests = [*_unless_null(_ARGUMENTS[argument], done)]
        if name == "utimensat":  # without a path it is about an open file, which is there
            tests += [*_unless_null(_ARGUMENTS[1], _refused(errno.EACCES)), done]
        else:
            tests.append(_refused(errno.EACCES))
        yield from _if_called(number, *tests)


def _unless_null(argument: int, answer: _Instruction) -> Iterator[_Instruction]:
    """Yield instructions that answer at once if an argument, a pointer, is not NULL."""
    for half in (argument, argument + _HIGH):
        yield _Instruction(_LOAD, 0, 0, half)
        yield _Instruction(_EQUAL, 1, 0, 0)
        yield answer


def _only(
    *allowed: tuple[int, ...] | None, masks: tuple[int, ...] = (0, 0), error: int = errno.EPERM
) -> list[_Instruction]:
    """Return instructions that allow a call if each argument has one of its values, None being any.

    An argument is first cut to the bits of its mask, 0 being all.
    """
    instructions: list[_Instruction] = []
    for place, values, mask in zip(_ARGUMENTS, allowed, masks, strict=False):
        if values is None:
            continue
        instructions.append(_Instruction(_LOAD, 0, 0, place))
        if mask:
            instructions.append(_Instruction(_AND, 0, 0, mask))
        for left, value in zip(range(len(values), 0, -1), values, strict=True):
            instructions.append(_Instruction(_EQUAL, left, 0, value))
        instructions.append(_refused(error))
    return [*instructions, _Instruction(_RETURN, 0, 0, _ALLOW)]


def _if_called(number: int, *then: _Instruction) -> Iterator[_Instruction]:
    """Yield instructions that do `then`, which must end in a return, for one system call."""
    yield _Instruction(_EQUAL, 0, len(then), number)
    yield from then


def _refused(error: int) -> _Instruction:
    return _Instruction(_RETURN, 0, 0, _ERRNO | error)
