"""What can happen in a run, and the fold that makes a Report of it.

A run is a sequence of events, appended as they happen. Everything that is shown or written is
computed from them, so a run that is cut short still has a report: of what was done, the rest
`unchecked`.
"""

from __future__ import annotations

import hashlib
import shlex
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from verify_ext.evidence.gate import decide
from verify_ext.model import (
    Artifact,
    Component,
    ExtensionResult,
    ExtensionRun,
    Finding,
    HarnessState,
    Layer,
    Report,
    Severity,
    Verdict,
    worst,
)


@dataclass(frozen=True, kw_only=True)
class Started:
    """The run began. `harnesses` are those asked for; () means that nothing is exercised."""

    tool_version: str
    commit: str | None
    dirty: bool | None
    harnesses: tuple[str, ...]
    required: tuple[Layer, ...]


@dataclass(frozen=True, kw_only=True)
class EnvironmentPreparing:
    """Something that takes seconds has begun; for progress only."""

    what: str


@dataclass(frozen=True, kw_only=True)
class EnvironmentReady:
    """A harness environment is there and our canary has been through it."""

    harness: HarnessState
    protections: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SubjectDigested:
    """An extension was found. `exercises` are the jobs planned for it in each harness."""

    extension: str
    name: str
    kind: str
    digest: str
    exercises: tuple[tuple[str, Layer], ...]
    required: tuple[Layer, ...] = ()
    """Layers that must pass for this one, where it is exercised, beyond those required of all."""


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """One check of one extension: the static one (`harness` None) or an exercise in a harness."""

    extension: str
    harness: str | None
    exercise: str
    layer: Layer
    verdict: Verdict
    components: tuple[tuple[str, Verdict], ...] = ()
    findings: tuple[Finding, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    """The files that were made, or examined, and are what they claim to be."""


@dataclass(frozen=True, kw_only=True)
class TroubleFound:
    """A finding that is about no single extension: an environment, a selection, ourselves."""

    finding: Finding


@dataclass(frozen=True, kw_only=True)
class Finished:
    """The run ended, by itself or because it was cancelled by the signal of this number."""

    cancelled_by: int | None = None
    timing: tuple[tuple[str, float], ...] = ()


Event = (
    Started
    | EnvironmentPreparing
    | EnvironmentReady
    | SubjectDigested
    | CheckResult
    | TroubleFound
    | Finished
)

STATIC, STATIC_CRITERIA = "static", "static-criteria"
"""The checks that need no harness: of an extension, and of that by which it would be exercised."""


class EventLog:
    """The events of a run, in the order in which they happened. Threads may append."""

    def __init__(self, *listeners: Callable[[Event], None]) -> None:
        self._events: list[Event] = []
        self._listeners = listeners
        self._lock, self._showing = threading.Lock(), threading.Lock()

    def append(self, event: Event) -> None:
        with self._lock:
            self._events.append(event)
        with self._showing:  # apart, so that a slow terminal holds up no check
            for listener in self._listeners:
                listener(event)

    def events(self) -> tuple[Event, ...]:
        with self._lock:
            return tuple(self._events)


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    """Return the verdict that findings amount to: fail if the extension or its spec is at fault."""
    verdict = Verdict.PASS
    for finding in findings:
        if finding.severity is not Severity.ERROR:
            continue
        mine = finding.fault in ("extension", "spec")
        verdict = worst((verdict, Verdict.FAIL if mine else Verdict.ERROR))
    return verdict


def component_verdicts(
    ids: Iterable[str], findings: Sequence[Finding], *, reached: bool
) -> tuple[tuple[str, Verdict], ...]:
    """Return a verdict per component: its own findings', else pass if the check reached it.

    A component without a finding of its own is `unchecked` when the check did not get to the
    end, or when the extension as a whole was refused.
    """
    whole = verdict_of(finding for finding in findings if finding.component is None)
    rest = Verdict.PASS if reached and whole is Verdict.PASS else Verdict.UNCHECKED
    verdicts = []
    for name in ids:
        own = verdict_of(finding for finding in findings if finding.component == name)
        verdicts.append((name, own if own is not Verdict.PASS else rest))
    return tuple(verdicts)


def fold(events: Sequence[Event]) -> Report:
    """Return the Report of a run from its events, whole or cut short."""
    started = next((event for event in events if isinstance(event, Started)), None)
    finished = next((event for event in events if isinstance(event, Finished)), None)
    subjects = sorted(
        (event for event in events if isinstance(event, SubjectDigested)), key=lambda event: event.extension
    )
    checks = [event for event in events if isinstance(event, CheckResult)]
    environments = [event for event in events if isinstance(event, EnvironmentReady)]
    harnesses = started.harnesses if started else ()
    extensions = tuple(_extension(subject, checks, harnesses) for subject in subjects)
    findings = _findings(events)
    return Report(
        tool_version=started.tool_version if started else "",
        commit=started.commit if started else None,
        dirty=started.dirty if started else None,
        gate=decide(
            extensions,
            findings,
            required=started.required if started else (),
            cancelled_by=finished.cancelled_by if finished else None,
        ),
        extensions=extensions,
        findings=findings,
        harnesses=tuple(event.harness for event in environments),
        protections=_weakest([event.protections for event in environments if event.protections]),
        timing=dict(finished.timing) if finished else {},
    )


def _weakest(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the protections that held in every environment: of different ones the weaker."""
    weakest: dict[str, Any] = {}
    for protections in found:
        for name, value in protections.items():
            if name == "missing":
                weakest[name] = {**weakest.get(name, {}), **value}
            elif name not in weakest or _strength(value) < _strength(weakest[name]):
                weakest[name] = value
    return weakest


def _strength(value: Any) -> int:
    return -1 if value in (None, False, "open") else value if isinstance(value, int) else 0


def _extension(
    subject: SubjectDigested, checks: Sequence[CheckResult], harnesses: tuple[str, ...]
) -> ExtensionResult:
    own = {(check.harness, check.exercise): check for check in checks if check.extension == subject.extension}
    runs = tuple(_run(subject, own, harness) for harness in harnesses or (None,))
    return ExtensionResult(
        path=subject.extension,
        name=subject.name,
        kind=subject.kind,
        digest=subject.digest,
        layers={layer: worst(run.layers[layer] for run in runs) for layer in Layer},
        runs=runs,
        required=subject.required if harnesses or (None, STATIC_CRITERIA) in own else (),
    )


def _run(
    subject: SubjectDigested, own: dict[tuple[str | None, str], CheckResult], harness: str | None
) -> ExtensionRun:
    planned: list[tuple[str | None, str, Layer]] = [(None, STATIC, Layer.L1)]
    if (None, STATIC_CRITERIA) in own:
        planned.append((None, STATIC_CRITERIA, Layer.L3))
    if harness is not None:
        planned += [(harness, name, layer) for name, layer in subject.exercises]
    verdicts: dict[Layer, list[Verdict]] = {layer: [] for layer in Layer}
    components: dict[str, dict[Layer, list[Verdict]]] = {}
    artifacts: list[Artifact] = []
    for where, exercise, layer in planned:
        check = own.get((where, exercise))
        verdicts[layer].append(check.verdict if check else Verdict.UNCHECKED)
        for name, verdict in check.components if check else ():
            components.setdefault(name, {}).setdefault(layer, []).append(verdict)
        artifacts += check.artifacts if check else ()
    return ExtensionRun(
        harness=harness,
        layers={layer: worst(found) for layer, found in verdicts.items()},
        components=tuple(
            Component(
                type=name.partition(":")[0],
                name=name.partition(":")[2],
                verdicts={layer: worst(found) for layer, found in sorted(layers.items())},
            )
            for name, layers in components.items()
        ),
        artifacts=tuple(artifacts),
    )


_SEVERITIES = tuple(Severity)


def _findings(events: Sequence[Event]) -> tuple[Finding, ...]:
    """Return all findings, stamped with extension and harness, in one order for every run."""
    found: list[Finding] = []
    for event in events:
        if isinstance(event, TroubleFound):
            found.append(event.finding)
        elif isinstance(event, CheckResult):
            found += [_stamped(finding, event) for finding in event.findings]
    found.sort(key=_order)
    return _fingerprinted(found)


def _stamped(finding: Finding, event: CheckResult) -> Finding:
    """Say whom a finding is about, in which harness, and the smallest run that shows it again."""
    how = "--static" if event.harness is None else f"--harness {event.harness}"
    again = finding.reproduction or f"verify-ext {how} {shlex.quote(event.extension)}"
    return replace(finding, extension=event.extension, harness=event.harness, reproduction=again)


def _order(finding: Finding) -> tuple[str, int, str, int, int, str, str, str, str]:
    place = finding.location
    return (
        finding.extension or "",
        _SEVERITIES.index(finding.severity),
        place.path,
        place.line,
        place.column,
        finding.id,
        finding.component or "",
        finding.harness or "",
        finding.message,
    )


def _fingerprinted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Give each finding a fingerprint that survives moved lines and another harness version.

    It is made of what is wrong, where in the extension, and the text of the line; equal ones in
    one harness are counted.
    """
    seen: dict[tuple[str, str | None], int] = {}
    stamped = []
    for finding in findings:
        parts = (
            finding.id,
            finding.extension or "",
            finding.component or "",
            finding.location.path,
            " ".join(finding.location.text.split()),
        )
        base = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
        count = seen[base, finding.harness] = seen.get((base, finding.harness), 0) + 1
        stamped.append(replace(finding, fingerprint=base if count == 1 else f"{base}-{count}"))
    return tuple(stamped)
