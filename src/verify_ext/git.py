"""What git knows about a work tree, asked without letting the work tree run anything."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_LIMIT_S = 120


def run_git(folder: Path, *arguments: str) -> bytes | None:
    """Run git in a folder and return its output; None where git or a repository is missing.

    A repository's own configuration can name programs to run (fsmonitor, hooks, external
    diffs); these are switched off. The folder may belong to another user, as in containers.
    """
    command = ["git", "-C", str(folder), "--no-optional-locks"]
    for setting in (
        f"safe.directory={folder}",
        "safe.directory=*",
        "core.fsmonitor=false",
        "core.hooksPath=/dev/null",
        "core.quotePath=false",
        "diff.external=",
    ):
        command += ["-c", setting]
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_")  # a hook's GIT_DIR would send us to another repository
    }
    environment |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
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


def revision(repo: Path) -> tuple[str | None, bool | None]:
    """Return the commit that is checked out and whether the work tree differs from it."""
    commit = run_git(repo, "rev-parse", "HEAD")
    if commit is None:
        return None, None
    changes = run_git(repo, "status", "--porcelain=v1", "-z", "--untracked-files=normal")
    return commit.decode("ascii", "replace").strip(), None if changes is None else bool(changes)
