"""Good Office files made with the libraries, and small edits of what is in them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

from PIL import Image


def picture(size: tuple[int, int] = (40, 30)) -> bytes:
    """Return a PNG image of many colours."""
    image = Image.new("RGB", size)
    image.putdata([(x * 5 % 256, x * 3 % 256, x % 256) for x in range(size[0] * size[1])])
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def pptx() -> bytes:
    """Return a presentation of two slides: text and bullets, a table, a picture, a shape, notes."""
    from pptx import Presentation
    from pptx.enum.shapes import MSO_SHAPE
    from pptx.util import Inches

    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Revenue"
    slide.placeholders[1].text = "Up 12 percent"
    slide.notes_slide.notes_text_frame.text = "Say it slowly."
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    table.cell(0, 0).text = "Quarter"
    slide.shapes.add_picture(io.BytesIO(picture()), Inches(1), Inches(3))
    slide.shapes.add_shape(MSO_SHAPE.OVAL, Inches(5), Inches(3), Inches(1), Inches(1))
    stream = io.BytesIO()
    deck.save(stream)
    return stream.getvalue()


def docx(text: str = "The quarter went well, for the services grew fastest.") -> bytes:
    """Return a document with a heading, text, a table and a picture."""
    from docx import Document

    document = Document()
    document.add_heading("Quarterly review")
    document.add_paragraph(text)
    document.add_table(2, 2).cell(0, 0).text = "Revenue"
    document.add_picture(io.BytesIO(picture()))
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def xlsx(change: Callable[[Any], None] = lambda sheet: None) -> bytes:
    """Return a workbook with one sheet of texts and numbers, merged cells, a table and a validation."""
    from openpyxl import Workbook
    from openpyxl.worksheet.datavalidation import DataValidation
    from openpyxl.worksheet.table import Table

    book = Workbook()
    sheet = book.active
    sheet.title = "Revenue"
    for row in (("Quarter", "Revenue"), ("Q1", 12.5), ("Q2", 14)):
        sheet.append(row)
    sheet["A6"] = "Both years"
    sheet.merge_cells("A6:B6")
    sheet.add_table(Table(displayName="Revenue_table", ref="A1:B3"))
    validation = DataValidation(type="list", formula1='"Q1,Q2"')
    validation.add("D1")
    sheet.add_data_validation(validation)
    change(sheet)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def rewritten(
    data: bytes, change: Callable[[dict[str, bytes]], object], method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    """Return an archive with its entries changed."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    change(entries)
    return packed(entries, method)


def packed(entries: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return an archive of these entries."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return stream.getvalue()


def edited(data: bytes, part: str, old: str, new: str) -> bytes:
    """Return an archive with the first `old` in a part replaced; fails if it would change nothing."""

    def change(entries: dict[str, bytes]) -> None:
        text = entries[part].decode()
        assert old in text, f"{part} does not hold {old!r}: {text[:3000]}"
        entries[part] = text.replace(old, new, 1).encode()

    return rewritten(data, change)
