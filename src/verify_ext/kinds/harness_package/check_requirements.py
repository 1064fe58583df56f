"""`requirements.txt`: plain requirement lines (PEP 508) and nothing that steers the installer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from verify_ext.codes import MANIFEST_INVALID, Rule, Rules
from verify_ext.kinds.harness_package.contents import Contents
from verify_ext.kinds.harness_package.hints import shortened
from verify_ext.model import Finding, Layer, Location, Severity
from verify_ext.source import Source, SourceError, Spot

REQUIREMENTS_NAME = "requirements.txt"
HARNESS_NAME = "openjiuwen"

_SOURCE = "docs/design.md, section 3: only name[extras]specifier; marker lines reach the installer"
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
_HASH = re.compile(r"(?<=\s)--hash[=\s]\S+")
_URL = re.compile(r"(?i)[a-z][a-z0-9+.-]*://|file:")
_LINE_LIMIT = 2_000
_ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".egg")

RULES = Rules(
    Rule(
        code=MANIFEST_INVALID,
        rule="requirements-unreadable",
        layer=Layer.L1,
        message="requirements.txt cannot be read: {problem}",
        remedy="Save requirements.txt as an ordinary UTF-8 text file.",
        why="What the extension needs is not known, so nothing of it can be installed.",
        source=_SOURCE,
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="requirements-option",
        layer=Layer.L1,
        message="requirements.txt contains the installer option {actual}",
        remedy="Remove the option; write each package on a line of its own, such as: python-pptx>=1.0,<2",
        why="An option can run a setup.py; an index that it names could supply the harness itself.",
        source=_SOURCE,
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="requirements-url",
        layer=Layer.L1,
        message="requirements.txt asks for a package from an address of its own: {actual}",
        remedy="Name the package and its versions only: {expected}",
        why="What lies at an address can change or vanish, and is fetched past the configured index.",
        source=_SOURCE,
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="requirements-path",
        layer=Layer.L1,
        message="requirements.txt asks for the file or folder {actual}",
        remedy="Name a published package, or import the code as a module of the extension.",
        why="The path means another thing where the extension is installed, and building it runs its code.",
        source=_SOURCE,
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="requirements-invalid",
        layer=Layer.L1,
        message="this line of requirements.txt is no requirement: {problem}",
        remedy="Write it as name, version range and marker (PEP 508), such as: python-pptx>=1.0,<2",
        why="Installers stop at the line.",
        source="PEP 508",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="requirements-hash",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="the hashes of this line are not checked when the extension is verified",
        remedy="Keep hashes in a lock file beside requirements.txt.",
        why="Only the requirement itself is handed to the installer.",
        source=_SOURCE,
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="requirements-harness",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="requirements.txt asks for the harness itself; the line is left out",
        remedy="Remove the line; the configuration says which harness versions to verify against.",
        why="The harness loads the extension and is there before it; an extension must not replace it.",
        source="docs/design.md, section 7: an environment holds one harness",
    ),
)


@dataclass(frozen=True)
class _Line:
    """A logical line without its comment, and the place where it begins."""

    text: str
    place: Spot


@dataclass(frozen=True)
class Requirements:
    """The plain requirements, normalised; where each stands; what is wrong with other lines."""

    lines: tuple[str, ...] = ()
    locations: tuple[Location, ...] = ()
    findings: tuple[Finding, ...] = ()


def read_requirements(contents: Contents) -> Requirements:
    """Read `requirements.txt`; an extension without one requires nothing."""
    if not contents.is_file(REQUIREMENTS_NAME):
        return Requirements()
    try:
        source = contents.read(REQUIREMENTS_NAME)
    except SourceError as error:
        finding = _finding("requirements-unreadable", error.place, str(error), problem=str(error))
        return Requirements(findings=(finding,))
    judged = [(line, outcome) for line in _lines(source) for outcome in _judge(line)]
    plain = [(line, outcome) for line, outcome in judged if isinstance(outcome, str)]
    return Requirements(
        lines=tuple(requirement for _, requirement in plain),
        locations=tuple(line.place.location for line, _ in plain),
        findings=tuple(outcome for _, outcome in judged if isinstance(outcome, Finding)),
    )


def _lines(source: Source) -> Iterator[_Line]:
    """Yield logical lines as installers read them: comments off, lines ending in a backslash joined."""
    waiting, first = "", None
    for match in re.finditer(r"[^\r\n]+", source.text):
        text = _COMMENT.sub("", match[0]).rstrip()
        if first is None:
            shown = text.strip().removesuffix("\\").rstrip()
            start = match.start() + len(text) - len(text.lstrip())
            first = source.spot(start, start + len(shown))
        waiting += text.removesuffix("\\")
        if not text.endswith("\\"):
            yield _Line(waiting.strip(), first)
            waiting, first = "", None
    if first is not None:
        yield _Line(waiting.strip(), first)


def _judge(line: _Line) -> Iterator[Finding | str]:
    """Yield the requirement of a line, or what is wrong with it."""
    text = _HASH.sub("", line.text).rstrip()
    if text != line.text:
        yield _finding("requirements-hash", line.place, "--hash")
    option = text if text.startswith("-") else (text.split(" --", 1)[1:] or [""])[0]
    if option:
        yield _finding("requirements-option", line.place, option if option == text else f"--{option}")
    elif text:
        yield _requirement(line, text)


def _requirement(line: _Line, text: str) -> Finding | str:
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    if len(text) > _LINE_LIMIT:
        return _no_requirement(line, text, f"it is longer than {_LINE_LIMIT} characters")
    try:
        requirement = Requirement(text)
    except (ValueError, RecursionError) as error:
        return _no_requirement(line, text, (str(error) or type(error).__name__).splitlines()[0])
    if requirement.url:
        return _finding("requirements-url", line.place, text, expected=f"{requirement.name}>=<version>")
    if text.endswith(_ARCHIVES):
        return _finding("requirements-path", line.place, text)
    if canonicalize_name(requirement.name) == HARNESS_NAME:
        return _finding("requirements-harness", line.place, text)
    return str(requirement)


def _no_requirement(line: _Line, text: str, problem: str) -> Finding:
    if _URL.match(text):
        return _finding("requirements-url", line.place, text)
    if text.startswith((".", "/", "~")) or "/" in text.split(";")[0] or "\\" in text:
        return _finding("requirements-path", line.place, text)
    return _finding("requirements-invalid", line.place, text, problem=problem)


def _finding(
    rule: str, place: Spot, actual: str, *, expected: str = "<name><version range>", problem: str = ""
) -> Finding:
    return RULES.finding(
        f"manifest_invalid/{rule}",
        place,
        expected=expected,
        actual=shortened(actual),
        problem=shortened(problem),
    )
