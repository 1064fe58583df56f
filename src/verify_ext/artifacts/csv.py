"""CSV: judged by how it begins, for readers of CSV accept anything."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Any

from verify_ext.artifacts.codes import ARTIFACT_FORMAT_INVALID, ARTIFACT_PLACEHOLDER_OUTPUT
from verify_ext.artifacts.guess import describe
from verify_ext.artifacts.model import ArtifactFile, Depth, Examined, Expected, Fact, Format
from verify_ext.artifacts.placeholder import judge_text
from verify_ext.codes import Code, Rule, Rules
from verify_ext.model import Finding, Severity

SIZE_LIMIT_BYTES = 64 * 1024 * 1024
_ROWS = 200_000
_DELIMITERS = ",;\t|"


def _rule(
    rule: str,
    message: str,
    remedy: str,
    why: str,
    severity: Severity = Severity.ERROR,
    code: Code = ARTIFACT_FORMAT_INVALID,
) -> Rule:
    return Rule(
        code=code,
        rule=rule,
        layer=None,
        severity=severity,
        message=message,
        remedy=remedy,
        why=why,
        source="RFC 4180; docs/design.md, section 9",
    )


RULES = Rules(
    _rule(
        "csv-not-csv",
        "the file is {actual}, no CSV",
        "Write rows of cells, with the csv module.",
        "A spreadsheet shows it in one column, if at all.",
    ),
    _rule("csv-nul", "the file holds NUL bytes", "Write text.", "Readers stop there, or refuse it."),
    _rule(
        "csv-encoding",
        "the file is not UTF-8",
        "Save it as UTF-8.",
        "Letters come out wrong.",
        Severity.WARNING,
    ),
    _rule(
        "csv-utf16",
        "the file is UTF-16, as Excel saves Unicode text",
        "Save it as UTF-8, if others than Excel read it.",
        "Most other readers expect UTF-8.",
        Severity.WARNING,
    ),
    _rule(
        "csv-ragged",
        "row {row} has {actual} cells, the first has {expected}",
        "Write as many cells in each row.",
        "Cells move into other columns.",
        Severity.WARNING,
    ),
    _rule(
        "csv-header-twice",
        "the column {name} is there twice",
        "Give each column a name of its own.",
        "Readers by name lose one of them.",
        Severity.WARNING,
    ),
    _rule(
        "csv-formula",
        "row {row}: the cell {text} is a formula to a spreadsheet",
        "Put a quote before it.",
        "Spreadsheets run it.",
        Severity.WARNING,
    ),
    _rule(
        "csv-header-only",
        "there is a header and no row",
        "Write the rows.",
        "There is nothing to read.",
        Severity.WARNING,
        ARTIFACT_PLACEHOLDER_OUTPUT,
    ),
    _rule(
        "csv-not-fully-checked",
        "the file is not fully checked: {problem}",
        "Nothing, if this is meant.",
        "What was not read was not judged.",
        Severity.WARNING,
    ),
)

_OTHER = re.compile(
    r"\s*(?:```|<!doctype|<html|<\?xml|<svg|<table|<div|\{\s*[\"}]|\[\s*[\[{\"]|%PDF|#{1,6} \S)", re.I
)
_MARKDOWN_TABLE = re.compile(r"\s*\|.*\|\s*\n\s*\|?[\s:|-]*-{3}[\s:|-]*\|", re.M)


def recognises(file: ArtifactFile) -> bool:
    """Return False: any text can be CSV, so only who asks for it gets it judged as such."""
    return False


def examine(file: ArtifactFile, depth: Depth, expected: Expected) -> Examined:
    """Examine a table; facts: rows, columns."""
    with file.open() as stream:
        data = stream.read(SIZE_LIMIT_BYTES)
    found: list[Finding] = []
    if file.size > len(data):
        found.append(_finding(file, "csv-not-fully-checked", problem=f"{file.size >> 20} MiB"))
    text = _decoded(file, data, found)
    if text is None:
        return Examined(format=None, findings=tuple(found))
    if _OTHER.match(text) or _MARKDOWN_TABLE.match(text[:10_000]) or file.head.startswith(b"PK\x03\x04"):
        return Examined(format=None, findings=(*found, _finding(file, "csv-not-csv", actual=describe(file))))
    facts, more = _table(file, text, depth)
    return Examined(format="csv", facts=facts, findings=(*found, *more))


def _decoded(file: ArtifactFile, data: bytes, found: list[Finding]) -> str | None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        found.append(_finding(file, "csv-utf16"))
        return data.decode("utf-16", "replace")
    if b"\0" in data:
        found.append(_finding(file, "csv-nul"))
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        found.append(_finding(file, "csv-encoding"))
        return data.decode("latin-1")


def _table(file: ArtifactFile, text: str, depth: Depth) -> tuple[dict[str, Fact], list[Finding]]:
    found: dict[str, Finding] = {}
    header: list[str] = []
    rows = 0
    pieces: list[str] = []
    for number, row in enumerate(_rows(text), 1):
        if number > _ROWS:
            found["cut"] = _finding(file, "csv-not-fully-checked", problem=f"{_ROWS} rows")
            break
        if not row:
            continue
        rows += 1
        if not header:
            header = row
            twice = next((name for name in row if name.strip() and row.count(name) > 1), None)
            if twice is not None:
                found["twice"] = _finding(file, "csv-header-twice", name=repr(twice)[:60])
        elif len(row) != len(header) and "ragged" not in found:
            words: dict[str, Any] = {
                "row": str(number),
                "actual": str(len(row)),
                "expected": str(len(header)),
            }
            found["ragged"] = _finding(file, "csv-ragged", **words)
        for cell in row:
            if re.match(r"[=@]\s*[A-Za-z(]|[+-]\s*[A-Za-z(]", cell) and "formula" not in found:
                found["formula"] = _finding(file, "csv-formula", row=str(number), text=repr(cell)[:60])
        if len(pieces) < 5_000:
            pieces.append(" ".join(row))
    if depth >= Depth.CONTENT:
        if rows == 1 and len(header) > 1:
            found["only"] = RULES.finding("artifact_placeholder_output/csv-header-only", file)
        for finding in judge_text(file, [("the table", "\n".join(pieces))]):
            found[finding.id] = finding
    return {"rows": rows, "columns": len(header)}, list(found.values())


def _rows(text: str) -> Iterator[list[str]]:
    first, _, rest = text.partition("\n")
    if first.strip().lower().startswith("sep=") and len(first.strip()) == 5:
        text, delimiter = rest, first.strip()[4]
    else:
        line = text[:10_000].split("\n", 1)[0]
        delimiter = max(_DELIMITERS, key=line.count) if any(mark in line for mark in _DELIMITERS) else ","
    csv.field_size_limit(16 * 1024 * 1024)
    try:
        yield from csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
    except csv.Error:
        return


def _finding(file: ArtifactFile, rule: str, **words: Any) -> Finding:
    return RULES.finding(f"artifact_format_invalid/{rule}", file, **words)


FORMAT = Format(name="csv", suffixes=(".csv",), recognises=recognises, examine=examine)
