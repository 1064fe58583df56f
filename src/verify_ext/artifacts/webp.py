"""WebP: the length in the header and the file agree, every frame is decoded."""

from __future__ import annotations

from collections.abc import Iterator

from verify_ext.artifacts.model import ArtifactFile, Depth, Examined, Expected, Format
from verify_ext.artifacts.raster import examine_raster


def recognises(file: ArtifactFile) -> bool:
    return file.head[:4] == b"RIFF" and file.head[8:12] == b"WEBP"


def _walk(data: bytes) -> Iterator[tuple[str, dict[str, str]]]:
    size = int.from_bytes(data[4:8], "little") + 8
    if len(data) < size - 1:
        problem = f"it has {len(data)} of {size} bytes"
        yield "image-damaged", {"where": "", "problem": problem}


def examine(file: ArtifactFile, depth: Depth, expected: Expected) -> Examined:
    return examine_raster(file, depth, expected, "webp", _walk)


FORMAT = Format(name="webp", suffixes=(".webp",), recognises=recognises, examine=examine)
