"""Landlock: a process gives up rights on files, TCP ports and signals, for itself and its children.

Numbers and structures from the kernel's include/uapi/linux/landlock.h, meaning from
Documentation/userspace-api/landlock.rst. No wrapper in libc: the system calls are made directly.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_GET_ABI = 1
_RULE_PATH_BENEATH, _RULE_NET_PORT = 1, 2

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_FILE_ONLY = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_CONNECT_TCP, _ALL_NET = 1 << 1, 0b11
_ALL_SCOPES = 0b11  # abstract unix sockets, signals

# How many file rights an ABI knows: each right is one bit, newer ones are added above.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_NEWEST_FILE_RIGHTS = 16
ABI_WITH_NETWORK, ABI_WITH_SIGNALS = 4, 6

_libc = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"  # what _pack_ means; said, because Python 3.15 no longer assumes it
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


class _NetPort(ctypes.Structure):
    _fields_ = (("allowed", ctypes.c_uint64), ("port", ctypes.c_uint64))


def abi() -> int:
    """Return the version of Landlock that this kernel offers, 0 for none."""
    found = _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _GET_ABI)
    return max(int(found), 0)


def restrict(*, readable: Iterable[str], writable: Iterable[str], ports: Iterable[int]) -> None:
    """Allow this process only these files and TCP ports from now on. Raises OSError.

    `readable` may be read and executed, below `writable` everything may be done but making
    devices; what does not exist is left out. `ports` are those that may be connected to. Needs
    no_new_privs. Signals and abstract sockets reach only processes restricted with it, where the
    kernel can tell (ABI 6).
    """
    version = abi()
    rights = (1 << _FILE_RIGHTS.get(version, _NEWEST_FILE_RIGHTS)) - 1
    attributes = _Ruleset(
        rights,
        _ALL_NET if version >= ABI_WITH_NETWORK else 0,
        _ALL_SCOPES if version >= ABI_WITH_SIGNALS else 0,
    )
    ruleset = _call(_CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(ctypes.sizeof(attributes)), 0)
    try:
        for path in readable:
            _allow(ruleset, path, _READ & rights)
        for path in writable:
            _allow(ruleset, path, rights & ~(_MAKE_CHAR | _MAKE_BLOCK))
        for port in ports if version >= ABI_WITH_NETWORK else ():
            rule = _NetPort(_CONNECT_TCP, port)
            _call(_ADD_RULE, ruleset, _RULE_NET_PORT, ctypes.byref(rule), 0)
        _call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EACCES):
            return
        raise
    try:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            rights &= _FILE_ONLY
        rule = _PathBeneath(rights, handle)
        _call(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(handle)


def _call(number: int, *arguments: object) -> int:
    result = _libc.syscall(number, *arguments)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), "landlock")
    return int(result)
