"""TIFF: every page decoded."""

from __future__ import annotations

from verify_ext.artifacts.model import ArtifactFile, Depth, Examined, Expected, Format
from verify_ext.artifacts.raster import examine_raster


def recognises(file: ArtifactFile) -> bool:
    return file.head.startswith((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"))


def examine(file: ArtifactFile, depth: Depth, expected: Expected) -> Examined:
    return examine_raster(file, depth, expected, "tiff")


FORMAT = Format(name="tiff", suffixes=(".tif", ".tiff"), recognises=recognises, examine=examine)
