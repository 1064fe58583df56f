"""Folders in which hostile code writes, and how they are removed whatever it did to them.

Standard library only: where root lacks the right over another user's files, this module is run as
a program by that user.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder for this run alone, and remove it whatever a job has done to it.

    Jobs may run as another user: they pass through to folders whose names they know, and list none.
    """
    folder = Path(tempfile.mkdtemp(prefix="verify-ext-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        remove(folder)


def remove(folder: Path) -> None:
    """Remove a folder in which nobody writes any more; what still resists is left to the system.

    No depth, name or mode stops it: nothing is done by a whole path or in a recursion.
    """
    _empty(folder)
    if os.geteuid() == 0:
        for uid, folders in _left_by_others(folder).items():
            _empty_as(uid, folders)
        _empty(folder)
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def make_readable(*open_folders: Path) -> None:
    """Let this user read what jobs have left below folders that they may list, when they have ended.

    Root in a container may lack the right over other users' files, and temporary files are their
    owner's alone; so each owner opens up his own.
    """
    if os.geteuid() != 0:
        return
    owners = set()
    for here, folders, files in (step for folder in open_folders for step in os.walk(folder)):
        for name in (*folders, *files):
            with contextlib.suppress(OSError):
                status = os.lstat(os.path.join(here, name))
                if status.st_uid and not status.st_mode & stat.S_IROTH:
                    owners.add(status.st_uid)
    for uid in owners:
        _run_as(uid, [os.fsencode(folder) for folder in open_folders], _OPEN_UP)


def _left_by_others(folder: Path) -> dict[int, list[bytes]]:
    """Return other users' folders that are still there, and those that hold something of theirs."""
    found: dict[int, list[bytes]] = {}
    with contextlib.suppress(OSError):
        for entry in os.scandir(os.fsencode(folder)):
            owners = {entry.stat(follow_symlinks=False).st_uid}
            with contextlib.suppress(OSError):
                owners |= {below.stat(follow_symlinks=False).st_uid for below in os.scandir(entry.path)}
            for uid in owners - {0}:
                found.setdefault(uid, []).append(entry.path)
    return found


def _empty_as(uid: int, folders: list[bytes]) -> None:
    _run_as(uid, folders)


_OPEN_UP = "open-up"


def _run_as(uid: int, folders: list[bytes], *arguments: str) -> None:
    """Run this module as a program by another user."""
    subprocess.run(
        [sys.executable, "-I", "-S", __file__, *arguments],
        input=b"\0".join(folders),
        user=uid,
        group=uid,
        extra_groups=(),
        stderr=subprocess.DEVNULL,
        check=False,
    )


def _empty(folder: Path) -> None:
    """Remove what is in a folder, as far as this user may.

    Folders in it are moved up before they are looked into, so that none is ever deep.
    """
    with contextlib.suppress(OSError):
        top = os.open(folder, _FOLDER)
        try:
            waiting = list(_folders(top))
            while waiting:
                name = waiting.pop()
                with contextlib.suppress(OSError):
                    waiting += _flattened(top, name)
                with contextlib.suppress(OSError):
                    os.rmdir(name, dir_fd=top)
        finally:
            os.close(top)


def _flattened(top: int, name: str) -> list[str]:
    """Remove the files of a folder in `top` and move its folders up; return their new names."""
    _open_up(name, top)
    here = os.open(name, _FOLDER, dir_fd=top)
    moved = []
    try:
        for below in _folders(here):
            fresh = secrets.token_hex(16)
            _open_up(below, here)  # a folder is itself changed when it is moved
            with contextlib.suppress(OSError):
                os.rename(below, fresh, src_dir_fd=here, dst_dir_fd=top)
                moved.append(fresh)
    finally:
        os.close(here)
    return moved


def _open_up(name: str, above: int) -> None:
    """Let everybody into a folder: this user, and if it is not enough, the owner of what is in it."""
    with contextlib.suppress(OSError):  # not ours: perhaps it is open all the same
        os.chmod(name, 0o777, dir_fd=above)


def _folders(here: int) -> Iterator[str]:
    """Remove everything in an open folder but its folders; yield their names."""
    with os.scandir(here) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in found:
        if is_folder:
            yield name
        else:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=here)


def _open_up_own(folder: Path) -> None:
    """Make readable what this user owns below a folder; links are left alone."""
    for here, folders, files in os.walk(folder):
        for name in (*folders, *files):
            with contextlib.suppress(OSError):  # somebody else's, or a link
                handle = os.open(os.path.join(here, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    os.fchmod(
                        handle, os.fstat(handle).st_mode & 0o7777 | (0o555 if name in folders else 0o444)
                    )
                finally:
                    os.close(handle)


if __name__ == "__main__":
    work = _open_up_own if sys.argv[1:] == [_OPEN_UP] else _empty
    for each in sys.stdin.buffer.read().split(b"\0"):
        work(Path(os.fsdecode(each)))
