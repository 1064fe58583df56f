"""The image under test. Without VERIFY_EXT_IMAGE nothing here is collected: `.ci/test-image` names
one, and its run fails where there is no docker."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.image.rig import REPOSITORY, RUNNER, Workspace

if "VERIFY_EXT_IMAGE" not in os.environ:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def image() -> str:
    return os.environ["VERIFY_EXT_IMAGE"]


@pytest.fixture(scope="session")
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter; pytest's own are for their owner alone."""
    with tempfile.TemporaryDirectory(prefix="verify-ext-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="session")
def workspace(open_folder: Path) -> Workspace:
    folder = open_folder / "work space"
    shutil.copytree(
        REPOSITORY / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__")
    )
    cache = open_folder / "cache"
    cache.mkdir()
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost"]
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "examples"]):
        subprocess.run([*git, *command], cwd=folder, check=True)
    for path in (folder, *folder.rglob("*"), cache):
        os.chown(path, *RUNNER, follow_symlinks=False)
    return Workspace(folder, cache)
