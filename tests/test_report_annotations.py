"""Annotations, read back by the rules of the workflow runner.

The reader here follows actions/runner (src/Runner.Common/ActionCommand.cs and
src/Runner.Worker/ActionCommandManager.cs): `::name properties::data` at the start of a trimmed
line, else `##[name properties]data` anywhere in it; the searches follow Unicode collation, which
skips what is invisible.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report_sample import FINDINGS, REPORT, findings, many, odd_text, reports
from verify_ext.model import Finding, Location, Report, Severity
from verify_ext.report.annotations import MESSAGE_LIMIT, Annotation, command, log_line, render
from verify_ext.report.console import render as console

COMMANDS = {
    "error", "warning", "notice", "debug", "group", "endgroup", "add-mask", "add-path", "add-matcher",
    "remove-matcher", "set-env", "set-output", "save-state", "echo", "stop-commands",
}  # fmt: skip


@dataclass(frozen=True)
class Command:
    name: str
    properties: dict[str, str]
    data: str


def commands(output: str) -> list[Command]:
    """Return the commands that the runner finds in the output of a step."""
    lines = re.split(r"\r\n|\r|\n", output)
    found = [_command(line) for line in lines]
    skipping = [_command("".join(c for c in line if not _skipped(c))) for line in lines]
    assert [each and each.name for each in found] == [each and each.name for each in skipping]
    return [each for each in found if each]


def _skipped(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf") or "\ufe00" <= character <= "\ufe0f"


def _command(line: str) -> Command | None:
    return _current(line.lstrip()) or _legacy(line)


def _current(line: str) -> Command | None:
    end = line.find("::", 2)
    if not line.startswith("::") or end < 0:
        return None
    name, _, properties = line[2:end].partition(" ")
    if name.lower() not in COMMANDS:
        return None
    pairs = [part.split("=", 1) for part in properties.strip().split(",") if "=" in part]
    named = {key: _unescaped(value, "%0D\r", "%0A\n", "%3A:", "%2C,", "%25%") for key, value in pairs}
    return Command(name, named, _unescaped(line[end + 2 :], "%0D\r", "%0A\n", "%25%"))


def _legacy(line: str) -> Command | None:
    start = line.find("##[")
    end = line.find("]", start)
    if start < 0 or end < 0:
        return None
    name = line[start + 3 : end].partition(" ")[0]
    return Command(name, {}, line[end + 1 :]) if name.lower() in COMMANDS else None


def _unescaped(text: str, *pairs: str) -> str:
    for pair in pairs:
        text = text.replace(pair[:3], pair[3:])
    return text


def test_the_reader_finds_what_the_runner_finds() -> None:
    output = "::error file=a%2Cb,line=3::x%0Ay\n\u3000::notice::n\na ##[group]g\n::unknown::\n::error\nplain"
    assert commands(output) == [
        Command("error", {"file": "a,b", "line": "3"}, "x\ny"),
        Command("notice", {}, "n"),
        Command("group", {}, "g"),
    ]
    with pytest.raises(AssertionError):
        commands("a #\u200b#[group]g")


@given(st.lists(findings, max_size=30))
@settings(deadline=None)
def test_exactly_the_intended_commands_exist(made: list[Finding]) -> None:
    found = commands(render(replace(REPORT, findings=tuple(made))))
    for level in Severity:
        of_level = [each for each in found if each.name == level.value]
        counting = [each for each in made if each.severity is level and each.suppressed is None]
        assert len(of_level) <= min(10, len(counting))
        assert bool(of_level) == bool(counting)
        titles = {each.id for each in counting}
        assert {each.properties["title"] for each in of_level} <= titles | {"verify-ext"}
    assert len(found) == sum(each.name in {*Severity} for each in found)


@given(reports)
@settings(deadline=None)
def test_nothing_an_extension_says_makes_a_command_of_the_console(report: Report) -> None:
    assert commands(console(report, width=40, color=False)) == []


@given(findings)
def test_a_finding_is_one_line_of_the_log(finding: Finding) -> None:
    line = log_line(finding)
    assert commands(line) == []
    assert len(line.splitlines()) == 1
    assert finding.id in line


@given(
    st.sampled_from(Severity), odd_text, odd_text, st.integers(1, 99), st.integers(1, 99), st.integers(1, 99)
)
def test_a_command_says_what_it_was_given(
    level: Severity, path: str, message: str, line: int, end_line: int, column: int
) -> None:
    path = "a" + re.sub(r"[^ -~]", "", path)  # what is invisible in a path is escaped: below
    place = Location(path=path, line=line, end_line=end_line, column=column, end_column=column + 3)
    (found,) = commands(command(Annotation(level, "code/rule", message, place)))
    assert found.name == level
    assert found.properties["file"] == path
    assert found.properties["title"] == "code/rule"
    assert int(found.properties["line"]) == line <= int(found.properties["endLine"])
    assert ("col" in found.properties) == (line == end_line)
    assert len(found.data.encode("utf-16-le")) <= 2 * MESSAGE_LIMIT


@pytest.mark.parametrize(
    ("path", "start", "end", "properties"),
    [
        ("a:b,c%\n", (2, 3), (2, 6), "file=a%3Ab%2Cc%25\\n,line=2,endLine=2,col=3,endColumn=5"),
        ("a", (2, 3), (2, 3), "file=a,line=2,endLine=2,col=3,endColumn=3"),
        ("a", (2, 3), (4, 6), "file=a,line=2,endLine=4"),
        ("a", (2, 1), (3, 1), "file=a,line=2,endLine=2"),
        ("a", (2, 1), (1, 1), "file=a,line=2,endLine=2"),
        ("\udc80\u202e", (1, 1), (1, 1), "file=\\udc80\\u202e,line=1,endLine=1,col=1,endColumn=1"),
    ],
)
def test_places(path: str, start: tuple[int, int], end: tuple[int, int], properties: str) -> None:
    place = Location(path=path, line=start[0], column=start[1], end_line=end[0], end_column=end[1])
    assert command(Annotation(Severity.ERROR, "t", "m", place)) == f"::error {properties},title=t::m"


def test_a_long_message_is_cut_and_says_so() -> None:
    (found,) = commands(command(Annotation(Severity.ERROR, "t", "😀" * 5000, None)))
    assert 2 * MESSAGE_LIMIT - 4 <= len(found.data.encode("utf-16-le")) <= 2 * MESSAGE_LIMIT
    assert found.data.endswith("\n[cut here; all of it is in results.json]")


def test_a_combining_mark_does_not_melt_into_the_command() -> None:
    assert command(Annotation(Severity.ERROR, "t", "\u0301a", None)) == "::error title=t:: \u0301a"


def test_the_last_of_ten_says_how_many_more() -> None:
    report = many(5000)
    found = commands(render(report))
    assert len(found) == 30
    for level in Severity:
        of_level = [each for each in found if each.name == level.value]
        total = sum(each.severity is level for each in report.findings)
        assert len(of_level) == 10
        assert of_level[-1].data.startswith(f"{total - 9:,} more {level}s than can be shown here")


def test_ten_of_a_level_are_all_shown() -> None:
    notices = [each for each in FINDINGS if each.severity is Severity.NOTICE][:10]
    found = commands(render(replace(REPORT, findings=tuple(notices))))
    assert [each.properties["file"] for each in found] == [each.location.path for each in notices]


def test_one_finding_in_two_harnesses_is_one_annotation() -> None:
    twice = [each for each in FINDINGS if each.fingerprint == "f02"]
    (found,) = commands(render(replace(REPORT, findings=tuple(twice))))
    assert "harness: openjiuwen==0.1.16, openjiuwen==0.1.19.post2" in found.data


def test_what_is_not_the_authors_fault_is_said_first() -> None:
    (found,) = commands(render(replace(REPORT, findings=FINDINGS[:1])))
    assert found.data.startswith("Not your change: environment. Our own extension")


def test_suppressed_findings_are_in_the_log_only() -> None:
    suppressed = [each for each in FINDINGS if each.suppressed]
    text = render(replace(REPORT, findings=tuple(suppressed)))
    assert commands(text) == []
    assert "[error; suppressed: known, see #77 | until 2027]" in text
