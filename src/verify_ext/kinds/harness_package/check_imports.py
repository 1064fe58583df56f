"""What the package's modules import of each other, and when."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator
from typing import Any

from verify_ext.codes import MANIFEST_INVALID, Rule, Rules
from verify_ext.kinds.harness_package.codes import MODULE_IMPORT_FAILED
from verify_ext.kinds.harness_package.entries import OWN_PREFIX, Entry, module_file, module_path
from verify_ext.kinds.harness_package.hints import listed
from verify_ext.kinds.harness_package.modules import Import, Modules
from verify_ext.model import Finding, Layer, Severity
from verify_ext.source import PythonModule

_SEED = 'Seed "verify-ext", L1 结构校验'

RULES = Rules(
    Rule(
        code=MANIFEST_INVALID,
        rule="init-reexport",
        layer=Layer.L1,
        message="{file} re-exports {names}",
        remedy="Empty the file; import from the module that defines the name.",
        why="openjiuwen 0.1.13-0.1.16 run it before the modules that it imports from are in place; newer ones"
        " do not run the extension's own.",
        source=_SEED + ": __init__.py 不得包含 re-export",
    ),
    Rule(
        code=MODULE_IMPORT_FAILED,
        rule="lazy-own-import",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="{module_name} is imported when the function is called: it works with openjiuwen"
        " 0.1.13-0.1.16 and fails from 0.1.17 on",
        remedy="Move the import to the top of the file.",
        why="From 0.1.17 on the extension's modules can be imported only while it is being loaded.",
        source="openjiuwen 0.1.17+: harness/manifest/meta_elements.py, _temporary_extension_alias",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="test-module",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="this test imports from {module_name}, which the manifest does not name for it",
        remedy="Import each rail and tool from the module that harness_config.yaml declares for it.",
        why="A test that guesses the module can pass while the harness loads something else, or nothing.",
        source=_SEED + ": 以 harness_config.yaml 实际声明的 module 和 class 为唯一来源",
    ),
)


def check_imports(
    modules: Modules, declared: tuple[Entry, ...], skill_folders: tuple[str, ...]
) -> Iterator[Finding]:
    """Check `__init__.py` files, imports inside functions, and what the package's tests import.

    `skill_folders` end in a slash; an `__init__.py` below them is the skill's own affair.
    """
    python = [file for file in modules.contents.files if file.endswith(".py")]
    for file in python:
        if posixpath.basename(file) == "__init__.py" and not file.startswith(skill_folders):
            yield from _reexports(modules, file)
    homes = [home for entry in declared if (home := module_file(modules.contents, entry))]
    for file in modules.imported_with(homes):
        yield from _lazy_imports(modules, file)
    for file in python:
        if _is_test(file):
            yield from _test_imports(modules, file, declared)


def _is_test(file: str) -> bool:
    *folders, name = file.split("/")
    return bool({"test", "tests"} & set(folders)) or name.startswith("test_") or name.endswith("_test.py")


def _reexports(modules: Modules, file: str) -> Iterator[Finding]:
    module = modules.parsed(file)
    if module is None:
        return
    used = {part.id for part in ast.walk(module.tree) if isinstance(part, ast.Name)}
    passed_on = {
        statement: names
        for statement in modules.imports(file)
        if (names := _reexported(statement, used, own=bool(modules.own_targets(file, statement.node))))
    }
    yield from _first(
        "manifest_invalid/init-reexport",
        module,
        list(passed_on),
        expected="no import that passes names on",
        file=module.source.path,
        names=listed(name for names in passed_on.values() for name in names),
    )


def _reexported(statement: Import, used: set[str], own: bool) -> list[str]:
    """Return the names that an import in an `__init__.py` is there to pass on.

    The package's own modules are imported there for nothing else. Names of others are passed on
    when the file does not use them itself, as `logging` or `version` are used.
    """
    node = statement.node
    future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
    if statement.for_types_only or future:
        return []
    if own:
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    return [alias.name for alias in node.names if (alias.asname or alias.name) not in used]


def _lazy_imports(modules: Modules, file: str) -> Iterator[Finding]:
    module = modules.parsed(file)
    lazy = [
        statement
        for statement in modules.imports(file)
        if statement.in_function
        and not statement.for_types_only
        and modules.own_targets(file, statement.node)
    ]
    if module is not None and lazy:
        target = modules.own_targets(file, lazy[0].node)[0]
        yield from _first(
            "module_import_failed/lazy-own-import",
            module,
            lazy,
            expected="the import at the top of the file",
            module_name=_dotted(modules, target),
        )


def _test_imports(modules: Modules, file: str, declared: tuple[Entry, ...]) -> Iterator[Finding]:
    """Find imports of a declared class from elsewhere, and of modules that are not there."""
    module = modules.parsed(file)
    extension = modules.contents.extension
    homes = {entry.class_name: module_path(extension, entry) for entry in declared if entry.class_name}
    astray = {
        statement: path
        for statement in modules.imports(file)
        for path in modules.own_targets(file, statement.node)
        if not _is_there(modules, path)
        or any(homes.get(alias.name, path) != path for alias in statement.node.names)
    }
    if module is not None and astray:
        yield from _first(
            "manifest_invalid/test-module",
            module,
            list(astray),
            expected=listed(sorted({_dotted(modules, home) for home in homes.values() if home})),
            module_name=_dotted(modules, next(iter(astray.values()))),
        )


def _is_there(modules: Modules, path: str) -> bool:
    return not path or modules.file_of(path) is not None or modules.contents.is_folder(path)


def _first(
    rule: str, module: PythonModule, statements: list[Import], *, expected: str, **words: Any
) -> Iterator[Finding]:
    """Yield one finding for all the statements of a file, at the first of them."""
    if statements:
        shown = [
            f"line {statement.node.lineno}: {ast.unparse(statement.node)}" for statement in statements[:20]
        ]
        yield RULES.finding(
            rule, module.spot(statements[0].node), expected=expected, actual=listed(shown), **words
        )


def _dotted(modules: Modules, path: str) -> str:
    return f"{OWN_PREFIX}{modules.contents.extension.name}.{path.replace('/', '.')}".rstrip(".")
