"""What a job uses while it runs, measured from outside: processes, threads, memory, disk.

Fields of `/proc/<pid>/status` and `smaps_rollup` from Documentation/filesystems/proc.rst. The first
may be read of any process, the second only by its own user, so everything that needs it is looked
at as that user: root in a container may lack the right to look at what is another's.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence

_SIZES = ("RssAnon", "RssShmem", "VmSwap")
_SHARES = ("Pss_Anon", "Pss_Shmem", "SwapPss")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SHARES_WITHIN_S = 0.2
_DEEPEST = 100
_libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def as_user(uid: int | None) -> Iterator[None]:
    """Look at files and processes as this user; None is the one that this process has."""
    if uid is None:
        yield
        return
    _libc.setfsuid(uid)
    try:
        yield
    finally:
        _libc.setfsuid(os.geteuid())


# --- processes ---------------------------------------------------------------------------------


def threads(pids: Iterable[int]) -> int:
    """Return how many threads some processes have together, beyond the first of each."""
    return sum(max(0, _sum(f"/proc/{pid}/status", ("Threads",)) - 1) for pid in pids)


def memory_is_full(pids: Sequence[int], limit_bytes: int) -> bool:
    """Return whether processes that were forked from this one have filled more memory than this.

    Sizes are quick to read, but count for each process what a fork shares until it is written to.
    Only where that could make the difference is the share of each asked for, and not for long:
    who forks without end keeps it waiting, and is ended for that.
    """
    limit = limit_bytes // 1024
    sizes, inherited = sum(_size(pid) for pid in pids), _size(os.getpid()) * len(pids)
    if sizes <= limit or sizes - inherited > limit:
        return sizes > limit
    total, until = 0, time.monotonic() + _SHARES_WITHIN_S
    for pid in pids:
        total += _share(pid)
        if total > limit or time.monotonic() > until:
            break
    return total > limit


def _size(pid: int) -> int:
    return _sum(f"/proc/{pid}/status", _SIZES)


def _share(pid: int) -> int:
    try:
        return _sum(f"/proc/{pid}/smaps_rollup", _SHARES)
    except PermissionError:  # it has made itself unreadable
        return _size(pid)


def _sum(file: str, names: Sequence[str]) -> int:
    """Return the sum of some fields; a process that has ended has none. Raises PermissionError."""
    total = 0
    with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(file, "rb") as stream:
        for line in stream:
            name, _, value = line.decode("ascii", "replace").partition(":")
            if name in names:
                total += int(value.split()[0])
    return total


# --- disk --------------------------------------------------------------------------------------


def disk_is_full(parts: Iterable[str], pids: Iterable[int], limit_bytes: int, limit_files: int) -> bool:
    """Return whether more is in some folders than may be, or in files without a name that processes keep.

    Folders that their owner has closed to itself, or put into each other without end, count as
    full: they can only be meant to hide something. Stops looking as soon as it knows.
    """
    size = files = 0
    try:
        for status in itertools.chain(_unnamed(pids), _below(parts, limit_files)):
            size += status.st_blocks * 512
            files += 1
            if size > limit_bytes or files > limit_files:
                return True
    except (PermissionError, _TooDeep):
        return True
    return False


class _TooDeep(Exception):
    """Folders are in each other deeper than anybody needs."""


def _unnamed(pids: Iterable[int]) -> Iterator[os.stat_result]:
    """Yield the removed files that processes have open, each once, where that can be seen."""
    seen = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            for number in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    status = os.stat(f"/proc/{pid}/fd/{number}")
                    if stat.S_ISREG(status.st_mode) and status.st_nlink == 0 and status.st_ino not in seen:
                        seen.add(status.st_ino)
                        yield status


def _below(parts: Iterable[str], limit: int) -> Iterator[os.stat_result]:
    """Yield everything in some files and folders, at most `limit` of a folder.

    Each folder on the way down is kept open: nothing that is moved meanwhile leads elsewhere. No
    link is followed. Raises PermissionError and _TooDeep.
    """
    way: list[tuple[int, list[str]]] = []
    try:
        for part in parts:
            yield from _entry(part, None, way, limit)
            while way:
                here, names = way[-1]
                if names:
                    yield from _entry(names.pop(), here, way, limit)
                else:
                    os.close(way.pop()[0])
    finally:
        for here, _ in way:
            os.close(here)


def _entry(
    name: str, here: int | None, way: list[tuple[int, list[str]]], limit: int
) -> Iterator[os.stat_result]:
    """Yield what is at a name, and put it on the way if it is a folder; nothing if it has gone."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        status = os.stat(name, dir_fd=here, follow_symlinks=False)
        yield status
        if stat.S_ISDIR(status.st_mode):
            if len(way) == _DEEPEST:
                raise _TooDeep
            folder = os.open(name, _FOLDER, dir_fd=here)
            way.append((folder, []))  # closed by the caller from here on
            with os.scandir(folder) as entries:
                way[-1][1].extend(entry.name for entry in itertools.islice(entries, limit + 1))
