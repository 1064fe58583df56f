"""The summary: nothing an extension says changes its structure, and it fits whatever it holds.

Markdown is read back by an independent CommonMark parser, with tables and strikethrough as on GitHub.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.report_sample import FINDINGS, REPORT, findings, many, odd_text, reports
from verify_ext.model import Decision, ExtensionResult, Finding, Gate, Report
from verify_ext.report.markdown import code, prose
from verify_ext.report.summary import render
from verify_ext.report.text import visible

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
APART = "\u200b"


def structure(markdown: str) -> list[object]:
    """Return all of a document but its text and code: what a stranger must not be able to change."""
    return [_kept(token) for token in PARSER.parse(markdown)]


def _kept(token: Token) -> object:
    if token.type == "inline":
        return [_kept(child) for child in token.children or () if not _is_text(child)]
    tags = re.findall(r"<[^>]*>", token.content) if token.type in ("html_block", "html_inline") else []
    return (token.type, token.tag, token.nesting, token.level, tags)


def _is_text(token: Token) -> bool:
    return token.type in ("text", "text_special", "code_inline") or token.content in (
        "<code>",
        "</code>",
        "<br>",
    )


def text_of(markdown: str) -> str:
    """Return the text of one paragraph, code included, as a reader copies it."""
    (inline,) = [token for token in PARSER.parse(markdown) if token.type == "inline"]
    shown = [child.content for child in inline.children or () if child.type != "html_inline"]
    return "".join(shown).replace(APART, "")


@given(odd_text)
def test_prose_and_code_are_text_and_nothing_is_lost(text: str) -> None:
    said = visible(text.strip())
    for markdown in (f"a {prose(text)} b", f"a {code(text)} b"):
        assert structure(markdown) == structure("a b")
    assert text_of(f"a {prose(text)} b").replace("`", "") == f"a {said} b".replace("`", "")
    if text.strip():
        assert text_of(f"a {code(text)} b").split() == f"a {visible(text)} b".split()


@given(odd_text, odd_text)
def test_a_row_of_a_table_stays_one_row_with_its_cells(left: str, right: str) -> None:
    table = "| a | b |\n|---|---|\n| {} | {} |\n"
    assert structure(table.format(prose(left), code(right))) == structure(table.format("x", "y"))


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("see @octocat", "see @&#8203;octocat"),
        ("fixes #12", "fixes &#35;&#8203;12"),
        ("fixes GH-12 a/b#3", "fixes GH-&#8203;12 a/b&#35;&#8203;3"),
        ("https://x.org", "https:&#8203;//x.org"),
        ("www.x.org", "www&#8203;.x.org"),
        ("mail a@x.org", "mail a@&#8203;x.org"),
        (":+1: :a:", ":&#8203;+1: :&#8203;a:"),
        ("a $x$ b", "a &#36;x&#36; b"),
        ("a_b_c __d__", "a_b_c &#95;&#95;d&#95;&#95;"),
        ("write `a: b`, not `c`", "write `a: b`, not `c`"),
        ("``` `", "&#96;&#96;&#96; &#96;"),
        ("plain 12:30, a-b (c) 'd'", "plain 12:30, a-b (c) 'd'"),
    ],
)
def test_prose(text: str, markdown: str) -> None:
    assert prose(text) == markdown


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("a/b.py:1:2", "`a/b.py:1:2`"),
        ("a|b", "<code>a&#124;b</code>"),
        ("a`b", "<code>a&#96;b</code>"),
        (" a", "<code> a</code>"),
        ("", "<code>&nbsp;</code>"),
        ("a\nb", "`a\\nb`"),
    ],
)
def test_code(text: str, markdown: str) -> None:
    assert code(text) == markdown


def tame(value: Any) -> Any:
    """Return a report, or a part of one, with every text that a stranger may have written as `x`."""
    if is_dataclass(value) and not isinstance(value, type):
        kept = {"code", "rule"}  # the schema allows these letters only
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        return replace(value, **{name: part if name in kept else tame(part) for name, part in parts.items()})
    if isinstance(value, tuple | list):
        return type(value)(tame(part) for part in value)
    if isinstance(value, dict):
        return {name: tame(part) for name, part in value.items()}
    return "x" if type(value) is str and value.strip() else value


@given(reports, findings)
@settings(deadline=None)
def test_nothing_a_stranger_says_changes_the_structure(report: Report, finding: Finding) -> None:
    # One finding, because their order follows their text; a log that has a line to show.
    finding = replace(finding, log=finding.log and f"log\n{finding.log}")
    report = replace(report, findings=(finding,))
    assert structure(render(report)) == structure(render(tame(report)))


@given(reports)
@settings(deadline=None)
def test_no_filter_of_github_finds_anything_to_link(report: Report) -> None:
    for token in PARSER.parse(render(report)):
        for text in _outside_code(token):
            assert not re.search(r"@\w|#\d|\bGH-\d|://|\bwww\.", text, re.IGNORECASE)


def _outside_code(token: Token) -> list[str]:
    found, inside = [], False
    for child in token.children or ():
        inside = child.content == "<code>" or (inside and child.content != "</code>")
        if child.type in ("text", "text_special") and not inside:
            found.append(child.content)
    return found


# --- Size ------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0, 20_000, 65_000, 300_000, 1_048_576])
def test_it_fits(limit: int) -> None:
    text = render(many(5000), limit=limit)
    assert len(text.encode()) <= max(limit, 16 * 1024)
    shown = len(re.findall(r"^- \*\*(?:error|warning|notice)", text, re.MULTILINE))
    left = re.search(r"\*\*([\d,]+) more findings\*\*", text)
    assert shown + (int(left[1].replace(",", "")) if left else 0) == 5000


@given(st.lists(odd_text.map(lambda text: text * 200), min_size=1, max_size=2))
@settings(max_examples=20, deadline=None)
def test_it_fits_whatever_is_long(texts: list[str]) -> None:
    long = "".join(texts) or "x"
    one = replace(
        FINDINGS[0], message=long, extension=long, location=replace(FINDINGS[0].location, path=long)
    )
    extension = ExtensionResult(path=long, name="x", kind=long, digest="", layers={})
    report = replace(
        REPORT,
        gate=Gate(decision=Decision.WAIT, exit_code=4, reasons=(long,) * 50),
        findings=(one,) * 20,
        extensions=(extension,) * 20,
        harnesses=tuple(replace(REPORT.harnesses[0], requirement=long) for _ in range(20)),
        protections={long: long},
        commit=long,
        tool_version=long,
    )
    text = render(report, limit=0)
    assert len(text.encode()) <= 16 * 1024
    assert "Waiting: something that is required has not been checked (exit code 4).**" in text


def test_between_everything_and_a_part_there_is_a_line_for_each() -> None:
    whole = render(many(200))
    lines = render(many(200), limit=len(whole.encode()) - 1)
    assert "fix: " in whole
    assert "fix: " not in lines
    assert lines.count("\n- **") == 200
    assert "### <code>" not in lines
    assert "### `ext_7`: 1 error, 2 warnings, 1 notice" in lines


# --- What it says ----------------------------------------------------------------------------


def test_the_worst_rows_come_first_and_no_harness_is_a_dash() -> None:
    rows = [line for line in render(REPORT).splitlines() if line.startswith("| ")]
    assert [row.split(" | ")[2] for row in rows[1:]] == [
        "`openjiuwen==0.1.16`",
        "`openjiuwen==0.1.19.post2`",
        "`openjiuwen==0.1.16`",
        "`-`",
    ]


def test_the_head_of_the_ledger_is_told_for_later() -> None:
    assert f"- ledger: `{'a' * 64}:41`\n" in render(REPORT)
    assert "ledger" not in render(replace(REPORT, evidence={}, findings=()))


def test_a_fault_that_is_not_the_authors_is_the_first_thing_said() -> None:
    gate = Gate(decision=Decision.MANUAL_REVIEW, exit_code=4)
    said = render(replace(REPORT, gate=gate, findings=FINDINGS[:1]))
    assert "**Not your change: the fault is the environment's. For a person to decide: " in said
    mixed: tuple[Finding, ...] = FINDINGS[:2]
    assert "**Not your change" not in render(replace(REPORT, gate=gate, findings=mixed))


def test_errors_are_open_and_the_rest_is_folded() -> None:
    text = render(REPORT)
    assert text.index("too-long") > text.index("<details><summary>1 warning</summary>")
    assert text.index("not-in-ability-manager") < text.index(
        "<details><summary>1 suppressed finding</summary>"
    )


def test_many_reasons_are_counted() -> None:
    gate = replace(REPORT.gate, reasons=tuple(f"reason {number}" for number in range(12)))
    text = render(replace(REPORT, gate=gate))
    assert "reason 9\n" in text
    assert "- 2 more reasons: see `results.json`\n" in text
