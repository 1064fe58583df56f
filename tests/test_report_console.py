"""The console report: complete, within the terminal, and plain where colour is not wanted."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings

from tests.report_sample import FINDINGS, REPORT, reports
from verify_ext.model import Decision, Gate, Layer, Report, Severity
from verify_ext.report import phrases
from verify_ext.report.console import render
from verify_ext.report.terminal import cells
from verify_ext.report.text import inert, visible

ENGLISH = replace(
    REPORT,
    findings=tuple(
        replace(each, message="m", location=replace(each.location, text="t")) for each in FINDINGS
    ),
)
CODES = re.compile(r"\x1b\[[0-9;]*m")


def test_without_colour_everything_of_ours_is_ascii() -> None:
    assert render(ENGLISH, width=80, color=False).isascii()


@given(reports)
@settings(deadline=None)
def test_no_terminal_code_of_a_stranger_gets_through(report: Report) -> None:
    plain = render(report, width=60, color=False)
    assert visible(plain.replace("\n", "")) == plain.replace("\n", "")
    colored = CODES.sub("", render(report, width=60, color=True))
    assert visible(colored.replace("\n", "")) == colored.replace("\n", "")


@given(reports)
@settings(deadline=None)
def test_no_finding_is_lost(report: Report) -> None:
    lines = render(report, width=60, color=False).splitlines()
    for finding in report.findings:
        assert inert(f"  {visible(phrases.place(finding))} {finding.id}").rstrip() in lines


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_sentences_keep_within_the_terminal(width: int) -> None:
    for line in render(REPORT, width=width, color=False).splitlines():
        whole = "/" in line or line.startswith("    | ") or " L1 " in line
        longest = max((cells(word) for word in line.split()), default=0)
        assert whole or longest > width - 14 or cells(line) <= width, line


def test_colour_changes_nothing_but_colour_and_marks() -> None:
    colored = CODES.sub("", render(REPORT, width=80, color=True))
    for mark in ("✓ ", "✗ ", "? ", "· ", "! "):
        colored = colored.replace(mark, "")
    assert colored.split() == render(REPORT, width=80, color=False).split()


def test_markup_of_rich_is_text() -> None:
    odd = replace(REPORT, findings=(replace(FINDINGS[1], message="[bold red]x[/] :smile: [link=a]b[/link]"),))
    assert "[bold red]x[/] :smile: [link=a]b[/link]" in render(odd, width=120, color=True)


def test_errors_come_first_and_suppressed_findings_last() -> None:
    text = render(REPORT, width=200, color=False)
    places = [
        text.index(each) for each in ("schema-version", "not-in-ability-manager", "description-missing")
    ]
    assert places == sorted(places)
    assert "    suppressed: known, see #77 | until 2027\n" in text


def test_a_long_log_is_cut_and_says_so() -> None:
    text = render(REPORT, width=80, color=False)
    assert "    log: the last 8 of 24 lines, all are in results.json\n" in text
    assert "    | ::set-output name=a::b\n    | # #[group]x\n" in text


def test_the_table_is_wide_where_there_is_room() -> None:
    wide = render(replace(REPORT, extensions=REPORT.extensions[2:], findings=()), width=80, color=False)
    assert wide.startswith(
        "extension       kind         harness  L1    L2       L3\n"
        "skills/summary  agent-skill  -        pass  skipped  uncertain\n"
    )
    narrow = render(replace(REPORT, extensions=REPORT.extensions[2:], findings=()), width=40, color=False)
    assert narrow.startswith("skills/summary  agent-skill\n    -        L1 pass  L2 skipped  L3 uncertain\n")


def test_layers_nobody_asked_for_are_dashes_and_l1_needs_no_harness() -> None:
    (first, _, layers), *_ = phrases.rows(REPORT)
    assert first is REPORT.extensions[0]
    assert (layers[Layer.L1], layers[Layer.L2], layers[Layer.L3]) == ("fail", "fail", None)


def test_nothing_verified_is_said() -> None:
    text = render(replace(REPORT, extensions=(), findings=(), harnesses=()), width=80, color=False)
    assert text.startswith("No extension was verified.\n")
    assert "0 extensions verified: no findings" in text


@pytest.mark.parametrize(
    ("decision", "sentence"),
    [
        (Decision.ALLOW, "Allowed: everything that is required passed (exit code 9)."),
        (
            Decision.ALLOW_WITH_WARNINGS,
            "Allowed with warnings: what is required passed, something else did not (exit code 9).",
        ),
        (Decision.WAIT, "Waiting: something that is required has not been checked (exit code 9)."),
        (
            Decision.MANUAL_REVIEW,
            "For a person to decide: something that is required could not be judged (exit code 9).",
        ),
        (Decision.REJECT, "Rejected: something that is required failed (exit code 9)."),
    ],
)
def test_the_gate_is_a_sentence(decision: Decision, sentence: str) -> None:
    report = replace(REPORT, gate=Gate(decision=decision, exit_code=9))
    assert phrases.gate(report) == sentence
    assert render(report, width=120, color=False).endswith(f"\n\n{sentence}\n")


def test_whose_fault_it_is() -> None:
    ours = replace(REPORT, gate=Gate(decision=Decision.MANUAL_REVIEW, exit_code=4), findings=FINDINGS[:1])
    assert phrases.gate(ours).startswith("Not your change: the fault is the environment's. For a person")
    passing = replace(ours, gate=Gate(decision=Decision.ALLOW, exit_code=0))
    assert not phrases.gate(passing).startswith("Not your change")
    suppressed = replace(FINDINGS[1], suppressed="yes")
    assert phrases.gate(replace(ours, findings=(FINDINGS[0], suppressed))).startswith("Not your change")
    assert not phrases.gate(replace(ours, findings=FINDINGS[:2])).startswith("Not your change")
    assert not phrases.gate(replace(ours, findings=())).startswith("Not your change")


def test_counts() -> None:
    assert phrases.counts(FINDINGS) == "5 errors, 1 warning, 12 notices, 1 suppressed finding"
    assert phrases.counts(()) == "no findings"
    assert phrases.number(5000, "error") == "5,000 errors"


@given(reports)
def test_ranking_keeps_everything_and_puts_errors_first(report: Report) -> None:
    ranked = phrases.ranked(report.findings)
    assert sorted(map(id, ranked)) == sorted(map(id, report.findings))
    counting = [each.severity for each in ranked if each.suppressed is None]
    assert counting == sorted(counting, key=list(Severity).index)
    grouped = [finding for _, group in phrases.by_extension(report) for finding in group]
    assert sorted(map(id, grouped)) == sorted(map(id, report.findings))


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ({}, "none known"),
        (
            {"network": "none", "landlock": 1, "seccomp": True, "uid": None},
            "network none, landlock 1, seccomp yes, uid no",
        ),
    ],
)
def test_protections(known: dict[str, object], text: str) -> None:
    assert phrases.protections(known) == text
