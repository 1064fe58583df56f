"""What examining an Office file has in common: opening, walking, and where the formats differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from verify_ext.artifacts.container import Archive, ArchiveError
from verify_ext.artifacts.model import ArtifactFile, Depth, Examined, Fact
from verify_ext.artifacts.opc import Package, Part
from verify_ext.artifacts.placeholder import judge_text
from verify_ext.model import Finding


class Reader(Protocol):
    """One format's part in it, made anew for each file.

    `visit` sees every part once, with its tree or without one; then `findings` says what is wrong in
    and between them, `facts` what a report lists. `pieces` are the texts that a reader of the document
    sees, `drawn` how much else is there: pictures, charts, tables.
    """

    streamed: frozenset[str]
    unread: frozenset[str]

    def __init__(self, package: Package) -> None: ...
    def visit(self, part: Part, tree: Any) -> None: ...
    def findings(self) -> Iterator[Finding]: ...
    def facts(self) -> dict[str, Fact]: ...
    def pieces(self) -> Sequence[tuple[str, str]]: ...
    def nothing(self) -> Finding | None: ...


Types = dict[str, tuple[str, ...]]


def examine_office(
    file: ArtifactFile, depth: Depth, name: str, types: Types, reader_of: type[Reader]
) -> Examined:
    """Examine a package: container, conventions, then what the format itself asks for."""
    try:
        with Archive(file) as archive:
            return _examine(archive, depth, name, types, reader_of)
    except ArchiveError as error:
        return Examined(format=name, findings=(error.finding,))


def _examine(archive: Archive, depth: Depth, name: str, types: Types, reader_of: type[Reader]) -> Examined:
    package = Package(archive)
    archive.check_layout()
    if archive.findings or not package.open():
        return Examined(format=name, findings=(*archive.findings, *package.findings))
    if depth < Depth.STRUCTURE:
        package.check_kind(types)
        return Examined(format=name, findings=tuple(package.findings))
    reader = reader_of(package)
    package.walk(reader.visit, streamed=reader.streamed, unread=reader.unread)
    package.check_kind(types)
    findings = [*archive.findings, *package.findings]
    damaged = any(finding.severity == "error" for finding in findings)
    if not damaged:
        findings += reader.findings()
    if depth >= Depth.CONTENT and not any(finding.severity == "error" for finding in findings):
        nothing = reader.nothing()
        findings += [nothing] if nothing is not None else judge_text(archive.file, reader.pieces())
    return Examined(format=name, facts=reader.facts(), findings=tuple(_first_of_each(findings)))


_OF_EACH = 10


def _first_of_each(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the first findings of each rule: one mistake of a generator is in every part."""
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.id] = counts.get(finding.id, 0) + 1
        if counts[finding.id] <= _OF_EACH:
            yield finding
