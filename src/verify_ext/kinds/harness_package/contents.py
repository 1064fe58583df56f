"""What a package holds, as the harness would see it: files, folders, links that stay inside.

Only what `Extension.files` lists exists here. Nothing is opened but to be read.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable
from dataclasses import dataclass

from verify_ext.model import Extension
from verify_ext.source import TEXT_LIMIT_BYTES, Source, Spot, file_spot, read_bytes, read_source

_LINKS_LIMIT = 40
_SEEN_LIMIT = 100_000


@dataclass(frozen=True)
class BrokenLink:
    """A symbolic link that cannot be followed inside the package; `leaves` says why."""

    path: str
    target: str
    leaves: bool


class Contents:
    """The files of an extension by their path below its root, and the folders they make.

    A link to a file or folder of the package is followed; `broken_links` are the others.
    `files` are all files by every path that leads to them, sorted.
    """

    def __init__(self, extension: Extension) -> None:
        self.extension = extension
        links = {
            file: os.readlink(extension.root / file)
            for file in extension.files
            if os.path.islink(extension.root / file)
        }
        plain = {file: file for file in extension.files if file not in links}
        folders = _folders_of(plain)
        self._real = dict(plain)
        self._linked: dict[str, str] = {}
        broken = []
        for link, target in links.items():
            reached = _follow(link, links)
            if reached in plain:
                self._real[link] = reached
            elif reached in folders and len(self._real) < _SEEN_LIMIT:
                self._linked[link] = reached
                self._real |= _seen_through(link, reached, plain)
            else:
                broken.append(BrokenLink(link, target, leaves=reached is None))
        self.broken_links = tuple(broken)
        self._folders = _folders_of(self._real)
        self.files = tuple(sorted(self._real))

    def is_file(self, path: str) -> bool:
        return path in self._real

    def is_folder(self, path: str) -> bool:
        return path in self._folders

    def has_broken_link(self, folder: str) -> bool:
        """Return whether a link at or below a path leads nowhere: what is missing there was said."""
        return any(f"{link.path}/".startswith(f"{folder}/") for link in self.broken_links)

    def names(self, folder: str) -> list[str]:
        """Return the names of the files and folders directly in a folder, sorted."""
        return sorted(self._folders.get(folder, ()))

    def real(self, path: str) -> str:
        """Return where a file or folder lies when links are followed."""
        if path in self._real:
            return self._real[path]
        links = [link for link in self._linked if f"{path}/".startswith(f"{link}/")]
        return path.replace(links[0], self._linked[links[0]], 1) if links else path

    def read(self, path: str, *, limit: int = TEXT_LIMIT_BYTES) -> Source:
        """Read a text file. Raises SourceError."""
        real = self._real.get(path, path)
        return read_source(self.extension.root / real, self.extension.shown(real), limit=limit)

    def read_bytes(self, path: str, *, limit: int) -> bytes:
        """Read a file. Raises SourceError."""
        real = self._real.get(path, path)
        return read_bytes(self.extension.root / real, self.extension.shown(real), limit=limit)

    def spot(self, path: str) -> Spot:
        """Return the place of a file as a whole."""
        return file_spot(self.extension.shown(path))


def _folders_of(files: Iterable[str]) -> dict[str, set[str]]:
    folders: dict[str, set[str]] = {".": set()}
    for file in files:
        name = file
        while name:
            above, _, last = name.rpartition("/")
            known = folders.setdefault(above or ".", set())
            if last in known:
                break
            known.add(last)
            name = above
    return folders


def _seen_through(link: str, folder: str, plain: dict[str, str]) -> dict[str, str]:
    """Return the files that a link to a folder makes seen, by the path through the link."""
    start = "" if folder == "." else f"{folder}/"
    return {f"{link}/{file[len(start) :]}": file for file in plain if file.startswith(start)}


def _follow(link: str, targets: dict[str, str]) -> str | None:
    """Return the path below the root that a link leads to; None if it leaves the package.

    An absolute target leaves it even where it points back in: it would not on another machine.
    """
    path = link
    for _ in range(_LINKS_LIMIT):
        if path not in targets:
            return path
        target = targets[path]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if target.startswith("/") or path == ".." or path.startswith("../"):
            return None
    return link
