"""The static check of a harness package (L1): nothing of it is executed.

The rules stand beside the checks, one module per part of a package. Where versions of the
harness differ, what the newest refuses is an error, and what only older ones refuse is a warning
that names them: there the real load decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from verify_ext.kinds.harness_package.acceptance_spec import NAMES, read_acceptance
from verify_ext.kinds.harness_package.check_classes import check_classes, class_place
from verify_ext.kinds.harness_package.check_declared import check_declared
from verify_ext.kinds.harness_package.check_entries import check_entries
from verify_ext.kinds.harness_package.check_files import check_files
from verify_ext.kinds.harness_package.check_imports import check_imports
from verify_ext.kinds.harness_package.check_manifest import check_manifest, read_manifest
from verify_ext.kinds.harness_package.check_requirements import read_requirements
from verify_ext.kinds.harness_package.check_skill_md import check_frontmatter, read_skill
from verify_ext.kinds.harness_package.check_skills import Skill, check_skills, skill_roots, skills
from verify_ext.kinds.harness_package.check_state import check_state
from verify_ext.kinds.harness_package.contents import Contents
from verify_ext.kinds.harness_package.entries import Entry, entries
from verify_ext.kinds.harness_package.modules import Modules
from verify_ext.model import Checked, Declared, Extension, Finding, Layer, Severity
from verify_ext.source import Node, Spot

_SAME_LIMIT = 100


def check(extension: Extension) -> Checked:
    """Read a harness package: what it declares, what it requires, what is wrong with it.

    Never raises for what is in the package.
    """
    contents = Contents(extension)
    root = read_manifest(contents)
    requirements = read_requirements(contents)
    findings, components = ([root], ()) if isinstance(root, Finding) else _check_declared(contents, root)
    place = Spot(root.location if isinstance(root, Finding) else root.source.top.location)
    findings += [*requirements.findings, *check_files(contents)]
    # What a spec is about is known only where the manifest is right.
    is_right = not any(finding.severity is Severity.ERROR for finding in findings)
    spec, of_spec = read_acceptance(contents, components, place) if is_right else (None, ())
    has_spec = any(contents.is_file(name) for name in NAMES)
    return Checked(
        findings=_limited(*findings, *of_spec),
        components=components,
        requirements=requirements.lines,
        requirement_locations=requirements.locations,
        location=place.location,
        required=(Layer.L3,) if has_spec else (),
        facts={"acceptance": spec},
    )


def _check_declared(contents: Contents, root: Node) -> tuple[list[Finding], tuple[Declared, ...]]:
    """Check what the manifest declares, in its order; return also the components to look for."""
    modules = Modules(contents)
    declared = entries(root)
    found = skills(contents, skill_roots(contents, root))
    manifests = [_SkillManifest(contents, skill) for skill in found]
    findings = [
        *check_manifest(root),
        *check_declared(contents, root),
        *check_entries(contents, declared),
        *check_classes(modules, declared),
        *check_imports(modules, declared, tuple(f"{skill.folder}/" for skill in found)),
        *check_state(modules, declared),
        *check_skills(contents, root),
        *(finding for skill in manifests for finding in skill.findings()),
    ]
    return findings, (*_classes(modules, declared), *(skill.declared() for skill in manifests))


def _limited(*findings: Finding) -> tuple[Finding, ...]:
    """Keep the first of each rule, and let the last that is kept say how many there are."""
    by_rule: dict[str, list[Finding]] = {}
    for finding in findings:
        by_rule.setdefault(finding.id, []).append(finding)
    last = {id(same[_SAME_LIMIT - 1]): len(same) for same in by_rule.values() if len(same) > _SAME_LIMIT}
    kept = {id(finding) for same in by_rule.values() for finding in same[:_SAME_LIMIT]}
    return tuple(
        replace(finding, message=f"{finding.message} (one of {last[id(finding)]})")
        if id(finding) in last
        else finding
        for finding in findings
        if id(finding) in kept
    )


def _classes(modules: Modules, declared: tuple[Entry, ...]) -> Iterator[Declared]:
    """Yield the rails and tools that the manifest names well enough to look for, each once."""
    seen = set()
    for entry in declared:
        module = entry.module.text() if entry.module is not None else None
        identity = (entry.type, module, entry.class_name)
        if not entry.is_package or not module or entry.class_name is None or identity in seen:
            continue
        seen.add(identity)
        yield Declared(
            type=entry.type,
            name=entry.class_name,
            location=class_place(modules, entry).location,
            facts={"module": module, "class": entry.class_name},
        )


class _SkillManifest:
    """A skill and its frontmatter, read once."""

    def __init__(self, contents: Contents, skill: Skill) -> None:
        self._contents = contents
        self._skill = skill
        self._read = read_skill(contents, skill.file)

    def findings(self) -> Iterator[Finding]:
        read, name = self._read, self._skill.name
        for finding in [read] if isinstance(read, Finding) else check_frontmatter(read, name):
            yield replace(finding, component=f"skill:{name}")

    def declared(self) -> Declared:
        description = self._read.get("description") if isinstance(self._read, Node) else None
        return Declared(
            type="skill",
            name=self._skill.name,
            location=self._skill.root.node.location,
            facts={
                "dir": self._skill.root.written,
                "path": self._contents.real(self._skill.folder),
                "description": description.text() if description is not None else None,
            },
        )
