"""The target `full`: with its own environments, for use without a network."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.image.rig import REPOSITORY, Runner, Workspace, docker

HARNESSES = ["openjiuwen==0.1.16", "openjiuwen==0.1.19.post2"]
# Needs nothing but the harness; one of the two loads it (the example says why).
EXAMPLE = "examples/versions"


@pytest.fixture(scope="module")
def full() -> str:
    name = "verify-ext:full-under-test"
    built = docker(
        *("build", "--quiet", "--network", "host", "--target", "full", "--tag", name, str(REPOSITORY))
    )
    assert built.returncode == 0, built.stderr
    return name


def test_it_needs_no_network(full: str, workspace: Workspace) -> None:
    flags = [flag for harness in HARNESSES for flag in ("--harness", harness)]
    code, results = workspace.verify(full, (), *flags, EXAMPLE)
    assert code in (0, 1), results["findings"]
    assert [(each["requirement"], each["canary"]) for each in results["harnesses"]] == [
        (harness, "pass") for harness in HARNESSES
    ]


def test_the_action_uses_its_environments(full: str, workspace: Workspace, open_folder: Path) -> None:
    runner = Runner(workspace, Path(tempfile.mkdtemp(dir=open_folder)), full)
    before = docker("volume", "ls", "--quiet").stdout
    code, said = runner.run_all(EXAMPLE)
    assert code in (0, 1), said
    assert "installing" not in said
    assert "cache-key" not in runner.outputs  # what the image brings is not kept by the platform too
    assert docker("volume", "ls", "--quiet").stdout == before
