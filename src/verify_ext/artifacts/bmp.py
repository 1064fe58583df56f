"""BMP: as many bytes as rows and columns need."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from verify_ext.artifacts.model import ArtifactFile, Depth, Examined, Expected, Format
from verify_ext.artifacts.raster import examine_raster


def recognises(file: ArtifactFile) -> bool:
    return file.head.startswith(b"BM") and len(file.head) > 26


def _walk(data: bytes) -> Iterator[tuple[str, dict[str, str]]]:
    if len(data) < 34:
        yield "image-damaged", {"where": "", "problem": "the file ends in its header"}
        return
    offset, _, width, height, _, bits, compression = struct.unpack("<IIiiHHI", data[10:34])
    rows = abs(height) * ((abs(width) * bits + 31) // 32 * 4)
    if compression == 0 and rows > 0 and len(data) < offset + rows:
        problem = f"it has {len(data)} of {offset + rows} bytes"
        yield "image-damaged", {"where": "", "problem": problem}


def examine(file: ArtifactFile, depth: Depth, expected: Expected) -> Examined:
    return examine_raster(file, depth, expected, "bmp", _walk)


FORMAT = Format(name="bmp", suffixes=(".bmp",), recognises=recognises, examine=examine)
