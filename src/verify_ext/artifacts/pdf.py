"""PDF files: read leniently as viewers do and strictly as the specification asks; streams decoded by us."""

from __future__ import annotations

import io
import logging
import re
import zlib
from collections.abc import Iterator
from typing import Any

from verify_ext.artifacts.codes import ARTIFACT_FORMAT_INVALID, ARTIFACT_PLACEHOLDER_OUTPUT
from verify_ext.artifacts.model import ArtifactFile, Depth, Examined, Expected, Fact, Format
from verify_ext.artifacts.placeholder import judge_text
from verify_ext.codes import Code, Rule, Rules
from verify_ext.model import Finding, Severity

HEADER_WITHIN = 1024
SIZE_LIMIT_BYTES = 256 * 1024 * 1024
PAGES_LIMIT = 2_000
_STREAM_LIMIT_BYTES = 64 * 1024 * 1024
_TEXT_PAGES, _TEXT_LIMIT = 50, 300_000
_ISO = "ISO 32000-2 (PDF 2.0), "


def _rule(
    rule: str,
    message: str,
    remedy: str,
    source: str,
    severity: Severity = Severity.ERROR,
    code: Code = ARTIFACT_FORMAT_INVALID,
    why: str = "Viewers show an error, or blank pages.",
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
        "pdf-unreadable",
        "the document cannot be read: {problem}",
        "Write it with a PDF library, and close it before it is handed on.",
        _ISO + "7.5",
    ),
    _rule("pdf-encrypted", "the document needs a password", "Write it without one.", _ISO + "7.6"),
    _rule(
        "pdf-page-missing",
        "page {page} is not there: {problem}",
        "Write every page that the page tree names.",
        _ISO + "7.7.3; py-pdf/pypdf#3847",
    ),
    _rule(
        "pdf-content-damaged",
        "page {page}: its content cannot be decoded: {problem}",
        "Write the stream again; do not pass binary data through text.",
        _ISO + "7.4.4",
    ),
    _rule(
        "pdf-page-size",
        "page {page} has no size: {actual}",
        "Give each page a MediaBox with an area.",
        _ISO + "7.7.3.3",
    ),
    _rule(
        "pdf-strict",
        "strict readers refuse it: {problem}",
        "Write it with a library that keeps offsets and counts right.",
        _ISO + "7.5.4",
        Severity.WARNING,
        why="Viewers rebuild what is wrong; other programs may not.",
    ),
    _rule(
        "pdf-rebuilt",
        "its end or its table of objects is damaged, and readers must rebuild it: {problem}",
        "Write the file to its end.",
        _ISO + "7.5.5",
        Severity.WARNING,
        why="Viewers rebuild it; other programs may not.",
    ),
    _rule(
        "pdf-trailing-bytes",
        "{count} bytes follow the end of the document",
        "Write nothing behind %%EOF.",
        _ISO + "7.5.5; readers look for it in the last 1,024 bytes",
        Severity.WARNING,
        why="Readers look for the end in the last bytes.",
    ),
    _rule(
        "pdf-count",
        "the page tree says {expected} pages, there are {actual}",
        "Count the pages.",
        _ISO + "7.7.3.2",
        Severity.WARNING,
        why="Programs that believe the count fail.",
    ),
    _rule(
        "pdf-page-twice",
        "page {page} is the same object as page {other}",
        "Write a page of its own for each.",
        "py-pdf/pypdf#3959",
        Severity.WARNING,
        why="Some programs refuse it.",
    ),
    _rule(
        "pdf-script",
        "the document runs JavaScript",
        "Leave it out.",
        _ISO + "12.6.4.17",
        Severity.WARNING,
        why="Viewers block it, and mail filters hold it back.",
    ),
    _rule(
        "pdf-not-fully-checked",
        "the document is not fully checked: {problem}",
        "Nothing, if this is meant.",
        "a limit of verify-ext",
        Severity.WARNING,
        why="What was not read was not judged.",
    ),
    _rule(
        "pdf-no-pages",
        "the document has no pages",
        "Add pages.",
        'Seed "verify-ext", 文件产物验收',
        code=ARTIFACT_PLACEHOLDER_OUTPUT,
        why="There is nothing to read.",
    ),
    _rule(
        "pdf-blank",
        "no page shows anything",
        "Put text or pictures on the pages.",
        "docs/design.md, section 9",
        code=ARTIFACT_PLACEHOLDER_OUTPUT,
        why="There is nothing to read.",
    ),
)

_PAINTS = re.compile(rb"(?:^|[\s\]\)>])(?:Tj|TJ|'|\"|S|s|f|F|f\*|B|B\*|b|b\*|sh|Do|EI)(?=[\s/\[(<]|$)")


def recognises(file: ArtifactFile) -> bool:
    return file.head[:HEADER_WITHIN].find(b"%PDF-") >= 0


class _Unreadable(Exception):
    """A document that no reader gets anything from; `finding` says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def examine(file: ArtifactFile, depth: Depth, expected: Expected) -> Examined:
    """Examine a document; facts: pages."""
    if depth < Depth.STRUCTURE:
        return Examined(format="pdf")
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    if file.size > SIZE_LIMIT_BYTES:
        problem = f"{file.size >> 20} MiB"
        finding = RULES.finding("artifact_format_invalid/pdf-not-fully-checked", file, problem=problem)
        return Examined(format="pdf", findings=(finding,))
    document = _Document(file)
    try:
        document.read(depth)
    except _Unreadable as error:
        document.found.append(error.finding)
    except RecursionError:
        document.say("pdf-unreadable", problem="its objects refer to each other without end")
    except Exception as error:  # noqa: BLE001 - a parser that a hostile file leads astray
        document.say("pdf-unreadable", problem=f"{type(error).__name__}: {error}"[:200])
    return Examined(format="pdf", facts=document.facts, findings=tuple(document.found))


class _Document:
    def __init__(self, file: ArtifactFile) -> None:
        self._file = file
        with file.open() as stream:
            self._data = stream.read(SIZE_LIMIT_BYTES)
        self.found: list[Finding] = []
        self.facts: dict[str, Fact] = {}

    def say(self, rule: str, code: str = "artifact_format_invalid", **words: Any) -> None:
        self.found.append(RULES.finding(f"{code}/{rule}", self._file, **words))

    def read(self, depth: Depth) -> None:
        reader = self._open()
        pages = list(self._pages(reader))
        self.facts["pages"] = len(pages)
        if not pages:
            if not self.found:
                self.say("pdf-no-pages", "artifact_placeholder_output")
            return
        self._tail()
        shown = False
        for number, page in enumerate(pages[:PAGES_LIMIT], 1):
            shown |= self._page(number, page)
        if len(pages) > PAGES_LIMIT:
            self.say("pdf-not-fully-checked", problem=f"{len(pages)} pages")
            shown = True
        if self._runs_script(reader):
            self.say("pdf-script")
        if depth >= Depth.CONTENT and not any(finding.severity == "error" for finding in self.found):
            self._content(pages, shown)

    def _open(self) -> Any:
        """Open the document as viewers do; where strict readers differ, say so."""
        try:
            reader = self._reader(strict=True)
            len(reader.pages)
        except Exception as error:  # noqa: BLE001 - whatever strict reading stumbles over
            return self._opened_leniently(error)
        reader.strict = False  # for what is read later: content that viewers show
        return reader

    def _reader(self, *, strict: bool) -> Any:
        from pypdf import PdfReader

        reader = PdfReader(io.BytesIO(self._data), strict=strict)
        if reader.is_encrypted and not reader.decrypt(""):
            raise _Unreadable(self._finding("pdf-encrypted"))
        return reader

    def _opened_leniently(self, refusal: Exception) -> Any:
        from pypdf.errors import PdfReadError, PyPdfError

        try:
            reader = self._reader(strict=False)
            root: Any = reader.trailer["/Root"]
            root["/Pages"]
        except _Unreadable:
            raise
        except (PdfReadError, PyPdfError, KeyError, TypeError, ValueError, AttributeError, OSError) as error:
            reader = self._rebuilt(error)
        if self._data.find(b"%PDF-") <= 0 and not self.found:  # junk before the header is usual
            self.say("pdf-strict", problem=str(refusal)[:160] or type(refusal).__name__)
        return reader

    def _finding(self, rule: str, **words: Any) -> Finding:
        return RULES.finding(f"artifact_format_invalid/{rule}", self._file, **words)

    def _rebuilt(self, error: Exception) -> Any:
        """Read a document whose end is lost, as viewers do: by looking for its objects."""
        from pypdf import PdfReader

        problem = str(error)[:160] or type(error).__name__
        root = re.search(rb"(\d+)\s+(\d+)\s+obj\s*<<(?:(?!endobj).)*?/Type\s*/Catalog", self._data, re.S)
        if root is None or self._data.count(b"endobj") < 3:
            raise _Unreadable(self._finding("pdf-unreadable", problem=problem))
        table = [(int(m[1]), m.start()) for m in re.finditer(rb"(?<![0-9])(\d{1,7})\s+0\s+obj\b", self._data)]
        size = max(number for number, _ in table) + 1
        lines = [b"xref", b"0 1", b"0000000000 65535 f "]
        for number, offset in sorted(dict(table).items()):
            lines += [b"%d 1" % number, b"%010d 00000 n " % offset]
        end = b"trailer\n<</Size %d/Root %s 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (
            size,
            root[1],
            len(self._data) + 1,
        )
        data = self._data + b"\n" + b"\n".join(lines) + b"\n" + end
        try:
            reader = PdfReader(io.BytesIO(data), strict=False)
            if not len(reader.pages):
                raise ValueError("no pages")
        except Exception:  # noqa: BLE001 - nobody rebuilds it
            raise _Unreadable(self._finding("pdf-unreadable", problem=problem)) from None
        self.say("pdf-rebuilt", problem=problem)
        self._data = data
        return reader

    def _pages(self, reader: Any) -> Iterator[Any]:
        """Walk the page tree ourselves: readers leave out what is missing, and follow loops."""
        root = reader.trailer["/Root"].get_object()
        top = root.get("/Pages") if hasattr(root, "get") else None
        tree = _resolved(top)
        if not hasattr(tree, "get"):
            raise _Unreadable(self._finding("pdf-unreadable", problem="the catalog has no page tree"))
        count, number = tree.get("/Count"), 0
        seen: dict[int, int] = {}
        waiting = [(top, tree, frozenset[int]())]
        while waiting:
            reference, node, above = waiting.pop()
            identity = getattr(reference, "idnum", id(node))
            if identity in above:
                self.say("pdf-page-missing", page=str(number + 1), problem="the page tree is a loop")
                return
            kids = _resolved(node.get("/Kids")) if hasattr(node, "get") else None
            if kids is None:
                number += 1
                if identity in seen:
                    self.say("pdf-page-twice", page=str(number), other=str(seen[identity]))
                seen[identity] = number
                yield node
                if number > PAGES_LIMIT * 10:
                    return
                continue
            for kid in reversed(list(kids)):
                below = _resolved(kid)
                if not hasattr(below, "get"):
                    self.say(
                        "pdf-page-missing",
                        page=str(number + 1),
                        problem="the page tree names an absent object",
                    )
                    continue
                waiting.append((kid, below, above | {identity}))
        if isinstance(count, int) and count != number:
            self.say("pdf-count", expected=str(int(count)), actual=str(number))

    def _tail(self) -> None:
        end = self._data.rfind(b"%%EOF")
        behind = len(self._data) - end - 5
        if end >= 0 and behind > HEADER_WITHIN:
            self.say("pdf-trailing-bytes", count=str(behind))

    def _page(self, number: int, page: Any) -> bool:
        """Judge one page; return whether it shows anything."""
        box = _inherited(page, "/MediaBox")
        try:
            left, bottom, right, top = (float(_resolved(value)) for value in box)
            if abs(right - left) < 1 or abs(top - bottom) < 1:
                self.say("pdf-page-size", page=str(number), actual=str([left, bottom, right, top]))
        except (TypeError, ValueError):
            self.say("pdf-page-size", page=str(number), actual="no MediaBox")
        content = page.get("/Contents")
        parts = _resolved(content)
        if content is not None and parts is None:
            self.say("pdf-page-missing", page=str(number), problem="its content is an absent object")
            return False
        shown = bool(_resolved(page.get("/Annots")))
        for part in parts if isinstance(parts, list) else [parts]:
            stream = _resolved(part)
            if stream is None:
                continue
            data, problem = _decoded(stream)
            if problem is not None:
                self.say("pdf-content-damaged", page=str(number), problem=problem)
                return True
            shown = shown or bool(_PAINTS.search(data))
        return shown

    def _runs_script(self, reader: Any) -> bool:
        root = reader.trailer["/Root"].get_object()
        action = _resolved(root.get("/OpenAction"))
        names = _resolved(root.get("/Names"))
        by_action = hasattr(action, "get") and action.get("/S") == "/JavaScript"
        return bool(by_action or (hasattr(names, "get") and names.get("/JavaScript") is not None))

    def _content(self, pages: list[Any], shown: bool) -> None:
        if not shown:
            self.say("pdf-blank", "artifact_placeholder_output")
            return
        self.found += judge_text(self._file, list(self._texts()))

    def _texts(self) -> Iterator[tuple[str, str]]:
        """Yield the text of the first pages, as far as it can be extracted."""
        from pypdf import PdfReader

        size = 0
        reader = PdfReader(io.BytesIO(self._data), strict=False)
        if reader.is_encrypted:
            reader.decrypt("")
        for number, page in enumerate(reader.pages[:_TEXT_PAGES], 1):
            try:
                text = page.extract_text() or ""
            except Exception:  # noqa: BLE001 - a font or an operator that the reader does not know
                continue
            size += len(text)
            yield f"page {number}", text
            if size > _TEXT_LIMIT:
                return


def _resolved(value: Any) -> Any:
    """Return what a reference leads to, None for an absent object."""
    try:
        found = value.get_object() if hasattr(value, "get_object") else value
    except Exception:  # noqa: BLE001 - a reference into nothing
        return None
    return None if found is None or type(found).__name__ == "NullObject" else found


def _inherited(page: Any, name: str) -> Any:
    node, steps = page, 0
    while hasattr(node, "get") and steps < 50:
        value = _resolved(node.get(name))
        if value is not None:
            return value
        node, steps = _resolved(node.get("/Parent")), steps + 1
    return None


def _decoded(stream: Any) -> tuple[bytes, str | None]:
    """Decode a content stream; readers hand on what they get, damaged or not."""
    raw = getattr(stream, "_data", b"")
    filters = _resolved(stream.get("/Filter")) if hasattr(stream, "get") else None
    names = (
        [str(name) for name in filters] if isinstance(filters, list) else [str(filters)] if filters else []
    )
    if names in (["/FlateDecode"], ["/Fl"]) and isinstance(raw, bytes):
        decoder = zlib.decompressobj()
        try:
            data = decoder.decompress(raw.lstrip(b"\r\n") if raw[:1] in b"\r\n" else raw, _STREAM_LIMIT_BYTES)
        except zlib.error as error:
            return b"", str(error)
        return data, None
    try:
        data = stream.get_data()
    except Exception as error:  # noqa: BLE001 - a filter that fails
        return b"", f"{type(error).__name__}: {error}"[:120]
    return (data if isinstance(data, bytes) else bytes(str(data), "latin-1", "replace")), None


FORMAT = Format(name="pdf", suffixes=(".pdf",), recognises=recognises, examine=examine)
