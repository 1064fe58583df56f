"""JPEG: decoded to the last row; the end marker may be missing, for viewers show it all the same."""

from __future__ import annotations

from collections.abc import Iterator

from verify_ext.artifacts.model import ArtifactFile, Depth, Examined, Expected, Format
from verify_ext.artifacts.png import trailing
from verify_ext.artifacts.raster import examine_raster

_END = b"\xff\xd9"


def recognises(file: ArtifactFile) -> bool:
    return file.head.startswith(b"\xff\xd8\xff")


def _walk(data: bytes) -> Iterator[tuple[str, dict[str, str]]]:
    end = data.rfind(_END)
    if end < 0:
        yield "image-end-missing", {}
    elif what := trailing(data[end + 2 :]):
        yield "image-trailing", {"what": what}


def examine(file: ArtifactFile, depth: Depth, expected: Expected) -> Examined:
    return examine_raster(file, depth, expected, "jpeg", _walk, _END)


FORMAT = Format(name="jpeg", suffixes=(".jpg", ".jpeg"), recognises=recognises, examine=examine)
