"""What a job's process may see and use, set up before any extension code runs.

The order matters: descriptors, then environment and folders, then limits. This is the place of
the jail: whatever takes rights away for good comes last.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import resource
import signal
import sys
import tempfile
from typing import Any

from . import jail, process

RESULT_DESCRIPTOR = 3
_CPU_GRACE_S = 5


def enter(message: dict[str, Any], *, parts: frozenset[str], uid: int) -> None:
    """Confine this process, whose descriptors are `detach`ed, for the job in `message`.

    `message`: `folder` (this job's alone, with `home` and `work` in it), `environment` (all
    variables it gets), `paths` (put at the end of `sys.path`, so that they hide nothing of the
    harness, and as plain entries, so that no `.pth` file in them runs), `limits`, `ports` (TCP,
    on loopback, that it may connect to). `parts` of the
    jail are entered as the user `uid`, where that is one of them. Raises OSError, ValueError.
    """
    os.setsid()
    _end_first_when_memory_is_short()
    if "uid" in parts:
        os.umask(0)  # whoever removes the folder need not have a right over other users' files
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    faulthandler.enable(file=2, all_threads=False)  # a segfault says where it was
    faulthandler.register(signal.SIGUSR1, file=2, all_threads=False)  # so does a hang, when asked
    _surroundings(message)
    _limits(message["limits"])
    jail.Jail(
        parts=parts,
        uid=uid,
        readable=tuple(message["paths"]),
        writable=(message["folder"],),
        ports=tuple(message["ports"]),
        tasks=message["limits"]["processes"] + message["limits"]["threads"],
    ).enter()
    process.die_with_parent()  # last: a change of user forgets it


def _end_first_when_memory_is_short() -> None:
    """Where all memory is gone, the system is to end a job, and nothing of ours."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as stream:
        stream.write("1000")


def detach(result: int, output: int) -> int:
    """Leave the job nothing: no input, output into our pipe, the result on its own descriptor.

    What the harness keeps open (its log file) points nowhere from now on.
    """
    jail.show()  # else a user's own /proc/self/fd is closed to itself
    nothing = os.open(os.devnull, os.O_RDWR)
    result = os.dup(result) if result <= RESULT_DESCRIPTOR else result
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(result, RESULT_DESCRIPTOR)
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number > RESULT_DESCRIPTOR:
            with contextlib.suppress(OSError):  # the listing's own descriptor is gone by now
                if os.path.isfile(f"/proc/self/fd/{number}"):
                    os.dup2(nothing, number)
                elif number != nothing:
                    os.close(number)
    if nothing > RESULT_DESCRIPTOR:  # else the result has taken its number
        os.close(nothing)
    return RESULT_DESCRIPTOR


def _surroundings(message: dict[str, Any]) -> None:
    os.environ.clear()
    os.environ.update(message["environment"])
    os.environ["HOME"] = os.path.join(message["folder"], "home")
    os.environ["TMPDIR"] = os.path.join(message["folder"], "tmp")
    tempfile.tempdir = None  # forget the server's folder
    os.chdir(os.path.join(message["folder"], "work"))
    sys.path += message["paths"]
    sys.dont_write_bytecode = True
    sys.argv = ["extension"]


def _limits(limits: dict[str, Any]) -> None:
    for name, value in (
        (resource.RLIMIT_AS, limits["memory_bytes"]),
        (resource.RLIMIT_FSIZE, limits["file_bytes"]),
        (resource.RLIMIT_NOFILE, limits["open_files"]),
        (resource.RLIMIT_CPU, limits["cpu_s"]),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(name)
        wanted = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # For CPU the soft limit sends SIGXCPU, which says why; the hard one kills without a word.
        above = _CPU_GRACE_S if name == resource.RLIMIT_CPU and hard == resource.RLIM_INFINITY else 0
        resource.setrlimit(name, (wanted, wanted + above))
