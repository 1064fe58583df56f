"""JSON: strict (RFC 8259), with what was asked for in it."""

from __future__ import annotations

import json
import re
from typing import Any

from verify_ext.artifacts.codes import ARTIFACT_FORMAT_INVALID, ARTIFACT_PLACEHOLDER_OUTPUT
from verify_ext.artifacts.guess import describe, text_of
from verify_ext.artifacts.model import ArtifactFile, Depth, Examined, Expected, Format
from verify_ext.artifacts.placeholder import judge_text
from verify_ext.codes import Code, Rule, Rules
from verify_ext.model import Finding, Severity
from verify_ext.source import Source

SIZE_LIMIT_BYTES = 64 * 1024 * 1024
_EXACT = 1 << 53


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
        source="RFC 8259; docs/design.md, section 9",
    )


RULES = Rules(
    _rule(
        "json-not-json",
        "the file is {actual}, no JSON: {problem}",
        "Write one JSON value and nothing else, with json.dump.",
        "No JSON reader reads it.",
    ),
    _rule(
        "json-encoding",
        "the file is not UTF-8: {problem}",
        "Save it as UTF-8.",
        "JSON is exchanged as UTF-8 (RFC 8259, 8.1).",
    ),
    _rule(
        "json-constant",
        "{value} is no JSON number",
        "Write null, or a text.",
        "Strict readers refuse the whole file.",
    ),
    _rule("json-too-deep", "the value is nested too deeply", "Nest it less.", "Readers run out of stack."),
    _rule(
        "json-field-missing",
        "there is no {field}",
        "Write the field, or correct required_fields.",
        "It was asked for.",
    ),
    _rule(
        "json-bom",
        "the file begins with a byte order mark",
        "Leave it out.",
        "Some readers refuse it (RFC 8259, 8.1).",
        Severity.WARNING,
    ),
    _rule(
        "json-duplicate-key",
        "the key {field} is there twice",
        "Write each key once.",
        "Readers differ in which one they take.",
        Severity.WARNING,
    ),
    _rule(
        "json-number",
        "the number {value} does not survive in all readers",
        "Write it as text.",
        "Readers that use doubles change it.",
        Severity.WARNING,
    ),
    _rule(
        "json-surrogate",
        "a text holds half of a surrogate pair",
        "Write whole characters.",
        "Readers replace it, or fail.",
        Severity.WARNING,
    ),
    _rule(
        "json-not-fully-checked",
        "the file is not checked: {problem}",
        "Nothing, if this is meant.",
        "What was not read was not judged.",
        Severity.WARNING,
    ),
    _rule(
        "json-empty",
        "there is no data: {value}",
        "Write the data.",
        "There is nothing to read.",
        Severity.WARNING,
        ARTIFACT_PLACEHOLDER_OUTPUT,
    ),
)


def recognises(file: ArtifactFile) -> bool:
    """Return whether a file reads as JSON, or surely began as it."""
    text = text_of(file.head)
    start = text.lstrip()[:200] if text is not None else ""
    return bool(re.match(r'\{\s*(?:"|\}|$)|\[\s*(?:["{\[\]\d-]|true|false|null|$)', start))


def examine(file: ArtifactFile, depth: Depth, expected: Expected) -> Examined:
    """Examine a JSON text; facts: the type of its value, and how many entries it has."""
    if file.size > SIZE_LIMIT_BYTES:
        finding = _finding(file, "json-not-fully-checked", problem=f"{file.size >> 20} MiB")
        return Examined(format="json", findings=(finding,))
    with file.open() as stream:
        data = stream.read()
    found: list[Finding] = []
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
        found.append(_finding(file, "json-bom"))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} is 0x{data[error.start]:02x}"
        return Examined(format=None, findings=(*found, _finding(file, "json-encoding", problem=problem)))
    reader = _Reader(file, text)
    value, problem_found = reader.read()
    found += reader.found
    if problem_found is not None:
        return Examined(format=None, findings=(*found, problem_found))
    found += _content(file, value, expected, depth)
    facts: dict[str, Any] = {"type": type(value).__name__ if value is not None else "null"}
    if isinstance(value, (dict, list)):
        facts["entries"] = len(value)
    return Examined(format="json", facts=facts, findings=tuple(found))


class _Constant(ValueError):
    """A literal that Python writes and JSON does not know."""


class _Reader:
    """Reads a text once, strictly, noting what readers differ in."""

    def __init__(self, file: ArtifactFile, text: str) -> None:
        self._file = file
        self._text = text
        self.found: list[Finding] = []

    def _once(self, rule: str, **words: Any) -> None:
        if not any(finding.rule == rule for finding in self.found):
            self.found.append(_finding(self._file, rule, **words))

    def read(self) -> tuple[Any, Finding | None]:
        decoder = json.JSONDecoder(
            parse_constant=self._constant,
            parse_int=self._integer,
            parse_float=self._number,
            object_pairs_hook=self._pairs,
        )
        try:
            value = decoder.decode(self._text)
        except _Constant as error:
            return None, _finding(self._file, "json-constant", value=str(error))
        except json.JSONDecodeError as error:
            spot = Source(self._file.shown, self._text).spot(error.pos, error.pos + 1)
            words: dict[str, Any] = {"actual": describe(self._file), "problem": error.msg}
            return None, RULES.finding("artifact_format_invalid/json-not-json", spot, **words)
        except RecursionError:
            return None, _finding(self._file, "json-too-deep")
        if re.search(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}", self._text) and _has_lone_surrogate(value):
            self._once("json-surrogate")
        return value, None

    def _constant(self, word: str) -> Any:
        raise _Constant(word)

    def _integer(self, digits: str) -> Any:
        if len(digits) > 4_000 or abs(int(digits)) > _EXACT:
            self._once("json-number", value=digits[:40])
            return digits
        return int(digits)

    def _number(self, digits: str) -> Any:
        value = float(digits)
        if value in (float("inf"), float("-inf")):
            self._once("json-number", value=digits[:40])
        return value

    def _pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            self._once("json-duplicate-key", field=repr(twice)[:60])
        return made


def _has_lone_surrogate(value: Any) -> bool:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            if any(0xD800 <= ord(character) <= 0xDFFF for character in each):
                return True
        elif isinstance(each, dict):
            waiting += [*each, *each.values()]
        elif isinstance(each, list):
            waiting += each
    return False


def _content(file: ArtifactFile, value: Any, expected: Expected, depth: Depth) -> list[Finding]:
    found = [
        _finding(file, "json-field-missing", field=name)
        for name in expected.required_fields
        if not _has(value, name)
    ]
    if depth < Depth.CONTENT:
        return found
    if value in ({}, [], "") or value is None:
        rule = "artifact_placeholder_output/json-empty"
        found.append(RULES.finding(rule, file, value=json.dumps(value)))
    elif isinstance(value, str):
        found += judge_text(file, [("the text", value)])
    return found


def _has(value: Any, name: str) -> bool:
    for step in name.split("."):
        if isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        elif isinstance(value, dict) and step in value:
            value = value[step]
        else:
            return False
    return True


def _finding(file: ArtifactFile, rule: str, **words: Any) -> Finding:
    return RULES.finding(f"artifact_format_invalid/{rule}", file, **words)


FORMAT = Format(name="json", suffixes=(".json",), recognises=recognises, examine=examine)
