"""Codes and rules: declared where they are checked, collected here.

A *code* is the attribution and says whose fault a finding is (docs/design.md, section 5). A
*rule* is the exact thing under a code. A part of the program that reports findings declares a
`RULES` table; `collect()` finds the tables by walking the package, so that `explain`, the
documentation and the tests see the same rows. Codes that several parts report are declared
here, a kind's own codes beside its rules.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, overload

from verify_ext.model import Fault, Finding, Layer, Location, Provenance, Severity

TEXT_LIMIT = 2_000
LOG_LIMIT = 8_000
"""Characters that a finding's texts, and its log, are cut to."""


class Place(Protocol):
    """Whatever can say where it stands. Findings can only be made at a place."""

    @property
    def location(self) -> Location: ...


@dataclass(frozen=True)
class Code:
    """One attribution: stable for ever, `snake_case`."""

    name: str
    fault: Fault
    meaning: str


# Codes that more than one part reports.
MANIFEST_INVALID = Code(
    "manifest_invalid",
    Fault.EXTENSION,
    "The manifest is missing, unreadable or breaks its schema.",
)
SKILL_MANIFEST_INVALID = Code(
    "skill_manifest_invalid",
    Fault.EXTENSION,
    "A SKILL.md would not be loaded, or not as its author meant.",
)
DEPENDENCY_MISSING = Code(
    "dependency_missing",
    Fault.EXTENSION,
    "The extension needs a package that it does not declare, or that has no wheel.",
)
DEPENDENCY_CONFLICT = Code(
    "dependency_conflict",
    Fault.EXTENSION,
    "What the extension requires cannot be installed beside the harness.",
)
EXTENSION_TIMED_OUT = Code(
    "extension_timed_out",
    Fault.EXTENSION,
    "The extension did not finish within its deadline.",
)
EXTENSION_CRASHED = Code(
    "extension_crashed",
    Fault.EXTENSION,
    "The extension's process ended before it gave a complete result.",
)
RESOURCE_LIMIT_EXCEEDED = Code(
    "resource_limit_exceeded",
    Fault.EXTENSION,
    "The extension used more than it is allowed to.",
)
ISOLATION_VIOLATED = Code(
    "isolation_violated",
    Fault.EXTENSION,
    "The extension tried to reach what is not its own while it was being loaded.",
)
HARNESS_UNAVAILABLE = Code(
    "harness_unavailable",
    Fault.HARNESS,
    "The harness that was asked for is not one that can be verified against.",
)
HARNESS_ENVIRONMENT_BROKEN = Code(
    "harness_environment_broken",
    Fault.ENVIRONMENT,
    "Our own known-good extension does not pass in this environment.",
)
ENVIRONMENT_ERROR = Code(
    "environment_error",
    Fault.ENVIRONMENT,
    "The environment could not be built: no index, no disk, no interpreter.",
)
CONFIG_INVALID = Code(
    "config_invalid",
    Fault.CONFIGURATION,
    "A flag, input or configuration file does not make sense.",
)
NOTHING_SELECTED = Code(
    "nothing_selected",
    Fault.CONFIGURATION,
    "There was nothing to verify.",
)
VERIFIER_ERROR = Code(
    "verifier_error",
    Fault.VERIFIER,
    "A bug in verify-ext. Nothing is said about the extension.",
)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One row of a RULES table.

    `message` and `remedy` are `str.format` templates; what fills them is given at the place
    that finds the problem. `why` says in a sentence what goes wrong without the rule, `source`
    where the rule comes from.
    """

    code: Code
    rule: str
    layer: Layer | None
    message: str
    remedy: str
    why: str
    source: str
    severity: Severity = Severity.ERROR

    @property
    def id(self) -> str:
        return f"{self.code.name}/{self.rule}"


class Rules(Mapping[str, Rule]):
    """A RULES table: rows by `code/rule`, and the one way to make a finding of a row."""

    def __init__(self, *rows: Rule) -> None:
        self._rows = {row.id: row for row in rows}
        if len(self._rows) != len(rows):
            raise ValueError("a rule is declared twice in one table")

    def __getitem__(self, rule_id: str) -> Rule:
        return self._rows[rule_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def finding(
        self,
        rule_id: str,
        place: Place,
        *,
        component: str | None = None,
        expected: str | None = None,
        actual: str | None = None,
        reproduction: str | None = None,
        log: str | None = None,
        provenance: Provenance = Provenance.VERIFIED,
        **words: object,
    ) -> Finding:
        """Make a finding of the row `rule_id` at `place`.

        `words` fill the templates of the row, as do `expected` and `actual`. Raises KeyError for
        a rule that is not in this table or a word that is missing: both are our bugs, and a test
        makes every row appear.
        """
        row = self._rows[rule_id]
        words = {"expected": expected, "actual": actual, **words}
        words = {
            name: _cut(word, TEXT_LIMIT) if isinstance(word, str) else word for name, word in words.items()
        }
        return Finding(
            code=row.code.name,
            rule=row.rule,
            fault=row.code.fault,
            severity=row.severity,
            layer=row.layer,
            message=_cut(row.message.format(**words), TEXT_LIMIT),
            remedy=_cut(row.remedy.format(**words), TEXT_LIMIT),
            location=place.location,
            component=component,
            expected=_cut(expected, TEXT_LIMIT),
            actual=_cut(actual, TEXT_LIMIT),
            reproduction=_cut(reproduction, TEXT_LIMIT),
            log=_cut(log, LOG_LIMIT),
            provenance=provenance,
        )


@overload
def _cut(text: str, limit: int) -> str: ...
@overload
def _cut(text: str | None, limit: int) -> str | None: ...
def _cut(text: str | None, limit: int) -> str | None:
    """Bound what a stranger can put into a finding, whatever check it comes through."""
    if text is None or len(text) <= limit:
        return text
    return f"{text[: limit - 40]}… ({len(text) - limit + 40} more characters)"


def collect() -> dict[str, Rule]:
    """Return every declared rule by `code/rule`, sorted.

    Imports every module of the package but the worker's (which must not be imported outside a
    harness). Raises ValueError where two tables declare one rule or two codes share a name.
    """
    rules: dict[str, Rule] = {}
    codes: dict[str, Code] = {}
    for table in _tables():
        for row in table.values():
            if rules.setdefault(row.id, row) is not row:
                raise ValueError(f"rule {row.id} is declared in two tables")
            if codes.setdefault(row.code.name, row.code) is not row.code:
                raise ValueError(f"code {row.code.name} is declared twice")
    return dict(sorted(rules.items()))


def _tables() -> Iterator[Rules]:
    import verify_ext

    for info in pkgutil.walk_packages(verify_ext.__path__, "verify_ext.", onerror=None):
        name = info.name
        if name.startswith("verify_ext.worker") or ".job" in name or name.endswith(".__main__"):
            continue
        table = getattr(importlib.import_module(name), "RULES", None)
        if isinstance(table, Rules):
            yield table
