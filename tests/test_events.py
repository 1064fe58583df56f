"""The fold: what a report says of a run, whole or cut short."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from verify_ext.events import (
    CheckResult,
    EventLog,
    Finished,
    Started,
    SubjectDigested,
    component_verdicts,
    fold,
    verdict_of,
)
from verify_ext.model import Decision, Fault, Finding, Layer, Location, Severity, Verdict

HARNESSES = ("openjiuwen==1", "openjiuwen==2")
STARTED = Started(
    tool_version="1", commit=None, dirty=None, harnesses=HARNESSES, required=(Layer.L1, Layer.L2)
)
SUBJECT = SubjectDigested(
    extension="own",
    name="own",
    kind="k",
    digest="sha256:0",
    exercises=(("construct", Layer.L1), ("load", Layer.L2)),
)


def finding(**changes: object) -> Finding:
    plain = Finding(
        code="code",
        rule="rule",
        fault=Fault.EXTENSION,
        severity=Severity.ERROR,
        layer=Layer.L2,
        message="wrong",
        remedy="mend it",
        location=Location(path="own/a.py", line=7, text="  x = 1  # wrong"),
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def check(harness: str | None, exercise: str, layer: Layer, *findings: Finding) -> CheckResult:
    return CheckResult(
        extension="own",
        harness=harness,
        exercise=exercise,
        layer=layer,
        verdict=verdict_of(findings),
        components=component_verdicts(["tool:A", "tool:B"], findings, reached=True),
        findings=findings,
    )


WHOLE = (
    STARTED,
    SUBJECT,
    check(None, "static", Layer.L1),
    check(HARNESSES[0], "construct", Layer.L1),
    check(HARNESSES[0], "load", Layer.L2),
    check(HARNESSES[1], "construct", Layer.L1),
    check(HARNESSES[1], "load", Layer.L2, finding(component="tool:A")),
    Finished(),
)


def test_the_worst_harness_decides() -> None:
    report = fold(WHOLE)
    (extension,) = report.extensions
    assert extension.layers == {
        Layer.L1: Verdict.PASS,
        Layer.L2: Verdict.FAIL,
        Layer.L3: Verdict.UNCHECKED,
    }
    assert [run.layers[Layer.L2] for run in extension.runs] == [Verdict.PASS, Verdict.FAIL]
    assert [(part.name, part.verdicts[Layer.L2]) for part in extension.runs[1].components] == [
        ("A", Verdict.FAIL),
        ("B", Verdict.PASS),
    ]
    assert report.gate.decision is Decision.REJECT
    assert report.findings[0].extension == "own"
    assert report.findings[0].harness == HARNESSES[1]
    assert report.findings[0].reproduction == f"verify-ext --harness {HARNESSES[1]} own"


@given(st.integers(min_value=0, max_value=len(WHOLE)))
def test_a_run_cut_short_proves_no_more_than_it_did(length: int) -> None:
    report = fold(WHOLE[:length])
    assert report.gate.decision is not Decision.ALLOW
    for extension in report.extensions:
        assert extension.layers[Layer.L2] is not Verdict.PASS


@given(st.permutations(WHOLE[2:7]))
def test_the_order_of_the_checks_does_not_matter(order: list[CheckResult]) -> None:
    assert fold((STARTED, SUBJECT, *order, Finished())) == fold(WHOLE)


def fingerprints(*findings: Finding) -> list[str]:
    report = fold((STARTED, SUBJECT, check(HARNESSES[0], "load", Layer.L2, *findings)))
    return [each.fingerprint for each in report.findings]


def test_a_fingerprint_survives_moved_lines_and_another_version() -> None:
    (before,) = fingerprints(finding())
    moved = finding(location=Location(path="own/a.py", line=99, text="x = 1   # wrong"))
    assert fingerprints(moved) == [before]
    events = (STARTED, SUBJECT, check(HARNESSES[1], "load", Layer.L2, finding()))
    assert [each.fingerprint for each in fold(events).findings] == [before]


def test_different_problems_have_different_fingerprints() -> None:
    variants = (
        finding(),
        finding(),
        finding(rule="other"),
        finding(component="tool:A"),
        finding(location=Location(path="own/b.py", line=7, text="x = 1")),
        finding(location=Location(path="own/a.py", line=7, text="y = 1")),
    )
    assert len(set(fingerprints(*variants))) == len(variants)


def test_a_component_is_not_passed_where_the_check_did_not_get_to() -> None:
    whole = [finding(component=None)]
    assert component_verdicts(["tool:A"], whole, reached=True) == (("tool:A", Verdict.UNCHECKED),)
    assert component_verdicts(["tool:A"], [], reached=False) == (("tool:A", Verdict.UNCHECKED),)
    warned = [finding(severity=Severity.WARNING)]
    assert component_verdicts(["tool:A"], warned, reached=True) == (("tool:A", Verdict.PASS),)


def test_listeners_see_every_event_once() -> None:
    seen: list[object] = []
    log = EventLog(seen.append)
    for event in WHOLE:
        log.append(event)
    assert tuple(seen) == log.events() == WHOLE
