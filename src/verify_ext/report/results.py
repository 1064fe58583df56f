"""`results.json`: a Report as data, and back.

Other programs read what is written here, and `report` reads what may come from a stranger's
fork: writing cannot fail on odd text, reading believes nothing. The shape is
`schemas/results.schema.json`.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

from verify_ext.model import (
    Artifact,
    Component,
    Decision,
    ExtensionResult,
    ExtensionRun,
    Fault,
    Finding,
    Gate,
    HarnessState,
    Layer,
    Location,
    Provenance,
    Report,
    Severity,
    Verdict,
)
from verify_ext.report.text import UNSEEN, cut, visible

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError

SCHEMA_VERSION = 1
LIMIT_BYTES = 64 * 1024 * 1024
"""Of a results file: read no more, write no more."""


_DEPTH_LIMIT = 20
_TEXTS = ("log", "message", "actual", "expected", "remedy")
_SHORTER = ((("log",), 1_000), (_TEXTS, 400), (_TEXTS, 40))
_MACHINE_DEPENDENT = ("timing", "protections", "evidence")


class ResultsError(Exception):
    """A results file that cannot be used; the message says where and why, for a person."""


# --- Report to data --------------------------------------------------------------------------


def to_json(report: Report) -> dict[str, Any]:
    """Return the report as plain data, keys in the order of the documentation."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "verify-ext", "version": report.tool_version},
        "revision": {"commit": report.commit, "dirty": report.dirty},
        "gate": {
            "decision": report.gate.decision.value,
            "exit_code": report.gate.exit_code,
            "reasons": list(report.gate.reasons),
            "required": [layer.value for layer in report.gate.required],
            "cancelled_by": report.gate.cancelled_by,
        },
        "extensions": [_extension(extension) for extension in report.extensions],
        "findings": [_finding(finding) for finding in report.findings],
        "harnesses": [{**vars(state), "canary": state.canary.value} for state in report.harnesses],
        "protections": _plain(report.protections),
        "evidence": _plain(report.evidence),
        "timing": _plain(report.timing),
    }


def _extension(extension: ExtensionResult) -> dict[str, Any]:
    return {
        "path": extension.path,
        "name": extension.name,
        "kind": extension.kind,
        "digest": extension.digest,
        "layers": _layers(extension.layers),
        "required": [layer.value for layer in extension.required],
        "runs": [_run(run) for run in extension.runs],
    }


def _run(run: ExtensionRun) -> dict[str, Any]:
    return {
        "harness": run.harness,
        "layers": _layers(run.layers),
        "components": [
            {"type": part.type, "name": part.name, "verdicts": _layers(part.verdicts)}
            for part in run.components
        ],
        "artifacts": [
            {
                "path": artifact.path,
                "format": artifact.format,
                "sha256": artifact.sha256,
                "provenance": artifact.provenance.value,
                "facts": _plain(artifact.facts),
            }
            for artifact in run.artifacts
        ],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "rule": finding.rule,
        "fault": finding.fault.value,
        "severity": finding.severity.value,
        "layer": finding.layer.value if finding.layer else None,
        "extension": finding.extension,
        "component": finding.component,
        "harness": finding.harness,
        "message": finding.message,
        "expected": finding.expected,
        "actual": finding.actual,
        "remedy": finding.remedy,
        "reproduction": finding.reproduction,
        "log": finding.log,
        "provenance": finding.provenance.value,
        "location": dict(vars(finding.location)),
        "fingerprint": finding.fingerprint,
        "suppressed": finding.suppressed,
    }


def _layers(verdicts: Mapping[Layer, Verdict]) -> dict[str, str]:
    return {layer.value: verdicts[layer].value for layer in Layer if layer in verdicts}


def _plain(value: Any, depth: int = 0) -> Any:
    """Return measured facts as JSON can hold them; what it cannot hold becomes its text."""
    if depth < _DEPTH_LIMIT and isinstance(value, Mapping):
        return {str(key): _plain(below, depth + 1) for key, below in value.items()}
    if depth < _DEPTH_LIMIT and isinstance(value, list | tuple):
        return [_plain(below, depth + 1) for below in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return cut(str(value), 400)


# --- Data to text ----------------------------------------------------------------------------

# Line ends stand between values only; the rest stands in strings, where an escape means the same.
_NOT_RAW = re.compile(f"(?!\n)(?:{UNSEEN.pattern})")


def dump(report: Report) -> str:
    """Return `results.json` as text: UTF-8 can encode it, whatever the extension said.

    Past `LIMIT_BYTES` (our own reader would refuse it) logs are cut to 1,000 characters, then every text.
    """
    text = _write(report)
    for names, limit in _SHORTER:
        if _size(text) <= LIMIT_BYTES:
            break
        text = _write(replace(report, findings=tuple(_shortened(f, names, limit) for f in report.findings)))
    return text


def _shortened(finding: Finding, names: tuple[str, ...], limit: int) -> Finding:
    texts: dict[str, Any] = {name: cut(text, limit) for name in names if (text := getattr(finding, name))}
    return replace(finding, **texts)


def _write(report: Report) -> str:
    text = json.dumps(to_json(report), ensure_ascii=False, indent=2, allow_nan=False)
    text = _NOT_RAW.sub(lambda match: json.dumps(match[0])[1:-1], text)
    # A log that shows this file must not be read as commands by the workflow runner.
    return text.replace("##[", "#\\u0023[") + "\n"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


# --- Text to Report --------------------------------------------------------------------------


def load(text: str) -> Report:
    """Read `results.json`. Unknown fields are ignored; everything else is checked.

    Raises ResultsError: not JSON, too large, too deep, another schema version, or a value that
    is not what the schema says, with the path of the value.
    """
    data = _parse(text)
    version = data.get("schema_version") if isinstance(data, dict) else None
    if isinstance(version, int) and version != SCHEMA_VERSION:
        raise ResultsError(
            f"the results have schema version {version}, this verify-ext reads version {SCHEMA_VERSION}: "
            "read them with the version of verify-ext that wrote them"
        )
    error = next(iter(_validator().iter_errors(data)), None)
    if error is not None:
        raise ResultsError(f"not the results of a run: {_explain(error)}")
    return _report(data)


def _parse(text: str) -> Any:
    if _size(text) > LIMIT_BYTES:
        raise ResultsError(f"the results are larger than {LIMIT_BYTES:,} bytes")
    try:
        return json.loads(text, parse_constant=_not_a_number, parse_float=_finite)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ResultsError(f"the results are not valid JSON: {error.msg}, {place}") from None
    except ValueError as error:  # NaN, or a number with more digits than Python converts
        raise ResultsError(f"the results are not valid JSON: {cut(visible(str(error)), 200)}") from None
    except RecursionError:
        raise ResultsError("the results are nested too deeply") from None


def _not_a_number(text: str) -> NoReturn:
    raise ValueError(f"{cut(text, 40)} is not a number")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _not_a_number(text)


@cache
def _validator() -> Draft202012Validator:
    from jsonschema import Draft202012Validator

    from verify_ext import schemas

    return Draft202012Validator(schemas.load("results"))


_TYPES = {
    "NoneType": "null",
    "bool": "boolean",
    "int": "integer",
    "float": "number",
    "str": "string",
    "list": "array",
    "dict": "object",
}


def _explain(error: ValidationError) -> str:
    """Say what a violation of the schema is, with its place, in words."""
    found: Any = error.instance
    wanted: Any = error.validator_value
    match error.validator:
        case "required" if isinstance(found, dict):
            missing = next(name for name in wanted if name not in found)
            said = f"'{missing}' is missing"
        case "type":
            types = " or ".join([wanted] if isinstance(wanted, str) else wanted)
            said = f"expected {types}, found {_shown(found)}"
        case "enum":
            known = ", ".join("null" if value is None else str(value) for value in wanted)
            said = f"expected one of {known}; found {_shown(found)}"
        case "minimum" | "maximum" | "minLength" | "maxLength" | "pattern" | "const":
            said = f"expected {error.validator} {wanted}, found {_shown(found)}"
        case _:
            said = cut(visible(error.message), 200)
    return f"{said} in {_path(error.absolute_path)}"


def _shown(value: Any) -> str:
    kind = _TYPES[type(value).__name__]
    return kind if kind in ("null", "array", "object") else f"{kind} {cut(visible(repr(value)), 60)}"


def _path(parts: Iterable[str | int]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{visible(part)}" for part in parts)
    return f"'{cut(text.lstrip('.'), 200)}'" if text else "the top object"


# From here on the schema holds: what is indexed is there and of its type.


def _report(data: dict[str, Any]) -> Report:
    gate = data["gate"]
    return Report(
        tool_version=data["tool"]["version"],
        commit=data["revision"]["commit"],
        dirty=data["revision"]["dirty"],
        gate=Gate(
            decision=Decision(gate["decision"]),
            exit_code=int(gate["exit_code"]),
            reasons=tuple(gate["reasons"]),
            required=tuple(Layer(layer) for layer in gate.get("required", ())),
            cancelled_by=gate.get("cancelled_by"),
        ),
        extensions=tuple(_read_extension(extension) for extension in data["extensions"]),
        findings=tuple(_read_finding(finding) for finding in data["findings"]),
        harnesses=tuple(_read_harness(harness) for harness in data["harnesses"]),
        protections=_free(data["protections"], "protections"),
        evidence=_free(data["evidence"], "evidence"),
        timing=data["timing"],
    )


def _read_extension(data: dict[str, Any]) -> ExtensionResult:
    return ExtensionResult(
        path=data["path"],
        name=data["name"],
        kind=data["kind"],
        digest=data["digest"],
        layers=_read_layers(data["layers"]),
        required=tuple(Layer(layer) for layer in data.get("required", ())),
        runs=tuple(_read_run(run) for run in data["runs"]),
    )


def _read_run(data: dict[str, Any]) -> ExtensionRun:
    return ExtensionRun(
        harness=data["harness"],
        layers=_read_layers(data["layers"]),
        components=tuple(
            Component(type=part["type"], name=part["name"], verdicts=_read_layers(part["verdicts"]))
            for part in data["components"]
        ),
        artifacts=tuple(
            Artifact(
                path=artifact["path"],
                format=artifact["format"],
                sha256=artifact["sha256"],
                provenance=Provenance(artifact["provenance"]),
                facts=_free(artifact["facts"], "facts"),
            )
            for artifact in data["artifacts"]
        ),
    )


def _read_finding(data: dict[str, Any]) -> Finding:
    place = data["location"]
    return Finding(
        code=data["code"],
        rule=data["rule"],
        fault=Fault(data["fault"]),
        severity=Severity(data["severity"]),
        layer=Layer(data["layer"]) if data["layer"] else None,
        extension=data["extension"],
        component=data["component"],
        harness=data["harness"],
        message=data["message"],
        expected=data["expected"],
        actual=data["actual"],
        remedy=data["remedy"],
        reproduction=data["reproduction"],
        log=data["log"],
        provenance=Provenance(data["provenance"]),
        location=Location(
            path=place["path"],
            line=int(place["line"]),  # JSON Schema takes 3.0 for an integer too
            column=int(place["column"]),
            end_line=int(place["end_line"]),
            end_column=int(place["end_column"]),
            text=place.get("text", ""),
        ),
        fingerprint=data["fingerprint"],
        suppressed=data["suppressed"],
    )


def _read_harness(data: dict[str, Any]) -> HarnessState:
    return HarnessState(
        requirement=data["requirement"],
        contract=data["contract"],
        canary=Verdict(data["canary"]),
        fingerprint=data["fingerprint"],
    )


def _read_layers(data: dict[str, Any]) -> dict[Layer, Verdict]:
    return {layer: Verdict(data[layer.value]) for layer in Layer if layer.value in data}


def _free(value: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an object without a schema, if it is not deeper than anything we write."""
    level: list[Any] = [value]
    for _ in range(_DEPTH_LIMIT):
        level = [
            below
            for holder in level
            for below in (holder.values() if isinstance(holder, dict) else holder)
            if isinstance(below, dict | list)
        ]
        if not level:
            return value
    raise ResultsError(f"expected at most {_DEPTH_LIMIT} levels, found more in '{name}'")


# --- Comparing -------------------------------------------------------------------------------


def comparable(results: Mapping[str, Any]) -> dict[str, Any]:
    """Return results without what depends on the machine: two runs of one input are equal then."""
    kept = {name: copy.deepcopy(value) for name, value in results.items() if name not in _MACHINE_DEPENDENT}
    kept["harnesses"] = [
        {name: value for name, value in harness.items() if name != "fingerprint"}
        for harness in results["harnesses"]
    ]
    # Files hold the time of their making, so their bytes differ from run to run.
    for run in (run for extension in kept["extensions"] for run in extension["runs"]):
        for artifact in run["artifacts"]:
            artifact.pop("sha256", None)
    return kept
