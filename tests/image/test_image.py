"""The image as it is shipped: what it is, and that it judges as the program in a clone does."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.image.rig import HARDENING, REPOSITORY, RUNNER, Workspace, docker
from verify_ext.report.results import comparable

HARNESSES = ("--harness", "openjiuwen==0.1.16", "--harness", "openjiuwen==0.1.19.post2")
SIZE_LIMIT = 120_000_000

Cache = tuple[str, ...]


@pytest.fixture(scope="module")
def cache(image: str, workspace: Workspace) -> Cache:
    """Flags that mount, read-only, what `prepare` has put into a volume as the runner's user."""
    mount = f"{workspace.cache}:/var/cache/verify-ext"
    flags = ("--network", "host", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--volume", mount)
    user = ("--user", "{}:{}".format(*RUNNER))
    done = workspace.run(image, (*flags, *user), "prepare", *HARNESSES, "examples")
    assert done.returncode == 0, done.stdout + done.stderr
    return ("--volume", f"{mount}:ro")


def _locally(workspace: Workspace, folder: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run the program of this repository on the same workspace, without a container."""
    results = folder / "results.json"
    git = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    done = subprocess.run(
        [REPOSITORY / "entrypoint", "--output", results, *arguments],
        cwd=workspace.folder,
        env=os.environ | git,
        capture_output=True,
        text=True,
        check=False,
    )
    assert results.exists(), done.stdout + done.stderr
    return done.returncode, json.loads(results.read_text())


def test_it_is_configured_for_both_actions(image: str) -> None:
    config = json.loads(docker("image", "inspect", image).stdout)[0]["Config"]
    assert config["Entrypoint"] == ["/opt/verify-ext/entrypoint"]
    assert config["WorkingDir"] == "/github/workspace"
    assert config["User"] == ""
    names = {entry.partition("=")[0] for entry in config["Env"]}
    assert {"VERIFY_EXT_CACHE", "UV_CACHE_DIR"} <= names
    assert not {name for name in names if "INDEX" in name or name.startswith("PIP_")}
    assert config["Labels"]["org.opencontainers.image.title"] == "verify-ext"


def test_it_is_small(image: str) -> None:
    done = subprocess.run(
        ["sh", "-c", 'docker save "$0" | gzip | wc -c', image], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) <= SIZE_LIMIT


def test_it_starts_at_once_without_anything(image: str) -> None:
    flags = ("--network", "none", "--read-only", "--user", "4242:4242", "--cap-drop", "ALL")
    done = docker("run", "--rm", *flags, image, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, "verify-ext 0.1.0\n", "")


@pytest.mark.parametrize(("paths", "code"), [("examples/good", 0), ("examples/broken", 1)])
def test_it_judges_as_the_program_in_a_clone(
    image: str, workspace: Workspace, cache: Cache, tmp_path: Path, paths: str, code: int
) -> None:
    inside = workspace.verify(image, cache, *HARNESSES, paths)
    outside = _locally(workspace, tmp_path, *HARNESSES, paths)
    assert (inside[0], outside[0]) == (code, code)
    assert comparable(inside[1]) == comparable(outside[1])
    assert inside[1]["revision"]["dirty"] is False


# What code would do that wants out of the container. Run as its root: the jail is not asked.
HOSTILE = """
import os, socket

for action in (
    lambda: socket.create_connection(("192.0.2.1", 53), timeout=3),
    lambda: open("/github/workspace/written", "w"),
    lambda: open("/var/cache/verify-ext/written", "w"),
    lambda: open("/opt/verify-ext/written", "w"),
    lambda: os.chmod("/", 0o777),
    lambda: os.mknod("/tmp/disk", 0o60600, os.makedev(254, 0)),
    lambda: os.chown("/tmp", 1001, 127),
    lambda: os.stat("/var/run/docker.sock"),
):
    try:
        action()
    except OSError as error:
        print(type(error).__name__)
    else:
        print("done")
print([name for name in os.environ if "TOKEN" in name or name.startswith(("GITHUB_", "ACTIONS_"))])
"""


def test_the_container_holds_its_own_root(image: str, workspace: Workspace, cache: Cache) -> None:
    done = workspace.run(image, (*HARDENING, *cache, "--entrypoint", "python3"), "-c", HOSTILE)
    *outcomes, variables = done.stdout.splitlines()
    assert len(outcomes) == 8
    assert "done" not in outcomes
    assert variables == "[]"


def test_the_jail_is_complete_in_the_container(image: str, workspace: Workspace, cache: Cache) -> None:
    arguments = ("--require-protections", *HARNESSES[:2], "examples/good")
    code, results = workspace.verify(image, cache, *arguments)
    assert code == 0, results["findings"]
    assert results["protections"]["uid"] > 0


def test_only_root_may_write_the_results(image: str, tmp_path: Path) -> None:
    """What the jail relies on where Landlock is missing: --group-add is lost with the user id."""
    tmp_path.chmod(0o770)
    os.chown(tmp_path, *RUNNER)
    program = (
        "import os; open('/results/by-root', 'w'); os.setgroups([]); os.setgid(65534); os.setuid(65534);"
        "open('/results/by-nobody', 'w')"
    )
    mount = ("--group-add", str(RUNNER[1]), "--volume", f"{tmp_path}:/results", "--entrypoint", "python3")
    done = docker("run", "--rm", *HARDENING, *mount, image, "-c", program)
    assert "PermissionError" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["by-root"]


def test_without_a_prepared_environment_nobody_is_blamed(image: str, workspace: Workspace) -> None:
    code, results = workspace.verify(image, (), *HARNESSES[:2], "examples/good")
    assert (code, results["gate"]["decision"]) == (4, "manual_review")
    assert {finding["fault"] for finding in results["findings"] if finding["severity"] == "error"} == {
        "environment"
    }


def test_the_plain_command_of_an_author(image: str, workspace: Workspace, cache: Cache) -> None:
    """`docker run --rm -v "$PWD:/github/workspace" IMAGE`, as root and with all that docker gives."""
    writable = ("--network", "host", cache[0], cache[1].removesuffix(":ro"))
    done = workspace.run(image, writable, *HARNESSES[2:], "examples/good")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "deck_maker" in done.stdout
