"""PNG: chunks, checksums and the length of the image data, which decoders do not all look at."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from verify_ext.artifacts.model import ArtifactFile, Depth, Examined, Expected, Format
from verify_ext.artifacts.raster import PIXELS_LIMIT, examine_raster

_MAGIC = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_ADAM7 = ((8, 8, 0, 0), (8, 8, 4, 0), (4, 8, 0, 4), (4, 4, 2, 0), (2, 4, 0, 2), (2, 2, 1, 0), (1, 2, 0, 1))


def recognises(file: ArtifactFile) -> bool:
    return file.head.startswith(_MAGIC)


def _walk(data: bytes) -> Iterator[tuple[str, dict[str, str]]]:
    """Walk the chunks (PNG specification, 5.3) and measure the image data (7, 10)."""
    position, header, pieces, ended = len(_MAGIC), b"", [], False
    while position + 8 <= len(data) and not ended:
        length, kind = struct.unpack(">I4s", data[position : position + 8])
        body = data[position + 8 : position + 8 + length]
        checksum = data[position + 8 + length : position + 12 + length]
        name = kind.decode("latin-1")
        if len(body) < length or len(checksum) < 4:
            yield "image-damaged", {"where": f" at chunk {name!r}", "problem": "the file ends inside it"}
            return
        if zlib.crc32(kind + body) != int.from_bytes(checksum, "big"):
            yield "image-damaged", {"where": f" at chunk {name!r}", "problem": "its checksum is wrong"}
            return
        if kind == b"IHDR":
            header = body
        elif kind == b"IDAT":
            pieces.append(body)
        ended = kind == b"IEND"
        position += 12 + length
    if len(header) != 13:
        yield "image-damaged", {"where": "", "problem": "it has no header"}
        return
    width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", header)
    if width * height > PIXELS_LIMIT:
        yield "image-too-large", {"width": str(width), "height": str(height)}
        return
    needed = _needed(width, height, depth * _CHANNELS.get(colour, 1), interlace)
    try:
        got = _inflated(pieces, needed)
    except zlib.error as error:
        yield "image-damaged", {"where": " in its data", "problem": str(error)}
        return
    if got < needed:
        problem = f"it has {got} of {needed} bytes"
        yield "image-damaged", {"where": " in its data", "problem": problem}
    elif not ended:
        yield "image-end-missing", {}
    elif what := trailing(data[position:]):
        yield "image-trailing", {"what": what}


def _needed(width: int, height: int, bits: int, interlace: int) -> int:
    """Return how many bytes the image data must have: rows, each with a filter byte."""
    if not interlace:
        return height * (1 + (width * bits + 7) // 8)
    total = 0
    for across, down, left, top in _ADAM7:
        columns, rows = max(0, -(-(width - left) // across)), max(0, -(-(height - top) // down))
        if columns:
            total += rows * (1 + (columns * bits + 7) // 8)
    return total


def _inflated(pieces: list[bytes], needed: int) -> int:
    decoder, total = zlib.decompressobj(), 0
    for piece in pieces:
        left = piece
        while left and total <= needed:
            total += len(decoder.decompress(left, 1 << 20))
            left = decoder.unconsumed_tail
    return total + len(decoder.flush()) if total < needed else total


def trailing(rest: bytes) -> str | None:
    """Return what follows an image, None if it is nothing but padding."""
    rest = rest.strip(b"\0\r\n\t ")
    if not rest:
        return None
    if rest.startswith(b"PK\x03\x04"):
        return "a ZIP archive"
    return "a script" if b"<script" in rest[:4096].lower() else f"{len(rest)} bytes"


def examine(file: ArtifactFile, depth: Depth, expected: Expected) -> Examined:
    return examine_raster(file, depth, expected, "png", _walk)


FORMAT = Format(name="png", suffixes=(".png",), recognises=recognises, examine=examine)
