"""`results.json`: what is written is read back, and what a stranger wrote is refused with a reason."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from dataclasses import fields, replace
from enum import EnumType
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.report_sample import FINDINGS, REPORT, json_values, reports
from verify_ext import model, schemas
from verify_ext.model import Report
from verify_ext.report import results
from verify_ext.report.results import ResultsError, comparable, dump, load, to_json
from verify_ext.report.text import visible

SCHEMA = schemas.load("results")


@given(reports)
@settings(deadline=None)
def test_reading_what_was_written_gives_the_same_report(report: Report) -> None:
    text = dump(report)
    assert text.encode("utf-8")
    assert load(text) == report
    assert dump(load(text)) == text


def test_keys_are_in_the_documented_order() -> None:
    data = to_json(REPORT)
    assert " ".join(data) == (
        "schema_version tool revision gate extensions findings harnesses protections evidence timing"
    )
    assert " ".join(data["findings"][0]) == (
        "code rule fault severity layer extension component harness message expected actual remedy "
        "reproduction log provenance location fingerprint suppressed"
    )
    assert " ".join(data["findings"][0]["location"]) == "path line column end_line end_column text"
    assert " ".join(data["extensions"][0]) == "path name kind digest layers required runs"
    assert " ".join(data["harnesses"][0]) == "requirement contract canary fingerprint"


def test_the_text_is_safe_to_show() -> None:
    text = dump(REPORT)
    assert "工具" in text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e\udc80]", text)
    assert "##[" not in text
    assert not re.search(r"^\s*::", text, re.MULTILINE)


def test_facts_that_json_cannot_hold_become_their_text() -> None:
    odd = replace(REPORT, protections={"a": float("nan"), "b": Path("/x"), "c": (1, 2), "d": {3: {4}}})
    assert json.loads(dump(odd))["protections"] == {"a": "nan", "b": "/x", "c": [1, 2], "d": {"3": "{4}"}}


def test_facts_may_be_as_deep_as_they_can_be_read() -> None:
    deep: Any = "end"
    for _ in range(300):
        deep = {"a": deep}
    text = dump(replace(REPORT, protections=deep))
    assert to_json(load(text)) == json.loads(text)


def test_results_that_would_be_too_long_lose_logs_only(monkeypatch: pytest.MonkeyPatch) -> None:
    report = replace(REPORT, findings=tuple(replace(each, log="x" * 20_000) for each in FINDINGS))
    monkeypatch.setattr(results, "LIMIT_BYTES", 200_000)
    read = load(dump(report))
    assert [len(each.log or "") for each in read.findings] == [1_000] * len(FINDINGS)
    assert [replace(each, log=None) for each in read.findings] == [
        replace(each, log=None) for each in FINDINGS
    ]


# --- The schema ------------------------------------------------------------------------------


def test_the_schema_is_valid_and_describes_everything() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    for name, part in {"results": SCHEMA, **SCHEMA["$defs"]}.items():
        for field, value in part.get("properties", {}).items():
            described = value.get("description") or "$ref" in value or "const" in value
            assert described, f"{name}.{field} has no description"


@given(reports)
@settings(max_examples=20, deadline=None)
def test_what_is_written_follows_the_schema(report: Report) -> None:
    Draft202012Validator(SCHEMA).validate(to_json(report))


RECORDS = {
    "location": model.Location,
    "finding": model.Finding,
    "component": model.Component,
    "artifact": model.Artifact,
    "run": model.ExtensionRun,
    "extension": model.ExtensionResult,
    "harness": model.HarnessState,
    "gate": model.Gate,
}


@pytest.mark.parametrize("name", RECORDS)
def test_the_schema_names_the_fields_of_the_model(name: str) -> None:
    assert set(SCHEMA["$defs"][name]["properties"]) == {field.name for field in fields(RECORDS[name])}


@pytest.mark.parametrize(
    ("place", "values"),
    [
        (("verdict",), model.Verdict),
        (("provenance",), model.Provenance),
        (("finding", "properties", "fault"), model.Fault),
        (("finding", "properties", "severity"), model.Severity),
        (("gate", "properties", "decision"), model.Decision),
    ],
)
def test_the_schema_names_the_words_of_the_model(place: tuple[str, ...], values: EnumType) -> None:
    part = SCHEMA["$defs"]
    for step in place:
        part = part[step]
    assert part["enum"] == list(values)
    assert [*SCHEMA["$defs"]["layers"]["properties"]] == list(model.Layer)
    assert SCHEMA["$defs"]["finding"]["properties"]["layer"]["enum"] == [*model.Layer, None]


# --- Reading what a stranger wrote -----------------------------------------------------------

Damage = Callable[[dict[str, Any]], object]
DAMAGES: list[tuple[Damage, str]] = [
    (
        lambda r: r["findings"][0]["location"].update(line="x"),
        "expected integer, found string 'x' in 'findings[0].location.line'",
    ),
    (
        lambda r: r["findings"][0]["location"].update(line=True),
        "expected integer, found boolean True in 'findings[0].location.line'",
    ),
    (
        lambda r: r["findings"][0]["location"].update(line=0),
        "expected minimum 1, found integer 0 in 'findings[0].location.line'",
    ),
    (
        lambda r: r["findings"][1].update(code="A b\x1b"),
        r"expected pattern ^[a-z][a-z0-9_]*$, found string 'A b\x1b' in 'findings[1].code'",
    ),
    (lambda r: r["findings"][2].pop("remedy"), "'remedy' is missing in 'findings[2]'"),
    (lambda r: r.pop("gate"), "'gate' is missing in the top object"),
    (
        lambda r: r["gate"].update(decision="yes"),
        "expected one of allow, allow_with_warnings, wait, manual_review, reject; found string 'yes' "
        "in 'gate.decision'",
    ),
    (
        lambda r: r["gate"].update(exit_code=256),
        "expected maximum 255, found integer 256 in 'gate.exit_code'",
    ),
    (lambda r: r["gate"].update(reasons={}), "expected array, found object in 'gate.reasons'"),
    (
        lambda r: r["revision"].update(commit=3.5),
        "expected string or null, found number 3.5 in 'revision.commit'",
    ),
    (
        lambda r: r["extensions"][0]["runs"][0]["layers"].update(L2="PASS"),
        "expected one of pass, fail, uncertain, unchecked, error, timed_out, skipped; found string 'PASS' "
        "in 'extensions[0].runs[0].layers.L2'",
    ),
    (lambda r: r["tool"].update(name="x"), "expected const verify-ext, found string 'x' in 'tool.name'"),
    (lambda r: r.update(schema_version="1"), "expected const 1, found string '1' in 'schema_version'"),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGES, ids=[message for _, message in DAMAGES])
def test_what_is_wrong_is_named_with_its_place(damage: Damage, message: str) -> None:
    data = copy.deepcopy(to_json(REPORT))
    damage(data)
    with pytest.raises(ResultsError) as caught:
        load(json.dumps(data))
    assert str(caught.value) == f"not the results of a run: {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the results are not valid JSON: Expecting value, line 1, column 1"),
        ("[1, 2", "the results are not valid JSON: Expecting ',' delimiter, line 1, column 6"),
        ("[]", "not the results of a run: expected object, found array in the top object"),
        ("[NaN]", "the results are not valid JSON: NaN is not a number"),
        ("[1e999]", "the results are not valid JSON: 1e999 is not a number"),
        ("[" * 100_000, "the results are nested too deeply"),
    ],
)
def test_what_is_no_results_file_is_refused(text: str, message: str) -> None:
    with pytest.raises(ResultsError) as caught:
        load(text)
    assert str(caught.value) == message


def test_a_number_without_end_is_refused() -> None:
    with pytest.raises(ResultsError, match="not valid JSON: Exceeds the limit"):
        load("[" + "9" * 10_000 + "]")


def test_another_version_is_refused_by_name() -> None:
    with pytest.raises(ResultsError, match="have schema version 2, this verify-ext reads version 1:"):
        load(json.dumps({"schema_version": 2, "everything": "else"}))


def test_a_file_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "LIMIT_BYTES", 1000)
    with pytest.raises(ResultsError, match="larger than 1,000 bytes"):
        load("工" * 334)


def test_facts_that_are_too_deep_are_refused() -> None:
    data = to_json(REPORT)
    data["evidence"]["x"] = json.loads("[" * 25 + "]" * 25)
    with pytest.raises(ResultsError, match="at most 20 levels, found more in 'evidence'"):
        load(json.dumps(data))


def test_fields_nobody_knows_are_ignored() -> None:
    data = copy.deepcopy(to_json(REPORT))
    data["new"] = data["findings"][0]["new"] = data["gate"]["new"] = data["extensions"][0]["new"] = [1]
    data["extensions"][0]["layers"]["L4"] = "who knows"
    del data["findings"][0]["location"]["text"]
    read = load(json.dumps(data))
    assert read.extensions == REPORT.extensions
    assert read.findings[0] == FINDINGS[0]


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=3), json_values)
@settings(deadline=None)
def test_damage_anywhere_is_refused_or_read_but_never_a_crash(places: list[int], value: Any) -> None:
    data = copy.deepcopy(to_json(REPORT))
    for place in places:
        holders = list(_holders(data))
        holder = holders[place % len(holders)]
        key = list(holder)[place % len(holder)] if isinstance(holder, dict) else place % len(holder)
        holder[key] = copy.deepcopy(value)
    text = json.dumps(data)
    try:
        assert dump(load(text))
    except ResultsError as error:
        message = str(error)
        assert visible(message) == message


def _holders(data: Any) -> list[Any]:
    below = data.values() if isinstance(data, dict) else data if isinstance(data, list) else []
    return [data] * bool(below) + [holder for part in below for holder in _holders(part)]


# --- Comparing -------------------------------------------------------------------------------


def test_comparable_drops_what_depends_on_the_machine_and_nothing_else() -> None:
    data = to_json(REPORT)
    other = to_json(
        replace(
            REPORT,
            timing={},
            protections={},
            evidence={},
            harnesses=tuple(replace(each, fingerprint="other") for each in REPORT.harnesses),
        )
    )
    assert comparable(data) == comparable(other)
    assert set(data) - set(comparable(data)) == {"timing", "protections", "evidence"}
    assert comparable(data)["harnesses"][0] == {
        "requirement": "openjiuwen==0.1.16",
        "contract": "labels",
        "canary": "pass",
    }
    assert comparable(to_json(replace(REPORT, commit=None))) != comparable(data)
