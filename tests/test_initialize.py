"""`verify-ext init`: a first acceptance spec, which passes as it is and never replaces a file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import HARNESSES, ROOT
from tests.living import Living
from tests.mutations.edit import replace
from tests.test_run import run
from verify_ext.exit_codes import EXIT_ALLOWED, EXIT_REJECTED, EXIT_USAGE
from verify_ext.kinds import Exercise, Seen
from verify_ext.kinds.harness_package.first_spec import first_spec
from verify_ext.model import Layer, Verdict

HARNESS = ("--harness", HARNESSES["records"])


def draft(living: Living, package: Path) -> dict[str, object]:
    """Write the first spec of a package into it, from what a real construct job saw."""
    (package / "acceptance.json").unlink(missing_ok=True)
    subject = living.read(package)
    seen: dict[str, Seen] = {}

    def watch(exercise: Exercise, what: Seen) -> None:
        seen[exercise.name] = what

    list(living.ready.exercise(subject, living.plan(subject), watch))
    text = first_spec(package.name, subject.checked, seen["construct"].observed)
    (package / "acceptance.json").write_text(text)
    spec: dict[str, object] = json.loads(text)
    return spec


def test_the_first_spec_of_a_good_package_passes(living: Living, good_package: Path) -> None:
    spec = draft(living, good_package)
    assert [key for key in spec if key.endswith("_tests")] == ["tool_tests", "rail_tests", "skill_tests"]
    report = living.report(good_package)
    assert [finding.id for finding in report.findings] == []
    assert report.extensions[0].layers[Layer.L3] is Verdict.PASS
    (run_of_it,) = report.extensions[0].runs
    assert [artifact.format for artifact in run_of_it.artifacts] == ["pptx"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("len(deck.slides)", "1 / 0", "tool_result_failed"),
        ("deck.save(str(path))", "path.touch()", "artifact_format_invalid"),
    ],
)
def test_the_first_spec_sees_a_tool_that_does_not_work(
    old: str, new: str, expected: str, living: Living, good_package: Path
) -> None:
    draft(living, good_package)
    replace(good_package / "tools/deck_tool.py", old, new)
    assert expected in {finding.code for finding in living.findings(good_package)}


def test_the_command_writes_once(tmp_path: Path) -> None:
    package = tmp_path / "deck_maker"
    shutil.copytree(ROOT / "examples/good/deck_maker", package)
    spec = package / "acceptance.json"
    spec.unlink()
    done = run("init", "deck_maker", *HARNESS, cwd=tmp_path, expected=EXIT_ALLOWED)
    assert "deck_maker/acceptance.json is written" in done.stdout
    written = spec.read_bytes()
    done = run("init", "deck_maker", *HARNESS, cwd=tmp_path, expected=EXIT_ALLOWED)
    assert "is there already" in done.stdout
    assert spec.read_bytes() == written


@pytest.mark.parametrize("name", ["acceptance.json", "acceptance.yaml"])
def test_a_link_that_leads_nowhere_is_there_too(name: str, tmp_path: Path) -> None:
    package = tmp_path / "deck_maker"
    shutil.copytree(ROOT / "examples/good/deck_maker", package)
    (package / "acceptance.json").unlink()
    (package / name).symlink_to(tmp_path / "elsewhere")
    done = run("init", "deck_maker", *HARNESS, cwd=tmp_path, expected=EXIT_ALLOWED)
    assert f"deck_maker/{name} is there already" in done.stdout
    assert not (tmp_path / "elsewhere").exists()


def test_nothing_is_written_for_what_does_not_load(tmp_path: Path) -> None:
    package = tmp_path / "deck_maker"
    shutil.copytree(ROOT / "examples/good/deck_maker", package)
    (package / "acceptance.json").unlink()
    replace(package / "tools/deck_tool.py", "class DeckTool", "1 / 0\n\n\nclass DeckTool")
    done = run("init", "deck_maker", *HARNESS, cwd=tmp_path, expected=EXIT_REJECTED)
    assert "module_import_failed/import-raised" in done.stdout
    assert "nothing is written for deck_maker" in done.stdout
    assert not (package / "acceptance.json").exists()


def test_a_path_that_is_not_there_is_said(tmp_path: Path) -> None:
    run("init", "nowhere", *HARNESS, cwd=tmp_path, expected=EXIT_USAGE)
