"""Reading one extension: its digest and what its kind's static check finds. Nothing is executed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from verify_ext.bugs import unexpected
from verify_ext.codes import MANIFEST_INVALID, RESOURCE_LIMIT_EXCEEDED, Rule, Rules
from verify_ext.events import (
    STATIC,
    STATIC_CRITERIA,
    CheckResult,
    SubjectDigested,
    component_verdicts,
    verdict_of,
)
from verify_ext.evidence.digest import PackageTooLarge, UnreadableFile, digest
from verify_ext.kinds import Exercise, Kind
from verify_ext.model import Artifact, Checked, Extension, Finding, Layer, Severity, Verdict
from verify_ext.source import Spot, file_spot

UNREADABLE = "unreadable"
"""The digest of an extension that has none."""

RULES = Rules(
    Rule(
        code=MANIFEST_INVALID,
        rule="unreadable-file",
        layer=Layer.L1,
        message="{problem}",
        remedy="Make the file readable, or leave it out of the extension.",
        why="What cannot be read cannot be loaded, nor bound to a verdict.",
        source="docs/design.md, section 10",
    ),
    Rule(
        code=RESOURCE_LIMIT_EXCEEDED,
        rule="package-size",
        layer=Layer.L1,
        message="the extension is too large to be verified: {problem}",
        remedy="Leave out what is not part of the extension, or have git ignore it.",
        why="Every job gets a copy of its own.",
        source="A limit of verify-ext: 512 MiB, 20,000 files",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """An extension that was read: what it is, its digest, what the static check found."""

    extension: Extension
    kind: Kind
    digest: str
    checked: Checked

    def digested(self) -> SubjectDigested:
        """Return the event that announces it, with the exercises that are planned."""
        return SubjectDigested(
            extension=self.extension.path,
            name=self.extension.name,
            kind=self.kind.name,
            digest=self.digest,
            exercises=tuple((exercise.name, exercise.layer) for exercise in self.kind.exercises),
            required=self.checked.required,
        )

    @property
    def structure(self) -> tuple[Finding, ...]:
        """What the static check says of the extension itself (L1)."""
        return tuple(finding for finding in self.checked.findings if finding not in self.criteria)

    @property
    def criteria(self) -> tuple[Finding, ...]:
        """What is wrong with that by which it would be exercised (L3): no fault of its structure."""
        return tuple(
            finding
            for finding in self.checked.findings
            if finding.layer is Layer.L3 and finding.severity is Severity.ERROR
        )

    def results(self) -> Iterator[CheckResult]:
        """Yield the events that say what the static check found."""
        yield CheckResult(
            extension=self.extension.path,
            harness=None,
            exercise=STATIC,
            layer=Layer.L1,
            verdict=verdict_of(self.structure),
            components=component_verdicts(
                [part.id for part in self.checked.components], self.structure, reached=True
            ),
            findings=self.structure,
        )
        if self.criteria:
            yield CheckResult(
                extension=self.extension.path,
                harness=None,
                exercise=STATIC_CRITERIA,
                layer=Layer.L3,
                verdict=verdict_of(self.criteria),
                findings=self.criteria,
            )

    def result(
        self, exercise: Exercise, harness: str, found: Sequence[Finding | Artifact], *, reached: bool
    ) -> CheckResult:
        """Return the event for one exercise, its verdict taken from its findings.

        `reached` says whether the exercise got to its end: components without a finding of their own
        have passed only then.
        """
        findings = tuple(each for each in found if isinstance(each, Finding))
        return CheckResult(
            extension=self.extension.path,
            harness=harness,
            exercise=exercise.name,
            layer=exercise.layer,
            verdict=verdict_of(findings),
            components=component_verdicts(self._ids(exercise), findings, reached=reached),
            findings=findings,
            artifacts=tuple(each for each in found if isinstance(each, Artifact)),
        )

    def skipped(self, exercise: Exercise, harness: str) -> CheckResult:
        """Return the event for an exercise that is left out after a failure."""
        return self._all(exercise, harness, Verdict.SKIPPED)

    def absent(self, exercise: Exercise, harness: str) -> CheckResult:
        """Return the event for an exercise that found nothing to exercise."""
        return self._all(exercise, harness, exercise.absent)

    def _all(self, exercise: Exercise, harness: str, verdict: Verdict) -> CheckResult:
        return CheckResult(
            extension=self.extension.path,
            harness=harness,
            exercise=exercise.name,
            layer=exercise.layer,
            verdict=verdict,
            components=tuple((name, verdict) for name in self._ids(exercise)),
        )

    def _ids(self, exercise: Exercise) -> list[str]:
        return [part.id for part in self.checked.components if part.type in exercise.component_types]


def read(extension: Extension, kind: Kind) -> Subject:
    """Check an extension statically and digest it. Raises nothing for what is in it."""
    try:
        checked = kind.check(extension)
    except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the others their verdicts
        checked = Checked(findings=(unexpected(error),), location=file_spot(extension.path).location)
    identity, problems = _identity(extension, Spot(checked.location))
    checked = replace(checked, findings=(*checked.findings, *problems))
    return Subject(extension=extension, kind=kind, digest=identity, checked=checked)


def _identity(extension: Extension, place: Spot) -> tuple[str, tuple[Finding, ...]]:
    try:
        return digest(extension), ()
    except UnreadableFile as error:
        return UNREADABLE, (RULES.finding("manifest_invalid/unreadable-file", place, problem=str(error)),)
    except PackageTooLarge as error:
        rule = "resource_limit_exceeded/package-size"
        return UNREADABLE, (RULES.finding(rule, place, problem=str(error)),)
