"""Annotations: workflow commands for GitHub, and every finding as a plain line of the log.

The runner keeps ten annotations of each level for a step (a composite action counts as one), so
the last of ten says how many more there are. Escaping follows actions/runner (ActionCommand.cs):
what an extension says can neither end a command nor start one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from verify_ext.model import Finding, Location, Report, Severity
from verify_ext.report import phrases
from verify_ext.report.text import cut, inert, visible, visible_lines

LIMIT_PER_LEVEL = 10
MESSAGE_LIMIT = 4096
"""The runner cuts longer messages without a word. It counts UTF-16 units."""

_TITLE_LIMIT = 255
_CUT_MARK = "\n[cut here; all of it is in results.json]"
_ELSEWHERE = "all are in the log of this step, in the job summary and in results.json"


@dataclass(frozen=True)
class Annotation:
    """One annotation, not yet escaped; `place` is None for what belongs to no line."""

    level: Severity
    title: str
    message: str
    place: Location | None


def render(report: Report) -> str:
    """Return the lines for the log of a step: every finding, the gate, then the annotations."""
    findings = phrases.ranked(report.findings)
    lines = [log_line(finding) for finding in findings]
    lines.append(inert(f"verify-ext: {phrases.gate(report)}"))
    lines += [command(annotation) for annotation in kept(findings)]
    return "\n".join(lines) + "\n"


def kept(findings: list[Finding]) -> Iterator[Annotation]:
    """Yield what the runner should keep of ranked findings: at most ten for each level.

    One finding in several harnesses is one annotation. Suppressed findings have none.
    """
    for level in Severity:
        counting = [f for f in findings if f.severity is level and f.suppressed is None]
        groups = _merged(counting)
        shown = groups if len(groups) <= LIMIT_PER_LEVEL else groups[: LIMIT_PER_LEVEL - 1]
        for group in shown:
            yield Annotation(level, cut(group[0].id, _TITLE_LIMIT), _message(group), group[0].location)
        if rest := len(groups) - len(shown):
            more = phrases.number(rest, f"more {level}")
            yield Annotation(level, "verify-ext", f"{more} than can be shown here: {_ELSEWHERE}.", None)


def _merged(findings: list[Finding]) -> list[list[Finding]]:
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        same = (finding.id, finding.location, finding.component, finding.message, finding.actual)
        groups.setdefault(same, []).append(finding)
    return list(groups.values())


def _message(group: list[Finding]) -> str:
    finding = group[0]
    blame = phrases.blame(finding)
    harnesses = ", ".join(dict.fromkeys(f.harness for f in group if f.harness))
    parts = {
        "": f"{blame.capitalize()}. {finding.message}" if blame else finding.message,
        "expected: ": finding.expected,
        "actual: ": finding.actual,
        "fix: ": finding.remedy,
        "again: ": finding.reproduction,
        "component: ": finding.component,
        "harness: ": harnesses,
    }
    return "\n".join(f"{name}{text}" for name, text in parts.items() if text)


def log_line(finding: Finding) -> str:
    """Return `path:line:column code/rule message` on one line, which is never a command."""
    notes = [finding.severity.value, phrases.blame(finding)]
    if finding.suppressed is not None:
        notes.append(f"suppressed: {finding.suppressed or 'no reason given'}")
    about = "; ".join(note for note in notes if note)
    return inert(visible(f"{phrases.place(finding)} {finding.id} {finding.message} [{about}]"))


def command(annotation: Annotation) -> str:
    """Return an annotation as a workflow command, on one line."""
    # `file` first and `title` last: the runner trims the properties as a whole.
    properties = [*_place(annotation.place), ("title", annotation.title)]
    escaped = ",".join(f"{name}={_property(value)}" for name, value in properties)
    return f"::{annotation.level} {escaped}::{_data(annotation.message)}"


def _place(place: Location | None) -> Iterator[tuple[str, str]]:
    if place is None:
        return
    # An end at the first column of a line means the line before.
    end_line = place.end_line - (place.end_column == 1 and place.end_line > place.line)
    yield "file", place.path
    yield "line", str(place.line)
    yield "endLine", str(max(end_line, place.line))
    if place.end_line == place.line:  # with two lines the runner drops columns
        yield "col", str(place.column)
        yield "endColumn", str(max(place.end_column - 1, place.column))  # ours is exclusive


def _data(text: str) -> str:
    text = "\n".join(inert(line) for line in visible_lines(text))
    if text and unicodedata.category(text[0]).startswith("M"):
        text = f" {text}"  # a combining mark would melt into the `::` before it
    return _escaped(_fitting(text))


def _property(text: str) -> str:
    return _escaped(visible(text)).replace(":", "%3A").replace(",", "%2C")


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _fitting(text: str) -> str:
    """Return `text` in at most `MESSAGE_LIMIT` UTF-16 units, a cut marked."""
    units = text.encode("utf-16-le")
    if len(units) <= 2 * MESSAGE_LIMIT:
        return text
    room = 2 * (MESSAGE_LIMIT - len(_CUT_MARK))
    return units[:room].decode("utf-16-le", "ignore") + _CUT_MARK
