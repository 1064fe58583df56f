"""The gate: a table of what happens, and properties that hold for anything."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify_ext.evidence.gate import decide
from verify_ext.model import (
    Decision,
    ExtensionResult,
    Fault,
    Finding,
    Layer,
    Location,
    Severity,
    Verdict,
)

REQUIRED = (Layer.L1, Layer.L2)


def extension(**layers: Verdict) -> ExtensionResult:
    all_layers = {layer: layers.get(layer.value, Verdict.UNCHECKED) for layer in Layer}
    return ExtensionResult(path="own", name="own", kind="k", digest="sha256:0", layers=all_layers)


def trouble(fault: Fault, code: str = "code", *, about: str | None = None) -> Finding:
    return Finding(
        code=code,
        rule="rule",
        fault=fault,
        severity=Severity.ERROR,
        layer=None,
        message="trouble",
        remedy="none",
        location=Location(path="."),
        extension=about,
    )


PASSED = extension(L1=Verdict.PASS, L2=Verdict.PASS)
FAILED = extension(L1=Verdict.PASS, L2=Verdict.FAIL)
BROKEN = extension(L1=Verdict.PASS, L2=Verdict.ERROR)

TABLE = [
    ("all passed", [PASSED], [], Decision.ALLOW, 0),
    ("L3 is not required", [extension(L1=Verdict.PASS, L2=Verdict.PASS, L3=Verdict.FAIL)], [], Decision.ALLOW, 0),
    ("one failed", [PASSED, FAILED], [], Decision.REJECT, 1),
    ("static failed, the rest skipped", [extension(L1=Verdict.FAIL, L2=Verdict.SKIPPED)], [], Decision.REJECT, 1),
    ("could not be judged", [PASSED, BROKEN], [], Decision.MANUAL_REVIEW, 4),
    ("uncertain", [extension(L1=Verdict.PASS, L2=Verdict.UNCERTAIN)], [], Decision.MANUAL_REVIEW, 4),
    ("timed out", [extension(L1=Verdict.PASS, L2=Verdict.TIMED_OUT)], [], Decision.MANUAL_REVIEW, 4),
    ("not checked", [extension(L1=Verdict.PASS)], [], Decision.WAIT, 4),
    ("failed beats broken", [BROKEN, FAILED], [trouble(Fault.ENVIRONMENT)], Decision.REJECT, 1),
    ("environment", [PASSED], [trouble(Fault.ENVIRONMENT)], Decision.MANUAL_REVIEW, 4),
    ("harness", [PASSED], [trouble(Fault.HARNESS)], Decision.MANUAL_REVIEW, 4),
    ("configuration", [FAILED], [trouble(Fault.CONFIGURATION)], Decision.REJECT, 2),
    ("a bug beats all", [FAILED], [trouble(Fault.CONFIGURATION), trouble(Fault.VERIFIER)], Decision.REJECT, 5),
    ("nothing", [], [trouble(Fault.CONFIGURATION, "nothing_selected")], Decision.WAIT, 3),
    ("nothing at all", [], [], Decision.WAIT, 3),
    ("bug and nothing", [], [trouble(Fault.VERIFIER)], Decision.MANUAL_REVIEW, 5),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "extensions", "findings", "decision", "code"), TABLE, ids=lambda row: str(row)[:40]
)
def test_table(
    name: str, extensions: list[ExtensionResult], findings: list[Finding], decision: Decision, code: int
) -> None:
    gate = decide(extensions, findings, required=REQUIRED)
    assert (gate.decision, gate.exit_code) == (decision, code)
    assert bool(gate.reasons) is (decision is not Decision.ALLOW)


def test_nothing_may_be_allowed() -> None:
    notice = replace(trouble(Fault.CONFIGURATION, "nothing_selected"), severity=Severity.NOTICE)
    assert decide([], [notice], required=REQUIRED).exit_code == 0


def test_a_cancelled_run_never_allows() -> None:
    gate = decide([PASSED], [], required=REQUIRED, cancelled_by=15)
    assert (gate.decision, gate.exit_code) == (Decision.WAIT, 143)


VERDICTS = st.sampled_from(Verdict)


@given(st.lists(st.tuples(VERDICTS, VERDICTS, VERDICTS), min_size=1))
def test_allowed_means_that_every_required_layer_passed(rows: list[tuple[Verdict, Verdict, Verdict]]) -> None:
    extensions = [extension(L1=first, L2=second, L3=third) for first, second, third in rows]
    gate = decide(extensions, [], required=REQUIRED)
    all_passed = all(row[:2] == (Verdict.PASS, Verdict.PASS) for row in rows)
    assert (gate.decision is Decision.ALLOW) is all_passed
    assert (gate.exit_code == 0) is all_passed


@given(st.lists(VERDICTS, min_size=1), VERDICTS)
def test_one_more_extension_never_makes_it_better(verdicts: list[Verdict], more: Verdict) -> None:
    order = list(Decision)
    extensions = [extension(L1=Verdict.PASS, L2=verdict) for verdict in verdicts]
    before = decide(extensions, [], required=REQUIRED)
    after = decide([*extensions, extension(L1=Verdict.PASS, L2=more)], [], required=REQUIRED)
    assert order.index(after.decision) >= order.index(before.decision)
