"""Takes the rights away from a job's process, for good, before any extension code runs.

The parts work in a default container, under `--cap-drop ALL`, and on a plain machine as root or
as a user; which of them a machine offers is found out once, by trying (`probe`). A part that was
found must then work for every job: a job never runs with less than the report says.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import landlock, seccomp

FIRST_UID = 61184
"""Of the range that systemd keeps for dynamic users: no account has them. One per supervisor."""

_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38
_CAPABILITY_VERSION = 0x20080522
_libc = ctypes.CDLL(None, use_errno=True)

_SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/ssl",
    "/etc/ca-certificates", "/etc/pki", "/etc/localtime", "/etc/timezone", "/etc/passwd", "/etc/group",
    "/etc/nsswitch.conf", "/etc/hosts", "/etc/host.conf", "/etc/resolv.conf", "/etc/mime.types",
    "/etc/os-release", "/etc/fonts", "/etc/magic", "/etc/gai.conf", "/etc/protocols", "/etc/services",
    "/dev/random", "/dev/urandom", "/sys/devices/system/cpu",
    "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/uptime", "/proc/loadavg", "/proc/version",
    "/proc/filesystems", "/proc/sys/kernel", "/proc/sys/vm",
)  # fmt: skip
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full")


@dataclass(frozen=True)
class Jail:
    """What a job's process may use. `parts` are those that `probe` found to work."""

    parts: frozenset[str]
    uid: int
    readable: tuple[str, ...]
    writable: tuple[str, ...]
    ports: tuple[int, ...]
    tasks: int
    """Processes and threads; only where the job has a user of its own can the system count them."""

    def enter(self) -> None:
        """Give up everything else. Raises OSError where a part does not work."""
        _count_tasks(self)
        for name, part in _PARTS.items():
            if name in self.parts:
                part(self)


def _no_privileges(_: Jail) -> None:
    """Give up what root may do beyond owning its files; no program that is started brings it back."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    header, nothing = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    if _libc.capset(header, nothing) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), "capset")


def _other_user(jail: Jail) -> None:
    """Become a user that owns nothing. Only root can."""
    os.setgroups([])
    os.setresgid(jail.uid, jail.uid, jail.uid)
    os.setresuid(jail.uid, jail.uid, jail.uid)
    show()


def _count_tasks(jail: Jail) -> None:
    """Have the system refuse more processes and threads than a job may have.

    It counts those of a user: of a job's own user there are no others. Otherwise no more may be
    made than there can be of all users together, which is little to a bomb. Root is never counted.
    """
    others = 0 if "uid" in jail.parts else int(Path("/proc/loadavg").read_text().split()[3].split("/")[1])
    _, most = resource.getrlimit(resource.RLIMIT_NPROC)
    limit = jail.tasks + others if most == resource.RLIM_INFINITY else min(jail.tasks + others, most)
    resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))


def _landlock(jail: Jail) -> None:
    own = ("/proc/self",)
    landlock.restrict(
        readable=(*_SYSTEM, *own, *_interpreter(), *jail.readable),
        writable=(*_DEVICES, *jail.writable),
        ports=jail.ports,
    )


def _seccomp(jail: Jail) -> None:
    # Where the user stays the same, nothing else keeps the attributes of its files.
    seccomp.refuse(tcp=bool(jail.ports), attributes="uid" not in jail.parts)


# In this order: root can change its user only while it has its rights, and the filter comes last.
_PARTS: dict[str, Callable[[Jail], None]] = {
    "uid": _other_user,
    "no_new_privs": _no_privileges,
    "landlock": _landlock,
    "seccomp": _seccomp,
}


def _interpreter() -> Iterable[str]:
    """Where modules are imported from; never a root or a home folder by accident."""
    places = {sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path}
    home = os.path.realpath(os.path.expanduser("~"))
    for place in sorted(places):
        real = os.path.realpath(place) if place else ""
        if real and real != "/" and not f"{home}/".startswith(f"{real}/"):
            yield real


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), "prctl")


def hide() -> None:
    """Make this process unreadable for others of the same user: memory, environment, descriptors."""
    _prctl(_PR_SET_DUMPABLE, 0)


def show() -> None:
    """Undo `hide`, which a child inherits, or a change of user: a job may look at itself."""
    _prctl(_PR_SET_DUMPABLE, 1)


def probe() -> dict[str, Any]:
    """Find out, in a child, which parts work here.

    Returns `parts` (those that do) and `missing` (part → why not), and for the report `landlock`
    (the ABI) and `uid`.
    """
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read)
            os.write(write, json.dumps(_try_all()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as stream:
        answer = stream.read()
    os.waitpid(pid, 0)
    found: dict[str, str | None] = json.loads(answer) if answer else {}
    missing = {
        name: found.get(name, "the trial ended early") for name in _PARTS if found.get(name, "") is not None
    }
    return {
        "parts": [name for name in _PARTS if name not in missing],
        "missing": missing,
        "abi": landlock.abi(),
    }


def _try_all() -> dict[str, str | None]:
    """Enter every part that works; return for each None, or why it does not."""
    jail = Jail(frozenset(), FIRST_UID, (), (), (), 1 << 12)
    answers: dict[str, str | None] = {}
    for name, part in _PARTS.items():
        try:
            reason = _obstacle(name)
            if reason is None:
                part(jail)
                reason = _flaw(name)
            answers[name] = reason
        except OSError as error:
            answers[name] = error.strerror or str(error)
    return answers


def _obstacle(name: str) -> str | None:
    if name == "uid":
        if os.geteuid() != 0:
            return "not started as root"
        closed = _closed_folder()
        return None if closed is None else f"{closed} is closed to other users"
    if name == "landlock" and landlock.abi() == 0:
        return "the kernel does not offer it"
    if name == "seccomp" and not seccomp.supported():
        return "no filter for this processor architecture"
    return None


def _flaw(name: str) -> str | None:
    """Return what a part failed to prevent although it could be entered."""
    if name == "landlock":
        with contextlib.suppress(OSError):
            os.listdir("/")
            return "it does not hold here"
    return None


def _closed_folder() -> str | None:
    """Return a folder on the way to the interpreter or its modules that other users may not enter."""
    for place in (os.path.realpath(sys.executable), *_interpreter()):
        folder = place
        while folder != "/":
            mode = os.stat(folder).st_mode if os.path.exists(folder) else 0o777
            if not mode & (0o001 if os.path.isdir(folder) else 0o004):
                return folder
            folder = os.path.dirname(folder)
    return None
