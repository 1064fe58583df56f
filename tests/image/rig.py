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
