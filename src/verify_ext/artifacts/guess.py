"""What a file is that is not what it should be: for people, by its first bytes."""

from __future__ import annotations

import re

from verify_ext.artifacts.model import ArtifactFile

_MAGIC = (
    (b"%PDF-", "a PDF"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"BM", "a BMP image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\x1f\x8b", "a gzip stream"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file or one with a password (OLE)"),
    (b"SQLite format 3\0", "a SQLite database"),
    (b"\x7fELF", "a program"),
    (b"{\\rtf", "rich text (RTF)"),
    (b"%!PS", "PostScript"),
)
_TEXTS = (
    (re.compile(r"```"), "text with a Markdown fence"),
    (re.compile(r"<!doctype html|<html|<head|<body|<div|<p>", re.I), "HTML"),
    (re.compile(r"<svg|<\?xml[^>]*>\s*(?:<!--.*?-->\s*)*<svg", re.I | re.S), "SVG"),
    (re.compile(r"<\?xml"), "XML"),
    (re.compile(r"data:[a-z]+/[a-z0-9.+-]+[;,]", re.I), "a data URL"),
    (re.compile(r"https?://\S+\s*$", re.I), "a URL"),
    (re.compile(r"#{1,6} |[-*] |\|.*\|\s*$", re.M), "Markdown"),
    (re.compile(r"[\[{]"), "JSON or a list"),
)
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]{64,}={0,2}\s*")
_MANGLED_SHARE = 0.05
"""Share of replacement characters from which on a binary was surely written as text."""


def is_mangled(data: bytes) -> bool:
    """Return whether bytes were decoded as UTF-8 and encoded again: what was no text is lost."""
    return len(data) > 20 and data.count(b"\xef\xbf\xbd") * 3 > _MANGLED_SHARE * len(data)


def text_of(head: bytes) -> str | None:
    """Return the first bytes of a file as text, None if they are none."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head[: len(head) & ~1].decode("utf-16", "replace").lstrip("\ufeff")
    if b"\0" in head:
        return None
    text = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    return text if text.count("\ufffd") <= len(text) / 20 else None


def describe(file: ArtifactFile) -> str:
    """Return in words what a file is."""
    head = file.head
    if is_mangled(head):
        return "a binary file that was written as text"
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return what
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "a WebP image"
    text = text_of(head)
    if text is None:
        return "binary data"
    text = text.lstrip()
    if _BASE64.fullmatch(text.rstrip()):
        return "base64 text"
    return next((what for pattern, what in _TEXTS if pattern.match(text)), "plain text")
