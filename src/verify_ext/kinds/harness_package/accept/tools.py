"""Judges the tool tests: called through the real chain, the result as promised, the files real."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from verify_ext.kinds.harness_package.accept.files import Made
from verify_ext.kinds.harness_package.accept.plan import tool_step
from verify_ext.kinds.harness_package.accept.results import (
    MISSING,
    PathClaim,
    Result,
    field_of,
    path_claims,
    result_of_step,
    suffix_format,
)
from verify_ext.kinds.harness_package.accept.subject import Run, at, words_of
from verify_ext.kinds.harness_package.acceptance import ToolTest
from verify_ext.kinds.harness_package.places import place_of, trace_of
from verify_ext.model import Artifact, Declared, Finding, Layer, Provenance
from verify_ext.source import Spot

_DEGRADED_MARKS = ("error", "estimated", "degraded")
_FILE_FIELDS = {"success": "boolean", "exists": "boolean", "format": "string", "size_bytes": "integer"}


def judge_tools(run: Run) -> Iterator[Finding | Artifact]:
    """Judge every tool test, and that every tool has one."""
    tested = {test.call.tool_name for test in run.spec.tool_tests}
    for name, part in run.tools.items():
        if name not in tested:
            yield run.finding(
                "acceptance_spec_invalid/tool-untested",
                Spot(run.spec.location),
                part,
                verified=True,
                name=name,
                class_name=part.name,
            )
    for number, test in enumerate(run.spec.tool_tests):
        tested_part = run.tools.get(test.call.tool_name)
        if tested_part is None:
            known = ", ".join(sorted(run.tools)) or "none"
            place, name = Spot(test.call.location), test.call.tool_name
            yield run.finding("acceptance_spec_invalid/tool-unknown", place, None, name=name, known=known)
        else:
            yield from _judge_test(run, number, test, tested_part)


def _judge_test(run: Run, number: int, test: ToolTest, part: Declared) -> Iterator[Finding | Artifact]:
    name, step = test.call.tool_name, tool_step(number)
    problem = _arguments_problem(run, step, test)
    if problem is not None:
        place = Spot(test.call.location)
        rule = "acceptance_spec_invalid/arguments-refused"
        yield run.finding(rule, place, part, verified=True, name=name, problem=problem)
        return
    result = result_of_step(run.seen, step, name)
    uncalled = _uncalled(run, step, test, part, result)
    if uncalled is not None:
        yield uncalled
        return
    assert result is not None  # it was called
    failed = list(_judge_result(run, test, part, result))
    yield from failed
    if not failed:
        yield from _unnamed_files(run, test, part, result)
        for claim in path_claims(test, result):
            yield from _judge_file(run, step, test, part, result, claim)


def _arguments_problem(run: Run, step: str, test: ToolTest) -> str | None:
    """Return why the spec's arguments do not fit the schema that the tool is offered with."""
    import jsonschema

    offered = next((request.tools for request in run.requests(step)), ())
    schema = next(
        (tool.get("parameters") for tool in offered if tool.get("name") == test.call.tool_name), None
    )
    if not isinstance(schema, dict) or test.call.arguments is None:
        return None
    try:
        problem = next(jsonschema.Draft202012Validator(schema).iter_errors(dict(test.call.arguments)), None)
    except Exception as error:  # noqa: BLE001 - a schema that cannot be used; L1 judges schemas
        return f"the schema cannot be used: {type(error).__name__}"
    return None if problem is None else f"{problem.message[:300]} (at {problem.json_path})"


def _uncalled(run: Run, step: str, test: ToolTest, part: Declared, result: Result | None) -> Finding | None:
    """Return why a tool was not called, None if it was."""
    name, record, requests = test.call.tool_name, run.record(step), run.requests(step)
    executed = any(execution["name"] == name for execution in record["executions"])
    if executed and result is not None:
        return None
    if requests and name not in requests[0].offered:
        offered = ", ".join(sorted(requests[0].offered)) or "nothing"
        return run.finding(
            "tool_not_called/not-offered", at(part), part, verified=True, name=name, offered=offered
        )
    error = record["error"] or run.seen.observed["error"]
    if error is None and requests:
        answers = [text for request in requests for text in request.texts("tool")]
        message = answers[0][:300] if answers else "no result came"
        return run.finding("tool_not_called/not-executed", at(part), part, name=name, message=message)
    words = words_of(error) if error else "the model was not asked"
    place = (place_of(run.extension, error) if error else None) or at(part)
    log = trace_of(run.extension, error) if error else None
    return run.finding("tool_not_called/run-failed", place, part, name=name, error=words, log=log)


# --- the result ----------------------------------------------------------------------------


def _judge_result(run: Run, test: ToolTest, part: Declared, result: Result) -> Iterator[Finding]:
    name = test.call.tool_name
    if result.error is not None:
        error = dict(result.error)
        place = place_of(run.extension, error) or at(part)
        log = trace_of(run.extension, error)
        words = words_of(error)
        yield run.finding("tool_result_failed/raised", place, part, name=name, error=words, log=log)
        return
    fields = result.fields
    if fields is None:
        rule = "nothing-returned" if result.value is None else "not-an-object"
        code = "tool_result_failed" if result.value is None else "tool_result_schema_missing"
        shown = _shown(result.value)
        yield replace(run.finding(f"{code}/{rule}", at(part), part, name=name, actual=shown), actual=shown)
        return
    yield from _judge_success(run, test, part, fields)
    if fields.get("success") is not False or not test.success:
        for field, type_name in test.required_fields.items():
            yield from _judge_field(run, name, part, fields, field, type_name)


def _judge_success(run: Run, test: ToolTest, part: Declared, fields: Mapping[str, Any]) -> Iterator[Finding]:
    name, success = test.call.tool_name, fields.get("success", MISSING)
    if success is MISSING:
        yield run.finding("tool_result_schema_missing/success-missing", at(part), part, name=name)
    elif not isinstance(success, bool):
        yield _wrong_type(run, name, part, "success", "boolean", success)
    elif success and not test.success:
        yield run.finding("tool_result_failed/says-succeeded", at(part), part, name=name)
    elif not success and test.success:
        if not test.allow_degraded:
            error = _shown(fields.get("error") or "it does not say why")
            yield run.finding("tool_result_failed/says-failed", at(part), part, name=name, error=error)
        elif not any(fields.get(mark) for mark in _DEGRADED_MARKS):
            yield run.finding("tool_result_schema_missing/degraded-unmarked", at(part), part, name=name)


def _judge_field(
    run: Run, name: str, part: Declared, fields: Mapping[str, Any], field: str, wanted: str | None
) -> Iterator[Finding]:
    value = field_of(fields, field)
    if value is MISSING:
        there = ", ".join(sorted(map(str, fields))[:30])
        finding = run.finding(
            "tool_result_schema_missing/field-missing", at(part), part, name=name, field=field
        )
        yield replace(finding, expected=field, actual=f"fields: {there}")
    elif wanted is not None and not _is_type(value, wanted):
        yield _wrong_type(run, name, part, field, wanted, value)


def _wrong_type(run: Run, name: str, part: Declared, field: str, wanted: str, value: Any) -> Finding:
    return run.finding(
        "tool_result_schema_missing/field-type",
        at(part),
        part,
        name=name,
        field=field,
        expected=wanted,
        actual=_shown(value),
    )


def _is_type(value: Any, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted == "boolean"
    types: dict[str, tuple[type, ...]] = {
        "string": (str,),
        "integer": (int,),
        "number": (int, float),
        "array": (list,),
        "object": (dict,),
    }
    return isinstance(value, types.get(wanted, ()))


def _shown(value: Any) -> str:
    text = repr(value) if not isinstance(value, str) else f"the text {value!r}"
    return text if len(text) <= 200 else f"{text[:197]}…"


# --- files ---------------------------------------------------------------------------------


def _unnamed_files(run: Run, test: ToolTest, part: Declared, result: Result) -> Iterator[Finding]:
    """Find files that the spec asks for and the result does not name."""
    fields = result.fields or {}
    for claim in test.artifacts if fields.get("success") is not False else ():
        value = field_of(fields, claim.path_field)
        if isinstance(value, str) and value:
            continue
        if value is MISSING:
            yield from _judge_field(run, test.call.tool_name, part, fields, claim.path_field, None)
        else:
            yield _wrong_type(run, test.call.tool_name, part, claim.path_field, "string", value)


def _judge_file(
    run: Run, step: str, test: ToolTest, part: Declared, result: Result, claim: PathClaim
) -> Iterator[Finding | Artifact]:
    made = run.found.made.get((step, claim.field))
    name, fields = test.call.tool_name, result.fields or {}
    if made is None or not made.inside:
        shown = claim.path if made is None else made.path
        rule = "artifact_not_created/outside-output"
        yield run.finding(rule, at(part), part, verified=True, name=name, path=shown)
        return
    if made.size is None:
        rule = "artifact_not_created/no-such-file"
        yield run.finding(rule, at(part), part, verified=True, name=name, path=made.path)
        return
    yield from _judge_claims(run, name, part, made, fields)
    examined = made.examined
    if examined is None:
        return
    for finding in examined.findings:
        yield replace(
            finding,
            layer=Layer.L3,
            component=part.id,
            location=part.location,
            message=f"{made.path}: {finding.message}",
        )
    yield Artifact(
        path=made.path,
        format=examined.format or "unknown",
        sha256=made.sha256,
        provenance=Provenance.VERIFIED,
        facts={"size_bytes": made.size, **examined.facts},
    )


def _judge_claims(
    run: Run, name: str, part: Declared, made: Made, fields: Mapping[str, Any]
) -> Iterator[Finding]:
    """Compare what a result says of its file with the file (seed, 文件产物验收)."""
    for field, wanted in _FILE_FIELDS.items():
        value = fields.get(field, MISSING)
        if value is MISSING:
            rule = "tool_result_schema_missing/file-field-missing"
            yield run.finding(rule, at(part), part, name=name, path=made.path, field=field)
        elif not _is_type(value, wanted):
            yield _wrong_type(run, name, part, field, wanted, value)
    if fields.get("exists") is False:
        rule = "artifact_not_created/says-it-does-not-exist"
        yield run.finding(rule, at(part), part, name=name, path=made.path)
    size, claimed = fields.get("size_bytes"), fields.get("format")
    if isinstance(size, int) and not isinstance(size, bool) and size != made.size:
        rule = "artifact_format_invalid/claimed-size"
        words: dict[str, Any] = {"claimed": size, "actual": str(made.size)}
        yield run.finding(rule, at(part), part, verified=True, name=name, path=made.path, **words)
    actual = made.examined.format if made.examined is not None else None
    if isinstance(claimed, str) and actual is not None and _format(claimed) != actual:
        rule = "artifact_format_invalid/claimed-format"
        words = {"claimed": claimed, "actual": actual}
        yield run.finding(rule, at(part), part, verified=True, name=name, path=made.path, **words)


def _format(claimed: str) -> str:
    """Return what a claimed format is called here: `.PPTX`, `jpg` and `image/png` are understood."""
    word = claimed.strip().lower().rpartition("/")[2].lstrip(".")
    return suffix_format(f"x.{word}") or word
