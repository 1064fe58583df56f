"""Files that are not what they claim, made of good ones: each function returns a name and bytes.

The lines of the docstring up to the first empty one are all findings expected, `code/rule`.
"""

import io
import struct
import zipfile
import zlib

from PIL import Image

from tests.office import docx, edited, packed, picture, pptx, rewritten, xlsx

File = tuple[str, bytes]
SLIDE, TABLE_SLIDE = "ppt/slides/slide1.xml", "ppt/slides/slide2.xml"
SHEET = "xl/worksheets/sheet1.xml"


# --- the file ----------------------------------------------------------------------------------


def nobody_knows_the_format() -> File:
    """artifact_format_invalid/format-unknown"""
    return "notes.xyz", b"These are notes."


def text_in_an_office_name() -> File:
    """artifact_format_invalid/other-format"""
    return "review.pptx", b"# Review\n\n- Up 12 percent\n"


# --- containers --------------------------------------------------------------------------------


def zip_of_nothing() -> File:
    """artifact_placeholder_output/zip-empty"""
    return "files.zip", packed({})


def zip_bomb() -> File:
    """artifact_format_invalid/zip-bomb"""
    return "files.zip", packed({"zeros": bytes(40 << 20)})


def zip_with_many_entries() -> File:
    """artifact_format_invalid/zip-not-fully-checked"""
    return "files.zip", packed({f"{number}.txt": b"" for number in range(10_001)}, zipfile.ZIP_STORED)


def zip_that_claims_a_million_entries() -> File:
    """artifact_format_invalid/zip-too-many-entries"""
    data = packed({"a.txt": b"a"})
    record = struct.pack("<4sQHHLLQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 1_000_000, 1_000_000, 46, 0)
    at = data.index(b"PK\x05\x06")
    return "files.zip", data[:at] + record + data[at:]


def zip_with_a_password() -> File:
    """artifact_format_invalid/zip-encrypted"""
    data = bytearray(packed({"a.txt": b"secret text"}, zipfile.ZIP_STORED))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return "files.zip", bytes(data)


def zip_without_the_promised_descriptor() -> File:
    """artifact_format_invalid/zip-descriptor-missing"""
    data = bytearray(packed({"a.txt": b"text"}, zipfile.ZIP_STORED))
    data[6] |= 8
    data[14:26] = bytes(12)
    data[data.index(b"PK\x01\x02") + 8] |= 8
    return "files.zip", bytes(data)


def zip_entry_with_a_wrong_checksum() -> File:
    """artifact_format_invalid/zip-entry-damaged"""
    data = packed({"a.txt": b"text that is long enough"}, zipfile.ZIP_STORED)
    return "files.zip", data.replace(b"long enough", b"long enaugh")


def zip_name_that_windows_reserves() -> File:
    """artifact_format_invalid/zip-name-odd"""
    return "files.zip", packed({"con.txt": b"text"})


def package_compressed_by_lzma() -> File:
    """artifact_format_invalid/opc-method"""
    data = rewritten(docx(), lambda entries: None, zipfile.ZIP_LZMA)
    return "review.docx", data


def package_without_its_document() -> File:
    """artifact_format_invalid/opc-no-main-part
    artifact_format_invalid/opc-override-without-part
    """
    return "review.docx", rewritten(docx(), lambda entries: entries.pop("word/document.xml"))


def document_of_many_megabytes() -> File:
    """artifact_format_invalid/opc-part-too-large"""
    text = "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(3_000_000))
    paragraphs = f"</w:t></w:r></w:p><w:p><w:r><w:t>{text}" * 3
    return "review.docx", edited(docx(), "word/document.xml", "The quarter went", paragraphs)


# --- presentations -----------------------------------------------------------------------------


def unknown_shape() -> File:
    """artifact_format_invalid/pptx-shape-unknown"""
    return "review.pptx", edited(pptx(), TABLE_SLIDE, 'prst="ellipse"', 'prst="oval"')


def text_without_a_paragraph() -> File:
    """artifact_format_invalid/pptx-text-without-paragraph"""
    return "review.pptx", edited(
        pptx(), TABLE_SLIDE, '<a:p><a:pPr algn="ctr"/></a:p></p:txBody>', "</p:txBody>"
    )


def row_with_a_cell_too_few() -> File:
    """artifact_format_invalid/pptx-table-row"""
    return "review.pptx", edited(pptx(), TABLE_SLIDE, "<a:gridCol ", '<a:gridCol w="1828800"/><a:gridCol ')


def same_shape_id_twice() -> File:
    """artifact_format_invalid/pptx-shape-id-twice"""
    return "review.pptx", edited(pptx(), SLIDE, '<p:cNvPr id="3"', '<p:cNvPr id="2"')


def slides_before_masters() -> File:
    """artifact_format_invalid/pptx-order"""

    def change(entries: dict[str, bytes]) -> None:
        text = entries["ppt/presentation.xml"].decode()
        start, end = text.index("<p:sldIdLst>"), text.index("</p:sldIdLst>") + len("</p:sldIdLst>")
        slides = text[start:end]
        text = (text[:start] + text[end:]).replace("<p:sldMasterIdLst>", slides + "<p:sldMasterIdLst>")
        entries["ppt/presentation.xml"] = text.encode()

    return "review.pptx", rewritten(pptx(), change)


def notes_without_a_master() -> File:
    """artifact_format_invalid/pptx-notes-without-master"""
    part = "ppt/notesSlides/_rels/notesSlide1.xml.rels"
    return "review.pptx", edited(pptx(), part, "relationships/notesMaster", "relationships/other")


def presentation_without_slides() -> File:
    """artifact_placeholder_output/pptx-no-slides"""
    from pptx import Presentation

    stream = io.BytesIO()
    Presentation().save(stream)
    return "review.pptx", stream.getvalue()


def slide_that_shows_nothing() -> File:
    """artifact_placeholder_output/pptx-nothing-shown"""
    from pptx import Presentation

    deck, stream = Presentation(), io.BytesIO()
    deck.slides.add_slide(deck.slide_layouts[6])
    deck.save(stream)
    return "review.pptx", stream.getvalue()


# --- documents ---------------------------------------------------------------------------------


def document_without_a_body() -> File:
    """artifact_format_invalid/docx-no-body"""

    def change(entries: dict[str, bytes]) -> None:
        text = entries["word/document.xml"].decode()
        entries["word/document.xml"] = (text[: text.index("<w:body>")] + "</w:document>").encode()

    return "review.docx", rewritten(docx(), change)


def page_of_a_fraction() -> File:
    """artifact_format_invalid/docx-number"""
    return "review.docx", edited(docx(), "word/document.xml", 'w:w="12240"', 'w:w="12240.5"')


def document_that_shows_nothing() -> File:
    """artifact_placeholder_output/docx-nothing-shown"""
    from docx import Document

    stream = io.BytesIO()
    Document().save(stream)
    return "review.docx", stream.getvalue()


def document_that_is_a_todo() -> File:
    """artifact_placeholder_output/todo"""
    from docx import Document

    document, stream = Document(), io.BytesIO()
    document.add_paragraph("TODO: write the review")
    document.save(stream)
    return "review.docx", stream.getvalue()


def document_that_is_chatter() -> File:
    """artifact_placeholder_output/chatter"""
    from docx import Document

    document, stream = Document(), io.BytesIO()
    document.add_paragraph("I'm sorry, I cannot create Word documents, but I can describe one.")
    document.save(stream)
    return "review.docx", stream.getvalue()


_REAL = (
    "The quarter went well, for the services grew fastest of all and the costs stayed where they were. " * 3
)


def lorem_in_a_real_text() -> File:
    """artifact_placeholder_output/lorem-mentioned"""
    return "review.docx", docx(_REAL + "Lorem ipsum dolor sit amet.")


def prompt_in_a_real_text() -> File:
    """artifact_placeholder_output/prompt-left"""
    return "review.docx", docx(_REAL + "[Insert chart here]")


def markdown_in_a_real_text() -> File:
    """artifact_placeholder_output/markdown-left"""
    return "review.docx", docx(_REAL + "It was **very good** indeed.")


def boxes_in_a_real_text() -> File:
    """artifact_placeholder_output/glyphs-missing"""
    return "review.docx", docx(_REAL + "\u25a0\u25a0\u25a0\u25a0\u25a0")


# --- workbooks ---------------------------------------------------------------------------------


def text_that_is_too_long_for_a_cell() -> File:
    """artifact_format_invalid/xlsx-cell-text-long"""
    return "review.xlsx", edited(xlsx(), SHEET, "Both years", "years " * 6_000)


def defined_name_with_a_space() -> File:
    """artifact_format_invalid/xlsx-defined-name"""
    names = '</sheets><definedNames><definedName name="my name">Revenue!$A$1</definedName></definedNames>'

    def change(entries: dict[str, bytes]) -> None:
        text = (
            entries["xl/workbook.xml"].decode().replace("<definedNames/>", "").replace("<definedNames />", "")
        )
        entries["xl/workbook.xml"] = text.replace("</sheets>", names).encode()

    return "review.xlsx", rewritten(xlsx(), change)


def two_sheets_of_one_name() -> File:
    """artifact_format_invalid/xlsx-sheet-name-twice"""

    def change(sheet: object) -> None:
        sheet.parent.create_sheet("Costs")["A1"] = 1  # type: ignore[attr-defined]

    return "review.xlsx", edited(xlsx(change), "xl/workbook.xml", 'name="Costs"', 'name="REVENUE"')


def format_that_is_not_there() -> File:
    """artifact_format_invalid/xlsx-format-range"""
    return "review.xlsx", edited(xlsx(), SHEET, '<c r="B2"', '<c r="B2" s="77"')


def number_that_is_none() -> File:
    """artifact_format_invalid/xlsx-not-a-number"""
    return "review.xlsx", edited(xlsx(), SHEET, "<v>12.5</v>", "<v>NaN</v>")


def table_of_another_width() -> File:
    """artifact_format_invalid/xlsx-table-range"""
    return "review.xlsx", edited(xlsx(), "xl/tables/table1.xml", 'ref="A1:B3"', 'ref="A1:C3"')


def table_with_another_header() -> File:
    """artifact_format_invalid/xlsx-table-header"""
    return "review.xlsx", edited(xlsx(), SHEET, "Quarter", "Season")


def error_in_a_cell() -> File:
    """artifact_placeholder_output/xlsx-error-value"""
    return "review.xlsx", edited(xlsx(), SHEET, 't="n"><v>12.5</v>', 't="e"><v>#REF!</v>')


def formula_without_a_value() -> File:
    """artifact_placeholder_output/xlsx-formula-uncached"""
    return "review.xlsx", xlsx(lambda sheet: sheet.__setitem__("B5", "=SUM(B2:B3)"))


def workbook_of_nothing() -> File:
    """artifact_placeholder_output/xlsx-nothing-shown"""
    from openpyxl import Workbook

    stream = io.BytesIO()
    Workbook().save(stream)
    return "review.xlsx", stream.getvalue()


# --- PDF ---------------------------------------------------------------------------------------


def _pdf(kids: str = "[3 0 R]", pages: int = 1, objects: str = "") -> bytes:
    stream = "BT /F1 12 Tf 50 50 Td (Revenue went up) Tj ET"
    parts = [
        "1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj",
        f"2 0 obj <</Type/Pages/Kids {kids}/Count {pages}/MediaBox[0 0 200 200]>> endobj",
        "3 0 obj <</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>> endobj",
        f"4 0 obj <</Length {len(stream)}>> stream\n{stream}\nendstream endobj",
        "5 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj",
        *([objects] if objects else []),
    ]
    data, offsets = "%PDF-1.4\n", []
    for part in parts:
        offsets.append(len(data))
        data += part + "\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(parts) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer <</Size {size}/Root 1 0 R>>\n"
    return (data + end + f"startxref\n{len(data)}\n%%EOF\n").encode()


def pdf_without_pages() -> File:
    """artifact_placeholder_output/pdf-no-pages"""
    return "review.pdf", _pdf("[]", 0)


def pdf_with_one_page_twice() -> File:
    """artifact_format_invalid/pdf-page-twice"""
    return "review.pdf", _pdf("[3 0 R 3 0 R]", 2)


def pdf_with_a_password() -> File:
    """artifact_format_invalid/pdf-encrypted"""
    from pypdf import PdfReader, PdfWriter

    writer, stream = PdfWriter(), io.BytesIO()
    writer.append(PdfReader(io.BytesIO(_pdf())))
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(stream)
    return "review.pdf", stream.getvalue()


def pdf_of_too_many_pages() -> File:
    """artifact_format_invalid/pdf-not-fully-checked"""
    from pypdf import PdfReader, PdfWriter

    writer, stream = PdfWriter(), io.BytesIO()
    page = PdfReader(io.BytesIO(_pdf())).pages[0]
    for _ in range(2_001):
        writer.add_page(page)
    writer.write(stream)
    return "review.pdf", stream.getvalue()


# --- images ------------------------------------------------------------------------------------


def image_of_one_pixel() -> File:
    """artifact_placeholder_output/image-pixel"""
    return "picture.png", picture((1, 1))


def image_of_many_pixels() -> File:
    """artifact_format_invalid/image-not-fully-checked"""
    rows = zlib.compress(bytes(10_000 * (1 + 10_000 // 8)))
    header = struct.pack(">IIBBBBB", 10_000, 10_000, 1, 0, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", rows), (b"IEND", b"")]
    data = b"\x89PNG\r\n\x1a\n"
    for kind, body in chunks:
        data += struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return "picture.png", data


def zip_behind_an_image() -> File:
    """artifact_format_invalid/image-trailing"""
    return "picture.png", picture() + packed({"a.txt": b"text"})


def bmp_that_ends_early() -> File:
    """artifact_format_invalid/image-damaged"""
    stream = io.BytesIO()
    Image.open(io.BytesIO(picture())).save(stream, "BMP")
    return "picture.bmp", stream.getvalue()[:-200]


# --- texts -------------------------------------------------------------------------------------


def svg_that_draws_nothing() -> File:
    """artifact_placeholder_output/svg-nothing-drawn"""
    return "picture.svg", b'<svg xmlns="http://www.w3.org/2000/svg"><g/></svg>'


def svg_that_loads_a_picture() -> File:
    """artifact_format_invalid/svg-external"""
    body = b'<image href="https://example.org/x.png" width="9" height="9"/>'
    return "picture.svg", b'<svg xmlns="http://www.w3.org/2000/svg">' + body + b"</svg>"


def svg_of_many_megabytes() -> File:
    """artifact_format_invalid/svg-not-fully-checked"""
    return "picture.svg", b'<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/>' + b" " * (
        65 << 20
    ) + b"</svg>"


def json_with_a_byte_order_mark() -> File:
    """artifact_format_invalid/json-bom"""
    return "data.json", b'\xef\xbb\xbf{"a": 1}'


def json_too_deep() -> File:
    """artifact_format_invalid/json-too-deep"""
    return "data.json", b"[" * 100_000 + b"]" * 100_000


def json_of_many_megabytes() -> File:
    """artifact_format_invalid/json-not-fully-checked"""
    return "data.json", b'{"a": 1}' + b" " * (65 << 20)


def csv_in_latin_1() -> File:
    """artifact_format_invalid/csv-encoding"""
    return "data.csv", "name,ort\nJürgen,Köln\n".encode("latin-1")


def csv_with_a_formula() -> File:
    """artifact_format_invalid/csv-formula"""
    return "data.csv", b"name,sum\nx,=HYPERLINK(1)\n"


def csv_of_a_header() -> File:
    """artifact_placeholder_output/csv-header-only"""
    return "data.csv", b"name,sum\n"


def csv_of_many_rows() -> File:
    """artifact_format_invalid/csv-not-fully-checked"""
    return "data.csv", b"a,b\n" + b"1,2\n" * 200_001
