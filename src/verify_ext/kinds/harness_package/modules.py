"""The Python modules of a package, parsed but never imported, and what they import of each other."""

from __future__ import annotations

import ast
import codecs
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from verify_ext.kinds.harness_package.bindings import Bindings, bindings
from verify_ext.kinds.harness_package.contents import Contents
from verify_ext.kinds.harness_package.entries import OWN_PREFIX
from verify_ext.source import TEXT_LIMIT_BYTES, PythonModule, Source, SourceError, decode, parse_python

_OTHER_ENCODINGS = frozenset(
    codecs.lookup(name).name
    for name in (
        *("latin-1", "iso8859-2", "iso8859-15", "cp1250", "cp1251", "cp1252", "koi8-r"),
        *("gbk", "gb2312", "gb18030", "big5", "shift_jis", "cp932", "euc_jp", "euc_kr", "cp949"),
    )
)
"""Encodings that Python source declares in practice; others are not tried on a stranger's bytes."""

_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


@dataclass(frozen=True, eq=False)
class Import:
    """One `import` statement: what it binds, and when it runs."""

    node: ast.Import | ast.ImportFrom
    in_function: bool
    """Runs when a function is called, not when the module is imported."""
    for_types_only: bool
    """Stands under `if TYPE_CHECKING:`, so it never runs."""
    certain: bool
    """Runs whenever the module is imported: under no condition and in no `try`."""


class Modules:
    """Parses and walks each module of a package once."""

    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self._parsed: dict[str, PythonModule | SourceError] = {}
        self._imports: dict[str, tuple[Import, ...]] = {}
        self._bindings: dict[str, Bindings] = {}

    def parse(self, file: str) -> PythonModule | SourceError:
        """Return the parsed file, or why it cannot be parsed."""
        if file not in self._parsed:
            try:
                self._parsed[file] = parse_python(_read(self.contents, file))
            except SourceError as error:
                self._parsed[file] = error
        return self._parsed[file]

    def parsed(self, file: str) -> PythonModule | None:
        """Return the parsed file, None if it cannot be parsed (which is somebody else's finding)."""
        module = self.parse(file)
        return module if isinstance(module, PythonModule) else None

    def imports(self, file: str) -> tuple[Import, ...]:
        """Return every import statement of a file."""
        if file not in self._imports:
            module = self.parsed(file)
            self._imports[file] = tuple(_imports(module.tree)) if module is not None else ()
        return self._imports[file]

    def bindings(self, file: str) -> Bindings | None:
        """Return what a file binds, None if it cannot be parsed."""
        module = self.parsed(file)
        if module is not None and file not in self._bindings:
            self._bindings[file] = bindings(module.tree)
        return self._bindings.get(file)

    def own_targets(self, file: str, node: ast.Import | ast.ImportFrom) -> list[str]:
        """Return which of the package's own modules a statement names, as paths without `.py`.

        The package itself is "". The paths need not exist.
        """
        own = f"{OWN_PREFIX}{self.contents.extension.name}"
        if isinstance(node, ast.Import):
            return [path for alias in node.names if (path := _below(alias.name, own)) is not None]
        if node.level == 0:
            path = _below(node.module or "", own)
            return [] if path is None else [path]
        folders = posixpath.dirname(file).split("/") if posixpath.dirname(file) else []
        if node.level - 1 > len(folders):
            return []
        base = folders[: len(folders) - (node.level - 1)]
        return ["/".join([*base, *(node.module or "").split(".")]).strip("/")]

    def file_of(self, path: str) -> str | None:
        """Return the file of a module path as Python imports it: a module, or a package's `__init__`."""
        candidates = (f"{path}/__init__.py".lstrip("/"), f"{path}.py")
        return next((file for file in candidates if self.contents.is_file(file)), None)

    def imported_with(self, files: list[str]) -> list[str]:
        """Return files and the own modules that are surely imported with them, each once."""
        reached: dict[str, None] = {}
        waiting = list(reversed(files))
        while waiting:
            file = waiting.pop()
            if file in reached:
                continue
            reached[file] = None
            for statement in self.imports(file):
                if statement.certain:
                    waiting += [
                        found for path in self._named(file, statement) if (found := self.file_of(path))
                    ]
        return list(reached)

    def _named(self, file: str, statement: Import) -> Iterator[str]:
        """Yield the module paths of a statement; `from package import module` names two."""
        for path in self.own_targets(file, statement.node):
            yield path
            if isinstance(statement.node, ast.ImportFrom):
                yield from (f"{path}/{alias.name}".lstrip("/") for alias in statement.node.names)


def _below(module: str, own: str) -> str | None:
    if module == own:
        return ""
    return module.removeprefix(f"{own}.").replace(".", "/") if module.startswith(f"{own}.") else None


def _read(contents: Contents, file: str) -> Source:
    """Read Python source as the import system does: in the encoding that it declares, else as UTF-8."""
    data = contents.read_bytes(file, limit=TEXT_LIMIT_BYTES)
    path = contents.extension.shown(contents.real(file))
    declared = _declared_encoding(data)
    try:
        if declared in _OTHER_ENCODINGS:
            return Source(path, data.decode(declared))
        return decode(data, path)
    except UnicodeDecodeError:
        return decode(data, path)
    except SourceError:
        if declared is None and _compiles(data):
            return Source(path, data.decode("utf-8", "replace"))
        raise


def _declared_encoding(data: bytes) -> str | None:
    """Return what the first two lines declare (PEP 263), as Python names the codec."""
    for line in re.split(rb"\r\n|\r|\n", data, maxsplit=2)[:2]:
        match = _CODING.match(line)
        if match:
            try:
                return codecs.lookup(match[1].decode("ascii")).name
            except (LookupError, UnicodeDecodeError):
                return match[1].decode("ascii", "replace")
    return None


def _compiles(data: bytes) -> bool:
    """Return whether Python takes source that is not UTF-8: it does where only comments are not."""
    try:
        ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _imports(tree: ast.Module) -> Iterator[Import]:
    waiting: list[tuple[ast.AST, bool, bool, bool]] = [(tree, False, False, True)]
    while waiting:
        node, in_function, for_types, certain = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield Import(node, in_function, for_types, certain)
            continue
        for name, value in reversed(list(ast.iter_fields(node))):
            inside = (
                in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda),
                for_types or (isinstance(node, ast.If) and name == "body" and _is_type_checking(node.test)),
                certain and isinstance(node, ast.Module | ast.ClassDef | ast.With),
            )
            parts = value if isinstance(value, list) else [value]
            waiting += [(part, *inside) for part in reversed(parts) if isinstance(part, ast.AST)]


def _is_type_checking(test: ast.expr) -> bool:
    return (getattr(test, "id", None) or getattr(test, "attr", None)) == "TYPE_CHECKING"
