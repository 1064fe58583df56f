"""Rules of SpreadsheetML (ECMA-376 Part 1, clause 18), and limits of Excel."""

from __future__ import annotations

from verify_ext.artifacts.codes import ARTIFACT_FORMAT_INVALID, ARTIFACT_PLACEHOLDER_OUTPUT
from verify_ext.codes import Code, Rule, Rules
from verify_ext.model import Severity


def _rule(
    rule: str,
    message: str,
    remedy: str,
    source: str,
    severity: Severity = Severity.ERROR,
    code: Code = ARTIFACT_FORMAT_INVALID,
    why: str = "Excel finds a problem with the content and asks to repair it.",
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
        "xlsx-sheet-name",
        "xl/workbook.xml: {name} is no name of a sheet",
        "Use 1 to 31 characters, none of []:*?/\\ and no quote at either end.",
        "Excel specifications and limits; dhatim/fastexcel#4",
    ),
    _rule(
        "xlsx-sheet-name-twice",
        "xl/workbook.xml: there are two sheets {name}",
        "Give each sheet a name of its own; case does not count.",
        "ClosedXML/ClosedXML#378",
    ),
    _rule(
        "xlsx-no-visible-sheet",
        "xl/workbook.xml: every sheet is hidden",
        "Show at least one sheet.",
        "ECMA-376 Part 1, 18.2.19",
    ),
    _rule(
        "xlsx-defined-name",
        "xl/workbook.xml: {name} is no defined name, or is there twice",
        "Begin names with a letter, without spaces, once per scope.",
        "ECMA-376 Part 1, 18.2.5; exceljs/exceljs#664",
    ),
    _rule(
        "xlsx-scope-range",
        "xl/workbook.xml: the name {name} belongs to sheet {value}, which is not there",
        "Count sheets from 0.",
        "ECMA-376 Part 1, 18.2.5 (localSheetId)",
    ),
    _rule(
        "xlsx-styles-missing",
        "xl/styles.xml has no {what}",
        "Write at least one of each.",
        "ECMA-376 Part 1, 18.8.39",
    ),
    _rule(
        "xlsx-style-range",
        "xl/styles.xml: {what}={value}, and there are {count}",
        "Refer to what is there.",
        "ECMA-376 Part 1, 18.8.45",
    ),
    _rule(
        "xlsx-cell-text-long",
        "{cell}: a text of {count} characters, at most 32767 fit into a cell",
        "Shorten it.",
        "Excel specifications and limits; ClosedXML/ClosedXML#2049",
    ),
    _rule(
        "xlsx-table-name-twice",
        "{part}: there are two tables {name}",
        "Give each table a name and id of its own.",
        "exceljs/exceljs#106",
    ),
    _rule(
        "xlsx-table-name",
        "{part}: {name} is no name of a table",
        "Begin with a letter, without spaces.",
        "ECMA-376 Part 1, 18.5.1.2 (displayName)",
    ),
    _rule(
        "xlsx-table-column-twice",
        "{part}: there are two columns {name}",
        "Give each column a name of its own; case does not count.",
        "jmcnamara/XlsxWriter#362",
    ),
    _rule(
        "xlsx-table-range",
        "{part}: {count} columns, the range {ref} is {width} wide",
        "Let range and columns fit.",
        "documonster/documonster#91",
    ),
    _rule(
        "xlsx-table-header",
        "{part}: the column {name} has another text in its header cell ({actual})",
        "Write the column's name into the cell.",
        "exceljs/exceljs#106",
    ),
    _rule(
        "xlsx-calc-chain",
        "xl/calcChain.xml names {cell}, which has no formula",
        "Leave the calculation chain out.",
        "ECMA-376 Part 1, 18.6",
    ),
    _rule(
        "xlsx-order",
        "{part}: {first} stands after {second}",
        "Write the elements in the order of the schema.",
        "ECMA-376 Part 1, 18.3.1.99; tealeg/xlsx#573",
    ),
    _rule(
        "xlsx-cell-order",
        "{part}: {cell} stands after {other}",
        "Write rows and cells in ascending order, each once.",
        "ahmedwalid05/FastExcel#72, openspout/openspout#362",
    ),
    _rule(
        "xlsx-string-range",
        "{part}, {cell}: the shared string {value} is not there ({count} are)",
        "Refer to what is there.",
        "GDKsoftware/OfficeXML4D#10",
    ),
    _rule(
        "xlsx-format-range",
        "{part}, {cell}: the format {value} is not there ({count} are)",
        "Refer to what is there.",
        "ECMA-376 Part 1, 18.3.1.4 (s)",
    ),
    _rule(
        "xlsx-not-a-number",
        "{part}, {cell}: {value} is no number",
        "Leave the cell empty, or write an error value.",
        "jmcnamara/libxlsxwriter#122",
    ),
    _rule(
        "xlsx-formula",
        "{part}, {cell}: {problem}: {value}",
        "Write formulas in English, with commas, without a leading =.",
        "ClosedXML/ClosedXML#70, ropensci/writexl#91, office-kit/xlsx#189",
    ),
    _rule(
        "xlsx-merge-overlap",
        "{part}: the merged ranges {ref} and {other} overlap",
        "Merge each cell once.",
        "abap2xlsx/abap2xlsx#361",
    ),
    _rule(
        "xlsx-validation-long",
        "{part}: a list of {count} characters in a data validation, at most 255 fit",
        "Put the list into cells.",
        "linkml/linkml#1798",
    ),
    _rule(
        "xlsx-error-value",
        "{part}, {cell} shows {value}",
        "Correct the formula.",
        "docs/design.md, section 9",
        Severity.WARNING,
        ARTIFACT_PLACEHOLDER_OUTPUT,
        "The reader sees an error instead of a value.",
    ),
    _rule(
        "xlsx-formula-uncached",
        "{part}, {cell}: the formula has no value",
        "Nothing, if it is opened in Excel; viewers that calculate nothing show an empty cell.",
        "openpyxl writes formulas without values",
        Severity.WARNING,
        ARTIFACT_PLACEHOLDER_OUTPUT,
        "Previews and readers that calculate nothing show nothing.",
    ),
    _rule(
        "xlsx-nothing-shown",
        "no sheet has a cell or a picture",
        "Write cells.",
        "docs/design.md, section 9",
        code=ARTIFACT_PLACEHOLDER_OUTPUT,
        why="There is nothing to read.",
    ),
)
