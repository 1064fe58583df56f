"""The command line at its edges: outputs that fail, results that lie, arguments that contradict."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import HARNESSES, ROOT
from tests.test_run import COMMAND, run
from verify_ext.exit_codes import EXIT_ALLOWED, EXIT_BUG, EXIT_REJECTED, EXIT_USAGE

GOOD = ROOT / "examples/good"
BROKEN = ROOT / "examples/broken"


@pytest.mark.parametrize(
    "redirection", [">&-", ">/dev/full", "2>&-", "2>/dev/full", ">&- 2>&-", "| head -c 10"]
)
def test_our_own_trouble_never_looks_like_the_extension_s(redirection: str, tmp_path: Path) -> None:
    command = f'"{sys.executable}" -m verify_ext --static "{GOOD}" {redirection}'
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode in (EXIT_ALLOWED, EXIT_BUG, 141)


def test_results_are_written_although_nobody_reads_the_report(tmp_path: Path) -> None:
    command = f'"{sys.executable}" -m verify_ext --static "{GOOD}" --output results.json | true'
    subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, check=False)
    assert json.loads((tmp_path / "results.json").read_text())["gate"]["decision"] == "allow"


def test_an_output_that_cannot_be_written_is_said_before_the_work(tmp_path: Path) -> None:
    done = run("--static", GOOD, "--output", "no/such/folder/results.json", cwd=tmp_path, expected=EXIT_USAGE)
    assert "cannot write" in done.stderr
    assert "deck_maker" not in done.stdout


@pytest.mark.parametrize("output", [".", "", "link", "pipe", "x" * 300, "file/below"])
def test_an_output_that_is_no_file_is_left_alone(output: str, tmp_path: Path) -> None:
    (tmp_path / "target").write_text("precious")
    (tmp_path / "file").write_text("precious")
    (tmp_path / "link").symlink_to("target")
    os.mkfifo(tmp_path / "pipe")
    run("--static", GOOD, "--output", output, cwd=tmp_path, expected=EXIT_USAGE)
    assert (tmp_path / "target").read_text() == (tmp_path / "file").read_text() == "precious"
    assert (tmp_path / "pipe").is_fifo()


def test_code_of_the_current_folder_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "yaml.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')")
    run("--static", GOOD, cwd=tmp_path, expected=EXIT_ALLOWED)
    assert not (tmp_path / "sprung").exists()


def test_any_name_can_be_shown_in_any_encoding(tmp_path: Path) -> None:
    shutil.copytree(GOOD / "deck_maker", tmp_path / "演示")
    command = f'PYTHONIOENCODING=ascii "{sys.executable}" -m verify_ext --static "演示"'
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == EXIT_REJECTED, done.stderr


def test_an_old_result_does_not_survive_a_run_that_dies(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text("old")
    run("--static", "nowhere", "--output", "results.json", cwd=tmp_path, expected=EXIT_USAGE)
    assert json.loads((tmp_path / "results.json").read_text())["extensions"] == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.json", "scratch"]


@pytest.fixture
def results(tmp_path: Path) -> dict[str, Any]:
    run("--static", BROKEN, "--output", "results.json", cwd=tmp_path, expected=EXIT_REJECTED)
    loaded: dict[str, Any] = json.loads((tmp_path / "results.json").read_text())
    return loaded


def report(results: dict[str, Any], folder: Path, expected: int) -> str:
    (folder / "edited.json").write_text(json.dumps(results))
    done = run("report", "edited.json", cwd=folder, expected=expected)
    return done.stdout + done.stderr


def test_a_report_says_what_verify_said(results: dict[str, Any], tmp_path: Path) -> None:
    assert "Rejected" in report(results, tmp_path, EXIT_REJECTED)


def test_a_gate_that_does_not_follow_from_the_verdicts_is_refused(
    results: dict[str, Any], tmp_path: Path
) -> None:
    results["gate"] |= {"decision": "allow", "exit_code": 0}
    assert "contradict themselves" in report(results, tmp_path, EXIT_USAGE)


def test_verdicts_that_do_not_follow_from_the_runs_are_refused(
    results: dict[str, Any], tmp_path: Path
) -> None:
    for extension in results["extensions"]:
        extension["layers"]["L1"] = "pass"
    results["gate"] |= {"decision": "allow", "exit_code": 0}
    assert "contradict themselves" in report(results, tmp_path, EXIT_USAGE)


def test_a_gate_that_requires_nothing_is_refused(results: dict[str, Any], tmp_path: Path) -> None:
    results["gate"] |= {"decision": "allow", "exit_code": 0, "required": []}
    assert "does not require L1" in report(results, tmp_path, EXIT_USAGE)


def test_two_ways_to_name_the_harness_contradict_each_other(tmp_path: Path) -> None:
    arguments = ("--harness", HARNESSES["labels"], "--harness-python", sys.executable)
    done = run(*arguments, GOOD, "--output", "results.json", cwd=tmp_path, expected=EXIT_USAGE)
    assert "config_invalid/harness-twice" in done.stdout


def test_prepare_says_that_a_path_is_missing(tmp_path: Path) -> None:
    done = run("prepare", "nowhere", "--harness", HARNESSES["labels"], cwd=tmp_path, expected=EXIT_USAGE)
    assert "config_invalid/path-missing" in done.stdout


@pytest.mark.parametrize("path", ["x" * 300, "a\0b".replace("\0", "\n"), "\udcff"])
def test_a_path_that_no_file_can_have(path: str, tmp_path: Path) -> None:
    run("--static", path, cwd=tmp_path, expected=EXIT_USAGE)


def test_two_machines_say_the_same(tmp_path: Path) -> None:
    """Another cache, another scratch, another place of the repo: the same results."""
    from verify_ext.report.results import comparable

    said = []
    for place in ("one", "another/place"):
        folder = tmp_path / place
        shutil.copytree(BROKEN, folder / "repo")
        init = folder / "repo/ticket_triage/tools/labels_tool.py"
        init.write_text(init.read_text() + "\nfrom openjiuwen.harness.deep_agent import Nothing\n")
        init.write_text(init.read_text().replace('LABELS = Path("labels.txt")', "LABELS = Path(__file__)"))
        run("--harness", HARNESSES["labels"], "--output", "results.json", "repo", cwd=folder, expected=1)
        said.append(comparable(json.loads((folder / "results.json").read_text())))
    assert said[0] == said[1]
    assert str(tmp_path) not in json.dumps(said)
    assert "site-packages" not in json.dumps(said)
    assert COMMAND
