"""Packages exercised in the real loop of both contracts (L3): the good ones pass, each fault is named."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace as changed
from pathlib import Path

import pytest

from tests.living import Living
from tests.mutations import accept, accept_harmless
from tests.mutations.edit import append, replace
from verify_ext.model import Decision, Layer, Provenance, Severity, Verdict

Mutation = Callable[[Path], None]
_HELPERS = ("spec", "only_rail", "only_result")


def functions(module: object) -> list[Mutation]:
    return [
        function
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and name not in _HELPERS  # type: ignore[attr-defined]
    ]


@pytest.mark.parametrize("mutation", functions(accept), ids=lambda function: function.__name__)
def test_a_mutation_gives_its_rule_and_nothing_else(
    mutation: Mutation, living: Living, good_package: Path
) -> None:
    mutation(good_package)
    report = living.report(good_package)
    errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    expected = inspect.cleandoc(mutation.__doc__ or "").split("\n\n")[0].splitlines()
    assert sorted({finding.id for finding in errors}) == sorted(line.strip() for line in expected)
    assert report.extensions[0].layers[Layer.L2] is Verdict.PASS
    assert report.extensions[0].layers[Layer.L3] is Verdict.FAIL
    assert report.gate.decision is Decision.REJECT
    for finding in errors:
        assert finding.layer is Layer.L3
        assert finding.location.path.startswith("deck_maker/")
        assert str(good_package) not in f"{finding.message} {finding.actual} {finding.log}"


@pytest.mark.parametrize("variant", functions(accept_harmless), ids=lambda function: function.__name__)
def test_another_way_that_is_right_passes(variant: Mutation, living: Living, good_package: Path) -> None:
    variant(good_package)
    report = living.report(good_package)
    assert [finding.id for finding in report.findings] == []
    assert report.extensions[0].layers[Layer.L3] is Verdict.PASS
    assert report.gate.decision is Decision.ALLOW


def test_the_file_that_was_made_is_in_the_report(living: Living, good_package: Path) -> None:
    (run,) = living.report(good_package).extensions[0].runs
    (artifact,) = run.artifacts
    assert (artifact.path, artifact.format, artifact.facts["slides"]) == ("review.pptx", "pptx", 3)
    assert artifact.provenance is Provenance.VERIFIED
    assert len(artifact.sha256) == 64
    assert all(part.verdicts[Layer.L3] is Verdict.PASS for part in run.components)


def test_without_a_spec_nothing_is_called_and_nothing_required(living: Living, good_package: Path) -> None:
    (good_package / "acceptance.json").unlink()
    append(good_package / "tools/deck_tool.py", "def unused(): ...")
    report = living.report(good_package)
    assert [finding.id for finding in report.findings] == ["acceptance_spec_missing/no-spec"]
    assert report.extensions[0].layers[Layer.L3] is Verdict.UNCHECKED
    assert report.gate.decision is Decision.ALLOW


def test_a_wrong_spec_is_no_fault_of_the_structure(living: Living, good_package: Path) -> None:
    replace(good_package / "acceptance.json", '"tool_tests"', '"tools_tests"')
    report = living.report(good_package)
    layers = report.extensions[0].layers
    assert [layers[layer] for layer in Layer] == [Verdict.PASS, Verdict.PASS, Verdict.FAIL]
    assert report.gate.decision is Decision.REJECT


def test_repeated_calls_must_agree(
    living: Living, good_package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(living.ready, "runner", changed(living.ready.runner, repeat=3))
    assert [finding.id for finding in living.report(good_package).findings] == []
    replace(good_package / "tools/deck_tool.py", "len(deck.slides)", "__import__('random').random()")
    errors = [finding.id for finding in living.report(good_package).findings]
    assert errors == ["result_nondeterministic/differs"]


def test_a_skill_that_cannot_be_opened(living: Living, good_package: Path) -> None:
    """The same tool has opened our own skill; here its file is gone when the model asks for it."""
    code = """    async def before_tool_call(self, ctx):
        from pathlib import Path

        if ctx.inputs.tool_name == "skill_tool":
            (Path(__file__).resolve().parent.parent / "skills/deck-writing/SKILL.md").unlink()
"""
    accept_harmless.only_rail(good_package, code, {"must_observe_side_effect": True})
    rail_test = {"hidden_tools": ["deck_tool"]}
    accept_harmless.spec(good_package, lambda data: data["rail_tests"][0].update(assertions=rail_test))
    found = {finding.id for finding in living.report(good_package).findings}
    assert "skill_not_loaded/not-opened" in found


def test_the_canary_has_been_through_the_loop(living: Living) -> None:
    ended = living.ready.proof._baseline["harness-package", "accept"]
    assert ended.seen is not None
    assert ended.seen.observed["steps"]["tool-0"]["calls"]
    assert ended.seen.transcript["skill-0"]


def test_a_lost_model_blames_nobody(
    living: Living, good_package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even with less time than the loop needs: then it is the deadline that is said."""
    session = living.ready.runner.session
    monkeypatch.setattr(session, "limits", changed(session.limits, memory_bytes=1 << 70))
    report = living.report(good_package)
    assert {finding.id for finding in report.findings} == {"environment_error/job-not-started"}
