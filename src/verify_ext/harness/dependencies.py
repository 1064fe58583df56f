"""Whether what an extension requires can be installed beside the harness; if not, whose fault it is.

Nothing is concluded from a resolver's words where an experiment can decide: the requirements are
resolved under the environment's versions, beside the harness's own metadata, alone, for the other
Pythons, one by one; and an index that does not even know the harness proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from verify_ext.codes import DEPENDENCY_CONFLICT, DEPENDENCY_MISSING, ENVIRONMENT_ERROR, Place, Rule, Rules
from verify_ext.harness import trouble
from verify_ext.harness.environments import Environment
from verify_ext.harness.installer import Installer, Resolution
from verify_ext.harness.interpreters import PYTHONS
from verify_ext.harness.records import Installed, installed
from verify_ext.harness.supported import HARNESS, requirement_lines
from verify_ext.harness.trouble import EnvironmentTrouble
from verify_ext.model import Layer

_REASON_LIMIT = 1000

RULES = Rules(
    Rule(
        code=DEPENDENCY_MISSING,
        rule="not-found",
        layer=Layer.L1,
        message="the package index has nothing for the requirement {requirement!r}",
        remedy="Correct the name or the version, or drop the requirement.",
        why="Nobody who installs the extension can get it either.",
        source="the package index, which knows the harness",
    ),
    Rule(
        code=DEPENDENCY_MISSING,
        rule="no-wheel",
        layer=Layer.L1,
        message="no wheel for this platform meets the requirement {requirement!r}",
        remedy="Require a version, or another package, that is published as a wheel for Linux.",
        why="Building runs code of the package on the machine that installs it.",
        source="docs/design.md, section 3",
    ),
    Rule(
        code=DEPENDENCY_CONFLICT,
        rule="with-harness",
        layer=Layer.L1,
        message="what the extension requires cannot be installed beside {harness}",
        remedy="Loosen the requirement so that it allows what the harness needs.",
        why="Extension and harness share one interpreter, so they share one version of each package.",
        source="the metadata of the harness and of what it requires",
    ),
    Rule(
        code=DEPENDENCY_CONFLICT,
        rule="with-itself",
        layer=Layer.L1,
        message="what the extension requires cannot be installed together, with or without the harness",
        remedy="Loosen the requirements that contradict each other.",
        why="No version of the packages satisfies them all.",
        source="the metadata of the required packages",
    ),
    Rule(
        code=ENVIRONMENT_ERROR,
        rule="other-python",
        layer=None,
        message="what the extension requires cannot be installed for Python {version}, but can for {others}",
        remedy="Run verify-ext with Python {others}.",
        why="The harness runs on each of them, so it is not the extension that is at fault.",
        source="the metadata of the required packages",
    ),
    Rule(
        code=ENVIRONMENT_ERROR,
        rule="frozen-environment",
        layer=None,
        message="what the extension requires fits {harness}, but not the versions installed for {python}",
        remedy="Install versions there that fit, or leave out --harness-python.",
        why="The harness would allow it; the environment that was handed over does not.",
        source="the metadata of the harness and of what it requires",
    ),
)


@dataclass(frozen=True)
class Solution:
    """What is to be installed: pins beside the environment, and perhaps another environment's pins."""

    beside: str
    packages: tuple[str, ...]
    environment: str | None = None


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Requirements that are not met here; the rule says whose fault that is. Plain data."""

    rule: str
    expected: str | None = None
    actual: str
    log: str
    words: dict[str, Any] = field(default_factory=dict)

    def trouble(self, place: Place) -> EnvironmentTrouble:
        """Return it as trouble, blamed on `place`."""
        finding = RULES.finding(
            self.rule, place, expected=self.expected, actual=self.actual, log=self.log, **self.words
        )
        return EnvironmentTrouble(finding)


def solve(environment: Environment, lines: Sequence[str], installer: Installer) -> Solution | Refusal:
    """Say what has to be installed so that some requirements are met beside a harness, or why not.

    Raises EnvironmentTrouble where that cannot be said.
    """
    there = installed(environment.sites)
    frozen = [distribution.pin for distribution in there]
    resolution = installer.resolve(lines, constraints=frozen)
    if resolution.found:
        return _solution(resolution.pins, {distribution.name for distribution in there})
    harness = requirement_lines(environment.version)
    loose = installer.resolve([*harness, *lines], preferences=frozen)
    if not loose.found:
        return _refusal(environment, there, lines, loose, installer)
    if environment.folder is None:
        words = {"harness": environment.requirement, "python": str(environment.python)}
        return _refused("environment_error/frozen-environment", resolution, words)
    own = installer.resolve(harness, constraints=[_pin(block) for block in _blocks(loose.pins).values()])
    if not own.found:  # a part of what was just found
        raise trouble.installer_trouble(installer.place, installer.what, own.log)
    return _solution(loose.pins, set(_blocks(own.pins)), own.pins)


def _solution(pins: str, there: set[str], environment: str | None = None) -> Solution:
    beside = [block for name, block in _blocks(pins).items() if name not in there]
    return Solution("".join(beside), tuple(_pin(block) for block in beside), environment)


def _blocks(pins: str) -> dict[str, str]:
    """Split hashed pins by package: a line `name==version \\` and the indented hashes below it."""
    blocks = re.findall(r"^\S.*\n(?:[ \t].*\n)*", pins, re.MULTILINE)
    return {block.partition("==")[0]: block for block in blocks}


def _pin(block: str) -> str:
    return block.split(maxsplit=1)[0]


# --- Why not ---------------------------------------------------------------------------------


def _refusal(
    environment: Environment,
    there: Sequence[Installed],
    lines: Sequence[str],
    loose: Resolution,
    installer: Installer,
) -> Refusal:
    _refuse_deaf_index(environment, installer)
    alone = installer.resolve(lines)
    if alone.found:
        expected = _needs_of_harness(environment, there, lines)
        words = {"harness": environment.requirement}
        return _refused("dependency_conflict/with-harness", loose, words, expected)
    others = _other_pythons(environment, lines, installer)
    if others:
        words = {"version": environment.python_version, "others": " or ".join(others)}
        return _refused("environment_error/other-python", alone, words)
    for line in lines:
        single = installer.resolve([line])
        if not single.found:
            return _refused(_rule_of_one(single.refusal), single, {"requirement": line})
    return _refused("dependency_conflict/with-itself", alone, {})


def _refused(
    rule: str, resolution: Resolution, words: dict[str, Any], expected: str | None = None
) -> Refusal:
    reason = resolution.refusal
    actual = reason if len(reason) <= _REASON_LIMIT else reason[: _REASON_LIMIT - 1] + "…"
    return Refusal(rule=rule, expected=expected, actual=actual, log=resolution.log, words=words)


def _rule_of_one(reason: str) -> str:
    """Say why a requirement cannot even be met alone: phrases that uv has had from 0.5.20 to 0.13."""
    if re.search(r"\bno (usable )?wheels\b", reason):
        return "dependency_missing/no-wheel"
    if re.search(r"\bwas not found in\b|\bno versions? of\b|\bonly \S+ is available\b", reason):
        return "dependency_missing/not-found"
    return "dependency_conflict/with-itself"


def _other_pythons(environment: Environment, lines: Sequence[str], installer: Installer) -> list[str]:
    own = environment.interpreter.minor
    others = [python for python in PYTHONS if python != own]
    return [python for python in others if installer.resolve(lines, python_version=python).found]


def _needs_of_harness(environment: Environment, there: Sequence[Installed], lines: Sequence[str]) -> str:
    """Return what the harness itself says about the packages that the extension names."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    named = {canonicalize_name(Requirement(line).name) for line in lines}
    if HARNESS in named:
        return environment.requirement
    own = [text for found in there if found.name == HARNESS for text in found.requires()]
    wanted = [
        text
        for text in (*own, *requirement_lines(environment.version)[1:])
        if canonicalize_name(Requirement(text).name) in named and "extra ==" not in text
    ]
    if wanted:
        return f"{environment.requirement} requires {', '.join(wanted)}"
    return f"something that can be installed beside {environment.requirement}"


def _refuse_deaf_index(environment: Environment, installer: Installer) -> None:
    """Raise EnvironmentTrouble for an index that has nothing: a wrong address, a login page."""
    control = installer.resolve([environment.requirement], ask_again=HARNESS)
    if not control.found:
        finding = trouble.RULES.finding(
            "environment_error/index-unreachable",
            installer.place,
            expected=f"an index that has {environment.requirement}",
            actual=control.refusal,
            log=control.log,
        )
        raise EnvironmentTrouble(finding)
