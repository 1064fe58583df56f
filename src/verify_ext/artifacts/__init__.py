"""Whether files are what they claim to be: one module per format, three depths (docs/design.md, section 9).

A format is a module with `FORMAT` and its RULES; `all_formats` finds it by being there. `examine`
works in this process, `apart.examine_apart` in one of its own with bounded memory and time: what
is not known to be harmless goes there.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import stat
from functools import cache
from pathlib import Path
from typing import Any

from verify_ext.artifacts.codes import ARTIFACT_FORMAT_INVALID, ARTIFACT_NOT_CREATED
from verify_ext.artifacts.guess import describe
from verify_ext.artifacts.model import HEAD_BYTES, ArtifactFile, Depth, Examined, Expected, Format
from verify_ext.codes import Rule, Rules
from verify_ext.model import Finding, Severity
from verify_ext.source import file_spot

_FILES = 'Seed "verify-ext", 文件产物验收'
_RASTER = frozenset({"png", "jpeg", "gif", "webp", "bmp", "tiff"})
_TEXT = frozenset({"json", "csv", "svg"})
"""Formats that only a reader can tell from other text; their own modules say what a file is instead."""
_OFFICE = frozenset({"pptx", "docx", "xlsx"})

RULES = Rules(
    Rule(
        code=ARTIFACT_NOT_CREATED,
        rule="file-missing",
        layer=None,
        message="there is no such file",
        remedy="Write the file before naming it.",
        why="The user is told of a file that is not there.",
        source=_FILES,
    ),
    Rule(
        code=ARTIFACT_NOT_CREATED,
        rule="not-a-file",
        layer=None,
        message="it is {what}, not a file",
        remedy="Write a regular file.",
        why="Only a file can be handed on and opened.",
        source=_FILES,
    ),
    Rule(
        code=ARTIFACT_FORMAT_INVALID,
        rule="empty-file",
        layer=None,
        message="the file is empty",
        remedy="Write the content, and close the file before reporting it.",
        why="No format allows a file of no bytes that anybody would want.",
        source=_FILES + ": size_bytes > 0",
    ),
    Rule(
        code=ARTIFACT_FORMAT_INVALID,
        rule="smaller-than-asked",
        layer=None,
        message="the file has {actual}, at least {expected} were asked for",
        remedy="Write the whole content, or correct min_bytes.",
        why="A file this small cannot hold what was asked for.",
        source="docs/design.md, section 8: min_bytes",
    ),
    Rule(
        code=ARTIFACT_FORMAT_INVALID,
        rule="other-format",
        layer=None,
        message="the file should be {expected} and is {actual}",
        remedy="Write the format that the name promises; renaming converts nothing.",
        why="The program that opens files of this name refuses it.",
        source=_FILES + ": 后缀与 format 匹配",
    ),
    Rule(
        code=ARTIFACT_FORMAT_INVALID,
        rule="other-suffix",
        layer=None,
        severity=Severity.WARNING,
        message="the file is {actual} and is named {suffix}",
        remedy="Name it by its format.",
        why="Viewers look at the bytes, other programs at the name.",
        source="Image viewers sniff; mail filters and editors go by the name",
    ),
    Rule(
        code=ARTIFACT_FORMAT_INVALID,
        rule="format-unknown",
        layer=None,
        severity=Severity.NOTICE,
        message="nothing is known about files of this kind ({actual}), so nothing was judged",
        remedy="Say with --format what it should be, or leave it out.",
        why="What was not examined has not passed.",
        source="docs/design.md, section 9",
    ),
)


@cache
def all_formats() -> tuple[Format, ...]:
    """Return the formats, sorted by name: every module here that has a `FORMAT`."""
    found = []
    for info in pkgutil.iter_modules(__path__, f"{__name__}."):
        known = getattr(importlib.import_module(info.name), "FORMAT", None)
        if isinstance(known, Format):
            found.append(known)
    return tuple(sorted(found, key=lambda known: known.name))


def format_named(name: str) -> Format | None:
    return next((known for known in all_formats() if known.name == name), None)


def format_of_suffix(suffix: str) -> Format | None:
    """Return the format that a suffix (lower case, with its dot) promises."""
    return next((known for known in all_formats() if suffix in known.suffixes), None)


def identify(file: ArtifactFile) -> Format | None:
    """Return the format that a file's bytes are; of a ZIP archive the most special one."""
    matches = [known for known in all_formats() if known.recognises(file)]
    special = [known for known in matches if known.name != "zip"]
    return next(iter(special or matches), None)


def examine(
    path: Path, shown: str, *, depth: Depth = Depth.CONTENT, expected: Expected | None = None
) -> Examined:
    """Examine one file in this process. `shown` is how findings name it.

    `Examined.format` is None where no format knows the file: that is no pass. Raises nothing for
    what is in the file.
    """
    expected = expected or Expected()
    file = _file(path, shown)
    if isinstance(file, Finding):
        return Examined(format=None, findings=(file,))
    if file.size < expected.min_bytes:
        words: dict[str, Any] = {"expected": f"{expected.min_bytes} bytes", "actual": f"{file.size} bytes"}
        finding = RULES.finding("artifact_format_invalid/smaller-than-asked", file, **words)
        return Examined(format=None, findings=(finding,))
    promised = format_of_suffix(file.suffix)
    wanted = format_named(expected.format) if expected.format else promised
    return _examine(file, wanted, promised, depth, expected)


def _file(path: Path, shown: str) -> ArtifactFile | Finding:
    """Open a file as what it is; nothing but a regular file is ever read."""
    place = file_spot(shown)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if path.is_symlink():
            return RULES.finding("artifact_not_created/not-a-file", place, what="a symbolic link")
        if isinstance(error, (FileNotFoundError, NotADirectoryError)):
            return RULES.finding("artifact_not_created/file-missing", place)
        return RULES.finding("artifact_not_created/not-a-file", place, what=str(error.strerror).lower())
    except ValueError:
        return RULES.finding("artifact_not_created/file-missing", place)
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "a device or pipe"
        return RULES.finding("artifact_not_created/not-a-file", place, what=what)
    with os.fdopen(handle, "rb") as stream:
        head = stream.read(HEAD_BYTES)
    if not head:
        return RULES.finding("artifact_format_invalid/empty-file", place)
    return ArtifactFile(path=path, shown=shown, size=status.st_size, head=head)


def _examine(
    file: ArtifactFile, wanted: Format | None, promised: Format | None, depth: Depth, expected: Expected
) -> Examined:
    if wanted is not None and wanted.name in _OFFICE and file.head.startswith(b"PK"):
        examined = wanted.examine(file, depth, expected)  # it opens the package, so it is not opened before
        actual: Format | None = wanted
        if any(finding.rule == "opc-part-type-wrong" for finding in examined.findings):
            actual = identify(file)
        if actual is None or actual.name not in _OFFICE - {wanted.name}:
            return _named(file, wanted, promised, expected, examined)
    else:
        actual = identify(file)
    if wanted is None and actual is None:
        finding = RULES.finding("artifact_format_invalid/format-unknown", file, actual=describe(file))
        return Examined(format=None, findings=(finding,))
    findings: list[Finding] = []
    if wanted is None:
        wanted = actual
    assert wanted is not None
    if actual is not wanted and not _says_itself(wanted, actual):
        named_wrongly = promised is wanted and not expected.asked_for
        if named_wrongly and actual is not None and {wanted.name, actual.name} <= _RASTER:
            findings.append(_other_suffix(file, actual))
            wanted = actual
        else:
            return Examined(format=actual.name if actual else None, findings=(_other(file, wanted, actual),))
    examined = wanted.examine(file, depth, expected)
    if findings:
        return Examined(
            format=examined.format, facts=examined.facts, findings=(*findings, *examined.findings)
        )
    return _named(file, wanted, promised, expected, examined)


def _named(
    file: ArtifactFile, wanted: Format, promised: Format | None, expected: Expected, examined: Examined
) -> Examined:
    """Add to an examination that the file's name says something else, if it does."""
    if promised is wanted or not file.suffix or (promised is None and not expected.asked_for):
        return examined
    return Examined(
        format=examined.format,
        facts=examined.facts,
        findings=(_other_suffix(file, wanted), *examined.findings),
    )


def _says_itself(wanted: Format, actual: Format | None) -> bool:
    """Return whether the wanted format's own module says best what a file is instead."""
    if wanted.name in _TEXT:
        return actual is None or actual.name in _TEXT
    return wanted.name in _OFFICE and actual is not None and actual.name == "zip"


def _other(file: ArtifactFile, wanted: Format, actual: Format | None) -> Finding:
    what = describe(file) if actual is None else actual.name
    words: dict[str, Any] = {"expected": wanted.name, "actual": what}
    return RULES.finding("artifact_format_invalid/other-format", file, **words)


def _other_suffix(file: ArtifactFile, actual: Format) -> Finding:
    words: dict[str, Any] = {"expected": actual.suffixes[0], "actual": actual.name, "suffix": file.suffix}
    return RULES.finding("artifact_format_invalid/other-suffix", file, **words)
