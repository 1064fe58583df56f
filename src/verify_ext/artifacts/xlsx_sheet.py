"""One sheet, read as a stream: cells in order, what they refer to, and what lies over them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from verify_ext.artifacts.opc import Package, Part, R
from verify_ext.artifacts.xlsx_rules import RULES
from verify_ext.model import Finding

CELLS_LIMIT = 3_000_000
_MERGES_LIMIT = 2_000
_REF = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})\Z")
_STRICT_R = "http://purl.oclc.org/ooxml/officeDocument/relationships"
_ORDER = tuple(
    """
    sheetPr dimension sheetViews sheetFormatPr cols sheetData sheetCalcPr sheetProtection
    protectedRanges scenarios autoFilter sortState dataConsolidate customSheetViews mergeCells
    phoneticPr conditionalFormatting dataValidations hyperlinks printOptions pageMargins
    pageSetup headerFooter rowBreaks colBreaks customProperties cellWatches ignoredErrors
    smartTags drawing legacyDrawing legacyDrawingHF picture oleObjects controls webPublishItems
    tableParts extLst
    """.split()  # noqa: SIM905 - CT_Worksheet, as the schema lists it
)
_PLACES = {name: place for place, name in enumerate(_ORDER)}
_ERRORS = frozenset({"#REF!", "#NAME?", "#DIV/0!", "#VALUE!", "#NULL!"})
_NAN = frozenset({"nan", "inf", "-inf", "+inf", "infinity", "-infinity", "1.#inf", "-1.#inf", "1.#qnan"})


@dataclass
class Book:
    """What sheets refer to, and where findings gather."""

    package: Package
    found: list[Finding]
    strings: list[str] | None = None
    formats: int | None = None
    tables: dict[str, tuple[str, bool, tuple[str, ...]]] = field(default_factory=dict)
    """Part to range, whether it has a header, and the names of its columns."""
    keep_formulas: bool = False
    _said: dict[tuple[str, str], int] = field(default_factory=dict)

    def say(self, rule: str, code: str = "artifact_format_invalid", **words: Any) -> None:
        """Note a finding, the first few of each rule in each part."""
        key = (rule, words.get("part", ""))
        self._said[key] = self._said.get(key, 0) + 1
        if self._said[key] <= 3:
            self.found.append(RULES.finding(f"{code}/{rule}", self.package.file, **words))


@dataclass
class Sheet:
    """What was seen of a sheet."""

    cells: int = 0
    texts: list[str] = field(default_factory=list)
    formulas: set[str] = field(default_factory=set)
    is_cut: bool = False


def read_sheet(book: Book, part: Part) -> Sheet:
    """Read a sheet to its end, or as far as is checked."""
    return _Reader(book, part).read()


class _Reader:
    def __init__(self, book: Book, part: Part) -> None:
        self._book = book
        self._part = part
        self._sheet = Sheet()
        self._row = 0
        self._last = (0, 0)
        self._place = -1
        self._last_name = ""
        self._merges: list[tuple[int, int, int, int, str]] = []
        self._headers = self._wanted_headers()

    def _say(self, rule: str, code: str = "artifact_format_invalid", **words: Any) -> None:
        self._book.say(rule, code, part=self._part.name, **words)

    def _wanted_headers(self) -> dict[tuple[int, int], tuple[str, str]]:
        """Return the header cells of the sheet's tables: place to table part and column name."""
        wanted = {}
        for each in self._part.related("table"):
            target = self._book.package.part(each.target or "")
            ref, has_header, columns = self._book.tables.get(target.name if target else "", ("", False, ()))
            box = _box(ref)
            if box is None:
                continue
            width = box[3] - box[1] + 1
            if width != len(columns):
                words: dict[str, Any] = {"count": str(len(columns)), "ref": ref, "width": str(width)}
                self._book.say("xlsx-table-range", part=target.name if target else "", **words)
            elif has_header:
                for offset, column in enumerate(columns):
                    wanted[box[0], box[1] + offset] = (target.name if target else "", column)
        return wanted

    def read(self) -> Sheet:
        root = None
        for element in self._book.package.stream(self._part):
            name = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
            if name == "c":
                self._cell(element)
                if self._sheet.cells > CELLS_LIMIT:
                    self._sheet.is_cut = True
                    self._book.package.say(
                        "opc-part-too-large", part=self._part.name, problem=f"{CELLS_LIMIT} cells"
                    )
                    break
            elif name == "row":
                self._end_row(element)
            elif name in _PLACES:
                if root is None:
                    root = element.getparent()
                if element.getparent() is root:
                    self._top(name, element)
            elif name == "mergeCell":
                self._merge(element.get("ref", ""))
            elif name == "dataValidation":
                self._validation(element)
            self._uses(element)
        return self._sheet

    def _uses(self, element: Any) -> None:
        name = element.get(f"{{{R}}}id") or element.get(f"{{{_STRICT_R}}}id")
        if name:
            self._book.package._check_use(self._part, name)

    def _top(self, name: str, element: Any) -> None:
        if _PLACES[name] < self._place:
            self._say("xlsx-order", first=name, second=self._last_name)
        else:
            self._place, self._last_name = _PLACES[name], name

    def _end_row(self, element: Any) -> None:
        number = element.get("r")
        row = int(number) if number and number.isdigit() else self._row + 1
        if row <= self._row and number:
            self._say("xlsx-cell-order", cell=f"row {row}", other=f"row {self._row}")
        self._row = max(row, self._row)
        element.clear()
        parent = element.getparent()
        while parent is not None and len(parent) > 1:  # the rows before it are done
            del parent[0]

    def _cell(self, element: Any) -> None:
        self._sheet.cells += 1
        ref = element.get("r")
        place = _place(ref) if ref else None
        if place is not None:
            if place <= self._last:
                other = f"{_letters(self._last[1])}{self._last[0]}"
                self._say("xlsx-cell-order", cell=str(ref), other=other)
            self._last = max(place, self._last)
        cell = ref or f"cell {self._sheet.cells}"
        style = element.get("s")
        if (
            style
            and self._book.formats is not None
            and not (style.isdigit() and int(style[:9]) < self._book.formats)
        ):
            self._say("xlsx-format-range", cell=cell, value=style[:20], count=str(self._book.formats))
        text = self._value(element, cell)
        if self._headers and place in self._headers:
            part, column = self._headers[place]
            if text is not None and text != column and text.replace("\n", "_x000a_") != column:
                self._book.say("xlsx-table-header", part=part, name=repr(column)[:60], actual=repr(text)[:60])

    def _value(self, element: Any, cell: str) -> str | None:
        """Judge what a cell holds; return its text if it is one."""
        kind, value, formula = element.get("t", "n"), None, None
        for child in element:
            name = child.tag.rpartition("}")[2] if isinstance(child.tag, str) else ""
            if name == "v":
                value = child.text or ""
            elif name == "f":
                formula = child.text or ""
                self._formula(child.text or "", cell)
            elif name == "is":
                text = "".join(child.itertext())
                if len(text) > 32_767:
                    self._say("xlsx-cell-text-long", cell=f"{self._part.name}, {cell}", count=str(len(text)))
                self._sheet.texts.append(text[:2_000])
                return text
        if formula is not None:
            if self._book.keep_formulas:
                self._sheet.formulas.add(cell)
            if not value and kind != "str":
                self._say("xlsx-formula-uncached", "artifact_placeholder_output", cell=cell)
        if value is None:
            return None
        if kind == "s":
            return self._shared(value, cell)
        if kind == "n" and value.strip().lower() in _NAN:
            self._say("xlsx-not-a-number", cell=cell, value=value[:40])
        elif kind == "e" and value in _ERRORS:
            self._say("xlsx-error-value", "artifact_placeholder_output", cell=cell, value=value)
        return value if kind == "str" else None

    def _shared(self, value: str, cell: str) -> str | None:
        strings = self._book.strings or []
        if not value.strip().isdigit() or int(value) >= len(strings):
            self._say("xlsx-string-range", cell=cell, value=value[:20], count=str(len(strings)))
            return None
        return strings[int(value)]

    def _formula(self, text: str, cell: str) -> None:
        if not text:
            return
        literals = re.findall(r'"(?:[^"]|"")*"', text)
        rest = re.sub(r'"(?:[^"]|"")*"|\'(?:[^\']|\'\')*\'|\{[^{}]*\}|\[[^\[\]]*\]', "", text)
        problem = None
        if text.startswith("="):
            problem = "the formula begins with ="
        elif ";" in rest:
            problem = "a semicolon separates arguments"
        elif any(len(literal) > 257 for literal in literals):
            problem = "a text in the formula has more than 255 characters"
        if problem is not None:
            self._say("xlsx-formula", cell=cell, problem=problem, value=text[:60])

    def _merge(self, ref: str) -> None:
        box = _box(ref)
        if box is None or len(self._merges) >= _MERGES_LIMIT:
            return
        for top, left, bottom, right, other in self._merges:
            if box[0] <= bottom and top <= box[2] and box[1] <= right and left <= box[3]:
                self._say("xlsx-merge-overlap", ref=ref, other=other)
                break
        self._merges.append((*box, ref))

    def _validation(self, element: Any) -> None:
        if element.get("type") != "list":
            return
        for child in element:
            text = child.text or ""
            if str(child.tag).endswith("}formula1") and text.startswith('"') and len(text) > 257:
                self._say("xlsx-validation-long", count=str(len(text) - 2))


def _place(ref: str) -> tuple[int, int] | None:
    match = _REF.match(ref)
    if match is None:
        return None
    column = 0
    for letter in match[1]:
        column = column * 26 + ord(letter) - 64
    return int(match[2]), column


def _letters(column: int) -> str:
    text = ""
    while column:
        column, letter = divmod(column - 1, 26)
        text = chr(65 + letter) + text
    return text


def _box(ref: str) -> tuple[int, int, int, int] | None:
    """Return top, left, bottom and right of a range, None if it is none."""
    first, _, last = ref.partition(":")
    start, end = _place(first), _place(last or first)
    if start is None or end is None:
        return None
    return min(start[0], end[0]), min(start[1], end[1]), max(start[0], end[0]), max(start[1], end[1])
