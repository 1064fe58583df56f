"""The gate: from verdicts to a decision and an exit code. A pure function; docs/design.md, section 6."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from verify_ext.exit_codes import (
    EXIT_ALLOWED,
    EXIT_BUG,
    EXIT_NOTHING,
    EXIT_REJECTED,
    EXIT_UNDECIDED,
    EXIT_USAGE,
)
from verify_ext.model import (
    Decision,
    ExtensionResult,
    Fault,
    Finding,
    Gate,
    Layer,
    Report,
    Severity,
    Verdict,
    worst,
)

_DECISION_OF = {
    Verdict.FAIL: Decision.REJECT,
    Verdict.UNCERTAIN: Decision.MANUAL_REVIEW,
    Verdict.ERROR: Decision.MANUAL_REVIEW,
    Verdict.TIMED_OUT: Decision.MANUAL_REVIEW,
    Verdict.UNCHECKED: Decision.WAIT,
    Verdict.SKIPPED: Decision.WAIT,
    Verdict.PASS: Decision.ALLOW,
}
_MOST_SEVERE_FIRST = (
    Decision.REJECT,
    Decision.MANUAL_REVIEW,
    Decision.WAIT,
    Decision.ALLOW_WITH_WARNINGS,
    Decision.ALLOW,
)

_EXIT_OF = {
    Decision.ALLOW: EXIT_ALLOWED,
    Decision.ALLOW_WITH_WARNINGS: EXIT_ALLOWED,
    Decision.WAIT: EXIT_UNDECIDED,
    Decision.MANUAL_REVIEW: EXIT_UNDECIDED,
    Decision.REJECT: EXIT_REJECTED,
}
_EXIT_PRECEDENCE = (EXIT_BUG, EXIT_USAGE, EXIT_REJECTED, EXIT_UNDECIDED, EXIT_NOTHING, EXIT_ALLOWED)


def decide(
    extensions: Sequence[ExtensionResult],
    findings: Sequence[Finding],
    *,
    required: Iterable[Layer],
    cancelled_by: int | None = None,
) -> Gate:
    """Return the gate over some extensions.

    `required` layers must pass, and those that an extension itself requires; the others do not
    count. The most
    severe reason wins, and of several exit codes 5 before 2, 1, 4, 3, 0. A cancelled run waits
    and exits with 128 plus the signal's number, whatever it had found by then.
    """
    wanted = set(required)
    asked = tuple(layer for layer in Layer if layer in wanted)
    reasons = [*_layer_reasons(extensions, wanted), *_trouble_reasons(findings)]
    if not extensions and not reasons and not any(each.code == "nothing_selected" for each in findings):
        reasons = [(Decision.WAIT, EXIT_NOTHING, "nothing was verified")]
    if cancelled_by is not None:
        words = tuple(words for _, _, words in reasons)
        return Gate(
            decision=Decision.WAIT,
            exit_code=128 + cancelled_by,
            reasons=("the run was cancelled", *words),
            required=asked,
            cancelled_by=cancelled_by,
        )
    if not reasons:
        return Gate(decision=Decision.ALLOW, exit_code=EXIT_ALLOWED, required=asked)
    return Gate(
        decision=min((decision for decision, _, _ in reasons), key=_MOST_SEVERE_FIRST.index),
        exit_code=min((code for _, code, _ in reasons), key=_EXIT_PRECEDENCE.index),
        reasons=tuple(words for _, _, words in reasons),
        required=asked,
    )


def contradiction(report: Report) -> str | None:
    """Return why a report's gate does not follow from its own verdicts, None if it does.

    Results come from where extension code ran; whoever acts on them computes the gate again.
    """
    for extension in report.extensions:
        for layer, verdict in extension.layers.items():
            below = worst(run.layers.get(layer, Verdict.UNCHECKED) for run in extension.runs)
            if verdict is not below:
                return f"{extension.path}: {layer} is {verdict}, its runs say {below}"
    gate = decide(
        report.extensions,
        report.findings,
        required=report.gate.required,
        cancelled_by=report.gate.cancelled_by,
    )
    if not set(report.gate.required) >= {Layer.L1}:
        return "the gate does not require L1"
    if (gate.decision, gate.exit_code) != (report.gate.decision, report.gate.exit_code):
        said = f"{report.gate.decision} (exit code {report.gate.exit_code})"
        return f"the gate says {said}, the verdicts say {gate.decision} (exit code {gate.exit_code})"
    return None


def _layer_reasons(
    extensions: Sequence[ExtensionResult], required: set[Layer]
) -> Iterator[tuple[Decision, int, str]]:
    for extension in extensions:
        failed = False
        for layer, verdict in sorted(extension.layers.items()):
            decision = _DECISION_OF[verdict]
            if layer not in required.union(extension.required) or decision is Decision.ALLOW:
                continue
            if failed and verdict in (Verdict.SKIPPED, Verdict.UNCHECKED):
                continue  # it follows from the layer before, which has said so
            failed = True
            yield decision, _EXIT_OF[decision], f"{extension.path}: {layer} {_WORDS[verdict]}"


_WORDS = {
    Verdict.FAIL: "failed",
    Verdict.ERROR: "could not be judged",
    Verdict.TIMED_OUT: "timed out",
    Verdict.UNCERTAIN: "is uncertain",
    Verdict.UNCHECKED: "was not checked",
    Verdict.SKIPPED: "was skipped",
}


def _trouble_reasons(findings: Sequence[Finding]) -> Iterator[tuple[Decision, int, str]]:
    """Reasons that are not an extension's: what could not be set up, asked for, or done right."""
    for finding in findings:
        if finding.severity is not Severity.ERROR:
            continue
        if finding.fault is Fault.VERIFIER:
            yield Decision.MANUAL_REVIEW, EXIT_BUG, finding.message
        elif finding.code == "nothing_selected":
            yield Decision.WAIT, EXIT_NOTHING, finding.message
        elif finding.fault is Fault.CONFIGURATION:
            yield Decision.MANUAL_REVIEW, EXIT_USAGE, finding.message
        elif finding.fault in (Fault.ENVIRONMENT, Fault.HARNESS) and finding.extension is None:
            yield Decision.MANUAL_REVIEW, EXIT_UNDECIDED, finding.message
