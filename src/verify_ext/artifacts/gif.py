"""GIF: blocks walked to the trailer, every frame decoded."""

from __future__ import annotations

from collections.abc import Iterator

from verify_ext.artifacts.model import ArtifactFile, Depth, Examined, Expected, Format
from verify_ext.artifacts.png import trailing
from verify_ext.artifacts.raster import examine_raster


def recognises(file: ArtifactFile) -> bool:
    return file.head.startswith((b"GIF87a", b"GIF89a"))


def _walk(data: bytes) -> Iterator[tuple[str, dict[str, str]]]:
    """Walk the blocks (GIF89a specification, 15 to 27)."""
    if len(data) < 13:
        yield "image-damaged", {"where": "", "problem": "the file ends in its header"}
        return
    position = 13 + (3 << (data[10] & 7) + 1 if data[10] & 0x80 else 0)
    frames = 0
    while position < len(data):
        kind = data[position]
        if kind == 0x3B:
            if what := trailing(data[position + 1 :]):
                yield "image-trailing", {"what": what}
            return
        if kind == 0x21:
            position = _skip(data, position + 2)
        elif kind == 0x2C and position + 10 <= len(data):
            flags = data[position + 9]
            table = 3 << (flags & 7) + 1 if flags & 0x80 else 0
            position = _skip(data, position + 11 + table)
            frames += 1
        else:
            break
    if position > len(data) or not frames:
        yield "image-damaged", {"where": "", "problem": "the file ends inside a block"}
    else:
        yield "image-end-missing", {}


def _skip(data: bytes, position: int) -> int:
    """Return where the sub-blocks that begin here end; beyond the data if they do not."""
    while position < len(data):
        size = data[position]
        position += 1 + size
        if not size:
            return position
    return len(data) + 1


def examine(file: ArtifactFile, depth: Depth, expected: Expected) -> Examined:
    return examine_raster(file, depth, expected, "gif", _walk, b";")


FORMAT = Format(name="gif", suffixes=(".gif",), recognises=recognises, examine=examine)
