"""The summary in Markdown: for the page of a job, and as a format of its own.

GitHub refuses a summary of more than 1 MiB. The ladder: everything; a line for each finding; as
many of those as fit, and how many there are beyond.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, chain

from verify_ext.model import Decision, ExtensionResult, Finding, Layer, Report, Severity, Verdict
from verify_ext.report import phrases
from verify_ext.report.markdown import block, broken, code, prose
from verify_ext.report.text import visible_lines

LIMIT_BYTES = 1024 * 1024
_SMALLEST_LIMIT = 16 * 1024
_REASONS = 10
_TITLE = "### Findings\n\n"
_COUNT_BYTES = 100  # what it takes to say how much did not fit
_LOG_LINES = 40

_MARKS = {
    Verdict.PASS: "✅",
    Verdict.FAIL: "❌",
    Verdict.UNCERTAIN: "❔",
    Verdict.UNCHECKED: "⚪",
    Verdict.ERROR: "⚠️",
    Verdict.TIMED_OUT: "❌",
    Verdict.SKIPPED: "⚪",
}
_GATE_MARKS = {
    Decision.ALLOW: "✅",
    Decision.ALLOW_WITH_WARNINGS: "✅",
    Decision.WAIT: "⏳",
    Decision.MANUAL_REVIEW: "⚠️",
    Decision.REJECT: "❌",
}


def render(report: Report, *, limit: int = LIMIT_BYTES) -> str:
    """Return the report as Markdown of at most `limit` bytes (16 KiB at least are needed).

    What does not fit is counted, and where it is found is said.
    """
    limit = max(limit, _SMALLEST_LIMIT)
    for finding in (_whole, _short):
        text = _joined(chain(_head(report), _table(report), _sections(report, finding), _foot(report)))
        if _size(text) <= limit:
            return text
    return _cut(report, limit)


def _cut(report: Report, limit: int) -> str:
    """Return what fits: a share of the room for each part, what is left of it for findings."""
    head = _fitting(_head(report), limit // 8, "more line")
    table = _fitting(_table(report), limit // 4, "more row")
    foot = _fitting(_foot(report), limit // 8, "more line")
    room = limit - _size(head + table + foot + _TITLE)
    findings = (_short(finding) for finding in phrases.ranked(report.findings))
    return head + table + _TITLE + _fitting(findings, room, "more finding") + foot


def _fitting(parts: Iterable[str], room: int, noun: str) -> str:
    """Return the first parts that fit into `room` bytes, and how many `noun`s there are beyond."""
    parts = list(parts)
    sizes = list(accumulate(map(_size, parts), initial=0))
    if sizes[-1] <= room:
        return _joined(parts)
    fitting = bisect_right(sizes, room - _COUNT_BYTES) - 1
    kept = _joined(parts[: max(fitting, 0)])
    left = phrases.number(len(parts) - max(fitting, 0), noun)
    return f"{kept}\n**{left}**: see the log of the job and `results.json`.\n\n"


def _head(report: Report) -> Iterator[str]:
    yield f"## {_GATE_MARKS[report.gate.decision]} verify-ext\n\n"
    yield f"**{phrases.gate(report)}**\n\n"
    reasons = report.gate.reasons
    yield from (f"- Reason: {prose(reason, 500)}\n" for reason in reasons[:_REASONS])
    if len(reasons) > _REASONS:
        yield f"- {phrases.number(len(reasons) - _REASONS, 'more reason')}: see `results.json`\n"
    yield f"\n{phrases.totals(report)}.\n\n"


def _table(report: Report) -> Iterator[str]:
    """Yield the table of layers: its header, then the rows, the worst first."""
    rows = phrases.rows(report)
    if not rows:
        return
    titles = f"| extension | kind | harness | {' | '.join(phrases.LAYERS)} |\n"
    yield f"{titles}|---|---|---|{'---|' * len(phrases.LAYERS)}\n"
    for extension, harness, layers in sorted(rows, key=_badness):
        cells = [
            code(extension.path),
            prose(extension.kind, 100),
            code(harness),
            *map(_cell, layers.values()),
        ]
        yield f"| {' | '.join(cells)} |\n"
    yield "\n"


def _badness(row: tuple[ExtensionResult, str, dict[Layer, Verdict | None]]) -> int:
    verdicts = row[2].values()
    return 0 if Verdict.FAIL in verdicts else 2 if set(verdicts) <= {Verdict.PASS, None} else 1


def _cell(verdict: Verdict | None) -> str:
    return f"{_MARKS[verdict]} {phrases.word(verdict)}" if verdict else "-"


def _sections(report: Report, shown: Callable[[Finding], str]) -> Iterator[str]:
    for extension, findings in phrases.by_extension(report):
        yield f"### {_title(extension)}: {phrases.counts(findings)}\n\n"
        urgent = [f for f in findings if f.severity is Severity.ERROR and f.suppressed is None]
        folded = findings[len(urgent) :]  # ranked: what counts as an error comes first
        yield from map(shown, urgent)
        if folded and urgent:
            yield f"<details><summary>{phrases.counts(folded)}</summary>\n\n"
        yield from map(shown, folded)
        if folded and urgent:
            yield "</details>\n\n"


def _title(extension: ExtensionResult | str | None) -> str:
    if isinstance(extension, ExtensionResult):
        return f"{code(extension.path)} ({prose(extension.kind, 100)})"
    return "The run itself" if extension is None else code(extension)


def _short(finding: Finding) -> str:
    """Return a finding as one item of a list."""
    return f"{_first_line(finding)}: {prose(finding.message, 300)}\n"


def _first_line(finding: Finding) -> str:
    about = "; ".join(note for note in (finding.severity.value, phrases.blame(finding)) if note)
    line = f"- **{about}** {code(finding.id)} {code(phrases.place(finding), 1_000)}"
    if finding.suppressed is None:
        return line
    return f"{line} (suppressed: {prose(finding.suppressed or 'no reason given', 300)})"


def _whole(finding: Finding) -> str:
    """Return a finding with all that is known of it, as one item of a list."""
    parts = [
        ("", finding.message, prose),
        ("expected: ", finding.expected, prose),
        ("actual: ", finding.actual, prose),
        ("fix: ", finding.remedy, prose),
        ("again: ", finding.reproduction, code),
        ("where: ", ", ".join(phrases.circumstances(finding)), prose),
    ]
    said = "".join(f"\n  <br>{name}{broken(text, line)}" for name, text, line in parts if text)
    return f"{_first_line(finding)}{said}\n\n{_folded(finding)}"


def _folded(finding: Finding) -> str:
    """Return the source line and the end of the log, folded."""
    text = finding.location.text
    source = block(f"{finding.location.line} | {text}", 1) if text.strip() else ""
    log = block(finding.log, _LOG_LINES) if finding.log else ""
    if not source and not log:
        return ""
    total = len(visible_lines(finding.log or ""))
    names = ["source line"] * bool(source) + [
        f"log (last {min(total, _LOG_LINES)} of {total:,} lines)"
    ] * bool(log)
    return f"<details><summary>{', '.join(names)}</summary>\n{source}{log}\n</details>\n\n"


_ARTIFACT_LINES = 50


def _foot(report: Report) -> Iterator[str]:
    yield "\n"
    files = phrases.artifacts(report)
    for line in files[:_ARTIFACT_LINES]:
        yield f"- file: {prose(line, 300)}\n"
    if len(files) > _ARTIFACT_LINES:
        yield f"- and {len(files) - _ARTIFACT_LINES} more files, in results.json\n"
    for state in report.harnesses:
        yield f"- harness: {prose(phrases.harness(state), 300)}\n"
    yield f"- protections: {prose(phrases.protections(report.protections), 500)}\n"
    yield f"- revision: {code(phrases.revision(report))}\n"
    if head := phrases.ledger(report.evidence):
        yield f"- ledger: {code(head)}\n"
    yield f"- verify-ext {prose(report.tool_version, 100)}\n"


def _joined(parts: Iterable[str]) -> str:
    return "".join(parts)


def _size(text: str) -> int:
    return len(text.encode())
