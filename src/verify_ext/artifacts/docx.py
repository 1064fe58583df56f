"""Word files: what WordprocessingML asks for, and what makes Word ask for repair."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from verify_ext.artifacts.codes import ARTIFACT_FORMAT_INVALID, ARTIFACT_PLACEHOLDER_OUTPUT
from verify_ext.artifacts.model import ArtifactFile, Depth, Examined, Expected, Fact, Format
from verify_ext.artifacts.office import examine_office
from verify_ext.artifacts.opc import Package, Part, document_type
from verify_ext.codes import Code, Rule, Rules
from verify_ext.model import Finding, Severity

TYPES: dict[str, tuple[str, ...]] = {
    ".docx": ("wordprocessingml.document.main+xml",),
    ".docm": ("document.macroEnabled.main+xml",),
    ".dotx": ("wordprocessingml.template.main+xml",),
    ".dotm": ("template.macroEnabledTemplate.main+xml",),
}
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_STRICT_W = "http://purl.oclc.org/ooxml/wordprocessingml/main"
_W14 = "http://schemas.microsoft.com/office/word/2010/wordml"
_WP = "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"
_PIECES, _TEXT_LIMIT = 5_000, 500_000


def _rule(
    rule: str,
    message: str,
    remedy: str,
    source: str,
    severity: Severity = Severity.ERROR,
    code: Code = ARTIFACT_FORMAT_INVALID,
    why: str = "Word says that the file has unreadable content.",
) -> Rule:
    return Rule(
        code=code,
        rule=rule,
        layer=None,
        severity=severity,
        message=message,
        remedy=remedy,
        why=why,
        source=source,
    )


RULES = Rules(
    _rule("docx-no-body", "{part} has no body", "Write w:body.", "ECMA-376 Part 1, 17.2.2"),
    _rule(
        "docx-cell-without-paragraph",
        "{part}: a table cell does not end in a paragraph",
        "End each w:tc with a w:p, even an empty one.",
        "open-xml-templating/docxtemplater#226, bokuweb/docx-rs#918",
    ),
    _rule(
        "docx-paragraph-id",
        "{part}: the paragraph id {value} is not below 80000000",
        "Write ids from 00000001 to 7FFFFFFF.",
        "MS-DOCX 2.6.2.3 (ST_LongHexNumber, paraId)",
    ),
    _rule(
        "docx-reference-missing",
        "{part} refers to the {kind} {id}, which is not there",
        "Add it, or remove the reference.",
        "jvoisin/mat2#7; ECMA-376 Part 1, 17.13.4, 17.11",
    ),
    _rule(
        "docx-nesting",
        "{part}: {what}",
        "Nest elements as the schema says: body, p, r, t.",
        "ECMA-376 Part 1, 17.3",
    ),
    _rule(
        "docx-properties-late",
        "{part}: {name} is not the first child of its element",
        "Write the properties first.",
        "ECMA-376 Part 1, 17.3.1.26, 17.3.2.28",
    ),
    _rule(
        "docx-value",
        "{part}: {name}={value} is not a value of the schema",
        "Use a value that the schema knows.",
        "ECMA-376 Part 1, 17.18",
    ),
    _rule(
        "docx-number",
        "{part}: {name}={value} is no whole number",
        "Round lengths to whole twentieths of a point.",
        "ECMA-376 Part 1, 17.18.87, 17.18.81",
    ),
    _rule(
        "docx-id-twice",
        "{part}: the {kind} id {id} is there twice",
        "Give each an id of its own.",
        "anthropics/skills#489",
        Severity.WARNING,
        why="Some versions of Word ask for repair.",
    ),
    _rule(
        "docx-nothing-shown",
        "the document shows nothing",
        "Write text, or put pictures or tables in.",
        "docs/design.md, section 9",
        code=ARTIFACT_PLACEHOLDER_OUTPUT,
        why="There is nothing to read.",
    ),
)

_VALUES = {
    "jc": "both center left right start end distribute numTab highKashida mediumKashida lowKashida thaiDistribute",
    "vertAlign": "baseline superscript subscript",
    "highlight": "black blue cyan green magenta red yellow white darkBlue darkCyan darkGreen darkMagenta darkRed"
    " darkYellow darkGray lightGray none",
    "u": "single words double thick dotted dottedHeavy dash dashedHeavy dashLong dashLongHeavy dotDash"
    " dashDotHeavy dotDotDash dashDotDotHeavy wave wavyHeavy wavyDouble none",
    "vMerge": "continue restart",
    "vAlign": "top center both bottom",
}
_VALUE_SETS = {name: frozenset(values.split()) for name, values in _VALUES.items()}
_LENGTHS = "|".join(
    f"//w:{element}/@w:{name}"
    for element, names in (
        ("pgSz", "w h"),
        ("pgMar", "top bottom left right header footer gutter"),
        ("gridCol", "w"),
        ("ind", "left right start end firstLine hanging"),
        ("spacing", "before after line"),
        ("sz", "val"),
        ("szCs", "val"),
    )
    for name in names.split()
)
_LENGTH = re.compile(r"-?[0-9]+\Z|-?[0-9]+(\.[0-9]+)?(mm|cm|in|pt|pc|pi)\Z")
_STORIES = ("document", "header", "footer", "footnotes", "endnotes", "comments", "template")


class _Document:
    """What was seen of a document, part by part."""

    streamed: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset(
        {"properties+xml", "styles+xml", "stylesWithEffects+xml", "settings+xml", "webSettings+xml"}
        | {"fontTable+xml", "theme+xml", "numbering+xml", "chart+xml", "/xml"}
    )

    def __init__(self, package: Package) -> None:
        self._package = package
        self._found: list[Finding] = []
        self._texts: list[str] = []
        self._drawn = False
        self._paragraphs = self._tables = 0
        self._used: dict[str, set[str]] = {}
        self._there: dict[str, set[str]] = {}

    def _say(self, rule: str, **words: Any) -> None:
        self._found.append(RULES.finding(f"artifact_format_invalid/{rule}", self._package.file, **words))

    def visit(self, part: Part, tree: Any) -> None:
        is_main = part is self._package.main
        if tree is None:
            if is_main:
                self._stream(part)
            return
        names = {"w": _STRICT_W if _STRICT_W in str(tree.tag) else W, "w14": _W14, "wp": _WP}
        root = str(tree.tag).rpartition("}")[2]
        if root in ("comments", "footnotes", "endnotes"):
            ids = tree.xpath("*/@w:id", namespaces=names)
            self._there.setdefault(root, set()).update(map(str, ids))
        if is_main:
            self._body(part, tree, names)
        if root in ("document", "hdr", "ftr", "comments", "footnotes", "endnotes"):
            self._story(part, tree, names)

    def _body(self, part: Part, tree: Any, names: dict[str, str]) -> None:
        if tree.find("w:body", names) is None:
            self._say("docx-no-body", part=part.name)
            self._drawn = True
            return
        paragraphs = tree.xpath("//w:p", namespaces=names)
        self._paragraphs, self._tables = len(paragraphs), len(tree.xpath("//w:tbl", namespaces=names))
        for paragraph in paragraphs[:_PIECES]:
            text = "".join(
                paragraph.xpath(
                    "./w:r/w:t/text()|./w:hyperlink//w:t/text()|./w:ins//w:t/text()", namespaces=names
                )
            )
            self._texts.append(text)
        self._drawn = bool(
            tree.xpath(
                "boolean(//w:drawing|//w:pict|//w:object|//w:tbl|//w:sdt|//w:altChunk|//w:fldSimple|//w:sym)",
                namespaces=names,
            )
        ) or bool(tree.xpath("boolean(//*[local-name()='oMath'])"))
        for kind, path in (
            ("comments", "//w:commentReference/@w:id|//w:commentRangeStart/@w:id"),
            ("footnotes", "//w:footnoteReference/@w:id"),
            ("endnotes", "//w:endnoteReference/@w:id"),
        ):
            self._used[kind] = set(map(str, tree.xpath(path, namespaces=names)))

    def _story(self, part: Part, tree: Any, names: dict[str, str]) -> None:
        def has(path: str) -> bool:
            return bool(tree.xpath(f"boolean({path})", namespaces=names))

        blocks = "self::w:p or self::w:sdt or self::w:customXml"
        if has(f"//w:tc[not(*[{blocks} or self::w:tbl][last()][{blocks}])]"):
            self._say("docx-cell-without-paragraph", part=part.name)
        for value in set(map(str, tree.xpath("//@w14:paraId|//@w14:textId", namespaces=names))):
            if not re.fullmatch(r"[0-9A-Fa-f]{8}", value) or int(value, 16) >= 0x80000000:
                self._say("docx-paragraph-id", part=part.name, value=value[:40])
        if has("//w:p/w:p"):
            self._say("docx-nesting", part=part.name, what="a paragraph stands in a paragraph")
        if has("//w:t[not(parent::w:r)]"):
            self._say("docx-nesting", part=part.name, what="text (w:t) stands outside a run (w:r)")
        if has("//w:body/w:r|//w:tc/w:r|//w:body/w:t"):
            self._say("docx-nesting", part=part.name, what="a run (w:r) stands outside a paragraph")
        for name, parent in (("w:pPr", "w:p"), ("w:rPr", "w:r")):
            if has(f"//{parent}/{name}[preceding-sibling::*]"):
                self._say("docx-properties-late", part=part.name, name=name)
        for name, allowed in _VALUE_SETS.items():
            values = set(map(str, tree.xpath(f"//w:{name}/@w:val", namespaces=names)))
            for value in sorted(values - allowed)[:3]:
                self._say("docx-value", part=part.name, name=f"w:{name}", value=value[:60])
        for value in tree.xpath(_LENGTHS, namespaces=names):
            if not _LENGTH.match(str(value)):
                self._say(
                    "docx-number",
                    part=part.name,
                    name=str(value.attrname).rpartition("}")[2],
                    value=str(value)[:40],
                )
                break
        self._twice(part, "drawing", tree.xpath("//wp:docPr/@id", namespaces=names))
        for kind in ("bookmarkStart", "ins", "del"):
            self._twice(part, kind, tree.xpath(f"//w:{kind}/@w:id", namespaces=names))

    def _twice(self, part: Part, kind: str, ids: list[Any]) -> None:
        seen: set[str] = set()
        for each in map(str, ids):
            if each in seen:
                self._say("docx-id-twice", part=part.name, kind=kind, id=each[:40])
                return
            seen.add(each)

    def _stream(self, part: Part) -> None:
        """Read a document that is too large for a tree: its text, and whether it is well-formed."""
        size = 0
        for element in self._package.stream(part):
            name = str(element.tag).rpartition("}")[2]
            if name == "p":
                self._paragraphs += 1
                if size < _TEXT_LIMIT:
                    text = "".join(element.itertext())
                    size += len(text)
                    self._texts.append(text)
            elif name in ("drawing", "tbl", "pict"):
                self._drawn = True
            if name in ("p", "tr", "tbl", "drawing"):
                element.clear()

    def findings(self) -> Iterator[Finding]:
        yield from self._found
        for kind, used in self._used.items():
            for each in sorted(used - self._there.get(kind, set()))[:1]:
                main = self._package.main
                words: dict[str, Any] = {
                    "part": main.name if main else "",
                    "kind": kind.removesuffix("s"),
                    "id": each[:40],
                }
                yield RULES.finding(
                    "artifact_format_invalid/docx-reference-missing", self._package.file, **words
                )

    def facts(self) -> dict[str, Fact]:
        return {"paragraphs": self._paragraphs, "tables": self._tables}

    def pieces(self) -> list[tuple[str, str]]:
        return [(f"paragraph {number}", text) for number, text in enumerate(self._texts, 1) if text.strip()]

    def nothing(self) -> Finding | None:
        if self._drawn or any(text.strip() for text in self._texts):
            return None
        return RULES.finding("artifact_placeholder_output/docx-nothing-shown", self._package.file)


def recognises(file: ArtifactFile) -> bool:
    known = document_type(file) or ""
    return "wordprocessingml." in known or "ms-word." in known


def examine(file: ArtifactFile, depth: Depth, expected: Expected) -> Examined:
    """Examine a document; facts: paragraphs, tables."""
    return examine_office(file, depth, "docx", TYPES, _Document)


FORMAT = Format(name="docx", suffixes=tuple(TYPES), recognises=recognises, examine=examine)
