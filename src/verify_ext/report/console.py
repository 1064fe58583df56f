"""The console: what a person reads in a terminal or in a log.

Findings by extension, the table of layers, the harnesses, and the gate as the last word. Without
colour everything that is ours is ASCII; what an extension says is made visible, never obeyed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from verify_ext.model import ExtensionResult, Finding, Report, Severity, Verdict
from verify_ext.report import phrases
from verify_ext.report.terminal import Line, Span, cells, snippet, wrap, written
from verify_ext.report.text import cut, visible, visible_lines

_LOG_LINES = 8
_LOG_WIDTH = 400
_SMALLEST_WIDTH = 40

_SEVERITY_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTICE: "cyan"}
_VERDICTS = {
    Verdict.PASS: ("✓", "green"),
    Verdict.FAIL: ("✗", "bold red"),
    Verdict.UNCERTAIN: ("?", "yellow"),
    Verdict.UNCHECKED: ("·", "dim"),
    Verdict.ERROR: ("!", "bold magenta"),
    Verdict.TIMED_OUT: ("✗", "bold red"),
    Verdict.SKIPPED: ("·", "dim"),
    None: ("", "dim"),
}
_GATE_STYLES = {0: "bold green", 1: "bold red"}


def render(report: Report, *, width: int, color: bool) -> str:
    """Return the report for a terminal of `width` cells, with colour codes if `color`.

    Every finding is in it. Lines that are copied (paths, log lines) may be longer than `width`.
    """
    return written(_page(report, max(width, _SMALLEST_WIDTH), color), color=color)


def _page(report: Report, width: int, color: bool) -> Iterator[Line]:
    for extension, findings in phrases.by_extension(report):
        yield from _heading(extension)
        for finding in findings:
            yield from _finding(finding, width)
    yield from _layers(report, width, color)
    yield from _surroundings(report, width)
    yield from _verdict(report, width)


def _heading(extension: ExtensionResult | str | None) -> Iterator[Line]:
    if isinstance(extension, ExtensionResult):
        harnesses = ", ".join(run.harness for run in extension.runs if run.harness)
        about = f"  {extension.kind}" + (f"  {harnesses}" if harnesses else "")
        yield [Span(visible(extension.path), "bold underline"), Span(visible(about), "dim")]
    else:
        yield [Span("The run itself" if extension is None else visible(extension), "bold underline")]
    yield []


def _finding(finding: Finding, width: int) -> Iterator[Line]:
    style = "dim" if finding.suppressed is not None else _SEVERITY_STYLES[finding.severity]
    yield [Span("  "), Span(visible(phrases.place(finding)), "bold"), Span(f" {visible(finding.id)}", style)]
    blame = phrases.blame(finding)
    kind = f"{finding.severity} ({blame})" if blame else finding.severity.value
    yield from _said(kind, style, finding.message, width)
    yield from _source(finding, style, width)
    if finding.suppressed is not None:
        yield from _said("suppressed", "dim", finding.suppressed or "no reason given", width)
    for name, text in (
        ("expected", finding.expected),
        ("actual", finding.actual),
        ("fix", finding.remedy),
        ("again", finding.reproduction),
    ):
        if text:
            yield from _said(name, "dim", text, width)
    yield from _said("where", "dim", ", ".join(phrases.circumstances(finding)), width)
    yield from _log(finding, width)
    yield []


def _said(name: str, style: str, text: str, width: int) -> Iterator[Line]:
    """Yield `name: text`, wrapped, the lines after the first further in."""
    head, *below = visible_lines(text) or [""]
    first, *rest = wrap(f"{name}: {head}", width - 6)
    yield [Span("    "), Span(first[: len(name) + 1], style), Span(first[len(name) + 1 :])]
    for line in below:
        rest += wrap(line, width - 6)
    for line in rest:
        yield [Span(f"      {line}")]


def _source(finding: Finding, style: str, width: int) -> Iterator[Line]:
    number = str(finding.location.line)
    shown = snippet(finding.location, width - len(number) - 7)
    if shown is None:
        return
    line, marks = shown
    yield [Span(f"    {number} | ", "dim"), Span(line)]
    yield [Span(f"    {' ' * len(number)} | ", "dim"), Span(marks, style)]


def _log(finding: Finding, width: int) -> Iterator[Line]:
    lines = visible_lines(finding.log or "")
    if not lines:
        return
    kept = lines[-_LOG_LINES:]
    what = "" if kept == lines else f"the last {len(kept)} of {len(lines):,} lines, all are in results.json"
    yield from _said("log", "dim", what, width)
    for line in kept:
        yield [Span("    | ", "dim"), Span(cut(line, _LOG_WIDTH))]


def _layers(report: Report, width: int, color: bool) -> Iterator[Line]:
    """Yield the table of layers; where it is too wide, extensions are headings in it."""
    rows = [
        [Span(visible(name)) for name in (extension.path, extension.kind, harness)]
        + [_mark(verdict, color) for verdict in layers.values()]
        for extension, harness, layers in phrases.rows(report)
    ]
    if not rows:
        yield from ([Span("No extension was verified.", "bold")], [])
        return
    titles = [Span(title, "bold") for title in ("extension", "kind", "harness", *phrases.LAYERS)]
    sizes = [max(cells(span.text) for span in column) for column in zip(titles, *rows, strict=True)]
    if sum(sizes) + 2 * len(sizes) - 2 <= width:
        yield from (_row(row, sizes) for row in [titles, *rows])
    else:
        for (path, kind), group in groupby(rows, key=lambda row: (row[0].text, row[1].text)):
            yield [Span(path, "bold"), Span(f"  {kind}", "dim")]
            yield from (_named(row[2], row[3:], sizes) for row in group)
    yield []


def _named(harness: Span, marks: list[Span], sizes: list[int]) -> Line:
    """Return a row under the heading of its extension, with each layer's name before its mark."""
    named = [
        Span(f"{layer} {mark.text}", mark.style) for layer, mark in zip(phrases.LAYERS, marks, strict=True)
    ]
    return [Span("    "), *_row([harness, *named], [sizes[2], *(size + 3 for size in sizes[3:])])]


def _mark(verdict: Verdict | None, color: bool) -> Span:
    glyph, style = _VERDICTS[verdict]
    word = phrases.word(verdict)
    word = word.upper() if verdict in (Verdict.FAIL, Verdict.TIMED_OUT) else word
    return Span(f"{glyph} {word}" if color and glyph else word, style)


def _row(row: list[Span], sizes: list[int]) -> Line:
    gaps = [Span(" " * (size - cells(span.text) + 2)) for span, size in zip(row, sizes, strict=True)]
    return [part for pair in zip(row, gaps, strict=True) for part in pair]


_ARTIFACT_LINES = 20


def _surroundings(report: Report, width: int) -> Iterator[Line]:
    files = phrases.artifacts(report)
    for line in files[:_ARTIFACT_LINES]:
        yield from _noted("file", line, width)
    if len(files) > _ARTIFACT_LINES:
        yield from _noted("file", f"and {len(files) - _ARTIFACT_LINES} more, in results.json", width)
    for state in report.harnesses:
        style = _VERDICTS[state.canary][1]
        yield from _noted("harness", phrases.harness(state), width, style)
    yield from _noted("protections", phrases.protections(report.protections), width)
    yield from _noted("revision", phrases.revision(report), width)
    if head := phrases.ledger(report.evidence):
        yield from _noted("ledger", head, width)
    yield from _noted("in all", phrases.totals(report), width)


def _noted(name: str, text: str, width: int, style: str = "") -> Iterator[Line]:
    first, *rest = wrap(visible(text), width - 13) or [""]
    yield [Span(f"{name:<11}  ", "dim"), Span(first, style)]
    for line in rest:
        yield [Span(" " * 13), Span(line, style)]


def _verdict(report: Report, width: int) -> Iterator[Line]:
    yield []
    style = _GATE_STYLES.get(report.gate.exit_code, "bold yellow")
    for line in wrap(phrases.gate(report), width):
        yield [Span(line, style)]
    for reason in report.gate.reasons:
        first, *rest = wrap(visible(reason), width - 4) or [""]
        yield [Span("  - "), Span(first)]
        for line in rest:
            yield [Span("    "), Span(line)]
