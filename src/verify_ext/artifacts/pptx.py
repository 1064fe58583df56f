"""PowerPoint files: what PresentationML asks for, and what makes PowerPoint ask for repair."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from verify_ext.artifacts.codes import ARTIFACT_FORMAT_INVALID, ARTIFACT_PLACEHOLDER_OUTPUT
from verify_ext.artifacts.model import ArtifactFile, Depth, Examined, Expected, Fact, Format
from verify_ext.artifacts.office import examine_office
from verify_ext.artifacts.opc import Package, Part, document_type
from verify_ext.artifacts.shapes import PRESET_SHAPES
from verify_ext.codes import Code, Rule, Rules
from verify_ext.model import Finding, Severity

_TYPE = "presentationml."
TYPES: dict[str, tuple[str, ...]] = {
    ".pptx": ("presentationml.presentation.main+xml",),
    ".pptm": ("presentation.macroEnabled.main+xml",),
    ".ppsx": ("presentationml.slideshow.main+xml",),
    ".ppsm": ("slideshow.macroEnabled.main+xml",),
    ".potx": ("presentationml.template.main+xml",),
    ".potm": ("template.macroEnabled.main+xml",),
}
_NS = {
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
    "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
}
_STRICT = {
    "a": "http://purl.oclc.org/ooxml/drawingml/main",
    "p": "http://purl.oclc.org/ooxml/presentationml/main",
    "r": "http://purl.oclc.org/ooxml/officeDocument/relationships",
}
_MAX_ID = 2_147_483_647


def _rule(
    rule: str,
    message: str,
    remedy: str,
    source: str,
    severity: Severity = Severity.ERROR,
    code: Code = ARTIFACT_FORMAT_INVALID,
    why: str = "PowerPoint asks to repair the file, or refuses it.",
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
    _rule(
        "pptx-slide-id-twice",
        "ppt/presentation.xml: the slide id {id} is there twice",
        "Give each slide an id of its own.",
        "scanny/python-pptx#89, #972",
    ),
    _rule(
        "pptx-slide-id-range",
        "ppt/presentation.xml: the slide id {id} is not between 256 and 2147483647",
        "Number slides from 256 on.",
        "ECMA-376 Part 1, 19.7.13 (ST_SlideId)",
    ),
    _rule(
        "pptx-master-id-twice",
        "the id {id} is used by two masters or layouts",
        "Give masters and layouts ids of their own, from 2147483648 on.",
        "ECMA-376 Part 1, 19.2.1.37",
    ),
    _rule(
        "pptx-relation-missing",
        "{part} has no relationship to a {kind}",
        "Relate each slide to a layout, each layout to a master, each master to a theme.",
        "scanny/python-pptx#67, PHPOffice/PHPPresentation#294",
    ),
    _rule(
        "pptx-no-master-list",
        "ppt/presentation.xml has no sldMasterIdLst",
        "List the slide masters.",
        "ECMA-376 Part 1, 19.2.1.36",
    ),
    _rule(
        "pptx-notes-without-master",
        "{part} has no notes master",
        "Add a notes master, and relate the notes to it.",
        "iOfficeAI/OfficeCLI#265",
    ),
    _rule(
        "pptx-theme-list-short",
        "{part}: {list} has {count} entries, at least 3 are needed",
        "Write three fill, line, effect and background fill styles.",
        "ECMA-376 Part 1, 20.1.4.1.14; ningzimu/image-to-editable-ppt-skill#43",
    ),
    _rule(
        "pptx-colour",
        "{part}: {value} is no colour",
        "Write six hexadecimal digits, without #.",
        "ECMA-376 Part 1, 20.1.10.43; gitbrent/PptxGenJS#379",
    ),
    _rule(
        "pptx-shape-unknown",
        "{part}: there is no preset shape {value}",
        "Use a name of ST_ShapeType: ellipse, not oval.",
        "ECMA-376 Part 1, 20.1.10.56; gitbrent/PptxGenJS#1449",
    ),
    _rule(
        "pptx-order",
        "{part}: {first} stands after {second}",
        "Write the elements in the order of the schema.",
        "jgm/pandoc#11310, yfedoseev/office_oxide#199",
    ),
    _rule(
        "pptx-text-without-paragraph",
        "{part}: a text body has no paragraph",
        "Write at least an empty a:p.",
        "ECMA-376 Part 1, 21.1.2.1.1 (CT_TextBody)",
    ),
    _rule(
        "pptx-table-row",
        "{part}: a table row has {actual} cells, the grid has {expected} columns",
        "Write a cell for each column.",
        "ECMA-376 Part 1, 21.1.3.13",
    ),
    _rule(
        "pptx-number",
        "{part}: {name}={value} is no whole number of EMU",
        "Round lengths to whole numbers, and let no extent be negative.",
        "ECMA-376 Part 1, 20.1.10.16, 20.1.10.41",
    ),
    _rule(
        "pptx-shape-id-twice",
        "{part}: the shape id {id} is there twice",
        "Give each shape of a slide an id of its own.",
        "gitbrent/PptxGenJS#1532",
        Severity.WARNING,
        why="Some versions of PowerPoint ask for repair.",
    ),
    _rule(
        "pptx-slide-orphan",
        "{part} is related but not in the list of slides",
        "List it in sldIdLst, or remove it.",
        "ECMA-376 Part 1, 13.3.8",
        Severity.WARNING,
        why="Nobody sees the slide.",
    ),
    _rule(
        "pptx-empty-placeholder",
        "{part}: an empty placeholder is left",
        "Fill it or remove it.",
        "docs/design.md, section 9",
        Severity.WARNING,
        ARTIFACT_PLACEHOLDER_OUTPUT,
        "It says that something was to be here.",
    ),
    _rule(
        "pptx-no-slides",
        "the presentation has no slides",
        "Add slides.",
        'Seed "verify-ext", 文件产物验收: at least one slide',
        code=ARTIFACT_PLACEHOLDER_OUTPUT,
        why="There is nothing to show.",
    ),
    _rule(
        "pptx-nothing-shown",
        "no slide shows anything",
        "Put text or pictures on the slides.",
        "docs/design.md, section 9",
        code=ARTIFACT_PLACEHOLDER_OUTPUT,
        why="There is nothing to see.",
    ),
)

_NUMBERS = re.compile(r"-?\d+\Z")
_COLOUR = re.compile(r"[0-9A-Fa-f]{6}\Z")
_DRAWN = (
    "boolean(//a:blip | //p:graphicFrame | //p:cxnSp | //p:contentPart"
    " | //p:bg | //p:sp[not(p:nvSpPr/p:nvPr/p:ph)]/p:spPr/a:prstGeom[../a:solidFill or ../a:gradFill or ../a:ln])"
)

_ATTRIBUTES = {"srgbClr": ("val",), "prstGeom": ("prst",), "off": ("x", "y"), "ext": ("cx", "cy")}
_READ_OF_DRAWINGS = (*_ATTRIBUTES, "txBody", "tbl")


class _Deck:
    """What was seen of a presentation, part by part."""

    streamed: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset(
        {"properties+xml", "presProps+xml", "viewProps+xml", "tableStyles+xml", "chart+xml"}
    )

    def __init__(self, package: Package) -> None:
        self._package = package
        self._found: list[Finding] = []
        self._listed: list[str] = []
        self._slides: dict[str, tuple[list[str], bool]] = {}
        self._ids: dict[str, str] = {}

    def _say(self, rule: str, code: str = "artifact_format_invalid", **words: Any) -> None:
        self._found.append(RULES.finding(f"{code}/{rule}", self._package.file, **words))

    def visit(self, part: Part, tree: Any) -> None:
        if tree is None:
            return
        kind = (part.content_type or "").rpartition(_TYPE)[2].partition("+")[0]
        names = _STRICT if "purl.oclc.org" in str(tree.tag) else _NS
        if part is self._package.main:
            self._presentation(part, tree, names)
        elif kind == "slide":
            self._slide(part, tree, names)
        elif kind == "slideLayout":
            self._needs(part, "slideMaster")
        elif kind == "slideMaster":
            self._master(part, tree, names)
        elif kind == "notesSlide":
            if not part.related("notesMaster"):
                self._say("pptx-notes-without-master", part=part.name)
        elif str(tree.tag).endswith("}theme"):
            self._theme(part, tree, names)
        if kind in ("slide", "slideLayout", "slideMaster", "notesSlide"):
            self._drawing(part, tree, names)

    def _needs(self, part: Part, kind: str) -> None:
        targets = [each.target for each in part.related(kind)]
        if not any(target and self._package.part(target) for target in targets):
            self._say("pptx-relation-missing", part=part.name, kind=kind)

    def _presentation(self, part: Part, tree: Any, names: dict[str, str]) -> None:
        children = [str(child.tag).rpartition("}")[2] for child in tree if isinstance(child.tag, str)]
        if "sldMasterIdLst" not in children:
            self._say("pptx-no-master-list")
        self._order(
            part,
            children,
            ("sldMasterIdLst", "notesMasterIdLst", "handoutMasterIdLst", "sldIdLst", "sldSz", "notesSz"),
        )
        seen = set()
        for element in tree.xpath("p:sldIdLst/p:sldId", namespaces=names):
            number = element.get("id", "")
            if number in seen:
                self._say("pptx-slide-id-twice", id=number)
            seen.add(number)
            if not number.isdigit() or not 256 <= int(number[:20]) <= _MAX_ID:
                self._say("pptx-slide-id-range", id=number)
            related = part.relationships.get(element.get(f"{{{names['r']}}}id", ""))
            if related is not None and related.target is not None:
                target = self._package.part(related.target)
                self._listed += [target.name] if target is not None else []
        for element in tree.xpath("p:sldMasterIdLst/p:sldMasterId", namespaces=names):
            self._unique(element.get("id"), part.name)

    def _unique(self, number: str | None, where: str) -> None:
        if number is not None and number in self._ids:
            self._say("pptx-master-id-twice", id=number)
        self._ids[number or ""] = where

    def _order(self, part: Part, children: Sequence[str], wanted: Sequence[str]) -> None:
        places = [(children.index(name), name) for name in wanted if name in children]
        for (place, first), (next_place, second) in pairwise(places):
            if place > next_place:
                self._say("pptx-order", part=part.name, first=first, second=second)

    def _master(self, part: Part, tree: Any, names: dict[str, str]) -> None:
        self._needs(part, "theme")
        children = [str(child.tag).rpartition("}")[2] for child in tree if isinstance(child.tag, str)]
        self._order(
            part, children, ("cSld", "clrMap", "sldLayoutIdLst", "transition", "timing", "hf", "txStyles")
        )
        for element in tree.xpath("p:sldLayoutIdLst/p:sldLayoutId", namespaces=names):
            self._unique(element.get("id"), part.name)

    def _theme(self, part: Part, tree: Any, names: dict[str, str]) -> None:
        for element in tree.xpath("a:themeElements/a:fmtScheme/*", namespaces=names):
            if len(element) < 3:
                words: dict[str, Any] = {
                    "list": str(element.tag).rpartition("}")[2],
                    "count": str(len(element)),
                }
                self._say("pptx-theme-list-short", part=part.name, **words)

    def _slide(self, part: Part, tree: Any, names: dict[str, str]) -> None:
        self._needs(part, "slideLayout")
        texts = ["".join(each.itertext()) for each in tree.iterfind(".//a:p", names)]
        texts = [text for text in texts if text.strip()]
        self._slides[part.name] = (texts, bool(tree.xpath(_DRAWN, namespaces=names)))
        for shape in tree.xpath(
            "//p:sp[p:nvSpPr/p:nvPr/p:ph[not(@type='dt' or @type='ftr' or @type='sldNum' or @type='pic')]]"
            "[not(p:txBody//a:t[normalize-space()])][not(p:txBody//a:fld)]",
            namespaces=names,
        )[:1]:
            del shape
            self._say("pptx-empty-placeholder", "artifact_placeholder_output", part=part.name)

    def _drawing(self, part: Part, tree: Any, names: dict[str, str]) -> None:
        """Check what shapes on slides, layouts and masters are made of, in one walk over them."""
        drawn, own = f"{{{names['a']}}}", f"{{{names['p']}}}"
        values: dict[tuple[str, str], set[str]] = {}
        ids: dict[str, int] = {}
        for element in tree.iter(
            *(drawn + name for name in _READ_OF_DRAWINGS), own + "txBody", own + "cNvPr"
        ):
            name = element.tag.rpartition("}")[2]
            for attribute in _ATTRIBUTES.get(name, ()):
                value = element.get(attribute)
                if value is not None:
                    values.setdefault((name, attribute), set()).add(value)
            if name == "txBody" and element.find(drawn + "p") is None:
                self._say("pptx-text-without-paragraph", part=part.name)
            elif name == "tbl":
                self._table(part, element, names)
            elif name == "cNvPr" and (number := element.get("id")) is not None:
                ids[number] = ids.get(number, 0) + 1
        self._values(part, values)
        if str(tree.tag).endswith("}sld"):
            for number in sorted(number for number, count in ids.items() if count > 1)[:1]:
                self._say("pptx-shape-id-twice", part=part.name, id=number)

    def _values(self, part: Part, values: dict[tuple[str, str], set[str]]) -> None:
        for value in values.get(("srgbClr", "val"), ()):
            if not _COLOUR.match(value):
                self._say("pptx-colour", part=part.name, value=repr(value)[:60])
        for value in values.get(("prstGeom", "prst"), set()) - PRESET_SHAPES:
            self._say("pptx-shape-unknown", part=part.name, value=repr(value)[:60])
        for name in ("off", "ext"):
            for attribute in _ATTRIBUTES[name]:
                for value in values.get((name, attribute), ()):
                    if not _is_length(value, negative=name == "off"):
                        self._say("pptx-number", part=part.name, name=attribute, value=value[:40])

    def _table(self, part: Part, table: Any, names: dict[str, str]) -> None:
        columns = len(table.findall("a:tblGrid/a:gridCol", names))
        for row in table.iterfind("a:tr", names):
            cells = len(row.findall("a:tc", names))
            if cells != columns:
                words: dict[str, Any] = {"actual": str(cells), "expected": str(columns)}
                self._say("pptx-table-row", part=part.name, **words)

    def findings(self) -> Iterator[Finding]:
        yield from self._found
        for name in self._slides:
            if name not in self._listed:
                yield RULES.finding(
                    "artifact_format_invalid/pptx-slide-orphan", self._package.file, part=name
                )

    def facts(self) -> dict[str, Fact]:
        return {"slides": len(self._listed)}

    def pieces(self) -> list[tuple[str, str]]:
        return [
            (f"slide {number}", "\n".join(self._slides[name][0]))
            for number, name in enumerate(self._listed, 1)
            if name in self._slides
        ]

    def nothing(self) -> Finding | None:
        if not self._listed:
            return RULES.finding("artifact_placeholder_output/pptx-no-slides", self._package.file)
        shown = (self._slides.get(name, ([], True)) for name in self._listed)
        if not any(texts or drawn for texts, drawn in shown):
            return RULES.finding("artifact_placeholder_output/pptx-nothing-shown", self._package.file)
        return None


def _is_length(value: str, *, negative: bool) -> bool:
    """Return whether a value is a length: whole EMU, or with a unit as newer versions may write."""
    if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(mm|cm|in|pt|pc|pi)", value):
        return negative or not value.startswith("-")
    return bool(_NUMBERS.match(value)) and len(value) < 20 and (negative or int(value) >= 0)


def recognises(file: ArtifactFile) -> bool:
    return _TYPE in (document_type(file) or "") or "presentation.macro" in (document_type(file) or "").lower()


def examine(file: ArtifactFile, depth: Depth, expected: Expected) -> Examined:
    """Examine a presentation; facts: slides."""
    return examine_office(file, depth, "pptx", TYPES, _Deck)


FORMAT = Format(name="pptx", suffixes=tuple(TYPES), recognises=recognises, examine=examine)
