"""Processes on Linux: whose child is whose, and how all of them are ended.

`prctl` options by number, from the kernel's include/uapi/linux/prctl.h; `/proc/<pid>/task/*/children`
from Documentation/filesystems/proc.rst.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), "prctl")


def become_subreaper() -> None:
    """Inherit whatever is orphaned below this process, so that nothing escapes it."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """End this process when the thread that made it ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def come_first() -> None:
    """Run before all ordinary processes, so that no number of them keeps this one from ending them.

    Only root may; what this process forks is ordinary again.
    """
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def children(pid: int | None = None) -> list[int]:
    """Return the direct children of a process (of this one by default); [] once it is gone."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid or os.getpid()}/task").iterdir():
            with contextlib.suppress(OSError):
                found += [int(word) for word in (task / "children").read_text().split()]
    return found


def below() -> list[int]:
    """Return every process below this one, at the moment of looking."""
    waiting, found = children(), []
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += children(pid)
    return found


def reap_ended() -> None:
    """Collect every child that has ended, without waiting."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def reap_orphans(own: int) -> None:
    """Collect every child that has ended but this one, for whose end somebody waits."""
    for pid in children():
        if pid != own:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def kill_all_below(deadline_s: float = 10.0) -> int:
    """End every process below this one and return how many children were found alive.

    The first round stops them, so that a fork bomb cannot outrun the second, which kills.
    What re-parents to us (subreaper) is found in the next round.
    """
    found: set[int] = set()
    until = time.monotonic() + deadline_s
    while time.monotonic() < until:
        reap_ended()
        alive = below()
        if not alive:
            break
        found.update(alive)
        for signal_number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in alive:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal_number)
        time.sleep(0.002)
    return len(found)
