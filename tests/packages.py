"""Packages on disk as the rest of the program would find them."""

from __future__ import annotations

import os
from pathlib import Path

from verify_ext.model import Extension


def files_below(folder: Path) -> tuple[str, ...]:
    """Return the POSIX paths of all files and links below a folder, sorted; no link is followed."""
    found = []
    for parent, folders, files in os.walk(folder):
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        found += [(Path(parent) / name).relative_to(folder).as_posix() for name in (*files, *links)]
    return tuple(sorted(found))


def extension_of(folder: Path, *, path: str | None = None, in_git: bool = True) -> Extension:
    """Return a folder as the extension that discovery would make of it."""
    return Extension(
        path=path or folder.name,
        root=folder.resolve(),
        kind="harness-package",
        files=files_below(folder),
        in_git=in_git,
    )
