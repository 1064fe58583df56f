"""Each output against a stored file, and that no output loses a finding.

`VERIFY_EXT_WRITE_GOLDEN=1 python -m pytest tests/test_report_golden.py` writes the files again.
"""

from __future__ import annotations

import html
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.report_sample import FINDINGS, REPORT, many
from verify_ext.model import Finding, Report
from verify_ext.report import console, phrases, results, summary
from verify_ext.report.annotations import render as annotate
from verify_ext.report.text import inert, visible

GOLDEN = Path(__file__).parent / "golden"
OUTPUTS: dict[str, Callable[[Report], str]] = {
    "results.json": results.dump,
    "console-80.txt": lambda report: console.render(report, width=80, color=False),
    "console-120.txt": lambda report: console.render(report, width=120, color=False),
    "console-color.txt": lambda report: console.render(report, width=160, color=True),
    "annotations.txt": annotate,
    "summary.md": summary.render,
    "summary-cut.md": lambda report: summary.render(report, limit=0),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_output_is_the_stored_one(name: str) -> None:
    text = OUTPUTS[name](REPORT)
    if os.environ.get("VERIFY_EXT_WRITE_GOLDEN"):
        (GOLDEN / name).write_text(text, "utf-8", newline="")
    assert text == (GOLDEN / name).read_bytes().decode("utf-8")


def test_no_stored_file_is_left_over() -> None:
    assert {file.name for file in GOLDEN.iterdir()} == set(OUTPUTS)


@pytest.mark.parametrize("name", [name for name in OUTPUTS if name not in ("results.json", "summary-cut.md")])
@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.fingerprint)
def test_every_finding_is_in_every_output(name: str, finding: Finding) -> None:
    text = OUTPUTS[name](REPORT)
    shown = html.unescape(text).replace("\u200b", "") if name.endswith(".md") else text
    place = inert(visible(phrases.place(finding)))
    for code in ("\x1b[0m", "\x1b[1m", "\x1b[1;31m", "\x1b[2m", "\x1b[33m", "\x1b[36m"):
        shown = shown.replace(code, "")
    lines = [line for line in shown.splitlines() if place in line and finding.id in line]
    assert lines, f"{place} {finding.id} is missing"


def test_every_fingerprint_is_in_the_results() -> None:
    text = results.dump(REPORT)
    assert all(f'"fingerprint": "{finding.fingerprint}"' in text for finding in FINDINGS)


def test_what_is_cut_is_counted() -> None:
    report = many(5000)
    text = summary.render(report, limit=65_000)
    shown = sum(f"ext_{n % 50}/a.yaml:{n + 1}:" in text for n in range(5000))
    assert 0 < shown < 5000
    assert f"{5000 - shown:,} more findings" in text


@pytest.mark.parametrize("name", OUTPUTS)
def test_five_thousand_findings_take_seconds_at_most(name: str) -> None:
    report = many(5000)
    before = time.process_time()
    OUTPUTS[name](report)
    assert time.process_time() - before < 3
