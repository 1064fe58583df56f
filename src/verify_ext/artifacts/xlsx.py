"""Excel files: what SpreadsheetML asks for, and what makes Excel ask for repair."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from verify_ext.artifacts.model import ArtifactFile, Depth, Examined, Expected, Fact, Format
from verify_ext.artifacts.office import examine_office
from verify_ext.artifacts.opc import Package, Part, document_type
from verify_ext.artifacts.xlsx_rules import RULES
from verify_ext.artifacts.xlsx_sheet import Book, Sheet, read_sheet
from verify_ext.model import Finding

TYPES: dict[str, tuple[str, ...]] = {
    ".xlsx": ("spreadsheetml.sheet.main+xml",),
    ".xlsm": ("sheet.macroEnabled.main+xml",),
    ".xltx": ("spreadsheetml.template.main+xml",),
    ".xltm": ("template.macroEnabled.main+xml",),
}
_SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"
_NS = {
    "s": "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
}
_STRICT = {
    "s": "http://purl.oclc.org/ooxml/spreadsheetml/main",
    "r": "http://purl.oclc.org/ooxml/officeDocument/relationships",
}
_NAME = re.compile(r"[A-Za-z_\\\u0080-\uffff][\w.\\?\u0080-\uffff]*\Z")
_TEXT_LIMIT = 500_000


class _Workbook:
    """What was seen of a workbook. Sheets are read last, when everything they refer to is known."""

    streamed: frozenset[str] = frozenset({_SHEET})
    unread: frozenset[str] = frozenset({"properties+xml", "theme+xml"})

    def __init__(self, package: Package) -> None:
        self._package = package
        self._found: list[Finding] = []
        self._book = Book(package=package, found=self._found)
        self._sheet_parts: list[Part] = []
        self._sheets: list[Sheet] = []
        self._texts: list[str] = []
        self._drawn = False
        self._chain: set[tuple[str, str]] = set()
        self._tables: dict[str, str] = {}
        self._table_ids: set[str] = set()
        self._sheet_ids: dict[str, str] = {}
        self._count = 0

    def _say(self, rule: str, **words: Any) -> None:
        self._book.say(rule, **words)

    def visit(self, part: Part, tree: Any) -> None:
        if part.content_type == _SHEET:
            self._sheet_parts.append(part)
        if tree is None:
            if (part.content_type or "").startswith("image/"):
                self._drawn = True
            elif (part.content_type or "").endswith("sharedStrings+xml"):
                self._stream_strings(part)
            return
        names = _STRICT if "purl.oclc.org" in str(tree.tag) else _NS
        root = str(tree.tag).rpartition("}")[2]
        handler = {
            "workbook": self._workbook,
            "styleSheet": self._styles,
            "sst": self._strings,
            "table": self._table,
            "calcChain": self._calc_chain,
        }.get(root)
        if handler is not None:
            handler(part, tree, names)
        elif root in ("chartSpace", "wsDr", "chart"):
            self._drawn = True

    def _workbook(self, part: Part, tree: Any, names: dict[str, str]) -> None:
        sheets = tree.xpath("s:sheets/s:sheet", namespaces=names)
        self._count = len(sheets)
        seen: set[str] = set()
        for sheet in sheets:
            name = sheet.get("name", "")
            if (
                not name
                or len(name) > 31
                or re.search(r"[\[\]:*?/\\]", name)
                or name[0] == "'"
                or name[-1] == "'"
            ):
                self._say("xlsx-sheet-name", name=repr(name)[:60])
            if name.lower() in seen:
                self._say("xlsx-sheet-name-twice", name=repr(name)[:60])
            seen.add(name.lower())
            related = part.relationships.get(sheet.get(f"{{{names['r']}}}id", ""))
            target = self._package.part(related.target) if related is not None and related.target else None
            if target is not None:
                self._sheet_ids[target.name] = sheet.get("sheetId", "")
        if sheets and all(sheet.get("state", "visible") != "visible" for sheet in sheets):
            self._say("xlsx-no-visible-sheet")
        defined: set[tuple[str, str]] = set()
        for each in tree.xpath("s:definedNames/s:definedName", namespaces=names):
            name, scope = each.get("name", ""), each.get("localSheetId", "")
            if not name.startswith("_xlnm.") and (not _NAME.match(name) or len(name) > 255):
                self._say("xlsx-defined-name", name=repr(name)[:60])
            if scope and (not scope.isdigit() or int(scope[:9]) >= len(sheets)):
                self._say("xlsx-scope-range", name=repr(name)[:60], value=scope[:20])
            if (name.lower(), scope) in defined:
                self._say("xlsx-defined-name", name=repr(name)[:60])
            defined.add((name.lower(), scope))

    def _styles(self, part: Part, tree: Any, names: dict[str, str]) -> None:
        counts = {
            kind: len(tree.xpath(f"s:{kind}/*", namespaces=names)) for kind in ("fonts", "fills", "borders")
        }
        formats = tree.xpath("s:cellXfs/s:xf", namespaces=names)
        self._book.formats = len(formats)
        for kind, count in counts.items():
            if not count:
                self._say("xlsx-styles-missing", what=kind)
        for kind, attribute in (("fonts", "fontId"), ("fills", "fillId"), ("borders", "borderId")):
            for xf in formats:
                value = xf.get(attribute, "0")
                if counts[kind] and (not value.isdigit() or int(value[:9]) >= counts[kind]):
                    self._say("xlsx-style-range", what=attribute, value=value[:20], count=str(counts[kind]))
                    break

    def _strings(self, part: Part, tree: Any, names: dict[str, str]) -> None:
        items = tree.findall("s:si", names)
        self._book.strings = ["".join(item.itertext(f"{{{names['s']}}}t")) for item in items]
        self._check_texts(self._book.strings, part)

    def _stream_strings(self, part: Part) -> None:
        texts: list[str] = []
        for element in self._package.stream(part):
            if str(element.tag).endswith("}si"):
                texts.append("".join(element.itertext()))
                element.clear()
        self._book.strings = texts
        self._check_texts(texts, part)

    def _check_texts(self, texts: list[str], part: Part) -> None:
        size = 0
        for text in texts:
            if len(text) > 32_767:
                self._say("xlsx-cell-text-long", cell=part.name, count=str(len(text)))
            if size < _TEXT_LIMIT:
                self._texts.append(text)
                size += len(text)

    def _table(self, part: Part, tree: Any, names: dict[str, str]) -> None:
        name = tree.get("displayName", "")
        if name.lower() in self._tables:
            self._say("xlsx-table-name-twice", part=part.name, name=repr(name)[:60])
        self._tables[name.lower()] = part.name
        if not _NAME.match(name) or len(name) > 255:
            self._say("xlsx-table-name", part=part.name, name=repr(name)[:60])
        if tree.get("id", "") in self._table_ids:
            self._say("xlsx-table-name-twice", part=part.name, name=f"id {tree.get('id')}"[:60])
        self._table_ids.add(tree.get("id", ""))
        columns = [
            each.get("name", "") for each in tree.xpath("s:tableColumns/s:tableColumn", namespaces=names)
        ]
        lowered = [column.lower() for column in columns]
        for column in sorted({each for each in lowered if lowered.count(each) > 1})[:1]:
            self._say("xlsx-table-column-twice", part=part.name, name=repr(column)[:60])
        self._book.tables[part.name] = (
            tree.get("ref", ""),
            tree.get("headerRowCount", "1") != "0",
            tuple(columns),
        )

    def _calc_chain(self, part: Part, tree: Any, names: dict[str, str]) -> None:
        sheet = ""
        for cell in tree:
            if isinstance(cell.tag, str):
                sheet = cell.get("i", sheet)
                self._chain.add((sheet, cell.get("r", "")))

    def findings(self) -> Iterator[Finding]:
        self._book.keep_formulas = bool(self._chain)
        for part in self._sheet_parts:
            self._sheets.append(read_sheet(self._book, part))
        self._texts += [text for sheet in self._sheets for text in sheet.texts]
        for part, sheet in zip(self._sheet_parts, self._sheets, strict=True):
            number = self._sheet_ids.get(part.name, "")
            for each, cell in sorted(self._chain):
                if each == number and cell not in sheet.formulas and not sheet.is_cut:
                    self._say("xlsx-calc-chain", cell=cell[:20])
                    break
        yield from self._found

    def facts(self) -> dict[str, Fact]:
        return {"sheets": self._count, "cells": sum(sheet.cells for sheet in self._sheets)}

    def pieces(self) -> list[tuple[str, str]]:
        return [("the cells", "\n".join(self._texts))]

    def nothing(self) -> Finding | None:
        if self._drawn or any(sheet.cells or sheet.is_cut for sheet in self._sheets):
            return None
        return RULES.finding("artifact_placeholder_output/xlsx-nothing-shown", self._package.file)


def recognises(file: ArtifactFile) -> bool:
    known = document_type(file) or ""
    return "spreadsheetml." in known or "ms-excel." in known


def examine(file: ArtifactFile, depth: Depth, expected: Expected) -> Examined:
    """Examine a workbook; facts: sheets, cells."""
    return examine_office(file, depth, "xlsx", TYPES, _Workbook)


FORMAT = Format(name="xlsx", suffixes=tuple(TYPES), recognises=recognises, examine=examine)
