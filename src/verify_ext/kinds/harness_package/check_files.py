"""The files of a package as files: links that lead nowhere, bytecode that would run unread."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from verify_ext.codes import MANIFEST_INVALID, Rule, Rules
from verify_ext.kinds.harness_package.contents import Contents
from verify_ext.kinds.harness_package.hints import listed
from verify_ext.model import Finding, Layer
from verify_ext.source import SourceError

_BYTECODE_LIMIT_BYTES = 64 * 1024 * 1024

RULES = Rules(
    Rule(
        code=MANIFEST_INVALID,
        rule="link-outside",
        layer=Layer.L1,
        message="the symbolic link {path} leads out of the extension",
        remedy="Replace the link by the file itself, or link relatively to a file of the extension.",
        why="Wherever the package is installed, the link leads to another file or to none.",
        source="docs/design.md, section 3: an extension is exactly its own files",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="link-dangling",
        layer=Layer.L1,
        message="the symbolic link {path} leads to {target}, which is no file of the extension",
        remedy="Add the file that the link names, or remove the link.",
        why="The harness finds nothing where the package promises a file.",
        source="docs/design.md, section 3: an extension is exactly its own files",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="bytecode-shipped",
        layer=Layer.L1,
        message="{folder} ships compiled Python ({count}), which can run in place of the source",
        remedy="Remove it and keep it out: add __pycache__/ and *.py[co] to .gitignore.",
        why="Python prefers matching bytecode to the source: what runs is not what was read.",
        source="docs/design.md, section 7: shipped bytecode is an error; PEP 552",
    ),
)


def check_files(contents: Contents) -> Iterator[Finding]:
    """Check links and compiled files."""
    for link in contents.broken_links:
        yield RULES.finding(
            "manifest_invalid/link-outside" if link.leaves else "manifest_invalid/link-dangling",
            contents.spot(link.path),
            expected="a link to a file of the extension",
            actual=f"a link to {link.target!r}",
            path=link.path,
            target=repr(link.target),
        )
    by_folder: dict[str, list[str]] = {}
    for path in contents.extension.files:
        if _is_bytecode(path) and (contents.extension.in_git or _replaces_source(contents, path)):
            by_folder.setdefault(posixpath.dirname(path), []).append(path)
    for folder, paths in by_folder.items():
        yield RULES.finding(
            "manifest_invalid/bytecode-shipped",
            contents.spot(paths[0]),
            expected="source files only",
            actual=listed(posixpath.basename(path) for path in paths),
            folder=contents.extension.shown(folder) if folder else contents.extension.path,
            count=f"{len(paths)} files" if len(paths) > 1 else "1 file",
        )


def _is_bytecode(path: str) -> bool:
    return path.endswith((".pyc", ".pyo")) or "__pycache__" in path.split("/")[:-1]


def _replaces_source(contents: Contents, path: str) -> bool:
    """Return whether compiled Python that lies about on a disk would run unread.

    Outside `__pycache__` it needs no source. Inside it, Python compares it with the source by
    time or by hash, unless the header's flags say "hash, unchecked" (PEP 552).
    """
    if "__pycache__" not in path.split("/")[:-1]:
        return path.endswith(".pyc")
    try:
        header = contents.read_bytes(path, limit=_BYTECODE_LIMIT_BYTES)[:8]
    except SourceError:
        return True
    return path.endswith(".pyc") and int.from_bytes(header[4:8], "little") & 0b11 == 0b01
