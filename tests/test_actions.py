"""What users read about the actions agrees with what the actions do, and the actions with the program."""

from __future__ import annotations

import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from verify_ext import cli
from verify_ext.harness.supported import supported_harnesses
from verify_ext.report.publish import outputs
from verify_ext.report.results import load

REPOSITORY = Path(__file__).parents[1]
SCRIPT = (REPOSITORY / "docker/action.sh").read_text()
WORKFLOWS = sorted((REPOSITORY / ".github/workflows").glob("*.yml"))
STAND_INS = sorted((REPOSITORY / ".ci/actions-cache").glob("*/action.yml"))
# What is an argument of the program in a form of its own, or says how it is run.
NO_FLAG = {"paths", "image"}

# Writes its arguments down, and does what the container would: see the mounts, leave results.
DOCKER_STAND_IN = """\
#!/bin/sh
[ "$1" = run ] || exit 0
{ printf '%s\\0' "$@"; echo; } >>"$CALLS"
for out in "$RUNNER_TEMP"/verify-ext.*/out; do
    touch "$out/sentinel"
    echo '{}' >"$out/results.json"
done
"""


def _read(path: str | Path) -> dict[str, Any]:
    loaded = yaml.safe_load((REPOSITORY / path).read_text())
    assert isinstance(loaded, dict)
    return loaded


ROOT = _read("action.yml")
DOCKER = _read("docker/action.yml")
STEPS = {step.get("run", "").rpartition(" ")[2]: step for step in ROOT["runs"]["steps"] if "run" in step}


def _table() -> list[tuple[str, ...]]:
    """Return the rows of the README's table: kind, name, default, which action, meaning."""
    text = (REPOSITORY / "README.md").read_text()
    between = re.search(r"<!-- action:.*?-->(.*?)<!-- /action -->", text, re.DOTALL)
    assert between
    rows = [line.split("|")[1:-1] for line in between[1].splitlines() if line.startswith("| ")]
    return [tuple(cell.strip().strip("`") for cell in row) for row in rows[1:]]


def _variable(name: str) -> str:
    return f"INPUT_{name.upper().replace('-', '_')}"


def test_the_table_of_the_readme_is_the_action() -> None:
    told = {(kind, name): (default, where, text) for kind, name, default, where, text in _table()}
    real = {}
    for name, entry in ROOT["inputs"].items():
        where = "both" if name in DOCKER["inputs"] else "root"
        real["input", name] = (entry["default"], where, entry["description"])
    for name, entry in ROOT["outputs"].items():
        real["output", name] = ("", "both", entry["description"])
    assert {key: value for key, value in told.items() if key[0] != "permission"} == real


def test_both_actions_have_the_same_inputs_and_outputs() -> None:
    assert list(DOCKER["outputs"]) == list(ROOT["outputs"])
    assert [name for name in ROOT["inputs"] if name != "image"] == list(DOCKER["inputs"])
    for name, entry in DOCKER["inputs"].items():
        assert entry["default"] == ROOT["inputs"][name]["default"]


def test_the_permissions_of_the_table_are_those_of_the_example() -> None:
    text = (REPOSITORY / "README.md").read_text()
    example = re.search(r"```yaml\n(on: pull_request.*?)```", text, re.DOTALL)
    assert example
    asked = yaml.safe_load(example[1])["permissions"]
    assert {f"{name}: {right}" for name, right in asked.items()} == {
        name for kind, name, *_ in _table() if kind == "permission"
    }


def test_every_input_reaches_the_script_and_is_used_there() -> None:
    given = {name: value for step in STEPS.values() for name, value in step["env"].items()}
    for name in ROOT["inputs"]:
        assert given[_variable(name)] == f"${{{{ inputs.{name} }}}}"
        assert f"${{{_variable(name)}:-" in SCRIPT
    hyphenated = [f"${{{{ inputs.{name} }}}}" for name in DOCKER["inputs"] if "-" in name]
    assert DOCKER["runs"]["args"] == ["inside", *hyphenated]


@pytest.mark.parametrize("step", ["start", "prepare", "verify"])
def test_each_step_gets_the_inputs_that_it_reads(step: str) -> None:
    """A variable that is not handed over would silently be the default."""
    wanted = {
        "start": {"image", "harness", "require-protections"},
        "prepare": {"paths", "harness"},
        "verify": {"paths", "harness", "timeout", "allow-empty", "require-protections"},
    }
    assert {name for name in STEPS[step]["env"] if name.startswith("INPUT_")} == {
        _variable(name) for name in wanted[step]
    }


def test_the_inputs_are_arguments_of_the_program() -> None:
    for name in set(ROOT["inputs"]) - NO_FLAG:
        assert f"--{name} " in SCRIPT or f"--{name})" in SCRIPT
        parsed = cli._parser().parse_args(["verify", *_sample(name), "--", "examples"])
        assert parsed.paths == [Path("examples")]
    assert cli._parser().parse_args(["prepare", "--harness", "openjiuwen==0.1.16", "--", "-odd"]).paths


def _sample(name: str) -> list[str]:
    values = {"harness": ["openjiuwen==0.1.16"], "timeout": ["30"]}
    return [f"--{name}", *values.get(name, [])]


def test_the_outputs_are_those_that_report_writes() -> None:
    golden = next((REPOSITORY / "tests/golden").glob("*.json"))
    written = {name for name, _ in outputs(load(golden.read_text()))}
    assert set(ROOT["outputs"]) == written | {"results"}
    for name, entry in ROOT["outputs"].items():
        assert f"steps.report.outputs.{name}" in entry["value"]


@pytest.mark.parametrize("path", ["action.yml", *STAND_INS, *WORKFLOWS])
def test_no_expression_stands_inside_a_shell_script(path: str | Path) -> None:
    """What a user or an extension wrote would be executed."""
    document = _read(path)
    jobs = document.get("jobs", {"": document.get("runs")})
    scripts = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert scripts or "uses" in str(jobs)
    assert not [script for script in scripts if "${{" in script]


@pytest.mark.parametrize("path", WORKFLOWS)
def test_workflows_ask_for_nothing_by_default(path: Path) -> None:
    assert _read(path)["permissions"] == {"contents": "read"}


def test_extension_code_runs_with_exactly_these_rights(tmp_path: Path) -> None:
    """The flags, as docker is given them: a stand-in for docker writes its arguments down."""
    calls = _docker_calls(tmp_path)
    assert [call[call.index("IMAGE") + 1] for call in calls] == ["-c", "prepare", "verify", "report"]
    probe, prepare, verify, report = calls
    everywhere = {"--read-only", "--init", "--rm", "--security-opt no-new-privileges", "--cap-drop ALL"}
    everywhere |= {"--memory 4g", "--pids-limit 512"}
    for call in calls:
        assert everywhere <= _flags(call)
        assert not {"--privileged", "--network bridge"} & _flags(call)
        assert "docker.sock" not in " ".join(call)
        assert "TOKEN" not in " ".join(call)
        assert set(_values(call, "--cap-add")) == (
            {"SETUID", "SETGID", "KILL"} if call in (probe, verify) else set()
        )
        assert ("UV_INDEX_OURS_PASSWORD" in _values(call, "--env")) == (call is prepare)
    assert {"--network none"} <= _flags(verify) & _flags(report) & _flags(probe)
    assert "--network host" in _flags(prepare)
    assert _writable(verify) == _writable(probe) == {"/results"}
    assert _writable(prepare) == {"/var/cache/verify-ext", "/downloads"}
    assert _writable(report) == {"/github/file_commands/GITHUB_OUTPUT"}


def _docker_calls(folder: Path) -> list[list[str]]:
    """Run the steps of the action with a `docker` that writes its arguments down; return the runs."""
    for name in ("bin", "temp", "workspace"):
        (folder / name).mkdir()
    fake = folder / "bin/docker"
    fake.write_text(DOCKER_STAND_IN)
    fake.chmod(0o755)
    outputs_file = folder / "outputs"
    outputs_file.touch()
    environment = {
        "CALLS": str(folder / "calls"),
        "PATH": f"{folder}/bin:{_tools()}",
        "RUNNER_TEMP": str(folder / "temp"),
        "GITHUB_WORKSPACE": str(folder / "workspace"),
        "GITHUB_OUTPUT": str(outputs_file),
        "GITHUB_TOKEN": "secret",
        "UV_INDEX_OURS_PASSWORD": "secret",
        "INPUT_IMAGE": "IMAGE",
    }
    for step in ("start", "prepare", "verify", "report"):
        state = dict(line.split("=", 1) for line in outputs_file.read_text().splitlines()).get("state", "")
        subprocess.run(
            [REPOSITORY / "docker/action.sh", step], env=environment | {"VERIFY_EXT_STATE": state}, check=True
        )
    assert not list((folder / "workspace").iterdir())
    return [call.split("\0")[:-1] for call in (folder / "calls").read_text().splitlines()]


def _tools() -> str:
    bash = shutil.which("bash")
    assert bash is not None
    return f"{Path(bash).parent}:/usr/bin:/bin"


def _flags(call: list[str]) -> set[str]:
    before = call[: call.index("IMAGE")]
    return set(before) | {" ".join(pair) for pair in pairwise(before)}


def _values(call: list[str], flag: str) -> list[str]:
    return [value for name, value in pairwise(call) if name == flag]


def _writable(call: list[str]) -> set[str]:
    mounts = _values(call, "--mount")
    assert mounts
    return {mount.split("target=")[1] for mount in mounts if not mount.endswith(",readonly")}


def test_an_unreleased_action_builds_and_a_released_one_is_pinned(tmp_path: Path) -> None:
    """The release's own script, on a copy: both actions run one image, named by digest."""
    released = STEPS["start"]["env"]["RELEASED_IMAGE"], DOCKER["runs"]["image"]
    pinned = re.compile(r"[a-z0-9./_-]+@sha256:[0-9a-f]{64}")
    if released != ("", "../Dockerfile"):
        assert pinned.fullmatch(released[0])
        assert released[1] == f"docker://{released[0]}"
        return
    for path in ("action.yml", "docker/action.yml", ".ci/pin-image"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        shutil.copy2(REPOSITORY / path, tmp_path / path)
    image = f"ghcr.io/owner/verify-ext@sha256:{'a' * 64}"
    subprocess.run([tmp_path / ".ci/pin-image", image], check=True)
    root, docker = (
        yaml.safe_load((tmp_path / path).read_text()) for path in ("action.yml", "docker/action.yml")
    )
    assert root["runs"]["steps"][0]["env"]["RELEASED_IMAGE"] == image
    assert docker["runs"]["image"] == f"docker://{image}"
    assert subprocess.run([tmp_path / ".ci/pin-image", image], check=False).returncode == 1
    assert subprocess.run([tmp_path / ".ci/pin-image", f"{image}:latest"], check=False).returncode == 2


def test_the_image_for_offline_use_brings_the_newest_harness_and_the_oldest_supported() -> None:
    brought = re.search(r'^ARG HARNESSES="(.*)"$', (REPOSITORY / "Dockerfile").read_text(), re.MULTILINE)
    assert brought
    supported = [harness.requirement for harness in supported_harnesses()]
    assert brought[1].split() == [supported[-1], supported[0]]


def test_the_image_knows_no_index() -> None:
    text = (REPOSITORY / "Dockerfile").read_text()
    assert not re.search(r"PIP_|INDEX|index-url|https?://|# syntax=|<<", text)
    assert text.startswith("#")
    assert text.rstrip().endswith("FROM installed AS core")  # the last target is the default
