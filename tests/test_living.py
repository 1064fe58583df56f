"""Packages that only the living harness can tell from the good one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace as changed
from pathlib import Path

import pytest

from tests.living import Living
from tests.mutations import harmless, harness_package_live
from tests.mutations.edit import append, replace
from verify_ext.model import Layer, Severity, Verdict

Mutation = Callable[[Path], None]
CHANGES_WHAT_IS_CALLED = ("no_requirements", "skill_description_in_a_block", "skills_without_value")
"""Variants that load, and are no longer what the package's acceptance spec is about."""
MUTATIONS = [
    function
    for name, function in inspect.getmembers(harness_package_live, inspect.isfunction)
    if function.__module__ == harness_package_live.__name__ and not name.startswith("_")
]


def expected(mutation: Mutation, contract: str) -> list[str]:
    """Return the errors that a mutation's docstring names for a contract."""
    lines = []
    for line in inspect.cleandoc(mutation.__doc__ or "").splitlines():
        where, colon, rule = line.partition(": ")
        if not line:
            break
        if not colon or where == contract:
            lines.append(rule if colon else line)
    return sorted(lines)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda function: function.__name__)
def test_a_mutation_gives_its_rule_and_nothing_else(
    mutation: Mutation, living: Living, good_package: Path
) -> None:
    mutation(good_package)
    found = [each for each in living.findings(good_package) if each.severity is Severity.ERROR]
    assert sorted(each.id for each in found) == expected(mutation, living.contract)
    for finding in found:
        assert finding.location.path.startswith("deck_maker/")
        assert finding.location.line >= 1
        assert finding.message
        assert "{" not in finding.message.replace("{'", "")


def test_the_good_package_passes_in_silence(living: Living, good_package: Path) -> None:
    report = living.report(good_package)
    assert report.findings == ()
    (extension,) = report.extensions
    assert extension.layers == {
        Layer.L1: Verdict.PASS,
        Layer.L2: Verdict.PASS,
        Layer.L3: Verdict.PASS,
    }
    (run,) = extension.runs
    assert {each.id for each in run.components} == {
        "rail:RequestLogRail",
        "tool:DeckTool",
        "skill:deck-writing",
    }
    assert all(each.verdicts[Layer.L2] is Verdict.PASS for each in run.components)


def test_skill_folders_may_be_written_in_any_way(living: Living, good_package: Path) -> None:
    replace(good_package / "harness_config.yaml", "      - skills\n", "      - ./skills/../skills/\n")
    assert [each.id for each in living.findings(good_package)] == []


def test_a_skill_folder_may_be_a_link(living: Living, good_package: Path) -> None:
    (good_package / "skills").rename(good_package / "kept")
    (good_package / "skills").symlink_to("kept")
    report = living.report(good_package)
    assert [each.id for each in report.findings if each.severity is Severity.ERROR] == []
    assert report.extensions[0].layers[Layer.L2] is Verdict.PASS


def test_a_skill_folder_named_itself(living: Living, good_package: Path) -> None:
    replace(good_package / "harness_config.yaml", "      - skills\n", "      - skills/deck-writing\n")
    errors = [each.id for each in living.findings(good_package) if each.severity is Severity.ERROR]
    assert errors == ([] if living.contract == "records" else ["skill_not_loaded/not-found"])


def test_what_changes_meanwhile_is_not_judged(living: Living, good_package: Path) -> None:
    subject = living.read(good_package)
    append(good_package / "state.py", "# one more line")
    results = list(living.ready.exercise(subject, living.plan(subject)))
    assert [each.id for result in results for each in result.findings] == [
        "environment_error/changed-meanwhile"
    ]
    assert [result.verdict for result in results] == [Verdict.ERROR, Verdict.SKIPPED, Verdict.SKIPPED]


def test_requirements_that_break_the_harness_are_a_conflict(
    living: Living, good_package: Path, tmp_path: Path
) -> None:
    """What the harness uses only where it is there can break it."""
    (tmp_path / "beside").mkdir()
    name = "redis" if living.contract == "records" else "verify_ext_nothing"
    (tmp_path / f"beside/{name}.py").write_text("raise SystemExit('I am no redis')")
    subject = living.read(good_package)
    plan = living.plan(subject)
    plan = changed(plan, paths=(*plan.paths, tmp_path / "beside"))
    results = list(living.ready.exercise(subject, plan))
    found = [each.id for result in results for each in result.findings]
    assert found == (["dependency_conflict/breaks-harness"] if living.contract == "records" else [])


@pytest.mark.parametrize(
    "variant",
    [
        function
        for name, function in inspect.getmembers(harmless, inspect.isfunction)
        if function.__module__ == harmless.__name__ and not name.startswith("_")
    ],
    ids=lambda function: function.__name__,
)
def test_a_harmless_variant_gives_no_finding(variant: Mutation, living: Living, good_package: Path) -> None:
    """Noisy output, odd line ends, Chinese text, licence headers, imports of every kind …"""
    variant(good_package)
    if variant.__name__ in CHANGES_WHAT_IS_CALLED:
        (good_package / "acceptance.json").unlink()
    (manifest,) = good_package.parent.rglob("harness_config.yaml")
    report = living.report(manifest.parent)
    assert {each.id for each in report.findings} <= {"acceptance_spec_missing/no-spec"}
    assert [each.layers[Layer.L2] for each in report.extensions] == [Verdict.PASS]


def test_a_job_that_cannot_be_started_blames_nobody(
    living: Living, good_package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = living.ready.runner.session
    # More memory than a limit can say: confining the job fails before the extension is touched.
    monkeypatch.setattr(session, "limits", changed(session.limits, memory_bytes=1 << 70))
    report = living.report(good_package)
    assert [each.id for each in report.findings] == ["environment_error/job-not-started"]
    assert report.extensions[0].layers[Layer.L1] is Verdict.ERROR
    assert report.gate.exit_code == 4


def test_a_scratch_folder_that_cannot_be_written_blames_nobody(
    living: Living, good_package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = changed(living.ready.runner, scratch=Path("/proc/self/nowhere"))
    monkeypatch.setattr(living.ready, "runner", runner)
    report = living.report(good_package)
    assert [each.id for each in report.findings] == ["environment_error/scratch-unusable"]
    assert report.gate.exit_code == 4


def test_a_component_that_was_not_reached_is_not_passed(living: Living, good_package: Path) -> None:
    append(good_package / "tools/deck_tool.py", "import os\nos._exit(0)")
    (run,) = living.report(good_package).extensions[0].runs
    verdicts = {each.id: each.verdicts[Layer.L1] for each in run.components}
    assert verdicts["tool:DeckTool"] is Verdict.FAIL
    assert verdicts["rail:RequestLogRail"] is Verdict.UNCHECKED
