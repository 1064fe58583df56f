"""`verify-ext artifact`: the usual results, exit codes and reports for files by themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import office
from tests.mutations import artifacts as mutations
from verify_ext.report.results import load


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "verify_ext.cli", "artifact", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)


def test_good_files_pass(tmp_path: Path) -> None:
    (tmp_path / "deck.pptx").write_bytes(office.pptx())
    (tmp_path / "data.json").write_bytes(b'{"a": 1}')
    done = run(tmp_path, "deck.pptx", "data.json", "--output", "results.json")
    assert done.returncode == 0, done.stdout
    assert "deck.pptx: pptx, slides 2" in done.stdout
    report = load((tmp_path / "results.json").read_text())
    assert [extension.kind for extension in report.extensions] == ["artifact", "artifact"]
    assert report.extensions[1].runs[0].artifacts[0].facts == {"slides": 2}
    assert report.extensions[1].digest.startswith("sha256:")


def test_each_bad_file_has_its_finding(tmp_path: Path) -> None:
    name, data = mutations.unknown_shape()
    (tmp_path / name).write_bytes(data)
    done = run(tmp_path, name, "none.pdf", "--output", "results.json")
    assert done.returncode == 1
    found = json.loads((tmp_path / "results.json").read_text())["findings"]
    assert [f"{each['code']}/{each['rule']}" for each in found] == [
        "artifact_not_created/file-missing",
        "artifact_format_invalid/pptx-shape-unknown",
    ]


def test_what_nobody_knows_has_not_passed(tmp_path: Path) -> None:
    (tmp_path / "notes.xyz").write_text("These are notes.")
    done = run(tmp_path, "notes.xyz")
    assert done.returncode == 4
    assert "artifact_format_invalid/format-unknown" in done.stdout
    assert run(tmp_path, "notes.xyz", "--format", "json").returncode == 1


def test_an_unknown_format_is_a_usage_error(tmp_path: Path) -> None:
    done = run(tmp_path, "x", "--format", "powerpoint")
    assert done.returncode == 2
    assert "known are bmp, csv" in done.stderr


@pytest.mark.parametrize("name", [b"a\nb.json", b"\x1b[31mred.json", b"::error::x.json", b"\xff\xfe.json"])
def test_hostile_names(name: bytes, tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(name)).write_bytes(b'{"a": NaN}')
    done = run(tmp_path, os.fsdecode(name), "--output", "results.json")
    assert done.returncode == 1, done.stderr
    assert "\x1b[31m" not in done.stdout
    assert not any(line.startswith("::error::x") for line in done.stdout.splitlines())
    assert json.loads((tmp_path / "results.json").read_text())["findings"][0]["rule"] == "json-constant"
