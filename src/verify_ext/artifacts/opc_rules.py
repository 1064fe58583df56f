"""Rules of the Open Packaging Conventions, which PPTX, DOCX and XLSX share (ISO/IEC 29500-2)."""

from __future__ import annotations

from verify_ext.artifacts.codes import ARTIFACT_FORMAT_INVALID
from verify_ext.codes import Rule, Rules
from verify_ext.model import Severity

_OPC = "ISO/IEC 29500-2, Open Packaging Conventions; "


def _rule(
    rule: str, message: str, remedy: str, why: str, source: str, severity: Severity = Severity.ERROR
) -> Rule:
    return Rule(
        code=ARTIFACT_FORMAT_INVALID,
        rule=rule,
        layer=None,
        severity=severity,
        message=message,
        remedy=remedy,
        why=why,
        source=_OPC + source,
    )


_REPAIR = "The application asks to repair the file, or refuses it."

RULES = Rules(
    _rule(
        "opc-no-content-types",
        "the archive has no [Content_Types].xml{hint}",
        "Write the file with a library for its format; a ZIP of XML files is not one.",
        _REPAIR,
        "10.1.2.2",
    ),
    _rule(
        "opc-no-relationships",
        "the package has no _rels/.rels",
        "Write the package relationships; they say which part is the document.",
        _REPAIR,
        "9.3",
    ),
    _rule(
        "opc-no-main-part",
        "no part of the package is the document: {problem}",
        "Write a relationship of type officeDocument to a part that is there.",
        _REPAIR,
        "9.3",
    ),
    _rule(
        "opc-main-type",
        "the document part {part} is {actual}, which a {suffix} file must not hold",
        "Save the file as the kind that its name says.",
        "The application refuses it: the type and the name disagree.",
        "jmcnamara/excel-writer-xlsx#94",
    ),
    _rule(
        "opc-name-odd",
        "{entry} is no part name",
        "Store part names with slashes and without a leading one.",
        "Other readers do not find the part.",
        "python-openxml/python-docx#1513, tafia/calamine#531",
    ),
    _rule(
        "opc-name-twice",
        "{entry} is there twice, or differs only in case",
        "Store each part once.",
        _REPAIR,
        "M3.3; scanny/python-pptx#67",
    ),
    _rule(
        "opc-method",
        "{entry} is neither stored nor deflated",
        "Compress by deflate.",
        _REPAIR,
        "M3.6",
    ),
    _rule(
        "opc-type-twice",
        "[Content_Types].xml names {name} twice",
        "Write one Default per extension and one Override per part.",
        _REPAIR,
        "M2.5; package consumption errors",
    ),
    _rule(
        "opc-override-without-part",
        "[Content_Types].xml names {name}, which is not in the package",
        "Remove the Override, or add the part.",
        _REPAIR,
        "gitbrent/PptxGenJS#1444",
    ),
    _rule(
        "opc-part-without-type",
        "{part} has no content type",
        "Add an Override for it, or a Default for its extension.",
        _REPAIR,
        "scanny/python-pptx#76, python-openxml/python-docx#1455",
    ),
    _rule(
        "opc-part-type-wrong",
        "{part} is typed {actual}, as {expected} it is not known",
        "Give the part the content type of what it is.",
        _REPAIR,
        "10.1.2",
    ),
    _rule(
        "opc-relationship-target-missing",
        "{part} uses {target}, which is not in the package",
        "Add the part, or remove what refers to it.",
        _REPAIR,
        "sergey-tihon/Clippit#98",
    ),
    _rule(
        "opc-relationship-undefined",
        "{part} uses the relationship {name}, which its relationships do not define",
        "Write the relationship, or remove what refers to it.",
        _REPAIR,
        "iOfficeAI/OfficeCLI#255",
    ),
    _rule(
        "opc-not-well-formed",
        "{part}, line {line}: not well-formed XML: {problem}",
        "Escape &, < and >, leave out control characters, and write the part to its end.",
        _REPAIR,
        "Mintplex-Labs/anything-llm#5760",
    ),
    _rule(
        "opc-dtd",
        "{part} has a document type declaration",
        "Leave it out.",
        "It is forbidden, because entities can read files and fill memory.",
        "M1.14 (DTD declarations)",
    ),
    _rule(
        "opc-ignorable-undeclared",
        "{part}: mc:Ignorable names the prefix {name}, which is not declared",
        "Declare the namespace on the root element.",
        _REPAIR,
        "ISO/IEC 29500-3, 7.2; developer0hye/office2pdf#1641, plutext/docx4j#573",
    ),
    _rule(
        "opc-must-understand",
        "{part}: mc:MustUnderstand names {name}, which no application knows",
        "Remove it.",
        "The application must refuse what it does not understand.",
        "ISO/IEC 29500-3, 7.4",
    ),
    _rule(
        "opc-macro-part",
        "the package holds macros ({part}), which a {suffix} file must not",
        "Save it as the macro-enabled kind, or leave the macros out.",
        "The application refuses it.",
        "jmcnamara/excel-writer-xlsx#94",
    ),
    _rule(
        "opc-part-too-large",
        "{part} is not fully checked: {problem}",
        "Nothing, if this is meant.",
        "What was not read was not judged.",
        "a limit of verify-ext",
        Severity.WARNING,
    ),
)
