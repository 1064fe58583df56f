"""The nouns of a run: frozen, without behaviour that touches the outside.

Words and meaning follow the table in docs/design.md; the shape of `Report` is what
`results.json` holds (schema version 1, schemas/results.schema.json).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any


class Verdict(StrEnum):
    """What is known about one component in one layer. Never rounded up."""

    PASS = "pass"
    FAIL = "fail"
    UNCERTAIN = "uncertain"
    UNCHECKED = "unchecked"
    ERROR = "error"
    TIMED_OUT = "timed_out"
    SKIPPED = "skipped"


# Worst first. A failure is a fact; an error or a doubt hides one; unchecked hides none yet.
_WORST_FIRST = (
    Verdict.FAIL,
    Verdict.ERROR,
    Verdict.TIMED_OUT,
    Verdict.UNCERTAIN,
    Verdict.UNCHECKED,
    Verdict.SKIPPED,
    Verdict.PASS,
)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst of some verdicts; of none, `UNCHECKED` (nothing was proved)."""
    return min(verdicts, key=_WORST_FIRST.index, default=Verdict.UNCHECKED)


class Layer(StrEnum):
    """L1 structure, L2 hot-load, L3 acceptance (seed "verify-ext", 验证分层)."""

    L1 = "L1"
    L2 = "L2"
    L3 = "L3"


class Fault(StrEnum):
    """Whose fault a finding is. A property of its code, never of the place that reports it."""

    EXTENSION = "extension"
    SPEC = "spec"
    HARNESS = "harness"
    ENVIRONMENT = "environment"
    CONFIGURATION = "configuration"
    VERIFIER = "verifier"


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


class Provenance(StrEnum):
    """Who says so: `observed` by the extension's own process, `verified` outside it."""

    OBSERVED = "observed"
    VERIFIED = "verified"


class Decision(StrEnum):
    ALLOW = "allow"
    ALLOW_WITH_WARNINGS = "allow_with_warnings"
    WAIT = "wait"
    MANUAL_REVIEW = "manual_review"
    REJECT = "reject"


@dataclass(frozen=True, kw_only=True)
class Location:
    """A place in a file. Lines and columns count from 1, in code points; the end is exclusive."""

    path: str
    line: int = 1
    column: int = 1
    end_line: int = 1
    end_column: int = 1
    text: str = ""
    """The source line itself (cut at 400 code points), so that a report needs no work tree."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a check reports. `extension`, `harness` and `fingerprint` are stamped by the pipeline."""

    code: str
    rule: str
    fault: Fault
    severity: Severity
    layer: Layer | None
    message: str
    remedy: str
    location: Location
    extension: str | None = None
    component: str | None = None
    harness: str | None = None
    expected: str | None = None
    actual: str | None = None
    reproduction: str | None = None
    log: str | None = None
    provenance: Provenance = Provenance.VERIFIED
    fingerprint: str = ""
    suppressed: str | None = None

    @property
    def id(self) -> str:
        """`code/rule`, the name that users suppress and explain by."""
        return f"{self.code}/{self.rule}"


@dataclass(frozen=True, kw_only=True)
class Extension:
    """The unit verified: a folder that a kind recognised, and exactly the files that count.

    `files` are POSIX paths below `root`, sorted: regular files and links that git knows or
    would add (outside git: that a walk finds). The digest, the private copy and every check
    see these and no others. `path` is the repo-relative POSIX path of `root`, "." for the repo
    itself.
    """

    path: str
    root: Path
    kind: str
    files: tuple[str, ...]
    in_git: bool

    @property
    def name(self) -> str:
        """The folder's name: what the harness takes for the extension's name."""
        return self.root.name

    def shown(self, file: str) -> str:
        """Return how findings name a file of this extension: relative to the repo."""
        return file if self.path == "." else f"{self.path}/{file}"


@dataclass(frozen=True, kw_only=True)
class Declared:
    """A component as the manifest declares it: what is expected of the harness."""

    type: str
    name: str
    location: Location
    facts: dict[str, Any] = field(default_factory=dict)
    """What the kind's job and judge need: for a rail or tool `module` and `class`, for a skill `dir`."""

    @property
    def id(self) -> str:
        return f"{self.type}:{self.name}"


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What static reading found out about an extension."""

    findings: tuple[Finding, ...]
    components: tuple[Declared, ...] = ()
    requirements: tuple[str, ...] = ()
    """Plain requirement lines (PEP 508), for the environment that the extension needs."""
    requirement_locations: tuple[Location, ...] = ()
    """Where each of them stands."""
    location: Location
    """Where the extension as a whole is blamed: the manifest."""
    required: tuple[Layer, ...] = ()
    """Layers that must pass for this extension beyond those that the run requires."""
    facts: dict[str, Any] = field(default_factory=dict)
    """What the kind's own exercises need of it."""


@dataclass(frozen=True, kw_only=True)
class Component:
    """A rail, tool or skill of an extension; `name` is the class or the skill's folder."""

    type: str
    name: str
    verdicts: dict[Layer, Verdict] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.type}:{self.name}"


@dataclass(frozen=True, kw_only=True)
class Artifact:
    path: str
    format: str
    sha256: str
    provenance: Provenance
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ExtensionRun:
    """One extension in one harness; `harness` is None for what needs none."""

    harness: str | None
    layers: dict[Layer, Verdict]
    components: tuple[Component, ...] = ()
    artifacts: tuple[Artifact, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ExtensionResult:
    """All that was found out about one extension, identified by its repo-relative path."""

    path: str
    name: str
    kind: str
    digest: str
    layers: dict[Layer, Verdict]
    runs: tuple[ExtensionRun, ...] = ()
    required: tuple[Layer, ...] = ()
    """Layers that must pass for this one beyond those that the gate requires of all."""


@dataclass(frozen=True, kw_only=True)
class HarnessState:
    """One harness environment: which, how it loads, whether our canary passed in it."""

    requirement: str
    contract: str | None
    canary: Verdict
    fingerprint: str | None


@dataclass(frozen=True, kw_only=True)
class Gate:
    decision: Decision
    exit_code: int
    reasons: tuple[str, ...] = ()
    required: tuple[Layer, ...] = ()
    """The layers that had to pass; with them anybody can compute the decision again."""
    cancelled_by: int | None = None
    """The number of the signal that cut the run short."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """The whole outcome of a run. Every output renders this and nothing else."""

    tool_version: str
    commit: str | None
    dirty: bool | None
    gate: Gate
    extensions: tuple[ExtensionResult, ...]
    findings: tuple[Finding, ...]
    harnesses: tuple[HarnessState, ...]
    protections: dict[str, Any] = field(default_factory=dict)
    evidence: dict[str, Any] = field(default_factory=dict)
    timing: dict[str, float] = field(default_factory=dict)
