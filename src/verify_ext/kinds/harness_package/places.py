"""Where in an extension the words of a job lead: classes, frames, cards.

Names and lines come from a process that the extension shares; each is checked against what the
extension holds before it becomes a place.
"""

from __future__ import annotations

import ast
from typing import Any

from verify_ext.model import Declared, Extension
from verify_ext.source import SourceError, Spot, line_spot, parse_python, read_source

OWN_PREFIX = "openjiuwen.extensions.harness."
RUNTIME_PREFIX = "openjiuwen_runtime_extensions."


def same_class(one: dict[str, str], other: dict[str, str]) -> bool:
    """Return whether two classes, as jobs describe them, are one, whatever the harness calls its module."""
    return one["class"] == other["class"] and _tail(one["module"]) == _tail(other["module"])


def _tail(module: str) -> str:
    """Return a module's name without what the harness puts before an extension's own modules."""
    if module.startswith(OWN_PREFIX):
        return module.removeprefix(OWN_PREFIX)
    if module.startswith(RUNTIME_PREFIX):  # openjiuwen_runtime_extensions.<session>.<extension>.…
        return module.removeprefix(RUNTIME_PREFIX).partition(".")[2]
    return module


def is_own_module(module: str) -> bool:
    """Return whether a module is one that the harness loads from a package."""
    return module.startswith((OWN_PREFIX, RUNTIME_PREFIX))


def place_of(extension: Extension, error: dict[str, Any]) -> Spot | None:
    """Return the deepest frame of an exception that lies in a file of the extension."""
    for frame in reversed(error["frames"]):
        spot = line_spot(extension, frame["file"], frame["line"])
        if spot is not None:
            return spot
    return None


def trace_of(extension: Extension, error: dict[str, Any]) -> str | None:
    """Return the extension's own frames as lines, outermost first."""
    frames = [frame for frame in error["frames"] if frame["file"] in extension.files]
    lines = [f"{extension.shown(frame['file'])}:{frame['line']} in {frame['function']}" for frame in frames]
    return "\n".join([*lines, f"{error['type']}: {error['message']}"]) if lines else None


def card_place(extension: Extension, part: Declared) -> Spot:
    """Return the place of the `ToolCard(…)` call in the tool's module, else of the class."""
    file = part.facts["module"].removeprefix(OWN_PREFIX).partition(".")[2].replace(".", "/") + ".py"
    try:
        module = parse_python(read_source(extension.root / file, extension.shown(file)))
    except SourceError:
        return Spot(part.location)
    classes = [node for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)]
    scope: ast.AST = next((node for node in classes if node.name == part.name), module.tree)
    calls = [node for within in (scope, module.tree) for node in ast.walk(within) if _is_card_call(node)]
    return module.spot(calls[0]) if calls else Spot(part.location)


def _is_card_call(node: ast.AST) -> bool:
    """Return whether a node is the `ToolCard` of `ToolCard(…)` or `base.ToolCard(…)`."""
    return (getattr(node, "id", None) or getattr(node, "attr", None)) == "ToolCard"
