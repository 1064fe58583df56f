"""Docker as the tests use it, with the flags of action.yml, and a workspace as a runner has it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
# The uid and gid of a hosted runner: what it checks out belongs to neither root nor the jail's user.
RUNNER = (1001, 127)
HARDENING = (
    *("--network", "none", "--read-only", "--tmpfs", "/tmp:rw,exec,nosuid,nodev"),
    *("--security-opt", "no-new-privileges", "--cap-drop", "ALL"),
    *("--cap-add", "SETUID", "--cap-add", "SETGID", "--cap-add", "KILL"),
    *("--memory", "4g", "--pids-limit", "512"),
)


def docker(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False, **options)


@dataclass(frozen=True)
class Workspace:
    """The examples as a repository of a runner's user, and a cache beside it."""

    folder: Path
    cache: Path

    def run(self, image: str, flags: Sequence[str], *arguments: str) -> subprocess.CompletedProcess[str]:
        return docker(
            *("run", "--rm", "--init", *flags),
            *("--volume", f"{self.folder}:/github/workspace:ro"),
            *(image, *arguments),
        )

    def verify(self, image: str, flags: Sequence[str], *arguments: str) -> tuple[int, dict[str, Any]]:
        """Verify with the flags of action.yml; return exit code and results."""
        results = self.cache.parent / "results"
        shutil.rmtree(results, ignore_errors=True)
        results.mkdir()
        results.chmod(0o770)
        os.chown(results, *RUNNER)
        flags = (*HARDENING, "--group-add", str(RUNNER[1]), "--volume", f"{results}:/results", *flags)
        done = self.run(image, flags, "verify", "--output", "/results/results.json", *arguments)
        written = results / "results.json"
        assert written.exists(), done.stdout + done.stderr
        return done.returncode, json.loads(written.read_text())


class Runner:
    """What a job is to the script: a user, a temporary folder, the files for outputs and summary."""

    def __init__(self, workspace: Workspace, folder: Path, image: str) -> None:
        folder.chmod(0o755)
        self.folder = folder
        self.workspace = workspace
        self.script = folder / "checkout/docker/action.sh"
        for name in ("temp", "checkout/docker", "checkout/src"):
            (folder / name).mkdir(parents=True)
        for name in ("outputs", "summary", "checkout/pyproject.toml"):
            (folder / name).touch()
        self.script.write_bytes((REPOSITORY / "docker/action.sh").read_bytes())
        self.script.chmod(0o755)
        for path in folder.rglob("*"):
            os.chown(path, *RUNNER)
        self.environment = {
            "PATH": os.environ["PATH"],
            "DOCKER_HOST": os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock"),
            "RUNNER_TEMP": str(folder / "temp"),
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(workspace.folder),
            "GITHUB_OUTPUT": str(folder / "outputs"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary"),
            "VERIFY_EXT_CACHE": str(workspace.cache),
            "INPUT_IMAGE": image,
            "INPUT_HARNESS": "openjiuwen==0.1.19.post2",
        }

    @property
    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in (self.folder / "outputs").read_text().splitlines())

    def run(self, step: str, paths: str) -> subprocess.CompletedProcess[str]:
        socket = self.environment["DOCKER_HOST"].removeprefix("unix://")
        return subprocess.run(
            [self.script, step],
            env=self.environment
            | {"INPUT_PATHS": paths}
            | ({"VERIFY_EXT_STATE": self.outputs["state"]} if "state" in self.outputs else {}),
            user=RUNNER[0],
            group=RUNNER[1],
            extra_groups=[os.stat(socket).st_gid],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def run_all(self, paths: str) -> tuple[int, str]:
        """Run the steps in a row; return the exit code of `report` and all that was said."""
        said, code = "", 0
        for step in ("start", "prepare", "verify", "report", "clean"):
            done = self.run(step, paths)
            said += done.stdout
            if step == "report":
                code = done.returncode
            else:
                assert done.returncode == 0, said
        return code, said
