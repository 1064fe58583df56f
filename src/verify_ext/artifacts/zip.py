"""ZIP archives."""

from __future__ import annotations

import stat
from typing import Any

from verify_ext.artifacts.codes import ARTIFACT_FORMAT_INVALID, ARTIFACT_PLACEHOLDER_OUTPUT
from verify_ext.artifacts.container import Archive, ArchiveError, Entry
from verify_ext.artifacts.model import ArtifactFile, Depth, Examined, Expected, Format
from verify_ext.codes import Code, Rule, Rules
from verify_ext.model import Finding, Severity

_USUAL_METHODS = (0, 8)
_RESERVED = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{name}{number}" for name in ("com", "lpt") for number in range(1, 10)),
}


def _rule(
    rule: str,
    message: str,
    remedy: str,
    why: str,
    severity: Severity = Severity.ERROR,
    code: Code = ARTIFACT_FORMAT_INVALID,
) -> Rule:
    return Rule(
        code=code,
        rule=rule,
        layer=None,
        severity=severity,
        message=message,
        remedy=remedy,
        why=why,
        source="docs/design.md, section 9; APPNOTE.TXT 6.3, 4.4.17 (file names)",
    )


RULES = Rules(
    _rule(
        "zip-name-leaves",
        "{entry} would be unpacked outside the folder",
        "Store names relative to the archive, without .. and drive letters.",
        "Unpacking it overwrites other files.",
    ),
    _rule(
        "zip-link",
        "{entry} is a symbolic link",
        "Store the file itself.",
        "What is unpacked through it lands somewhere else.",
    ),
    _rule(
        "zip-names-collide",
        "{entry} is there twice, or differs only in case",
        "Store each name once.",
        "On most systems one of them overwrites the other.",
        Severity.WARNING,
    ),
    _rule(
        "zip-name-odd",
        "{entry} is a name that some systems cannot unpack",
        "Use slashes, and no names that Windows reserves.",
        "It is unpacked under another name, or not at all.",
        Severity.WARNING,
    ),
    _rule(
        "zip-method",
        "{entry} is compressed by a method that many programs do not know ({method})",
        "Use deflate.",
        "File managers cannot open it.",
        Severity.WARNING,
    ),
    _rule(
        "zip-empty",
        "the archive holds no file",
        "Put the files into it.",
        "There is nothing to unpack.",
        code=ARTIFACT_PLACEHOLDER_OUTPUT,
    ),
)


def recognises(file: ArtifactFile) -> bool:
    return file.head.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def examine(file: ArtifactFile, depth: Depth, expected: Expected) -> Examined:
    """Examine an archive; facts: files, and their size unpacked."""
    try:
        with Archive(file) as archive:
            return _examine(archive, depth)
    except ArchiveError as error:
        return Examined(format="zip", findings=(error.finding,))


def _examine(archive: Archive, depth: Depth) -> Examined:
    findings: list[Finding] = []
    if depth >= Depth.STRUCTURE:
        archive.check_layout()
        findings += _names(archive)
        if not archive.findings:
            for entry in archive.entries:
                if not archive.is_exhausted:
                    archive.drain(entry)
    if depth >= Depth.CONTENT and not archive.entries:
        findings.append(RULES.finding("artifact_placeholder_output/zip-empty", archive.file))
    facts = {"files": len(archive.entries), "unpacked_bytes": sum(entry.size for entry in archive.entries)}
    return Examined(format="zip", facts=dict(facts), findings=(*archive.findings, *findings))


def _names(archive: Archive) -> list[Finding]:
    findings: dict[str, Finding] = {}
    seen: set[str] = set()

    def say(rule: str, entry: Entry, **words: Any) -> None:
        finding = RULES.finding(
            f"artifact_format_invalid/{rule}", archive.file, entry=repr(entry.name), **words
        )
        findings.setdefault(rule, finding)

    for entry in archive.entries:
        name = entry.name.replace("\\", "/")
        if name.startswith("/") or ".." in name.split("/") or name[1:2] == ":":
            say("zip-name-leaves", entry)
        elif "\\" in entry.name or any(step.split(".")[0].lower() in _RESERVED for step in name.split("/")):
            say("zip-name-odd", entry)
        if stat.S_ISLNK(entry.mode):
            say("zip-link", entry)
        if name.lower() in seen:
            say("zip-names-collide", entry)
        seen.add(name.lower())
        if entry.method not in _USUAL_METHODS:
            say("zip-method", entry, method=str(entry.method))
    return list(findings.values())


FORMAT = Format(name="zip", suffixes=(".zip",), recognises=recognises, examine=examine)
