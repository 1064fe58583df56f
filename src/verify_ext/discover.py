"""The walk through a repo: which folders are extensions, and which files are theirs."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from verify_ext import git
from verify_ext.codes import CONFIG_INVALID, NOTHING_SELECTED, Rule, Rules
from verify_ext.kinds import Kind
from verify_ext.model import Extension, Finding, Severity
from verify_ext.source import file_spot

SKIPPED_FOLDERS = frozenset(
    {".git", ".hg", ".svn", ".venv", "venv", "node_modules", ".tox", ".nox", "__pycache__"}
)
"""Never walked; inside a git work tree what git ignores is left out as well."""

RULES = Rules(
    Rule(
        code=CONFIG_INVALID,
        rule="path-missing",
        layer=None,
        message="the path {path} does not exist",
        remedy="Name a folder that holds extensions, an extension, or its manifest.",
        why="A misspelled path would otherwise verify nothing.",
        source="Command line",
    ),
    Rule(
        code=CONFIG_INVALID,
        rule="path-outside-repo",
        layer=None,
        message="the path {path} lies outside the repository {repo}",
        remedy="Run verify-ext once per repository, or name the repository with --repo.",
        why="An extension is identified by its path in its repository.",
        source="Command line",
    ),
    Rule(
        code=NOTHING_SELECTED,
        rule="no-extension-found",
        layer=None,
        message="no extension was found in {paths}",
        remedy="Name a folder that holds {manifests}; --allow-empty makes this a success.",
        why="A check that verifies nothing must not look like one that passed.",
        source="docs/design.md, section 6",
    ),
    Rule(
        code=NOTHING_SELECTED,
        rule="empty-allowed",
        layer=None,
        severity=Severity.NOTICE,
        message="no extension was found in {paths}, which --allow-empty allows",
        remedy="Nothing to do.",
        why="A report says when it is about nothing.",
        source="docs/design.md, section 6",
    ),
)


@dataclass(frozen=True)
class Found:
    """The outcome of a walk: extensions sorted by path, and what is wrong with the request."""

    repo: Path
    extensions: tuple[Extension, ...]
    findings: tuple[Finding, ...]


def find_repo(paths: Sequence[Path]) -> Path:
    """Return the repository that the paths are in: git's root of the first one, else what holds all."""
    first = next((path for path in paths if _exists(path)), Path("."))
    folder = (first if first.is_dir() else first.parent).resolve()
    top = git.top_level(folder)
    if top is not None and folder.is_relative_to(top.resolve()):  # a checkout can claim another one
        return top.resolve()
    here = Path(".").resolve() if _exists(Path(".")) else folder
    return here if folder.is_relative_to(here) else folder


def discover(paths: Sequence[Path], repo: Path, kinds: Sequence[Kind], *, allow_empty: bool = False) -> Found:
    """Find the extensions below some paths of a repo.

    A path is a folder to walk, an extension, or a manifest. Links are not followed. The result
    is the same for the same files, in whatever order paths or directory entries come.
    """
    by_name = {name: kind for kind in kinds for name in kind.manifest_names}
    extensions: dict[str, Extension] = {}
    findings: list[Finding] = []
    for path in paths:
        below = _below(path, repo)
        if isinstance(below, Finding):
            findings.append(below)
            continue
        files, in_git = _files(repo, below)
        for root, kind in _roots(files, by_name):
            extensions.setdefault(root, _extension(repo, root, kind, files, in_git))
    if not extensions and not findings:
        rule = "nothing_selected/empty-allowed" if allow_empty else "nothing_selected/no-extension-found"
        shown = ", ".join(str(path) for path in paths)
        findings.append(
            RULES.finding(rule, file_spot("."), paths=shown, manifests=" or ".join(sorted(by_name)))
        )
    ordered = tuple(extensions[path] for path in sorted(extensions))
    return Found(repo, ordered, tuple(findings))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that the file system refuses, or a folder that is closed
        return False


def _below(path: Path, repo: Path) -> str | Finding:
    """Return a path relative to the repo, "" for the repo itself, or why that cannot be."""
    if not _exists(path):
        return RULES.finding("config_invalid/path-missing", file_spot(str(path)), path=str(path))
    folder = path.resolve()
    folder = folder if folder.is_dir() else folder.parent
    if not folder.is_relative_to(repo):
        return RULES.finding(
            "config_invalid/path-outside-repo", file_spot(str(path)), path=str(path), repo=str(repo)
        )
    relative = folder.relative_to(repo).as_posix()
    return "" if relative == "." else relative


def _files(repo: Path, below: str) -> tuple[list[str], bool]:
    """Return the files below a folder, and whether git chose them.

    A folder that git ignores but that was asked for by name is walked all the same.
    """
    listed = git.listed_files(repo, below)
    if listed:
        kept = (
            name for name in listed if SKIPPED_FOLDERS.isdisjoint(name.split("/")[:-1]) or _is_cache(name)
        )
        links = _Links(repo)
        files = {name for name in kept if not links.lead_to(name) and _counts(repo / name)}
        for name in listed:  # a repository in the repository: git lists its folder and nothing below
            if (repo / name).is_dir() and not (repo / name).is_symlink():
                files.update(_walk(repo, name))
        return sorted(files), True
    return sorted(_walk(repo, below)), False


class _Links:
    """Which folders of a repo are links: what is reached through one is not of the repo."""

    def __init__(self, repo: Path) -> None:
        self._repo = repo
        self._known: dict[str, bool] = {"": False}

    def lead_to(self, name: str) -> bool:
        """Return whether a folder above a file is a link."""
        folder = name.rpartition("/")[0]
        if folder not in self._known:
            self._known[folder] = self.lead_to(folder) or (self._repo / folder).is_symlink()
        return self._known[folder]


def _is_cache(name: str) -> bool:
    """Bytecode that git knows is kept in view: it is shipped, and would run."""
    return SKIPPED_FOLDERS.intersection(name.split("/")[:-1]) == {"__pycache__"}


def _walk(repo: Path, below: str) -> Iterator[str]:
    for folder, folders, names in os.walk(repo / below, followlinks=False):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS - {"__pycache__"})
        relative = PurePosixPath(Path(folder).relative_to(repo).as_posix())
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        for name in [*names, *links]:
            path = Path(folder, name)
            if _counts(path) and not _is_local_cache(path):
                yield (relative / name).as_posix()


def _is_local_cache(path: Path) -> bool:
    """Return whether a file is bytecode that Python made here and checks against its source.

    Outside git that is what running the code leaves behind. Bytecode that is not checked by time
    (PEP 552: a non-zero flags field) replaces its source, so it stays in view.
    """
    if path.parent.name != "__pycache__" or path.suffix != ".pyc" or path.is_symlink():
        return False
    try:
        with path.open("rb") as stream:
            return stream.read(8)[4:] == bytes(4)
    except OSError:
        return False


def _counts(path: Path) -> bool:
    """Return whether something is a regular file or a link; pipes, sockets, devices are not."""
    try:
        mode = path.lstat().st_mode
    except OSError:  # deleted since git listed it, or a name that the file system refuses
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _roots(files: Iterable[str], by_name: dict[str, Kind]) -> Iterator[tuple[str, Kind]]:
    for file in files:
        folder, _, name = file.rpartition("/")
        if name in by_name:
            yield folder or ".", by_name[name]


def _extension(repo: Path, root: str, kind: Kind, files: Sequence[str], in_git: bool) -> Extension:
    prefix = "" if root == "." else f"{root}/"
    own = tuple(file[len(prefix) :] for file in files if file.startswith(prefix))
    return Extension(path=root, root=repo / root, kind=kind.name, files=own, in_git=in_git)
