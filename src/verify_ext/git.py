"""What git knows about a work tree, asked without letting the work tree run anything."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

_LIMIT_S = 120


# The folder may belong to another user, as in containers; it may name programs to run.
_SETTINGS = (
    "safe.directory=*",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.quotePath=false",
    "diff.external=",
)


def run_git(folder: Path, *arguments: str, settings: Sequence[str] = ()) -> bytes | None:
    """Run git in a folder and return its output; None where git or a repository is missing.

    A repository's own configuration can name programs to run: fsmonitor, hooks and external
    diffs are switched off here, filters by `settings` (`_without_filters`) where content is read.
    """
    command = ["git", "-C", str(folder), "--no-optional-locks"]
    for setting in (*_SETTINGS, *settings):
        command += ["-c", setting]
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_")  # a hook's GIT_DIR would send us to another repository
    }
    # A path is a path: `a*` names one folder, not every one that begins with an a.
    environment |= {"GIT_TERMINAL_PROMPT": "0", "GIT_LITERAL_PATHSPECS": "1", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            [*command, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def top_level(folder: Path) -> Path | None:
    """Return the root of the work tree that a folder is in, None if it is in none."""
    output = run_git(folder, "rev-parse", "--show-toplevel")
    return Path(os.fsdecode(output.rstrip(b"\n"))) if output else None


def listed_files(repo: Path, below: str) -> list[str] | None:
    """Return the files below a repo-relative folder that git tracks or would add, sorted.

    None where git has nothing to say. Paths are POSIX and relative to `repo`.
    """
    arguments = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", below or ".")
    output = run_git(repo, *arguments)
    if output is None:
        return None
    return sorted({os.fsdecode(name) for name in output.split(b"\0") if name})


def _without_filters(repo: Path) -> list[str]:
    """Return settings that switch off every filter that the configuration names.

    `git status` runs the clean filter of a file to see whether it has changed.
    """
    names = run_git(repo, "config", "--null", "--name-only", "--get-regexp", r"^filter\.")
    filters = {os.fsdecode(name).rpartition(".")[0] for name in (names or b"").split(b"\0") if name}
    return [
        f"{name}.{key}"
        for name in sorted(filters)
        for key in ("clean=", "smudge=", "process=", "required=false")
    ]


def revision(repo: Path) -> tuple[str | None, bool | None]:
    """Return the commit that is checked out and whether the work tree differs from it."""
    commit = run_git(repo, "rev-parse", "HEAD")
    if commit is None:
        return None, None
    status = ("status", "--porcelain=v1", "-z", "--untracked-files=normal")
    changes = run_git(repo, *status, settings=_without_filters(repo))
    return commit.decode("ascii", "replace").strip(), None if changes is None else bool(changes)
