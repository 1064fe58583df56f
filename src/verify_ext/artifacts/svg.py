"""SVG: well-formed XML in the SVG namespace that draws something, without entities."""

from __future__ import annotations

import re
from typing import Any

from verify_ext.artifacts.codes import ARTIFACT_FORMAT_INVALID, ARTIFACT_PLACEHOLDER_OUTPUT
from verify_ext.artifacts.guess import describe, text_of
from verify_ext.artifacts.model import ArtifactFile, Depth, Examined, Expected, Format
from verify_ext.codes import Code, Rule, Rules
from verify_ext.model import Finding, Location, Severity
from verify_ext.source import Spot

SIZE_LIMIT_BYTES = 64 * 1024 * 1024
_NAMESPACE = "http://www.w3.org/2000/svg"
_DRAWS = frozenset(
    [
        "path",
        "rect",
        "circle",
        "ellipse",
        "line",
        "polyline",
        "polygon",
        "text",
        "image",
        "use",
        "foreignObject",
        "tspan",
        "mesh",
    ]
)
_ROOT = re.compile(
    r"(?:\ufeff)?\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*|<!DOCTYPE[^>\[]*(?:\[.*?\])?\s*>\s*)*<(?:\w+:)?svg\b",
    re.S,
)


def _rule(
    rule: str,
    message: str,
    remedy: str,
    why: str,
    severity: Severity = Severity.ERROR,
    code: Code = ARTIFACT_FORMAT_INVALID,
) -> Rule:
    return Rule(
        code=code,
        rule=rule,
        layer=None,
        severity=severity,
        message=message,
        remedy=remedy,
        why=why,
        source="SVG 2, W3C; docs/design.md, section 9",
    )


RULES = Rules(
    _rule(
        "svg-not-svg",
        "the file is {actual}, no SVG",
        "Write an svg element in the SVG namespace.",
        "Browsers show nothing, or the text.",
    ),
    _rule(
        "svg-not-well-formed",
        "line {line}: not well-formed XML: {problem}",
        "Escape & and <, declare prefixes, and write the file to its end.",
        "Browsers show an error instead of the picture.",
    ),
    _rule(
        "svg-entities",
        "the file declares entities",
        "Leave the declarations out.",
        "Entities read files and fill memory; readers refuse them.",
    ),
    _rule(
        "svg-active",
        "the picture holds {what}",
        "Leave it out.",
        "Where it is opened by itself, it runs.",
        Severity.WARNING,
    ),
    _rule(
        "svg-external",
        "the picture loads {what}",
        "Embed it.",
        "It is missing wherever the network is.",
        Severity.WARNING,
    ),
    _rule(
        "svg-not-fully-checked",
        "the picture is not checked: {problem}",
        "Nothing, if this is meant.",
        "What was not read was not judged.",
        Severity.WARNING,
    ),
    _rule(
        "svg-nothing-drawn",
        "the picture draws nothing",
        "Draw something.",
        "There is nothing to see.",
        code=ARTIFACT_PLACEHOLDER_OUTPUT,
    ),
)


def recognises(file: ArtifactFile) -> bool:
    text = text_of(file.head)
    return text is not None and bool(_ROOT.match(text))


def examine(file: ArtifactFile, depth: Depth, expected: Expected) -> Examined:
    """Examine a picture; facts: elements."""
    if depth < Depth.STRUCTURE and recognises(file):
        return Examined(format="svg")
    if file.size > SIZE_LIMIT_BYTES:
        finding = _finding(file, "svg-not-fully-checked", problem=f"{file.size >> 20} MiB")
        return Examined(format="svg", findings=(finding,))
    with file.open() as stream:
        data = stream.read()
    if b"<!ENTITY" in data or b"<!\0E\0N\0T" in data:
        return Examined(format="svg", findings=(_finding(file, "svg-entities"),))
    return _parsed(file, data, depth)


def _parsed(file: ArtifactFile, data: bytes, depth: Depth) -> Examined:
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root: Any = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        if not recognises(file):
            return Examined(format=None, findings=(_finding(file, "svg-not-svg", actual=describe(file)),))
        line = int(getattr(error, "lineno", None) or 1)
        place = Spot(Location(path=file.shown, line=line, end_line=line))
        words: dict[str, Any] = {"line": str(line), "problem": str(error)[:160]}
        return Examined(
            format="svg",
            findings=(RULES.finding("artifact_format_invalid/svg-not-well-formed", place, **words),),
        )
    if root.tag != f"{{{_NAMESPACE}}}svg":
        actual = "XML without the SVG namespace" if str(root.tag).endswith("svg") else describe(file)
        return Examined(format=None, findings=(_finding(file, "svg-not-svg", actual=actual),))
    findings = list(_suspicious(file, root))
    elements = [element for element in root.iter() if isinstance(element.tag, str)]
    drawn = any(element.tag.rpartition("}")[2] in _DRAWS for element in elements)
    if depth >= Depth.CONTENT and not drawn:
        findings.append(RULES.finding("artifact_placeholder_output/svg-nothing-drawn", file))
    return Examined(format="svg", facts={"elements": len(elements)}, findings=tuple(findings))


def _suspicious(file: ArtifactFile, root: Any) -> list[Finding]:
    findings = []
    if root.xpath("boolean(//*[local-name()='script'])"):
        findings.append(_finding(file, "svg-active", what="a script"))
    elif root.xpath("boolean(//@*[starts-with(local-name(), 'on')])"):
        findings.append(_finding(file, "svg-active", what="an event handler"))
    for value in root.xpath("//*[local-name()='image' or local-name()='use']/@*[local-name()='href']"):
        if re.match(r"(?:https?:)?//|file:", str(value).strip(), re.I):
            findings.append(_finding(file, "svg-external", what=str(value)[:100]))
            break
    return findings


def _finding(file: ArtifactFile, rule: str, **words: Any) -> Finding:
    return RULES.finding(f"artifact_format_invalid/{rule}", file, **words)


FORMAT = Format(name="svg", suffixes=(".svg",), recognises=recognises, examine=examine)
