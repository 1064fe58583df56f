"""Which versions of the harness can be verified against, and what each is made of.

A supported version is one whose lock file ships with verify-ext (`locks/`), tried on every
Python the harness runs on. Any other version from the first with hot-loading on is made from the
harness's own metadata, plus what that metadata forgets.

A lock file is made with uv, its first lines say how; it holds hashes and no address of an index.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from verify_ext.codes import CONFIG_INVALID, HARNESS_UNAVAILABLE, Place, Rule, Rules
from verify_ext.harness.trouble import EnvironmentTrouble

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

HARNESS = "openjiuwen"
OLDEST = "0.1.13"
"""The first version with hot-loading (docs/design.md, section 7)."""

_LOCKS = Path(__file__).parent / "locks"

RULES = Rules(
    Rule(
        code=CONFIG_INVALID,
        rule="harness-requirement",
        layer=None,
        message="{text!r} does not name a version of the harness",
        remedy="Write it like {example}.",
        why="A verdict is about one harness version, so it must be named exactly.",
        source="docs/design.md, section 7: environments",
    ),
    Rule(
        code=HARNESS_UNAVAILABLE,
        rule="too-old",
        layer=None,
        message="{requirement} cannot load extensions while it runs",
        remedy="Use {example} or another version from {oldest} on.",
        why="Before {oldest} the harness has no `load_harness_config`; there is nothing to verify with.",
        source="releases of openjiuwen, read and tried",
    ),
)


@dataclass(frozen=True, kw_only=True)
class SupportedHarness:
    """A harness version with a lock file of ours."""

    version: str
    lock: Path

    @property
    def requirement(self) -> str:
        return f"{HARNESS}=={self.version}"


@dataclass(frozen=True)
class Correction:
    """What the metadata of some versions forgets, measured: without it skills or imports break."""

    first: str
    last: str
    requirement: str


CORRECTIONS = (
    # With filelock 4 every skill reads as "Skill located in <path>".
    Correction("0.1.16", "0.1.16.post1", "filelock<4"),
    # With filelock 4 read_file and skill_tool fail: "Cannot release a lock … not held by this task".
    Correction("0.1.19", "0.1.19.post2", "filelock<4"),
    # The harness imports sqlalchemy.ext.asyncio without asking for it; sqlalchemy 2.1 needs this.
    Correction("0.1.13", "0.1.14", "greenlet"),
)


def supported_harnesses() -> tuple[SupportedHarness, ...]:
    """Return the versions whose lock files ship with us, oldest first."""
    from packaging.version import Version

    prefix = f"{HARNESS}-"
    found = (
        SupportedHarness(version=lock.stem.removeprefix(prefix), lock=lock)
        for lock in _LOCKS.glob(f"{prefix}*.txt")
    )
    return tuple(sorted(found, key=lambda harness: Version(harness.version)))


def lock_text(version: str) -> str | None:
    """Return the lock file of a version, None if none ships with us."""
    for harness in supported_harnesses():
        if harness.version == version:
            return harness.lock.read_text(encoding="utf-8")
    return None


def requirement_lines(version: str) -> tuple[str, ...]:
    """Return what an environment with this version is resolved from."""
    from packaging.version import Version

    wanted = Version(version)
    forgotten = (
        correction.requirement
        for correction in CORRECTIONS
        if Version(correction.first) <= wanted <= Version(correction.last)
    )
    return (f"{HARNESS}=={version}", *forgotten)


def read_version(text: str, place: Place) -> str:
    """Return the version that a requirement like `openjiuwen==0.1.16` names.

    Raises EnvironmentTrouble for what names none, or one that is too old.
    """
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    try:
        parsed = Requirement(text)
    except InvalidRequirement:
        raise _no_version(text, place) from None
    version = exact_version(parsed.specifier)
    bare = not (parsed.url or parsed.extras or parsed.marker)
    if version is None or not bare or canonicalize_name(parsed.name) != HARNESS:
        raise _no_version(text, place)
    refuse_too_old(version, place)
    return version


def exact_version(specifier: SpecifierSet) -> str | None:
    """Return the version that a specifier pins exactly, in its normal form."""
    from packaging.version import InvalidVersion, Version

    parts = list(specifier)
    if len(parts) != 1 or parts[0].operator not in ("==", "==="):
        return None
    try:
        return str(Version(parts[0].version))  # not a version: `==0.1.*`
    except InvalidVersion:
        return None


def refuse_too_old(version: str, place: Place) -> None:
    """Raise EnvironmentTrouble for a version without hot-loading."""
    from packaging.version import Version

    if Version(version) < Version(OLDEST):
        requirement = f"{HARNESS}=={version}"
        raise EnvironmentTrouble(
            RULES.finding(
                "harness_unavailable/too-old",
                place,
                expected=f"{HARNESS}>={OLDEST}",
                actual=requirement,
                requirement=requirement,
                example=supported_harnesses()[-1].requirement,
                oldest=OLDEST,
            )
        )


def _no_version(text: str, place: Place) -> EnvironmentTrouble:
    example = supported_harnesses()[-1].requirement
    finding = RULES.finding(
        "config_invalid/harness-requirement",
        place,
        expected=example,
        actual=repr(text),
        text=text,
        example=example,
    )
    return EnvironmentTrouble(finding)
