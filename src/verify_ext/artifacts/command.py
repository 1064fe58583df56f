"""`verify-ext artifact FILE…`: each file an extension of kind `artifact`, in the usual results."""

from __future__ import annotations

import hashlib
import os
import shlex
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from verify_ext import __version__
from verify_ext.artifacts.apart import Request, examine_apart
from verify_ext.artifacts.model import Examined, Expected
from verify_ext.events import (
    STATIC,
    CheckResult,
    EnvironmentPreparing,
    EventLog,
    Started,
    SubjectDigested,
    verdict_of,
)
from verify_ext.model import Artifact, Finding, Layer, Provenance, Verdict
from verify_ext.report.text import visible

KIND = "artifact"
DEADLINE_S = 120.0
MEMORY_BYTES = 1024 * 1024 * 1024
_UNJUDGED = frozenset({"format-unknown", "zip-not-fully-checked"})


def examine_files(files: Sequence[Path], format_name: str | None, log: EventLog) -> None:
    """Examine files one by one, in a process of their own, and append what was found to the log."""
    log.append(Started(tool_version=__version__, commit=None, dirty=None, harnesses=(), required=(Layer.L1,)))
    for path in dict.fromkeys(files):
        shown = _shown(path)
        log.append(EnvironmentPreparing(what=f"examining {visible(shown)}"))
        log.append(
            SubjectDigested(
                extension=shown,
                name=visible(path.name) or shown,
                kind=KIND,
                digest=_digest(path),
                exercises=(),
            )
        )
        request = Request(
            path=Path(os.path.abspath(path)), shown=shown, expected=Expected(format=format_name)
        )
        (examined,) = examine_apart([request], deadline_s=DEADLINE_S, memory_bytes=MEMORY_BYTES)
        log.append(_result(shown, examined, _digest(path)))


def _shown(path: Path) -> str:
    """Return how a file is named in the results: as it was given, whatever its bytes."""
    return os.fspath(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace") or "."


def _digest(path: Path) -> str:
    """Return `sha256:…` of a regular file's bytes, `unreadable` where there is none."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return "unreadable"
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return "unreadable"
    with os.fdopen(handle, "rb") as stream:
        return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"


def _result(shown: str, examined: Examined, digest: str) -> CheckResult:
    findings = tuple(_of_structure(finding) for finding in examined.findings)
    verdict = verdict_of(findings)
    known = examined.format is not None
    if verdict is Verdict.PASS and (not known or any(finding.rule in _UNJUDGED for finding in findings)):
        verdict = Verdict.UNCHECKED
    artifact = Artifact(
        path=shown,
        format=examined.format or "unknown",
        sha256=digest.removeprefix("sha256:"),
        provenance=Provenance.VERIFIED,
        facts=dict(examined.facts),
    )
    return CheckResult(
        extension=shown,
        harness=None,
        exercise=STATIC,
        layer=Layer.L1,
        verdict=verdict,
        findings=findings,
        artifacts=(artifact,) if known else (),
    )


def _of_structure(finding: Finding) -> Finding:
    again = f"verify-ext artifact {shlex.quote(finding.location.path)}"
    return replace(finding, layer=Layer.L1, reproduction=again)
