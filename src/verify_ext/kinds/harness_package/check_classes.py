"""The classes that the manifest declares: their modules parse, they are there, they need no arguments."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import Any

from verify_ext.codes import MANIFEST_INVALID, Place, Rule, Rules
from verify_ext.kinds.harness_package.bindings import Bindings, bindings
from verify_ext.kinds.harness_package.codes import CLASS_INIT_FAILED, MODULE_IMPORT_FAILED
from verify_ext.kinds.harness_package.entries import Entry, module_file
from verify_ext.kinds.harness_package.hints import did_you_mean, listed
from verify_ext.kinds.harness_package.modules import Modules
from verify_ext.model import Finding, Layer, Severity
from verify_ext.source import PythonModule, SourceError, Spot

_SEED = 'Seed "verify-ext", L1 结构校验'

RULES = Rules(
    Rule(
        code=MODULE_IMPORT_FAILED,
        rule="syntax-error",
        layer=Layer.L1,
        message="the file is {problem}",
        remedy="Correct the syntax; `python -m py_compile` on the file shows the same place.",
        why="The harness imports the file while loading, and fails.",
        source=_SEED + ": module_import_failed",
    ),
    Rule(
        code=MODULE_IMPORT_FAILED,
        rule="source-encoding",
        layer=Layer.L1,
        message="the file is not UTF-8: {problem}",
        remedy="Save it as UTF-8.",
        why="Python reads source as UTF-8 unless its first lines declare another encoding, and fails.",
        source="PEP 263, PEP 3120",
    ),
    Rule(
        code=MODULE_IMPORT_FAILED,
        rule="source-unreadable",
        layer=Layer.L1,
        message="the file cannot be read: {problem}",
        remedy="Make it an ordinary, readable file.",
        why="The harness cannot import what cannot be read.",
        source=_SEED + ": module_import_failed",
    ),
    Rule(
        code=MODULE_IMPORT_FAILED,
        rule="source-too-large",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="the file is not checked before it is loaded: {problem}",
        remedy="Keep large data out of Python source.",
        why="What is not read is not checked; only loading it in the harness shows whether it works.",
        source="A limit of verify-ext: TEXT_LIMIT_BYTES",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="class-not-defined",
        layer=Layer.L1,
        message="{file} has no class {name}{hint}",
        remedy="Correct the class in the manifest, or define it in the module.",
        why="The harness imports the module, does not find the class and refuses the package.",
        source=_SEED + ": 每个 rail/tool 条目必须包含 module 和 class",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="class-is-no-class",
        layer=Layer.L1,
        message="{name} in {file} is no class",
        remedy="Name the class itself, not a function or value of the module.",
        why="openjiuwen 0.1.17 and newer refuse the package: not a class.",
        source="openjiuwen 0.1.17+: harness/manifest/meta_elements.py, _load_class_from_file",
    ),
    Rule(
        code=CLASS_INIT_FAILED,
        rule="constructor-arguments",
        layer=Layer.L1,
        message="{name} cannot be constructed without arguments: it needs {arguments}",
        remedy="Give {arguments} a default, or make what it stands for in the constructor.",
        why="The harness constructs every declared class without arguments.",
        source=_SEED + ": Tool class 必须无参构造",
    ),
    Rule(
        code=CLASS_INIT_FAILED,
        rule="abstract-method",
        layer=Layer.L1,
        message="{name} cannot be constructed: it does not implement {methods}",
        remedy="Define {methods} in the class; a tool that does not stream yields the result of invoke.",
        why="Tool declares invoke and stream abstract; Python refuses to construct the class.",
        source="openjiuwen: core/foundation/tool/base.py",
    ),
    Rule(
        code=CLASS_INIT_FAILED,
        rule="card-id-differs",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="the ToolCard's id is {actual}, its name is {expected}",
        remedy="Give id and name the same text.",
        why="The model calls the tool by its name, the harness keeps it by its id.",
        source=_SEED + ": ToolCard.id 和 ToolCard.name 必须显式设置，推荐一致",
    ),
)

_UNREADABLE = {"syntax": "syntax-error", "encoding": "source-encoding", "too-large": "source-too-large"}
_ABSTRACT_METHODS = ("invoke", "stream")


def check_classes(modules: Modules, declared: tuple[Entry, ...]) -> Iterator[Finding]:
    """Check the declared classes and every file that is imported with them."""
    files = {entry: file for entry in declared if (file := module_file(modules.contents, entry))}
    for file in modules.imported_with([*files.values(), *_initialisers(modules)]):
        problem = modules.parse(file)
        if isinstance(problem, SourceError):
            yield _unreadable(problem)
    for entry, file in files.items():
        module, bound = modules.parsed(file), modules.bindings(file)
        if module is not None and bound is not None and entry.class_name and not entry.is_ambiguous:
            yield from _class(module, bound, entry, entry.class_name)


def class_place(modules: Modules, entry: Entry) -> Place:
    """Return the place of the entry's class, of the entry where its module does not define it."""
    file = module_file(modules.contents, entry)
    module, bound = (modules.parsed(file), modules.bindings(file)) if file is not None else (None, None)
    node = bound.only_class(entry.class_name) if bound is not None and entry.class_name is not None else None
    return _head(module, node) if module is not None and node is not None else entry.class_node or entry.node


def _initialisers(modules: Modules) -> Iterator[str]:
    """Yield the `__init__.py` files: openjiuwen 0.1.13-0.1.16 run all of them while loading."""
    yield from (file for file in modules.contents.files if file.rpartition("/")[2] == "__init__.py")


def _unreadable(problem: SourceError) -> Finding:
    rule = _UNREADABLE.get(problem.reason, "source-unreadable")
    version = ".".join(str(part) for part in sys.version_info[:2])
    return RULES.finding(
        f"module_import_failed/{rule}",
        problem.place,
        expected=f"Python source, as Python {version} reads it",
        actual=str(problem),
        problem=str(problem),
    )


def _class(module: PythonModule, bound: Bindings, entry: Entry, name: str) -> Iterator[Finding]:
    place = entry.class_node or entry.node
    words: dict[str, Any] = {"name": name, "file": module.source.path}
    if name not in bound.nodes and not bound.dynamic:
        yield RULES.finding(
            "manifest_invalid/class-not-defined",
            place,
            component=entry.component,
            expected=f"a class {name} in {module.source.path}",
            actual=f"classes: {listed(bound.classes())}",
            hint=did_you_mean(name, bound.classes()),
            **words,
        )
    elif bound.surely_no_class(name):
        line = module.spot(bound.nodes[name][-1]).location.line
        yield RULES.finding(
            "manifest_invalid/class-is-no-class",
            place,
            component=entry.component,
            expected="a class",
            actual=f"{bound.what(name)} (line {line})",
            **words,
        )
    node = bound.only_class(name)
    if node is not None:
        yield from _constructor(module, entry, node)
        if entry.type == "tool":
            yield from _abstract(module, entry, node, bound)
            yield from _card(module, entry, node)


def _constructor(module: PythonModule, entry: Entry, node: ast.ClassDef) -> Iterator[Finding]:
    """Find a constructor in the class itself that wants arguments; what is inherited stays open."""
    if node.keywords or node.decorator_list:
        return  # something else may construct it
    defined = [part for part in node.body if getattr(part, "name", None) in ("__init__", "__new__")]
    if len(defined) != 1 or not isinstance(defined[0], ast.FunctionDef):
        return
    required = _required(defined[0].args)
    if required and defined[0].name == "__init__" and not defined[0].decorator_list:
        names = ", ".join(argument.arg for argument in required)
        yield RULES.finding(
            "class_init_failed/constructor-arguments",
            module.spot(required[0]),
            component=entry.component,
            expected="no argument without a default",
            actual=names,
            name=node.name,
            arguments=names,
        )


def _required(arguments: ast.arguments) -> list[ast.arg]:
    positional = [*arguments.posonlyargs, *arguments.args]
    without = positional[1 : len(positional) - len(arguments.defaults)]
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return [*without, *(argument for argument, default in keywords if default is None)]


def _abstract(module: PythonModule, entry: Entry, node: ast.ClassDef, bound: Bindings) -> Iterator[Finding]:
    """Find a direct subclass of the harness's Tool that leaves an abstract method out."""
    if len(node.bases) != 1 or node.keywords or node.decorator_list:
        return
    base = node.bases[0]
    if not (
        isinstance(base, ast.Name) and bound.is_imported(base.id, "openjiuwen.core.foundation.tool", "Tool")
    ):
        return
    inside = bindings(ast.Module(body=node.body, type_ignores=[]))
    missing = [name for name in _ABSTRACT_METHODS if name not in inside.nodes]
    if missing and not inside.dynamic:
        yield RULES.finding(
            "class_init_failed/abstract-method",
            _head(module, node),
            component=entry.component,
            expected=f"{' and '.join(_ABSTRACT_METHODS)} in the class",
            actual=f"methods: {listed(inside.nodes)}",
            name=node.name,
            methods=" and ".join(missing),
        )


def _card(module: PythonModule, entry: Entry, node: ast.ClassDef) -> Iterator[Finding]:
    for call in (
        part for part in ast.walk(node) if isinstance(part, ast.Call) and _name(part.func) == "ToolCard"
    ):
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        identity, name = given.get("id"), given.get("name")
        if not (isinstance(identity, ast.Constant) and isinstance(name, ast.Constant)):
            continue
        if isinstance(identity.value, str) and isinstance(name.value, str) and identity.value != name.value:
            yield RULES.finding(
                "class_init_failed/card-id-differs",
                module.spot(identity),
                component=entry.component,
                expected=repr(name.value),
                actual=repr(identity.value),
            )


def _head(module: PythonModule, node: ast.ClassDef) -> Spot:
    """Return the place of `class Name`, without the body."""
    start = module.spot(node).location
    source = module.source
    offset = source.offset(start.line, start.column)
    named = source.text.find(node.name, offset)  # -1 where Python normalised the name (PEP 3131)
    return source.spot(offset, max(named, offset) + len(node.name))


def _name(node: ast.expr) -> str:
    """Return the last part of a name, of an attribute, or of what is called."""
    if isinstance(node, ast.Call):
        return _name(node.func)
    return str(getattr(node, "id", None) or getattr(node, "attr", None) or "")
