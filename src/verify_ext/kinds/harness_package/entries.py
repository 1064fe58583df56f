"""The entries of rails and tools, and the files that their modules map to."""

from __future__ import annotations

import re
from dataclasses import dataclass

from verify_ext.codes import Place
from verify_ext.kinds.harness_package.check_manifest import section
from verify_ext.kinds.harness_package.contents import Contents
from verify_ext.model import Extension
from verify_ext.source import Node

OWN_PREFIX = "openjiuwen.extensions.harness."
SEGMENT = re.compile(r"[\w-]+")
"""A part of a module name that can be a file's name; the harness loads by path, so `-` is fine."""


@dataclass(frozen=True, eq=False)
class Entry:
    """An entry of `resources.rails` or `resources.tools`, as it stands."""

    section: str
    node: Node

    @property
    def type(self) -> str:
        return self.section.removesuffix("s")

    @property
    def is_package(self) -> bool:
        kind = self.node.get("type")
        return kind is not None and kind.text() == "package"

    @property
    def head(self) -> Place:
        """The first key: what is said about the entry as a whole is said there."""
        return self.node.entries[0][0] if self.node.entries else self.node

    @property
    def module(self) -> Node | None:
        return self.node.get("module")

    @property
    def class_node(self) -> Node | None:
        """The class's name: both harness contracts accept `class_name` in place of `class`."""
        return next(
            (node for node in (self.node.get("class"), self.node.get("class_name")) if given(node)), None
        )

    @property
    def class_name(self) -> str | None:
        name = self.class_node.text() if self.class_node is not None else None
        return name if name is not None and name.isidentifier() else None

    @property
    def is_ambiguous(self) -> bool:
        """Whether versions of the harness would load different classes."""
        names = [
            node.value for node in (self.node.get("class"), self.node.get("class_name")) if node is not None
        ]
        return len(names) == 2 and names[0] != names[1]

    @property
    def component(self) -> str | None:
        return f"{self.type}:{self.class_name}" if self.class_name else None


def entries(root: Node) -> tuple[Entry, ...]:
    """Return the entries of rails and tools, in the order of the manifest."""
    found = []
    for name in ("rails", "tools"):
        node = section(root, name)
        found += [Entry(name, element) for element in (node.elements if node is not None else ())]
    return tuple(found)


def module_path(extension: Extension, entry: Entry) -> str | None:
    """Return the path that the entry's module maps to, without `.py`; None if it is not ours."""
    name = entry.module.text() if entry.module is not None else None
    prefix = f"{OWN_PREFIX}{extension.name}."
    if name is None or not name.startswith(prefix):
        return None
    segments = name.removeprefix(prefix).split(".")
    return "/".join(segments) if all(SEGMENT.fullmatch(segment) for segment in segments) else None


def module_file(contents: Contents, entry: Entry) -> str | None:
    """Return the file that the harness would load the entry's class from, if there is one."""
    path = module_path(contents.extension, entry) if entry.is_package else None
    return f"{path}.py" if path is not None and contents.is_file(f"{path}.py") else None


def given(node: Node | None) -> bool:
    """Return whether a value is more than left out or empty."""
    return node is not None and node.kind != "null" and node.value != ""
