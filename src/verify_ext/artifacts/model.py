"""What the parts of this package hand each other: frozen, and plain enough to cross a pipe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import BinaryIO

from verify_ext.model import Finding, Location


class Depth(IntEnum):
    """How far an examination goes (docs/design.md, section 9); each depth includes those before."""

    FORMAT = 1
    """It *is* that format: by its bytes, never by its name."""
    STRUCTURE = 2
    """It is *whole*: structure, references, every part decodes."""
    CONTENT = 3
    """It is *not a placeholder*."""


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What somebody claims of a file or asks for."""

    format: str | None = None
    """The format that was asked for; None: what its suffix says."""
    required_fields: tuple[str, ...] = ()
    """Keys that a JSON artifact must hold; dots lead into objects."""
    min_bytes: int = 1

    @property
    def asked_for(self) -> bool:
        """Whether somebody asked for this format: then a picture of one colour is no picture."""
        return self.format is not None


@dataclass(frozen=True, kw_only=True)
class ArtifactFile:
    """One regular file that is there and not empty. `shown` is how findings name it."""

    path: Path
    shown: str
    size: int
    head: bytes = field(repr=False)
    """Its first `HEAD_BYTES` bytes."""

    @property
    def location(self) -> Location:
        return Location(path=self.shown)

    @property
    def suffix(self) -> str:
        """The name's last suffix in lower case, with its dot."""
        return Path(self.shown).suffix.lower()

    def open(self) -> BinaryIO:
        """Open the file for reading. Raises OSError."""
        return open(self.path, "rb")


HEAD_BYTES = 4096

Fact = str | int | float | bool


@dataclass(frozen=True, kw_only=True)
class Examined:
    """What an examination found out. `facts` are what a report lists: slides, pages, width …"""

    format: str | None
    """What the bytes are; None where no format knows them."""
    facts: dict[str, Fact] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Format:
    """A file format: how its bytes are recognised, and how a file of it is examined.

    `recognises` decides by content alone. `examine` gets a file, the depth to go to and what is
    expected of it; it is called too for a file that only claims to be of the format, and then
    says what it is instead. It raises nothing for what is in the file.
    """

    name: str
    suffixes: tuple[str, ...]
    """In lower case with their dots; the first is the usual one."""
    recognises: Callable[[ArtifactFile], bool]
    examine: Callable[[ArtifactFile, Depth, Expected], Examined]
