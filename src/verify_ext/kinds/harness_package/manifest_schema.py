"""The schema harness_config.v0.1, as the harness's own models read it.

The harness declares it in pydantic models (openjiuwen 0.1.13-0.1.16 `HarnessConfig`, from
0.1.17 `RuntimeHarnessManifest`, which only adds fields). They are lax: `"30"` and `true` are
numbers to them, while a number is never text. What they accept is accepted here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from verify_ext.source import Node


@dataclass(frozen=True)
class Mismatch:
    """A value that the schema does not allow: where, in which field, and what it wants there."""

    node: Node
    field: str
    expected: str
    newer_accept: bool = False
    """Whether openjiuwen 0.1.17 and newer load the package all the same."""


Shape = Callable[[Node, str], Iterator[Mismatch]]

_INTEGER_TEXT = re.compile(r"\s*[+-]?[0-9]+(_[0-9]+)*(\.0+)?\s*", re.ASCII)


def text(node: Node, field: str) -> Iterator[Mismatch]:
    if not (node.kind == "string" or isinstance(node.value, bytes)):
        yield Mismatch(node, field, "text")


def integer(node: Node, field: str) -> Iterator[Mismatch]:
    whole = node.kind == "number" and float(node.value).is_integer()
    written = node.kind == "string" and _INTEGER_TEXT.fullmatch(node.value)
    if not (node.kind in ("integer", "boolean") or whole or written):
        yield Mismatch(node, field, "a whole number")


def number(node: Node, field: str) -> Iterator[Mismatch]:
    if not (
        node.kind in ("integer", "number", "boolean") or (node.kind == "string" and _is_float(node.value))
    ):
        yield Mismatch(node, field, "a number")


def anything(node: Node, field: str) -> Iterator[Mismatch]:
    yield from ()


def optional(shape: Shape) -> Shape:
    def check(node: Node, field: str) -> Iterator[Mismatch]:
        if node.kind != "null":
            yield from shape(node, field)

    return check


def list_of(shape: Shape) -> Shape:
    def check(node: Node, field: str) -> Iterator[Mismatch]:
        if node.kind != "sequence":
            yield Mismatch(node, field, "a list")
        for index, element in enumerate(node.elements):
            yield from shape(element, f"{field}[{index}]")

    return check


def section_of(shape: Shape) -> Shape:
    """Make the shape of a list whose key newer versions allow to stand there with nothing."""

    def check(node: Node, field: str) -> Iterator[Mismatch]:
        if node.kind == "null":
            yield Mismatch(node, field, "a list, or no such key", newer_accept=True)
        else:
            yield from list_of(shape)(node, field)

    return check


def mapping_to(shape: Shape) -> Shape:
    def check(node: Node, field: str) -> Iterator[Mismatch]:
        if node.kind != "mapping":
            yield Mismatch(node, field, "a mapping")
        for key, value in node.entries:
            if key.kind != "string":
                yield Mismatch(key, f"{field} (a key)", "text")
            else:
                yield from shape(value, f"{field}.{key.value}")

    return check


def text_or_translations(node: Node, field: str) -> Iterator[Mismatch]:
    yield from mapping_to(text)(node, field) if node.kind == "mapping" else text(node, field)


def record(fields: dict[str, Shape], required: tuple[str, ...] = ()) -> Shape:
    """Make the shape of a mapping with known fields; what else it holds is not looked at."""

    def check(node: Node, field: str) -> Iterator[Mismatch]:
        if node.kind != "mapping":
            yield Mismatch(node, field, "a mapping")
            return
        prefix = f"{field}." if field else ""
        for name, shape in fields.items():
            value = node.get(name)
            if value is not None:
                yield from shape(value, f"{prefix}{name}")
            elif name in required:
                yield Mismatch(node, f"{prefix}{name}", "this field to be there")

    return check


def _is_float(written: str) -> bool:
    try:
        float(written)
    except ValueError:
        return False
    return written.isascii()


META = {"owner": text, "tags": list_of(text), "visibility": text}
SECTION = {
    "name": text,
    "priority": optional(integer),
    "file": optional(text),
    "content": optional(text_or_translations),
}
MCP = {"type": text, "command": text, "args": list_of(text), "env": mapping_to(text)}
SKILLS = {"dirs": list_of(text), "mode": text}
RESOURCES = {
    "tools": section_of(anything),
    "rails": section_of(anything),
    "skills": optional(record(SKILLS)),
    "mcps": section_of(record(MCP)),
}
MANIFEST = {
    "schema_version": anything,
    "id": optional(text),
    "name": optional(text),
    "description": optional(text),
    "meta": optional(record(META)),
    "workspace": optional(record({"root_path": text})),
    "prompts": optional(record({"sections": section_of(record(SECTION, required=("name",)))})),
    "resources": optional(record(RESOURCES)),
    "language": text,
    "max_iterations": optional(integer),
    "completion_timeout": optional(number),
}
"""Entries of tools and rails, and the version, have rules of their own."""

ENTRY_KEYS = ("type", "module", "class", "class_name", "package", "name", "names")
NEWER_MANIFEST_KEYS = (
    "add_general_purpose_agent",
    "context",
    "default_mode",
    "enable_async_subagent",
    "enable_subagent_runtime",
    "enable_task_loop",
    "enable_task_planning",
    "mcps",
    "metadata",
    "permissions",
    "progressive_tool_enabled",
    "prompt_mode",
    "prompt_sections",
    "restrict_to_work_dir",
    "source",
    "stop_eval_conditions",
    "subagents",
)
"""Top-level keys that only 0.1.17 and newer know; older ones allow and ignore them."""
