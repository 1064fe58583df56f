"""How a job went, and what is said about one that did not end well.

A job that broke a limit or ended without a complete result is the extension's doing: our own
known-good extension has passed through the same job in the same environment before.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from verify_ext.codes import (
    ENVIRONMENT_ERROR,
    EXTENSION_CRASHED,
    EXTENSION_TIMED_OUT,
    ISOLATION_VIOLATED,
    RESOURCE_LIMIT_EXCEEDED,
    Place,
    Rule,
    Rules,
)
from verify_ext.model import Finding, Layer, Provenance, Severity

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one job may use. Our own numbers; far above what loading a package takes."""

    deadline_s: float = 60.0
    memory_bytes: int = 8192 * MEBIBYTE
    """Address space of one process, of which the harness alone maps over a gigabyte."""
    memory_of_all_bytes: int = 2048 * MEBIBYTE
    """Memory that all processes of a job fill together, beyond what the harness has filled."""
    disk_bytes: int = 1024 * MEBIBYTE
    """Everything in the job's folder, of which its copy of the extension may be half."""
    files: int = 40_000
    """The same in files, folders and links."""
    file_bytes: int = 512 * MEBIBYTE
    open_files: int = 1024
    processes: int = 64
    threads: int = 128
    """Of all processes together, beyond the first of each."""
    output_bytes: int = 64 * MEBIBYTE
    output_kept: int = 20_000
    """Characters of output that are kept (seed "运行验证": 20,000, the cut marked)."""

    def message(self) -> dict[str, Any]:
        """Return the limits as the worker expects them; CPU seconds follow from the deadline."""
        return {
            "deadline_s": self.deadline_s,
            "memory_bytes": self.memory_bytes,
            "memory_of_all_bytes": self.memory_of_all_bytes,
            "disk_bytes": self.disk_bytes,
            "files": self.files,
            "file_bytes": self.file_bytes,
            "open_files": self.open_files,
            "processes": self.processes,
            "threads": self.threads,
            "output_bytes": self.output_bytes,
            "output_kept": self.output_kept,
            "cpu_s": int(self.deadline_s * 4) + 10,
        }


VIOLATIONS = ("network", "file-write", "signal", "process-inspection")


@dataclass(frozen=True, kw_only=True)
class Violation:
    """Something that a job tried and the jail refused, as its own process noticed it."""

    kind: str
    what: str
    file: str | None
    line: int


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How one job went. `observed` is what it saw, None unless it ended with a whole result."""

    observed: dict[str, Any] | None
    imported: tuple[str, ...] = ()
    broken: str | None = None
    """The limit it broke: `deadline`, or the name of a rule of `resource_limit_exceeded`."""
    status: int | None = None
    signal: int | None = None
    output: str = ""
    output_bytes: int = 0
    shown: str = ""
    """The part of the output that helps a reader, without what belongs to this machine."""
    component: str | None = None
    """The component that was being worked on when the job ended."""
    malformed: str | None = None
    unstarted: str | None = None
    """Why the job could not be begun, before any code of the extension ran."""
    disturbed: str | None = None
    """What our own job raised, if it did."""
    violations: tuple[Violation, ...] = ()
    left_processes: int = 0
    cpu_s: float = 0.0
    wall_s: float = 0.0
    peak_kib: int = 0

    def ending(self) -> str:
        """Return in words how the process ended."""
        if self.signal is not None:
            return f"killed by {_signal_name(self.signal)}"
        return f"exited with status {self.status}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


_SOURCE = "docs/design.md, section 13"

RULES = Rules(
    Rule(
        code=ENVIRONMENT_ERROR,
        rule="job-not-started",
        layer=None,
        message="the job that loads {what} could not be started: {problem}",
        remedy="Give the machine or the container more processes or memory, or look at the log.",
        why="No code of the extension had run yet.",
        source="docs/design.md, section 7",
    ),
    Rule(
        code=ISOLATION_VIOLATED,
        rule="network",
        layer=None,
        severity=Severity.WARNING,
        message="{what} tries to use the network: {attempt}",
        remedy="Use the network when the tool is called, not while a module is imported, a class is"
        " constructed or a package is loaded.",
        why="It would send or fetch something wherever the package is only loaded; here it is refused.",
        source=_SOURCE,
    ),
    Rule(
        code=ISOLATION_VIOLATED,
        rule="file-write",
        layer=None,
        message="{what} tries to change a file that is not its own: {attempt}",
        remedy="Write below the extension's own folder (.state/), to a path that the caller names, or to"
        " the temporary folder (tempfile).",
        why="Loading a package must not change the machine.",
        source=_SOURCE,
    ),
    Rule(
        code=ISOLATION_VIOLATED,
        rule="signal",
        layer=None,
        message="{what} tries to signal a process that is not its own: {attempt}",
        remedy="Signal only processes that the extension started.",
        why="It could end the agent, or whatever else the user runs.",
        source=_SOURCE,
    ),
    Rule(
        code=ISOLATION_VIOLATED,
        rule="process-inspection",
        layer=None,
        message="{what} tries to read another process: {attempt}",
        remedy="Read nothing below /proc that belongs to another process.",
        why="Environment and memory of other processes hold secrets.",
        source=_SOURCE,
    ),
    Rule(
        code=EXTENSION_TIMED_OUT,
        rule="deadline",
        layer=None,
        message="{what} did not finish within {seconds:g} s",
        remedy="Do no network access, waiting or long work while a module is imported, a class is"
        " constructed or a package is loaded; or allow more with --timeout.",
        why="The harness waits for it too: one hanging package stops every agent that loads it.",
        source="A limit of verify-ext, 60 s by default (--timeout)",
    ),
    Rule(
        code=EXTENSION_CRASHED,
        rule="no-result",
        layer=None,
        message="{what} ended the process before it was done: {ending}",
        remedy="Remove what ends the process (os._exit, a native crash, a kill); raise an exception instead.",
        why="In a real agent the whole process would be gone.",
        source='Seed "verify-ext", L2; docs/design.md, section 7',
    ),
    Rule(
        code=EXTENSION_CRASHED,
        rule="malformed-result",
        layer=None,
        message="{what} left a result that is not one: {problem}",
        remedy="Do not write to descriptors that the extension did not open.",
        why="What cannot be read proves nothing.",
        source="docs/design.md, section 7",
    ),
    Rule(
        code=RESOURCE_LIMIT_EXCEEDED,
        rule="output",
        layer=None,
        message="{what} printed more than {mebibytes} MiB",
        remedy="Print less; a log belongs in a file.",
        why="Output without end fills the disk or the memory of whoever reads it.",
        source="A limit of verify-ext: 64 MiB a job",
    ),
    Rule(
        code=RESOURCE_LIMIT_EXCEEDED,
        rule="processes",
        layer=None,
        message="{what} started more than {count} processes",
        remedy="Start fewer processes, and none while being imported or constructed.",
        why="Processes without end stop the machine.",
        source="A limit of verify-ext: 64 processes a job",
    ),
    Rule(
        code=RESOURCE_LIMIT_EXCEEDED,
        rule="threads",
        layer=None,
        message="{what} started more than {threads} threads",
        remedy="Start fewer threads, and none while being imported or constructed.",
        why="Threads without end stop the machine.",
        source="A limit of verify-ext: 128 threads a job",
    ),
    Rule(
        code=RESOURCE_LIMIT_EXCEEDED,
        rule="memory-of-all",
        layer=None,
        message="{what} and the processes that it started filled more than {memory} MiB of memory together",
        remedy="Load large data when the tool is called, and in parts; share it between processes.",
        why="The machine has other things to do while the package is loaded.",
        source="A limit of verify-ext: 2 GiB a job, beyond what the harness takes",
    ),
    Rule(
        code=RESOURCE_LIMIT_EXCEEDED,
        rule="disk",
        layer=None,
        message="{what} wrote more than {disk} MiB or {files} files, or hid how much it wrote",
        remedy="Write little while a module is imported, a class is constructed or a package is loaded.",
        why="A full disk stops everything else on the machine.",
        source="A limit of verify-ext: 1 GiB and 40,000 files a job, its copy of the extension included",
    ),
    Rule(
        code=RESOURCE_LIMIT_EXCEEDED,
        rule="result",
        layer=None,
        message="{what} reported more than a result can hold",
        remedy="Make tool schemas and descriptions smaller.",
        why="A result of this size is no manifest of anything.",
        source="A limit of verify-ext: 8 MiB a job",
    ),
    Rule(
        code=RESOURCE_LIMIT_EXCEEDED,
        rule="cpu-time",
        layer=None,
        message="{what} used all the processor time that it may",
        remedy="Do less work while a module is imported, a class is constructed or a package is loaded.",
        why="The harness waits for it too.",
        source="A limit of verify-ext: four times --timeout",
    ),
    Rule(
        code=EXTENSION_CRASHED,
        rule="job-disturbed",
        layer=None,
        message="{what} disturbed the harness so that it could not be looked at: {problem}",
        remedy="Do not replace parts of the harness while a module is imported or a package is loaded.",
        why="The same job has worked with our own known-good package in the same environment.",
        source="docs/design.md, section 7",
    ),
)


def findings_of_violations(
    outcome: Outcome,
    *,
    usual: Sequence[Violation],
    place: Place,
    locate: Callable[[str, int], Place | None],
    layer: Layer,
    what: str,
) -> list[Finding]:
    """Return a finding for each thing that a job tried and was refused.

    What the canary tries too (`usual`) is the harness's. Where no line of the extension is behind
    an attempt, the harness or a library made it on the extension's behalf: a notice.
    """
    known = {(each.kind, each.what) for each in usual}
    findings = []
    for each in outcome.violations:
        if (each.kind, each.what) in known:
            continue
        where = locate(each.file, each.line) if each.file else None
        finding = RULES.finding(
            f"isolation_violated/{each.kind}",
            where or place,
            actual=each.what,
            provenance=Provenance.OBSERVED,
            what=what,
            attempt=each.what,
        )
        if where is None:
            finding = replace(finding, severity=Severity.NOTICE)
        findings.append(_in_layer(finding, layer))
    return findings


_SIGNAL_OF_CPU_LIMIT = signal.SIGXCPU


def findings_of_ending(
    outcome: Outcome,
    *,
    place: Place,
    locate: Callable[[str, int], Place | None],
    layer: Layer,
    what: str,
    limits: Limits,
) -> list[Finding]:
    """Return what is wrong with how a job ended; [] if it ended with a whole result.

    `place` is blamed unless the output names a frame that `locate(file, line)` knows. `what` is
    the extension or component in words.
    """
    if outcome.observed is not None:
        return []
    words: dict[str, Any] = {"what": what}
    if outcome.unstarted is not None:
        rule, words["problem"] = "environment_error/job-not-started", outcome.unstarted
    elif outcome.broken == "deadline":
        rule, words["seconds"] = "extension_timed_out/deadline", limits.deadline_s
    elif outcome.broken is not None:
        rule = f"resource_limit_exceeded/{outcome.broken}"
        words |= {
            "mebibytes": limits.output_bytes // MEBIBYTE,
            "count": limits.processes,
            "threads": limits.threads,
            "memory": limits.memory_of_all_bytes // MEBIBYTE,
            "disk": limits.disk_bytes // MEBIBYTE,
            "files": limits.files,
        }
    elif outcome.signal == _SIGNAL_OF_CPU_LIMIT:
        rule = "resource_limit_exceeded/cpu-time"
    elif outcome.disturbed is not None:
        rule, words["problem"] = "extension_crashed/job-disturbed", outcome.disturbed
    elif outcome.malformed is not None:
        rule, words["problem"] = "extension_crashed/malformed-result", outcome.malformed
    else:
        rule, words["ending"] = "extension_crashed/no-result", outcome.ending()
    finding = RULES.finding(
        rule,
        _where(outcome.output, locate) or place,
        component=outcome.component,
        expected="a complete result",
        actual=outcome.ending(),
        log=outcome.shown or None,
        provenance=Provenance.OBSERVED,
        **words,
    )
    return [_in_layer(finding, layer)]


def _in_layer(finding: Finding, layer: Layer) -> Finding:
    return replace(finding, layer=layer)


_FRAME = re.compile(r'File "([^"\n]+)", line (\d+)')


def _where(output: str, locate: Callable[[str, int], Place | None]) -> Place | None:
    """Return the innermost frame of the extension in a faulthandler dump."""
    start = output.rfind("(most recent call first)")
    if start < 0:
        return None
    for match in _FRAME.finditer(output, start):
        found = locate(match[1], int(match[2][:9]))
        if found is not None:
            return found
    return None


# The harness's own log lines carry the time and say nothing about the extension.
_HARNESS_LINE = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \| .*\n?", re.MULTILINE)
_DUMP = re.compile(r"^(?:Current )?[Tt]hread 0x[0-9a-f]+.*\n(?:  File .*\n?)*|^  File .*\n?", re.MULTILINE)
_DUMP_HEADING = re.compile(r"^(?:Stack|Current thread.*) \(most recent call first\):\n?", re.MULTILINE)
_EXCERPT_LIMIT = 2_000


def excerpt(output: str) -> str:
    """Return the part of a job's output that helps a reader: without harness lines, cut in front."""
    text = _DUMP_HEADING.sub("", _DUMP.sub("", _HARNESS_LINE.sub("", output))).strip()
    return text if len(text) <= _EXCERPT_LIMIT else "[…] " + text[-_EXCERPT_LIMIT:]
