"""The entries of `resources.rails` and `resources.tools`: type, module and class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verify_ext.codes import MANIFEST_INVALID, Place, Rule, Rules
from verify_ext.kinds.harness_package import manifest_schema as schema
from verify_ext.kinds.harness_package.codes import ENTRY_POINT_NOT_ALLOWED
from verify_ext.kinds.harness_package.contents import Contents
from verify_ext.kinds.harness_package.entries import OWN_PREFIX, SEGMENT, Entry, given, module_path
from verify_ext.kinds.harness_package.hints import did_you_mean, listed
from verify_ext.model import Finding, Layer, Severity
from verify_ext.source import Node

_SEED = 'Seed "verify-ext", L1 结构校验'
_LOADERS = (
    "openjiuwen 0.1.13-0.1.16 auto_harness/infra/runtime_extension_loader.py, 0.1.17+ extension_loader.py"
)
_BY_VERSION = {
    "file": "load that file instead of the module",
    "params": "pass them to the constructor",
    "kwargs": "pass them to the constructor",
}

RULES = Rules(
    Rule(
        code=MANIFEST_INVALID,
        rule="entry-not-a-mapping",
        layer=Layer.L1,
        message="this entry of resources.{section} is {actual}, not a mapping",
        remedy="Write it as '- type: package' with module and class on the lines below.",
        why="The harness refuses the manifest, or takes the text for the name of one of its own components.",
        source=_SEED + ": rail/tool 条目必须是 type: package",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="entry-type-missing",
        layer=Layer.L1,
        message="this entry of resources.{section} has no type",
        remedy="Add: type: package",
        why="openjiuwen 0.1.13-0.1.16 refuse the whole manifest.",
        source=_SEED + ": rail/tool 条目必须是 type: package",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="entry-type",
        layer=Layer.L1,
        message="this entry of resources.{section} is of the type {actual}, not package",
        remedy="Write 'type: package' with module and class; nobody needs to declare what is built in.",
        why="The harness drops the entry silently, or loads something that is not part of the extension.",
        source=_SEED + ": rail/tool 条目必须是 type: package",
    ),
    Rule(
        code=ENTRY_POINT_NOT_ALLOWED,
        rule="entry-point",
        layer=Layer.L1,
        message="this entry of resources.{section} names an installed entry point",
        remedy="Write 'type: package' with the module and class of the extension.",
        why="openjiuwen 0.1.13-0.1.16 drop the entry silently, newer ones refuse the package.",
        source=_SEED + ": entry_point_not_allowed",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="module-missing",
        layer=Layer.L1,
        message="this entry of resources.{section} does not say which module holds the class",
        remedy="Add: module: openjiuwen.extensions.harness.{folder}.<module>",
        why="openjiuwen 0.1.13-0.1.16 skip the entry silently, newer ones fail or skip it.",
        source=_SEED + ": 每个 rail/tool 条目必须包含 module 和 class",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="module-name",
        layer=Layer.L1,
        message="{actual} is no dotted module name",
        remedy="Write the module as it is imported, with dots and without '.py':"
        " openjiuwen.extensions.harness.{folder}.tools.my_tool",
        why="The harness turns the dots into a path and finds no file.",
        source=_LOADERS,
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="module-outside-extension",
        layer=Layer.L1,
        message="the module {module} is not one of this extension",
        remedy="Name a file of the extension: openjiuwen.extensions.harness.{folder}.<module>",
        why="The harness looks for it among the installed packages, finds nothing and refuses the package.",
        source=_SEED + ": module 必须以 openjiuwen.extensions.harness.<extension_name> 开头",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="module-is-package",
        layer=Layer.L1,
        message="the module is the extension itself, not one of its files",
        remedy="Name the module that defines the class: openjiuwen.extensions.harness.{folder}.<module>",
        why="openjiuwen 0.1.17 and newer do not load classes from the extension's __init__.py.",
        source=_SEED + ": module 必须能映射到扩展根目录内真实存在的 .py 文件",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="module-file-missing",
        layer=Layer.L1,
        message="the module {module} has no file{hint}",
        remedy="Add {expected}, or correct the module's name.",
        why="The harness refuses the package: the file is not found.",
        source=_SEED + ": module 必须能映射到扩展根目录内真实存在的 .py 文件",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="module-is-folder",
        layer=Layer.L1,
        message="the module {module} is a folder, and the harness loads a class from a file only",
        remedy="Name the file in {path}/ that defines the class.",
        why="The harness looks for {path}.py, whether or not the folder has an __init__.py.",
        source=_LOADERS,
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="class-missing",
        layer=Layer.L1,
        message="this entry of resources.{section} does not say which class to load",
        remedy="Add: class: <the name of the class>",
        why="openjiuwen 0.1.13-0.1.16 skip the entry silently, newer ones refuse the package.",
        source=_SEED + ": 每个 rail/tool 条目必须包含 module 和 class",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="class-name",
        layer=Layer.L1,
        message="{actual} is no class name",
        remedy="Write the bare name of a class that the module defines.",
        why="The harness looks the name up in the module as it stands.",
        source=_LOADERS,
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="class-twice",
        layer=Layer.L1,
        message="class is {first}, class_name is {second}: versions of the harness disagree which counts",
        remedy="Keep 'class' and remove 'class_name'.",
        why="openjiuwen 0.1.13-0.1.16 load class, newer ones class_name.",
        source=_LOADERS,
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="duplicate-component",
        layer=Layer.L1,
        message="the {type} {name} is declared a second time",
        remedy="Remove one of the two entries.",
        why="openjiuwen 0.1.17 and newer refuse the package: already bound.",
        source="openjiuwen 0.1.17+: harness/extension_binder.py",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="same-class-name",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="two tools have classes of the name {name}",
        remedy="Give each tool's class a name of its own.",
        why="The harness reports tools by class name: nobody can tell the two apart.",
        source="openjiuwen 0.1.13-0.1.16: the label tool:<ClassName>",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="unknown-entry-key",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="{key} is no key of an entry, so the harness drops it{hint}",
        remedy="Correct the key's name, or remove it.",
        why="A misspelt key silently changes nothing.",
        source="openjiuwen 0.1.13-0.1.16 harness/harness_config/schema.py, 0.1.17+ RuntimeHarnessManifest",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="entry-key-by-version",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="openjiuwen 0.1.13-0.1.16 ignore {key}, newer ones {effect}",
        remedy="Remove it: name module and class, and let the class need no arguments.",
        why="The same entry loads different things in different versions.",
        source=_LOADERS,
    ),
)


def check_entries(contents: Contents, declared: tuple[Entry, ...]) -> Iterator[Finding]:
    """Check each entry on its own, then what is declared twice."""
    for entry in declared:
        if entry.node.kind != "mapping":
            yield _finding("entry-not-a-mapping", entry, entry.node, "a mapping", entry.node.describe())
            continue
        yield from _entry_type(entry)
        yield from _entry_keys(entry)
        if entry.is_package:
            yield from _module(contents, entry)
            yield from _class(entry)
    yield from _declared_twice(declared)


def _finding(
    rule: str,
    entry: Entry,
    place: Place,
    expected: str,
    actual: str,
    code: str = "manifest_invalid",
    **words: Any,
) -> Finding:
    return RULES.finding(
        f"{code}/{rule}",
        place,
        component=entry.component,
        expected=expected,
        actual=actual,
        section=entry.section,
        **words,
    )


def _entry_type(entry: Entry) -> Iterator[Finding]:
    kind = entry.node.get("type")
    if kind is None or not given(kind):
        yield _finding("entry-type-missing", entry, kind or entry.head, "type: package", "no type")
    elif kind.text() == "entry_point":
        yield _finding("entry-point", entry, kind, "package", "entry_point", "entry_point_not_allowed")
    elif kind.text() != "package":
        yield _finding("entry-type", entry, kind, "package", kind.describe())


def _entry_keys(entry: Entry) -> Iterator[Finding]:
    for key, _ in entry.node.entries:
        name = key.text() or ""
        if name in _BY_VERSION:
            effect = _BY_VERSION[name]
            yield _finding(
                "entry-key-by-version", entry, key, "type, module, class", name, key=name, effect=effect
            )
        elif name not in schema.ENTRY_KEYS:
            shown, hint = repr(key.value), did_you_mean(name, schema.ENTRY_KEYS)
            yield _finding(
                "unknown-entry-key", entry, key, "type, module, class", shown, key=shown, hint=hint
            )


def _module(contents: Contents, entry: Entry) -> Iterator[Finding]:
    node, folder = entry.module, contents.extension.name
    own = f"{OWN_PREFIX}{folder}"
    if node is None or not given(node):
        yield _finding(
            "module-missing", entry, node or entry.head, f"module: {own}.…", "no module", folder=folder
        )
        return
    name = node.text()
    if name == own:
        yield _finding("module-is-package", entry, node, f"{own}.<module>", name, folder=folder)
    elif name is None or not all(SEGMENT.fullmatch(part) for part in name.removeprefix(f"{own}.").split(".")):
        yield _finding("module-name", entry, node, f"{own}.<module>", node.describe(), folder=folder)
    elif not name.startswith(f"{own}."):
        yield _finding(
            "module-outside-extension", entry, node, f"{own}.<module>", name, folder=folder, module=name
        )
    else:
        yield from _module_file(contents, entry, node, name)


def _module_file(contents: Contents, entry: Entry, node: Node, name: str) -> Iterator[Finding]:
    path = module_path(contents.extension, entry) or ""
    expected = contents.extension.shown(f"{path}.py")
    if f"{path}.py" in (*contents.files, *(link.path for link in contents.broken_links)):
        return
    if contents.is_folder(path):
        actual = f"the folder {contents.extension.shown(path)}"
        yield _finding(
            "module-is-folder",
            entry,
            node,
            f"a file {expected}",
            actual,
            module=name,
            path=path.rpartition("/")[2],
        )
        return
    modules = [file.removesuffix(".py") for file in contents.files if file.endswith(".py")]
    near = did_you_mean(path.removesuffix("/py"), modules).replace("/", ".")
    actual = f"modules: {listed(module.replace('/', '.') for module in modules)}"
    yield _finding("module-file-missing", entry, node, f"a file {expected}", actual, module=name, hint=near)


def _class(entry: Entry) -> Iterator[Finding]:
    node = entry.class_node
    if node is None:
        place = entry.node.get("class") or entry.module or entry.head
        yield _finding("class-missing", entry, place, "class: <name>", "no class")
    elif entry.class_name is None:
        yield _finding("class-name", entry, node, "a Python identifier", node.describe())
    first, second = entry.node.get("class"), entry.node.get("class_name")
    if first is not None and second is not None and entry.is_ambiguous:
        words = {"first": first.describe(), "second": second.describe()}
        yield _finding("class-twice", entry, second, "one of the two", " and ".join(words.values()), **words)


def _declared_twice(declared: tuple[Entry, ...]) -> Iterator[Finding]:
    seen: dict[tuple[str, str], Entry] = {}
    for entry in declared:
        name, node = entry.class_name, entry.class_node
        if not entry.is_package or name is None or node is None:
            continue
        first = seen.setdefault((entry.type, name), entry)
        if first is entry:
            continue
        same_module = (
            first.module is not None and entry.module is not None and first.module.value == entry.module.value
        )
        rule = "duplicate-component" if same_module or entry.type == "rail" else "same-class-name"
        line = first.node.location.line
        yield _finding(
            rule, entry, node, "each component once", f"also on line {line}", type=entry.type, name=name
        )
