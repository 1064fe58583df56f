"""One digest over exactly the files of an extension."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from verify_ext.model import Extension

PACKAGE_LIMIT_BYTES = 512 * 1024 * 1024
PACKAGE_LIMIT_FILES = 20_000
_CHUNK = 1 << 20
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class UnreadableFile(Exception):
    """A file of an extension that cannot be read as a regular file or link.

    `file` is its path below the extension's root; the message says why.
    """

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(f"{file}: {reason}")
        self.file = file


class PackageTooLarge(Exception):
    """An extension beyond the limits of this module; `actual` says how large."""

    def __init__(self, actual: str) -> None:
        super().__init__(actual)
        self.actual = actual


@dataclass(frozen=True)
class Entry:
    """A file as the digest sees it: `mode` is `100644`, `100755` or `120000` (a link), as in git."""

    path: str
    mode: str
    sha256: str


def entry_of(root: Path, file: str, copy_to: Path | None = None) -> tuple[Entry, int]:
    """Read one file below `root`, copying it to `copy_to` on the way.

    Returns its entry and size in bytes. Never follows a final link. Raises UnreadableFile, and
    OSError where the copy cannot be written.
    """
    path = root / file
    try:
        handle = None if path.is_symlink() else os.open(path, _OPEN)
        target = os.readlink(path) if handle is None else ""
    except OSError as error:
        raise UnreadableFile(file, error.strerror or str(error)) from None
    return (_link(target, file, copy_to), 0) if handle is None else _regular(handle, file, copy_to)


def _link(target: str, file: str, copy_to: Path | None) -> Entry:
    if copy_to is not None:
        copy_to.parent.mkdir(parents=True, exist_ok=True)
        os.symlink(target, copy_to)
    return Entry(file, "120000", hashlib.sha256(os.fsencode(target)).hexdigest())


def _regular(handle: int, file: str, copy_to: Path | None) -> tuple[Entry, int]:
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFile(file, "not a regular file")
        mode = "100755" if status.st_mode & stat.S_IXUSR else "100644"
        digest, size = hashlib.sha256(), 0
        target = None
        if copy_to is not None:
            copy_to.parent.mkdir(parents=True, exist_ok=True)
            target = open(copy_to, "xb")  # noqa: SIM115 - closed below, beside the loop that fills it
        try:
            while chunk := stream.read(_CHUNK):
                size += len(chunk)
                if size > PACKAGE_LIMIT_BYTES:
                    raise PackageTooLarge(f"{file} alone is larger than {PACKAGE_LIMIT_BYTES} bytes")
                digest.update(chunk)
                if target is not None:
                    target.write(chunk)
        finally:
            if target is not None:
                target.close()
    if copy_to is not None:
        os.chmod(copy_to, 0o755 if mode == "100755" else 0o644)
    return Entry(file, mode, digest.hexdigest()), size


def digest(extension: Extension, copy_to: Path | None = None) -> str:
    """Return `sha256:…` over the extension's files, copying them below `copy_to` on the way.

    The digest is over one line per file, sorted by path: mode, hash, path. Raises
    UnreadableFile and PackageTooLarge.
    """
    if len(extension.files) > PACKAGE_LIMIT_FILES:
        raise PackageTooLarge(f"{len(extension.files)} files")
    total, size = hashlib.sha256(), 0
    for file in extension.files:
        entry, length = entry_of(extension.root, file, None if copy_to is None else copy_to / file)
        size += length
        if size > PACKAGE_LIMIT_BYTES:
            raise PackageTooLarge(f"more than {PACKAGE_LIMIT_BYTES} bytes")
        total.update(f"{entry.mode} {entry.sha256} ".encode() + os.fsencode(entry.path) + b"\0")
    return f"sha256:{total.hexdigest()}"
