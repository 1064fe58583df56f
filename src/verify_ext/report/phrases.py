"""What every output says in the same words: order, counts, whose fault, the gate in a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from verify_ext.model import (
    Decision,
    ExtensionResult,
    ExtensionRun,
    Fault,
    Finding,
    HarnessState,
    Layer,
    Report,
    Severity,
    Verdict,
)

LAYERS = tuple(Layer)
_SEVERITIES = tuple(Severity)  # declared from error to notice

NOT_THE_AUTHORS = frozenset({Fault.HARNESS, Fault.ENVIRONMENT, Fault.VERIFIER})
"""Faults that nobody who changed an extension can mend; the others are in the repository."""

_DECISIONS = {
    Decision.ALLOW: "Allowed: everything that is required passed",
    Decision.ALLOW_WITH_WARNINGS: "Allowed with warnings: what is required passed, something else did not",
    Decision.WAIT: "Waiting: something that is required has not been checked",
    Decision.MANUAL_REVIEW: "For a person to decide: something that is required could not be judged",
    Decision.REJECT: "Rejected: something that is required failed",
}


def ranked(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings in the order in which they matter.

    Errors first, suppressed ones last; then by layer, because a broken structure explains what
    fails after it; then by place. Findings without a layer (the run's own) come before L1.
    """
    return sorted(findings, key=_rank)


def _rank(finding: Finding) -> tuple[Any, ...]:
    place = finding.location
    return (
        finding.suppressed is not None,
        _SEVERITIES.index(finding.severity),
        finding.layer or "",
        finding.extension or "",
        (place.path, place.line, place.column),
        finding.id,
        finding.component or "",
        finding.harness or "",
        finding.message,
        finding.fingerprint,
    )


def by_extension(report: Report) -> list[tuple[ExtensionResult | str | None, list[Finding]]]:
    """Return ranked findings grouped by extension, in the order of the report.

    First comes what belongs to no extension (None), last what names one that the report does
    not list (its path): a finding is never left out. Extensions without findings are.
    """
    groups: dict[str | None, list[Finding]] = {}
    for finding in ranked(report.findings):
        groups.setdefault(finding.extension, []).append(finding)
    known: dict[str | None, ExtensionResult] = {extension.path: extension for extension in report.extensions}
    order = [None, *known, *(path for path in groups if path not in known)]
    shown = [path for path in dict.fromkeys(order) if path in groups]
    return [(known.get(path, path), groups[path]) for path in shown]


def place(finding: Finding) -> str:
    """Return `path:line:column`."""
    where = finding.location
    return f"{where.path}:{where.line}:{where.column}"


def circumstances(finding: Finding) -> list[str]:
    """Return layer, component, harness and provenance, as far as they are known."""
    known = [finding.layer, finding.component, finding.harness, finding.provenance]
    return [str(word) for word in known if word]


def blame(finding: Finding) -> str:
    """Return "not your change: environment" where the author cannot mend it, else nothing."""
    return f"not your change: {finding.fault}" if finding.fault in NOT_THE_AUTHORS else ""


def number(count: int, noun: str) -> str:
    """Return "1 error", "5,000 errors"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def counts(findings: Iterable[Finding]) -> str:
    """Return "2 errors, 1 notice, 1 suppressed finding", or "no findings"."""
    tally = Counter(None if finding.suppressed is not None else finding.severity for finding in findings)
    parts = [number(tally[severity], severity.value) for severity in _SEVERITIES if tally[severity]]
    if tally[None]:
        parts.append(number(tally[None], "suppressed finding"))
    return ", ".join(parts) or "no findings"


def totals(report: Report) -> str:
    """Return "3 extensions verified: 2 errors, 1 notice"."""
    return f"{number(len(report.extensions), 'extension')} verified: {counts(report.findings)}"


def artifacts(report: Report) -> list[str]:
    """Return a line for each file that was examined and known: where, what it is, what was measured."""
    lines = []
    for extension in report.extensions:
        for run in extension.runs:
            for artifact in run.artifacts:
                counted = [
                    (name, value)
                    for name, value in artifact.facts.items()
                    if not isinstance(value, list | dict)
                ]
                facts = ", ".join(f"{name} {value}" for name, value in counted)
                whose = "" if artifact.path == extension.path else f" of {extension.path}"
                where = f" in {run.harness}" if run.harness else ""
                lines.append(
                    f"{artifact.path}{whose}{where}: {artifact.format}{', ' if facts else ''}{facts}"
                )
    return lines


def nobody_to_blame(report: Report) -> bool:
    """Tell whether the gate holds the change for reasons that its author cannot mend."""
    if report.gate.decision in (Decision.ALLOW, Decision.ALLOW_WITH_WARNINGS):
        return False
    errors = [f for f in report.findings if f.severity is Severity.ERROR and f.suppressed is None]
    return bool(errors) and all(finding.fault in NOT_THE_AUTHORS for finding in errors)


def gate(report: Report) -> str:
    """Return the gate in one sentence; its reasons stand beside it."""
    sentence = f"{_DECISIONS[report.gate.decision]} (exit code {report.gate.exit_code})"
    if not nobody_to_blame(report):
        return f"{sentence}."
    faults = {f.fault for f in report.findings if f.severity is Severity.ERROR and f.suppressed is None}
    return f"Not your change: the fault is the {' and the '.join(sorted(faults))}'s. {sentence}."


def rows(report: Report) -> list[tuple[ExtensionResult, str, dict[Layer, Verdict | None]]]:
    """Return extension, harness and layers, a row for each run; "-" where no harness is needed.

    L1 needs no harness, so a run that does not name it has the extension's own. A layer that
    nobody asked for is None.
    """
    table = []
    for extension in report.extensions:
        for run in extension.runs or (ExtensionRun(harness=None, layers=extension.layers),):
            own = extension.layers if len(extension.runs) <= 1 else {Layer.L1: extension.layers.get(Layer.L1)}
            layers = {layer: run.layers.get(layer, own.get(layer)) for layer in LAYERS}
            table.append((extension, run.harness or "-", layers))
    return table


def harness(state: HarnessState) -> str:
    """Return one harness environment in a line."""
    contract = f"contract {state.contract}" if state.contract else "contract unknown"
    return f"{state.requirement}: {contract}, canary {word(state.canary)}"


def protections(known: Mapping[str, Any]) -> str:
    """Return the protections that were in force; that none are known is said too."""
    words = {True: "yes", False: "no", None: "no"}
    missing = known.get("missing")
    reasons = missing if isinstance(missing, Mapping) else {}
    parts = []
    for name, value in known.items():
        if name != "missing":
            said = words[value] if isinstance(value, bool | None) else value
            parts.append(f"{name} {said}" + (f" ({reasons[name]})" if name in reasons else ""))
    return ", ".join(parts) or "none known"


def ledger(evidence: Mapping[str, Any]) -> str:
    """Return `HEAD:COUNT` as `--expect-head` takes it, or nothing where there is no ledger."""
    head, count = evidence.get("head"), evidence.get("count")
    return f"{head}:{count}" if head and count else ""


def revision(report: Report) -> str:
    """Return which bytes the report is about, as far as git knows."""
    if report.commit is None:
        return "not in git"
    return f"{report.commit} with uncommitted changes" if report.dirty else report.commit


def word(verdict: Verdict | None) -> str:
    """Return a verdict as people read it; `-` for a layer that nobody asked for."""
    return "-" if verdict is None else verdict.value.replace("_", " ")
