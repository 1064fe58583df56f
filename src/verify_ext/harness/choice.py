"""Which harness to verify in: asked for, else pinned by the repository, else the newest supported."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verify_ext.codes import CONFIG_INVALID, HARNESS_UNAVAILABLE, Rule, Rules
from verify_ext.harness.supported import (
    HARNESS,
    exact_version,
    read_version,
    refuse_too_old,
    supported_harnesses,
)
from verify_ext.harness.trouble import EnvironmentTrouble, flag_place
from verify_ext.model import Location
from verify_ext.source import Source, SourceError, Spot, decode, file_spot, read_bytes

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

LOCK_FILES = ("uv.lock", "poetry.lock", "pdm.lock")
_FILE_LIMIT_BYTES = 32 * 1024 * 1024

RULES = Rules(
    Rule(
        code=CONFIG_INVALID,
        rule="harness-pins-differ",
        layer=None,
        message="{first} pins {one} and {second} pins {other}",
        remedy="Say which one counts with --harness openjiuwen==X; repeat it to verify in several.",
        why="A guess would verify in a harness that nobody runs.",
        source="docs/design.md, section 7: environments",
    ),
    Rule(
        code=CONFIG_INVALID,
        rule="harness-pin-unreadable",
        layer=None,
        message="whether {path} pins the harness cannot be read: {problem}",
        remedy="Mend the file, or name the harness with --harness openjiuwen==X.",
        why="A pin that is overlooked would verify in another harness than the repository uses.",
        source="docs/design.md, section 7: environments",
    ),
    Rule(
        code=HARNESS_UNAVAILABLE,
        rule="outside-range",
        layer=None,
        message="{requirement} allows no harness version that is supported",
        remedy="Allow one of them ({supported}), or name another one with --harness openjiuwen==X.",
        why="The newest harness would be one that the repository rules out.",
        source="docs/design.md, section 7: environments",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A harness to verify in, and where that comes from."""

    version: str
    origin: str
    """For people: "flag", "pyproject.toml:12", "newest supported" or a combination."""
    location: Location

    @property
    def requirement(self) -> str:
        return f"{HARNESS}=={self.version}"


@dataclass(frozen=True)
class Mention:
    """A place where the repository requires the harness."""

    text: str
    specifier: SpecifierSet
    location: Location

    @property
    def where(self) -> str:
        return f"{self.location.path}:{self.location.line}"


def choose(flags: Sequence[str], repo: Path) -> tuple[Chosen, ...]:
    """Return the harnesses to verify in; at least one, no version twice.

    `flags` are requirements like `openjiuwen==0.1.16`; without any, what the files in the root of
    `repo` require counts. Raises EnvironmentTrouble.
    """
    chosen: dict[str, Chosen] = {}
    for flag in flags:
        place = flag_place("--harness", flag)
        version = read_version(flag, place)
        chosen.setdefault(version, Chosen(version=version, origin="flag", location=place.location))
    return tuple(chosen.values()) or (_choose_for(repo),)


def _choose_for(repo: Path) -> Chosen:
    mentions = list(_mentions(repo))
    pins = [(exact_version(mention.specifier), mention) for mention in mentions]
    exact = [(version, mention) for version, mention in pins if version is not None]
    for version, mention in exact[1:]:
        if version != exact[0][0]:
            raise _pins_differ(exact[0][1], mention)
    for version, mention in exact[:1]:
        refuse_too_old(version, mention)
        return Chosen(version=version, origin=mention.where, location=mention.location)
    return _newest_allowed(mentions)


def _newest_allowed(mentions: Sequence[Mention]) -> Chosen:
    supported = [harness.version for harness in supported_harnesses()]
    origin, location = "newest supported", Location(path=".")
    for mention in mentions:
        fitting = [version for version in supported if mention.specifier.contains(version, prereleases=True)]
        if not fitting:
            raise _outside_range(mention)
        if fitting != supported:
            origin, location = f"newest supported that {mention.where} allows", mention.location
        supported = fitting
    return Chosen(version=supported[-1], origin=origin, location=location)


def _pins_differ(first: Mention, second: Mention) -> EnvironmentTrouble:
    finding = RULES.finding(
        "config_invalid/harness-pins-differ",
        second,
        expected=first.text,
        actual=second.text,
        first=first.where,
        one=first.text,
        second=second.where,
        other=second.text,
    )
    return EnvironmentTrouble(finding)


def _outside_range(mention: Mention) -> EnvironmentTrouble:
    supported = ", ".join(harness.requirement for harness in supported_harnesses())
    finding = RULES.finding(
        "harness_unavailable/outside-range",
        mention,
        expected=f"one of {supported}",
        actual=mention.text,
        requirement=mention.text,
        supported=supported,
    )
    return EnvironmentTrouble(finding)


# --- What the repository says ----------------------------------------------------------------


def _mentions(repo: Path) -> Iterator[Mention]:
    """Yield where the root of a repository requires the harness. Nothing else is followed."""
    for source in _sources(repo, ["pyproject.toml"]):
        yield from _in_pyproject(source)
    for source in _sources(repo, sorted(path.name for path in repo.glob("requirements*.txt"))):
        yield from _in_requirements(source)
    for source in _sources(repo, LOCK_FILES):
        yield from _in_lock_file(source)


def _sources(repo: Path, names: Sequence[str]) -> Iterator[Source]:
    """Yield those of the files that speak of the harness. Raises EnvironmentTrouble."""
    for name in names:
        try:
            data = read_bytes(_inside(repo, name), name, limit=_FILE_LIMIT_BYTES)
            if HARNESS.encode() in data.lower():
                yield decode(data, name)
        except SourceError as error:
            if error.reason != "missing":
                raise _unreadable(error.place.location, str(error)) from None


def _inside(repo: Path, name: str) -> Path:
    """Return the file behind a name: a link inside the repository is fine, one that leads out is not."""
    try:
        target = (repo / name).resolve()
    except (OSError, RuntimeError) as error:  # a link to itself
        raise _unreadable(file_spot(name).location, str(error)) from None
    if not target.is_relative_to(repo.resolve()):
        raise _unreadable(file_spot(name).location, "it is a link that leads out of the repository")
    return target


def _in_pyproject(source: Source) -> Iterator[Mention]:
    content = _toml(source)
    project, groups = _table(content, "project"), _table(content, "dependency-groups")
    lists = [
        project.get("dependencies"),
        *_table(project, "optional-dependencies").values(),
        *groups.values(),
    ]
    for requirements in lists:
        for text in requirements if isinstance(requirements, list) else ():
            if isinstance(text, str):
                yield from _mention(source, text, source.text.find(text))


def _table(content: dict[str, Any], name: str) -> dict[str, Any]:
    value = content.get(name)
    return value if isinstance(value, dict) else {}


_REQUIREMENT_LINE = re.compile(rf"^[ \t]*({HARNESS}\b[^#\r\n\\]*)", re.MULTILINE | re.IGNORECASE)


def _in_requirements(source: Source) -> Iterator[Mention]:
    for match in _REQUIREMENT_LINE.finditer(source.text):
        yield from _mention(source, re.split(r"\s--\w", match[1])[0].strip(), match.start(1))


def _in_lock_file(source: Source) -> Iterator[Mention]:
    packages = _toml(source).get("package")
    for package in packages if isinstance(packages, list) else ():
        version = package.get("version") if isinstance(package, dict) else None
        if version is not None and package.get("name") == HARNESS:
            start = re.search(rf"^name = [\"']{HARNESS}[\"']", source.text, re.MULTILINE)
            yield from _mention(source, f"{HARNESS}=={version}", start.start() if start else -1)


def _mention(source: Source, text: str, start: int) -> Iterator[Mention]:
    """Yield a mention of the harness that counts here: no URL, no marker that is false."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    if not re.match(rf"{HARNESS}\b", text, re.IGNORECASE):
        return
    spot = source.spot(max(start, 0), max(start, 0) + len(text) if start >= 0 else None)
    try:
        parsed = Requirement(text)
        counts = parsed.marker is None or parsed.marker.evaluate()
    except ValueError as error:  # no requirement, or a marker that cannot be evaluated
        raise _unreadable(spot.location, str(error).splitlines()[0]) from None
    if counts and canonicalize_name(parsed.name) == HARNESS:
        yield Mention(text, parsed.specifier, spot.location)


def _toml(source: Source) -> dict[str, Any]:
    try:
        return tomllib.loads(source.text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _unreadable(source.top.location, f"not valid TOML: {error}") from None


def _unreadable(location: Location, problem: str) -> EnvironmentTrouble:

    finding = RULES.finding(
        "config_invalid/harness-pin-unreadable",
        Spot(location),
        actual=problem,
        path=location.path,
        problem=problem,
    )
    return EnvironmentTrouble(finding)
