"""What `harness_config.yaml` declares as a whole: something, in its place, under one name."""

from __future__ import annotations

import keyword
import posixpath
from collections.abc import Iterator

from verify_ext.codes import MANIFEST_INVALID, Rule, Rules
from verify_ext.kinds.harness_package.check_manifest import COMPONENT_SECTIONS, MANIFEST_NAME, section
from verify_ext.kinds.harness_package.contents import Contents
from verify_ext.kinds.harness_package.hints import listed
from verify_ext.model import Finding, Layer, Severity
from verify_ext.source import Node

_LOADERS = "openjiuwen: DeepAgent.load_harness_config (0.1.13-0.1.16), DeepAgent.load_plugin (0.1.17+)"

RULES = Rules(
    Rule(
        code=MANIFEST_INVALID,
        rule="name-differs",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="name is {actual}, but the harness knows the extension by its folder: {expected}",
        remedy="Write: name: {folder}",
        why="Module names are made from the folder's name; the name in the file is only shown.",
        source="openjiuwen 0.1.13-0.1.16: config_path.parent.name; 0.1.17+: package_dir.name",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="id-differs",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="id is {actual}, name is {expected}",
        remedy="Give both the same text.",
        why="People and logs then call one extension by two names.",
        source="openjiuwen 0.1.17+: PluginSpec.id and .name",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="directory-name",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="the folder's name {name} is no Python name, so no code can import the extension's modules by"
        " their full name",
        remedy="Rename the folder to letters, digits and underscores, in the manifest too.",
        why="The harness loads the modules from their files, but an import statement cannot name them.",
        source="docs/design.md, section 7: the extension's name is the directory's name",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="outside-resources",
        layer=Layer.L1,
        message="{key} stands beside resources, where openjiuwen 0.1.13-0.1.16 ignore it and newer ones load"
        " it unverified",
        remedy="Move it below 'resources:'.",
        why="What it declares is not loaded by some versions, and by others without having been verified.",
        source=_LOADERS,
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="not-hot-loaded",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="{key} is not verified, and openjiuwen 0.1.13-0.1.16 ignore it when they load the package",
        remedy="Test it in the harness yourself, and do not rely on it with these versions.",
        why="Only rails, tools and skills are loaded by every version.",
        source=_LOADERS,
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="second-manifest",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="{path} is a manifest too: openjiuwen 0.1.17 and newer add what it declares",
        remedy="Declare everything in harness_config.yaml, and rename or remove this file.",
        why="Components that only this file declares are loaded without having been verified.",
        source="openjiuwen 0.1.17+: harness/resources/extension_loader.py, _merge_list_file",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="nothing-declared",
        layer=Layer.L1,
        message="the manifest declares no rail, no tool and no skill",
        remedy="Declare what the package brings under rails, tools or skills.dirs of resources.",
        why="The harness loads nothing and reports no error.",
        source=_LOADERS,
    ),
)

# Files that 0.1.17 and newer add to what the manifest declares.
_SECOND_MANIFESTS = (
    "tools/tools.yaml",
    "rails/rails.yaml",
    "skills/skills.yaml",
    "mcps/mcps.yaml",
    "mcps/mcps.json",
)


def check_declared(contents: Contents, root: Node) -> Iterator[Finding]:
    """Check the extension's names and where its components are declared; `root` is the manifest."""
    yield from _names(contents, root)
    yield from _outside_resources(root)
    yield from _not_hot_loaded(root)
    yield from _second_manifests(contents)
    yield from _nothing_declared(root)


def _names(contents: Contents, root: Node) -> Iterator[Finding]:
    folder = contents.extension.name
    name, identity = root.get("name"), root.get("id")
    called = name.text() if name is not None else None
    if name is not None and called is not None and called != folder:
        yield RULES.finding(
            "manifest_invalid/name-differs", name, expected=repr(folder), actual=repr(called), folder=folder
        )
    if called is not None and identity is not None and identity.text() not in (None, called):
        yield RULES.finding(
            "manifest_invalid/id-differs", identity, expected=repr(called), actual=repr(identity.value)
        )
    modules = [section(root, name) for name in ("rails", "tools")]
    first = next((node for node in modules if node is not None and node.elements), None)
    if first is not None and (not folder.isidentifier() or keyword.iskeyword(folder)):
        yield RULES.finding(
            "manifest_invalid/directory-name",
            first.elements[0],
            expected="a Python identifier",
            actual=repr(folder),
            name=repr(folder),
        )


def _outside_resources(root: Node) -> Iterator[Finding]:
    for name in COMPONENT_SECTIONS:
        key = root.key(name)
        if key is not None:
            yield RULES.finding(
                "manifest_invalid/outside-resources",
                key,
                expected=f"resources.{name}",
                actual=f"{name} at the top level",
                key=repr(name),
            )


def _not_hot_loaded(root: Node) -> Iterator[Finding]:
    prompts, resources = root.get("prompts"), root.get("resources")
    declared = [
        (root.key("prompts"), prompts.get("sections") if prompts is not None else None),
        (root.key("prompt_sections"), root.get("prompt_sections")),
        (root.key("mcps"), root.get("mcps")),
        (resources.key("mcps"), resources.get("mcps")) if resources is not None else (None, None),
    ]
    for key, value in declared:
        if key is not None and _holds_something(value):
            yield RULES.finding(
                "manifest_invalid/not-hot-loaded",
                key,
                expected=listed(COMPONENT_SECTIONS),
                actual=repr(key.value),
                key=repr(key.value),
            )


def _second_manifests(contents: Contents) -> Iterator[Finding]:
    for path in _SECOND_MANIFESTS:
        if contents.is_file(path):
            yield RULES.finding(
                "manifest_invalid/second-manifest",
                contents.spot(path),
                expected=f"{MANIFEST_NAME} alone",
                actual=posixpath.basename(path),
                path=contents.extension.shown(path),
            )


def _nothing_declared(root: Node) -> Iterator[Finding]:
    resources = root.get("resources")
    if resources is not None and resources.kind not in ("mapping", "null"):
        return  # of a wrong type, which was said
    skills = section(root, "skills")
    declared = [
        *(section(root, name) for name in ("rails", "tools", "mcps")),
        skills.get("dirs") if skills is not None and skills.kind == "mapping" else skills,
        *(root.get(name) for name in (*COMPONENT_SECTIONS, "prompts", "mcps", "prompt_sections")),
    ]
    if not any(_holds_something(node) for node in declared):
        yield RULES.finding(
            "manifest_invalid/nothing-declared",
            root.key("resources") or root.entries[0][0],
            expected="a rail, a tool or a skill",
            actual="none of them",
        )


def _holds_something(node: Node | None) -> bool:
    """Return whether a section is more than empty; one of a wrong type is, and has its own finding."""
    if node is None or node.kind == "null":
        return False
    return bool(node.elements or node.entries) or node.kind not in ("mapping", "sequence")
