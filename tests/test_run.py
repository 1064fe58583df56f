"""Whole runs of the command line in real harnesses."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conftest import HARNESSES, ROOT
from tests.mutations.edit import append

CANARY = ROOT / "src/verify_ext/harness/canary/verify_ext_canary"
COMMAND = [sys.executable, "-m", "verify_ext"]
TOOL = "tools/canary_tool.py"

ENDINGS = {
    "leaves": ("import os\nos._exit(0)", "extension_crashed/no-result"),
    "exits": ("import sys\nsys.exit(0)", "extension_crashed/exit-called"),
    "segfaults": ("import ctypes\nctypes.string_at(0)", "extension_crashed/no-result"),
    "hangs": ("import time\ntime.sleep(10_000)", "extension_timed_out/deadline"),
    "floods": ("while True:\n    print('flood' * 100_000)", "resource_limit_exceeded/output"),
    "forks": (
        "import os, time\nwhile True:\n    if os.fork() == 0:\n        time.sleep(10_000)",
        "resource_limit_exceeded/processes",
    ),
}


def environment_of(folder: Path) -> dict[str, str]:
    """Return variables for a run that keeps its scratch below `folder`."""
    (folder / "scratch").mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    return {**kept, "TMPDIR": str(folder / "scratch")}


def left_by_run(folder: Path) -> list[object]:
    """Return what a run left: files of its scratch, processes that work in it."""
    processes: list[object] = []
    for process in psutil.process_iter(["cwd"]):
        if str(process.info["cwd"] or "").startswith(str(folder / "scratch")):
            processes.append(process)
    return [*processes, *(folder / "scratch").iterdir()]


def run(*arguments: str | Path, cwd: Path, expected: int) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, arguments)]
    environment = environment_of(cwd)
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == expected, done.stdout + done.stderr
    return done


def copies(tree: Path, names: list[str]) -> list[Path]:
    return [Path(shutil.copytree(CANARY, tree / name / CANARY.name)) for name in names]


@pytest.mark.parametrize("contract", sorted(HARNESSES))
def test_six_of_thirty_that_end_badly_cost_the_others_nothing(contract: str, tmp_path: Path) -> None:
    good = copies(tmp_path, [f"good-{number:02}" for number in range(24)])
    for name, (text, _) in ENDINGS.items():
        append(copies(tmp_path, [f"good-12-{name}"])[0] / TOOL, text)
    run(
        "--harness", HARNESSES[contract], "--timeout", "20", "--output", "results.json", ".",
        cwd=tmp_path, expected=1,
    )  # fmt: skip
    results = json.loads((tmp_path / "results.json").read_text())
    layers = {each["path"]: each["layers"] for each in results["extensions"]}
    assert len(layers) == len(good) + len(ENDINGS) == 30
    for package in good:
        path = package.relative_to(tmp_path).as_posix()
        assert layers[path] == {"L1": "pass", "L2": "pass", "L3": "pass"}, path
    blamed = {each["extension"]: f"{each['code']}/{each['rule']}" for each in results["findings"]}
    assert blamed == {f"good-12-{name}/{CANARY.name}": rule for name, (_, rule) in ENDINGS.items()}
    for name in ENDINGS:
        assert layers[f"good-12-{name}/{CANARY.name}"]["L1"] == "fail"
    places = {each["extension"]: each["location"]["path"] for each in results["findings"]}
    for name in ("exits", "segfaults", "hangs"):  # those that can say where they were
        assert places[f"good-12-{name}/{CANARY.name}"].endswith(TOOL), name
    assert left_by_run(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_cancelled_run_keeps_what_is_done(number: signal.Signals, tmp_path: Path) -> None:
    copies(tmp_path, ["a-good"])
    (hanging,) = copies(tmp_path, ["b-hangs"])
    append(hanging / TOOL, ENDINGS["hangs"][0])
    arguments = ["--harness", HARNESSES["labels"], "--timeout", "600", "--output", "results.json", "."]
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=tmp_path,
        env=environment_of(tmp_path),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "a-good" in line and ": accept in " in line:
            break
    process.send_signal(number)
    process.stderr.read()
    assert process.wait() == 128 + number
    results = json.loads((tmp_path / "results.json").read_text())
    layers = {each["path"].partition("/")[0]: each["layers"] for each in results["extensions"]}
    assert layers["a-good"] == {"L1": "pass", "L2": "pass", "L3": "pass"}
    assert layers["b-hangs"] == {"L1": "unchecked", "L2": "unchecked", "L3": "unchecked"}
    assert results["findings"] == []
    assert results["gate"]["decision"] == "wait"
    assert left_by_run(tmp_path) == []


def test_two_harnesses_in_one_run_say_which_accepts_what(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    done = run(
        "examples/versions", "--output", "results.json",
        *(part for harness in HARNESSES.values() for part in ("--harness", harness)),
        cwd=tmp_path, expected=1,
    )  # fmt: skip
    results = json.loads((tmp_path / "results.json").read_text())
    (extension,) = results["extensions"]
    assert {each["harness"]: each["layers"]["L2"] for each in extension["runs"]} == {
        HARNESSES["labels"]: "fail",
        HARNESSES["records"]: "pass",
    }
    assert [each["contract"] for each in results["harnesses"]] == ["labels", "records"]
    errors = [each for each in results["findings"] if each["severity"] == "error"]
    assert [(each["code"], each["harness"]) for each in errors] == [("skill_not_loaded", HARNESSES["labels"])]
    assert "0.1.16" in done.stdout


def test_the_examples_give_what_the_readme_says(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    run("examples", "--output", "results.json", cwd=tmp_path, expected=1)
    results = json.loads((tmp_path / "results.json").read_text())
    layers = {each["name"]: each["layers"] for each in results["extensions"]}
    assert layers["deck_maker"] == {"L1": "pass", "L2": "pass", "L3": "pass"}
    assert layers["meeting_notes"]["L1"] == "fail"
    assert layers["ticket_triage"]["L1"] == "fail"
    assert not [each for each in results["findings"] if "good/" in each["extension"]]
    for each in results["findings"]:
        place = each["location"]
        line = (tmp_path / place["path"]).read_text().splitlines()[place["line"] - 1]
        assert line.startswith(place["text"][:100])


@pytest.fixture(scope="module")
def broken_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An openjiuwen 0.1.16 beside a filelock that it cannot read skills with."""
    import uv

    folder = tmp_path_factory.mktemp("broken")
    tool = uv.find_uv_bin()
    subprocess.run([tool, "venv", "--quiet", "--python", sys.executable, folder / "environment"], check=True)
    python = folder / "environment/bin/python"
    packages = ["openjiuwen==0.1.16", "filelock>=4"]
    subprocess.run([tool, "pip", "install", "--quiet", "--python", python, *packages], check=True)
    return python


def test_a_broken_environment_blames_nobody(broken_environment: Path, tmp_path: Path) -> None:
    copies(tmp_path, ["good"])
    done = run(
        "--harness-python", broken_environment, "--output", "results.json", ".", cwd=tmp_path, expected=4
    )
    results = json.loads((tmp_path / "results.json").read_text())
    assert [f"{each['code']}/{each['rule']}" for each in results["findings"]] == [
        "harness_environment_broken/canary-failed"
    ]
    assert results["findings"][0]["extension"] is None
    assert results["findings"][0]["fault"] == "environment"
    (extension,) = results["extensions"]
    assert extension["layers"]["L2"] == "error"
    assert results["harnesses"][0]["canary"] == "error"
    assert "not your change" in done.stdout.lower()


def test_a_harness_that_does_not_start_blames_nobody(tmp_path: Path) -> None:
    import uv

    tool, python = uv.find_uv_bin(), tmp_path / "environment/bin/python"
    subprocess.run([tool, "venv", "--quiet", "--python", sys.executable, python.parent.parent], check=True)
    bare = ["--no-deps", "openjiuwen==0.1.16"]
    subprocess.run([tool, "pip", "install", "--quiet", "--python", python, *bare], check=True)
    copies(tmp_path / "repo", ["good"])
    run("--harness-python", python, "--output", "../results.json", ".", cwd=tmp_path / "repo", expected=4)
    results = json.loads((tmp_path / "results.json").read_text())
    (finding,) = results["findings"]
    assert f"{finding['code']}/{finding['rule']}" == "harness_environment_broken/harness-does-not-start"
    assert "ModuleNotFoundError" in finding["actual"]


def test_nothing_found_is_not_a_success(tmp_path: Path) -> None:
    done = run(".", cwd=tmp_path, expected=3)
    assert "no extension was found" in done.stdout
    run(".", "--allow-empty", cwd=tmp_path, expected=0)


def test_a_missing_path_is_a_usage_error(tmp_path: Path) -> None:
    done = run("nowhere", cwd=tmp_path, expected=2)
    assert "nowhere does not exist" in done.stdout


def test_static_needs_no_harness(tmp_path: Path) -> None:
    copies(tmp_path, ["good"])
    run("--static", "--output", "results.json", ".", cwd=tmp_path, expected=0)
    results: dict[str, Any] = json.loads((tmp_path / "results.json").read_text())
    assert results["harnesses"] == []
    assert results["extensions"][0]["layers"] == {"L1": "pass", "L2": "unchecked", "L3": "unchecked"}


def test_the_report_in_the_readme_is_what_is_printed(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    said = run("--static", "examples/broken/meeting_notes", cwd=tmp_path, expected=1).stdout
    block = (ROOT / "README.md").read_text(encoding="utf-8").split("```text\n")[1].split("\n```")[0]
    assert said.startswith(block)
