"""The names that a module's own code binds, as far as reading can tell."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_DYNAMIC = frozenset({"globals", "exec", "modules"})
"""Names by which code reaches its own namespace; `modules` is that of sys."""

_SURE_VALUES = (
    ast.Constant,
    ast.JoinedStr,
    ast.List,
    ast.Tuple,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.DictComp,
    ast.SetComp,
    ast.GeneratorExp,
    ast.Lambda,
)


@dataclass(frozen=True, eq=False)
class Bindings:
    """What binds each name at the level of a module; `dynamic` if names may come from elsewhere."""

    nodes: dict[str, list[ast.AST]]
    dynamic: bool

    def classes(self) -> list[str]:
        return [name for name, nodes in self.nodes.items() if isinstance(nodes[-1], ast.ClassDef)]

    def only_class(self, name: str) -> ast.ClassDef | None:
        """Return the class statement that is all that ever binds the name."""
        nodes = self.nodes.get(name, [])
        return nodes[0] if len(nodes) == 1 and isinstance(nodes[0], ast.ClassDef) else None

    def surely_no_class(self, name: str) -> bool:
        """Return whether everything that binds the name is a function or a plain value."""
        nodes = self.nodes.get(name, [])
        return (
            bool(nodes)
            and not self.dynamic
            and all(self._is_function(node) or _is_value(node) for node in nodes)
        )

    def what(self, name: str) -> str:
        """Return what a name is that is surely no class."""
        return "a function" if self._is_function(self.nodes[name][-1]) else "a value"

    def is_imported(self, name: str, module: str, original: str) -> bool:
        """Return whether a name is surely `original` of `module`, or of a module below it."""
        nodes = self.nodes.get(name, [])
        return bool(nodes) and all(_is_import_of(node, name, module, original) for node in nodes)

    @staticmethod
    def _is_function(node: ast.AST) -> bool:
        return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.decorator_list


def bindings(tree: ast.Module) -> Bindings:
    """Return what binds names at module level: also in `if`, `try`, `with`, `for` and `match`."""
    nodes: dict[str, list[ast.AST]] = {}
    for name, statement in _bound(tree.body):
        nodes.setdefault(name, []).append(statement)
    dynamic = "*" in nodes or "__getattr__" in nodes
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            for name in node.names:
                nodes.setdefault(name, []).append(node)
        dynamic = dynamic or _last_name(node) in _DYNAMIC
    return Bindings(nodes, dynamic)


def _bound(body: list[ast.stmt]) -> Iterator[tuple[str, ast.AST]]:
    waiting: list[ast.AST] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        below = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node
            below = []
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name.partition(".")[0], node) for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            plain = [target for target in _targets(node) if isinstance(target, ast.Name)]
            yield from ((target.id, node) for target in plain if node.value is not None)
            below = [part for part in below if part not in plain]
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name, node
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest, node
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node
        waiting += reversed(below)


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _last_name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def _is_value(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, _SURE_VALUES)


def _is_import_of(node: ast.AST, name: str, module: str, original: str) -> bool:
    if not isinstance(node, ast.ImportFrom) or node.level:
        return False
    named = any(alias.name == original and (alias.asname or alias.name) == name for alias in node.names)
    return named and f"{node.module}.".startswith(f"{module}.")
