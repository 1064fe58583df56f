"""Which environments a run uses, and what each extension needs in them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from verify_ext.codes import CONFIG_INVALID, Rule, Rules
from verify_ext.config import Options
from verify_ext.harness.choice import Chosen, choose
from verify_ext.harness.environments import (
    Environment,
    Progress,
    adopt_environment,
    ensure_environment,
    find_environment,
)
from verify_ext.harness.overlays import ensure_overlay, find_overlay
from verify_ext.harness.trouble import EnvironmentTrouble, flag_place
from verify_ext.model import Checked, Finding
from verify_ext.source import Spot

RULES = Rules(
    Rule(
        code=CONFIG_INVALID,
        rule="harness-twice",
        layer=None,
        message="both --harness and --harness-python say which harness to use",
        remedy="Leave one of them out.",
        why="One of them would be ignored without a word.",
        source="Command line",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Where one extension is exercised: an environment, what lies beside it, or why it cannot be."""

    environment: Environment
    paths: tuple[Path, ...] = ()
    findings: tuple[Finding, ...] = ()


class Provision:
    """The environments of one run. Offline it finds them, else it builds what is missing."""

    def __init__(self, options: Options, repo: Path) -> None:
        self.limits = options.limits
        self._options = options
        self._repo = repo
        self._environments: dict[Chosen, Environment] = {}

    def choose(self) -> tuple[Chosen, ...]:
        """Return the harnesses to verify in. Raises EnvironmentTrouble."""
        python = self._options.harness_python
        if python is None:
            return choose(self._options.harnesses, self._repo)
        if self._options.harnesses:
            flags = " ".join(self._options.harnesses)
            place = flag_place("--harness", flags)
            raise EnvironmentTrouble(RULES.finding("config_invalid/harness-twice", place, actual=flags))
        environment = adopt_environment(python)
        place = flag_place("--harness-python", str(python))
        chosen = Chosen(version=environment.version, origin="flag", location=place.location)
        self._environments[chosen] = environment
        return (chosen,)

    def environment(self, chosen: Chosen, progress: Progress) -> Environment:
        """Return the environment of a harness. Raises EnvironmentTrouble."""
        if chosen not in self._environments:
            cache = self._options.cache
            self._environments[chosen] = (
                find_environment(chosen, cache)
                if self._options.offline
                else ensure_environment(chosen, cache, progress)
            )
        return self._environments[chosen]

    def plan(self, chosen: Chosen, checked: Checked, progress: Progress) -> Plan:
        """Return where an extension is exercised. Raises EnvironmentTrouble for the harness itself.

        What stands in the way of this extension alone is in the plan's findings.
        """
        environment = self.environment(chosen, progress)
        first = next(iter(checked.requirement_locations), checked.location)
        place, cache = Spot(first), self._options.cache
        try:
            overlay = (
                find_overlay(environment, checked.requirements, cache, place)
                if self._options.offline
                else ensure_overlay(environment, checked.requirements, cache, progress, place)
            )
        except EnvironmentTrouble as trouble:
            return Plan(environment=environment, findings=(_at_its_line(trouble.finding, checked),))
        folder = overlay.folder
        return Plan(environment=overlay.environment, paths=() if folder is None else (folder,))


def _at_its_line(finding: Finding, checked: Checked) -> Finding:
    """Move a finding about requirements to the line of the first one that it names."""
    said = f"{finding.message}\n{finding.actual or ''}".lower()
    for line, location in zip(checked.requirements, checked.requirement_locations, strict=True):
        name = re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0].lower()
        if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", said):
            return replace(finding, location=location)
    return finding
