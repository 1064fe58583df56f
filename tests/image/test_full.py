"""The target `full`: with its own environments, for use without a network."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.image.rig import REPOSITORY, Runner, Workspace, docker

# One harness instead of two: half the time, and nothing else differs.
HARNESS = "openjiuwen==0.1.16"
# Needs nothing but the harness; what it comes to depends on the version.
EXAMPLE = "examples/versions"


@pytest.fixture(scope="module")
def full() -> str:
    name = "verify-ext:full-under-test"
    flags = ("--network", "host", "--target", "full", "--build-arg", f"HARNESSES={HARNESS}", "--tag", name)
    built = docker("build", "--quiet", *flags, str(REPOSITORY))
    assert built.returncode == 0, built.stderr
    return name


def test_it_needs_no_network(full: str, workspace: Workspace) -> None:
    code, results = workspace.verify(full, (), "--harness", HARNESS, EXAMPLE)
    assert code in (0, 1), results["findings"]
    assert [(each["requirement"], each["canary"]) for each in results["harnesses"]] == [(HARNESS, "pass")]


def test_the_action_uses_its_environments(full: str, workspace: Workspace, open_folder: Path) -> None:
    runner = Runner(workspace, Path(tempfile.mkdtemp(dir=open_folder)), full)
    runner.environment["INPUT_HARNESS"] = HARNESS
    before = docker("volume", "ls", "--quiet").stdout
    code, said = runner.run_all(EXAMPLE)
    assert code in (0, 1), said
    assert "installing" not in said
    assert "cache-key" not in runner.outputs  # what the image brings is not kept by the platform too
    assert docker("volume", "ls", "--quiet").stdout == before
