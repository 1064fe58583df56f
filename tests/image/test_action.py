"""docker/action.sh with docker, as a runner's user: every step of action.yml but the platform's cache."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.image.rig import RUNNER, Runner, Workspace, docker


@pytest.fixture
def runner(workspace: Workspace, open_folder: Path, image: str) -> Runner:
    return Runner(workspace, Path(tempfile.mkdtemp(dir=open_folder)), image)


@pytest.mark.parametrize(
    ("paths", "code", "decision"), [("examples/good", 0, "allow"), ("examples/broken", 1, "reject")]
)
def test_the_steps_of_the_action(runner: Runner, paths: str, code: int, decision: str) -> None:
    found, said = runner.run_all(paths)
    assert found == code, said
    assert runner.outputs["decision"] == decision
    assert runner.outputs["exit-code"] == str(code)
    results = Path(runner.outputs["results"])
    assert json.loads(results.read_text())["gate"]["decision"] == decision
    assert (results.stat().st_uid, results.stat().st_mode & 0o777) == (RUNNER[0], 0o644)
    assert (runner.folder / "summary").stat().st_size > 0
    assert said.count("::error ") == int(runner.outputs["errors"]) > 0 or code == 0


def test_it_leaves_nothing_behind(runner: Runner) -> None:
    runner.run_all("examples/good")
    status = ["git", "-c", "safe.directory=*", "status", "--porcelain", "--ignored"]
    left = subprocess.run(status, cwd=runner.workspace.folder, capture_output=True, text=True, check=True)
    assert left.stdout == ""
    assert not (Path(runner.outputs["state"]) / "out").exists()
    owners = {path.stat().st_uid for path in runner.folder.rglob("*")}
    assert owners == {RUNNER[0]}
    assert docker("ps", "--all", "--quiet").stdout == ""


def test_in_a_job_container_it_names_the_other_door(runner: Runner) -> None:
    """The script sees another file system than docker's daemon, which makes empty folders of it."""
    socket = runner.environment["DOCKER_HOST"].removeprefix("unix://")
    client = "/usr/bin/docker"
    folders = {
        str(runner.folder / "checkout"): "/__w/_actions/verify-ext",
        str(runner.workspace.folder): "/__w/repository",
        socket: socket,
        client: client,
    }
    environment = {
        "GITHUB_WORKSPACE": "/__w/repository",
        "RUNNER_TEMP": "/tmp",
        "INPUT_IMAGE": runner.environment["INPUT_IMAGE"],
        "DOCKER_HOST": runner.environment["DOCKER_HOST"],
    }
    done = docker(
        *("run", "--rm", "--network", "none", "--entrypoint", "/__w/_actions/verify-ext/docker/action.sh"),
        *(flag for outer, inner in folders.items() for flag in ("--volume", f"{outer}:{inner}")),
        *(flag for name, value in environment.items() for flag in ("--env", f"{name}={value}")),
        *(runner.environment["INPUT_IMAGE"], "start"),
    )
    assert done.returncode == 4, done.stdout + done.stderr
    assert "docker/action.yml" in done.stdout


def test_an_image_that_cannot_be_had_is_not_your_change(runner: Runner) -> None:
    runner.environment["INPUT_IMAGE"] = "localhost:9/nobody/nothing@sha256:" + "0" * 64
    done = runner.run("start", "examples")
    assert done.returncode == 4
    assert "could not be pulled, three times. Not your change." in done.stdout
