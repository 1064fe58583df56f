"""Where a tool takes state from, as far as its source tells (seed "verify-ext", 状态交互规则).

What cannot be told from the source is left to the acceptance layer, which tries it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verify_ext.codes import Rule, Rules
from verify_ext.kinds.harness_package.acceptance_codes import STATE_SOURCE_NOT_ALLOWED
from verify_ext.kinds.harness_package.entries import Entry, module_file
from verify_ext.kinds.harness_package.modules import Modules
from verify_ext.model import Finding, Layer

_SEED = 'Seed "verify-ext", 状态交互规则'
_CALLED = ("invoke", "stream")
_FORBIDDEN = ("ctx", "agent")
_RAILS = ("_registered_rails", "_pending_rails", "find_rails_by_type")

RULES = Rules(
    Rule(
        code=STATE_SOURCE_NOT_ALLOWED,
        rule="context-or-agent",
        layer=Layer.L1,
        message="{class_name} takes {name} from its keyword arguments",
        remedy="Take the session id from kwargs['session'].get_session_id() and read the session's state file.",
        why="Harnesses do not pass it to tools; what works by accident in one version fails in the next.",
        source=_SEED + ': Tool 不得依赖 kwargs["ctx"]、kwargs["agent"]',
    ),
    Rule(
        code=STATE_SOURCE_NOT_ALLOWED,
        rule="rails-of-agent",
        layer=Layer.L1,
        message="{class_name} looks through the agent's rails ({name})",
        remedy="Let the rail write a state file per session, and read that.",
        why="Which rails an agent carries, and when, is the harness's business.",
        source=_SEED + ": 扫描 agent rails",
    ),
)


def check_state(modules: Modules, declared: tuple[Entry, ...]) -> Iterator[Finding]:
    """Find tools that take state from the context, the agent or its rails. Each at its place."""
    for entry in declared:
        if entry.type != "tool" or entry.class_name is None:
            continue
        file = module_file(modules.contents, entry)
        parsed = None if file is None else modules.parsed(file)
        bound = None if file is None else modules.bindings(file)
        node = None if bound is None else bound.only_class(entry.class_name)
        if parsed is None or node is None:
            continue
        for rule, part, name in _sources(node):
            yield RULES.finding(
                f"state_source_not_allowed/{rule}",
                parsed.spot(part),
                component=entry.component,
                actual=name,
                class_name=node.name,
                name=name,
            )


def _sources(tool: ast.ClassDef) -> Iterator[tuple[str, ast.AST, str]]:
    """Yield rule, place and name of what a tool class takes from where it must not."""
    for method in tool.body:
        if not isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        keywords = method.args.kwarg.arg if method.args.kwarg is not None else None
        if method.name in _CALLED:
            for argument in (*method.args.args, *method.args.kwonlyargs):
                if argument.arg in _FORBIDDEN:
                    yield "context-or-agent", argument, argument.arg
        for part in ast.walk(method):
            name = _taken(part, keywords)
            if name in _FORBIDDEN:
                yield "context-or-agent", part, f'{keywords}["{name}"]'
            elif isinstance(part, ast.Attribute) and part.attr in _RAILS:
                yield "rails-of-agent", part, part.attr


def _taken(part: ast.AST, keywords: str | None) -> object:
    """Return the key that an expression takes from the keyword arguments, None if it is no such one."""
    if isinstance(part, ast.Subscript) and _is_name(part.value, keywords):
        return getattr(part.slice, "value", None)
    if not isinstance(part, ast.Call) or not isinstance(part.func, ast.Attribute) or not part.args:
        return None
    takes = part.func.attr in ("get", "pop") and _is_name(part.func.value, keywords)
    return getattr(part.args[0], "value", None) if takes else None


def _is_name(node: ast.expr, name: str | None) -> bool:
    return isinstance(node, ast.Name) and name is not None and node.id == name
