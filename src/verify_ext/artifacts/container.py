"""ZIP archives read safely: what the archive as such gets wrong, and its entries in bounded pieces.

Declared sizes are a stranger's word: what counts is what was really read. The rules are the same for
a ZIP file and for the Office formats in one; what only a name's reader cares about is the caller's.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from verify_ext.artifacts.codes import ARTIFACT_FORMAT_INVALID
from verify_ext.artifacts.model import ArtifactFile
from verify_ext.codes import Rule, Rules
from verify_ext.model import Finding, Severity

ENTRIES_LIMIT = 10_000
TOTAL_LIMIT_BYTES = 512 * 1024 * 1024
RATIO_LIMIT, RATIO_FROM_BYTES = 500, 16 * 1024 * 1024
"""Office files of real text reach 276:1 in one part; bombs begin at a thousand."""
_BLOCK = 1 << 16
_END = b"PK\x05\x06"
_SOURCE = "docs/design.md, section 9; APPNOTE.TXT 6.3 (ZIP)"


def _rule(rule: str, message: str, remedy: str, why: str, severity: Severity = Severity.ERROR) -> Rule:
    return Rule(
        code=ARTIFACT_FORMAT_INVALID,
        rule=rule,
        layer=None,
        severity=severity,
        message=message,
        remedy=remedy,
        why=why,
        source=_SOURCE,
    )


RULES = Rules(
    _rule(
        "zip-damaged",
        "the archive cannot be read: {problem}",
        "Close the archive before it is handed on; do not pass its bytes through text.",
        "No program opens it.",
    ),
    _rule(
        "zip-entry-damaged",
        "{entry} cannot be read: {problem}",
        "Write the archive again.",
        "What the entry holds is lost, and most programs refuse the whole file.",
    ),
    _rule(
        "zip-bomb",
        "{entry} unpacks to more than {actual} times its size",
        "Do not compress what is nothing but repetition into one entry.",
        "It fills the memory or the disk of whoever opens it.",
    ),
    _rule(
        "zip-entries-overlap",
        "{entry} and {other} share bytes of the archive",
        "Write the archive with an ordinary library.",
        "Only archives that are made to deceive look like this.",
    ),
    _rule(
        "zip-encrypted",
        "{entry} needs a password",
        "Write the archive without one.",
        "Its user cannot open it.",
    ),
    _rule(
        "zip-descriptor-missing",
        "{entry} promises a data descriptor, and there is none",
        "Write the sizes into the entry's header, or the descriptor behind its data.",
        "Readers that stream the archive fail there.",
    ),
    _rule(
        "zip-too-many-entries",
        "the archive says that it has {actual} entries",
        "Put fewer files into it.",
        "Reading only their list takes more time and memory than a reader has.",
    ),
    _rule(
        "zip-not-fully-checked",
        "the archive is larger than what is checked: {problem}",
        "Nothing, if this is meant.",
        "What was not read was not judged.",
        Severity.WARNING,
    ),
)


@dataclass(frozen=True)
class Entry:
    """One entry of the central directory."""

    name: str
    size: int
    compressed: int
    method: int
    flags: int
    mode: int
    offset: int
    info: zipfile.ZipInfo


class ArchiveError(Exception):
    """An archive that cannot be read at all; `finding` says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


class Archive:
    """An open archive. A context manager; raises ArchiveError where it is none."""

    def __init__(self, file: ArtifactFile) -> None:
        self.file = file
        self.findings: list[Finding] = []
        self._read = 0
        count = _declared_entries(file)
        if count > ENTRIES_LIMIT * 10:
            self._refuse("zip-too-many-entries", actual=str(count))
        try:
            self._zip = zipfile.ZipFile(file.path)
        except (
            zipfile.BadZipFile,
            OSError,
            ValueError,
            NotImplementedError,
            struct.error,
            RuntimeError,
        ) as error:
            self._refuse("zip-damaged", problem=str(error))
        self.entries = tuple(_entry(info) for info in self._zip.infolist() if not info.is_dir())
        self.folders = tuple(info.filename for info in self._zip.infolist() if info.is_dir())
        if len(self.entries) > ENTRIES_LIMIT:
            self.say("zip-not-fully-checked", problem=f"{len(self.entries)} entries")
            self.entries = self.entries[:ENTRIES_LIMIT]

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def _refuse(self, rule: str, **words: Any) -> None:
        raise ArchiveError(RULES.finding(f"artifact_format_invalid/{rule}", self.file, **words)) from None

    def say(self, rule: str, **words: Any) -> None:
        """Note a finding of this module."""
        self.findings.append(RULES.finding(f"artifact_format_invalid/{rule}", self.file, **words))

    def check_layout(self) -> None:
        """Find encrypted entries, entries that share bytes, and descriptors that are not there."""
        for entry in self.entries:
            if entry.flags & 1:
                self.say("zip-encrypted", entry=entry.name)
                return
        ordered = sorted(self.entries, key=lambda entry: entry.offset)
        for entry, following in pairwise(ordered):
            if entry.offset + 30 + entry.compressed > following.offset:
                self.say("zip-entries-overlap", entry=entry.name, other=following.name)
                return
        for entry in self.entries:
            if entry.flags & 8 and not self._has_descriptor(entry):
                self.say("zip-descriptor-missing", entry=entry.name)
                return

    def _has_descriptor(self, entry: Entry) -> bool:
        """Return whether the sizes are in the local header, or behind the data as promised."""
        with self.file.open() as stream:
            stream.seek(entry.offset)
            header = stream.read(30)
            if len(header) < 30:
                return False
            crc, size = struct.unpack("<LL", header[14:22])
            name, extra = struct.unpack("<HH", header[26:30])
            if size == entry.compressed and crc == entry.info.CRC:
                return True
            stream.seek(entry.offset + 30 + name + extra + entry.compressed)
            behind = stream.read(8)
        return behind[:4] == b"PK\x07\x08" or behind[:4] == struct.pack("<L", entry.info.CRC)

    def blocks(self, entry: Entry) -> Iterator[bytes]:
        """Yield an entry's bytes; stops at a bomb, damage or the total limit, which is then said."""
        total = 0
        try:
            with self._zip.open(entry.info) as stream:
                while block := stream.read(_BLOCK):
                    total += len(block)
                    self._read += len(block)
                    if total > RATIO_FROM_BYTES and total > RATIO_LIMIT * max(entry.compressed, 1):
                        self.say("zip-bomb", entry=entry.name, actual=str(RATIO_LIMIT))
                        return
                    if self._read > TOTAL_LIMIT_BYTES:
                        problem = f"more than {TOTAL_LIMIT_BYTES >> 20} MiB unpacked"
                        self.say("zip-not-fully-checked", problem=problem)
                        return
                    yield block
        except (
            zipfile.BadZipFile,
            OSError,
            EOFError,
            ValueError,
            NotImplementedError,
            RuntimeError,
        ) as error:
            self.say("zip-entry-damaged", entry=entry.name, problem=str(error) or type(error).__name__)
        except Exception as error:  # noqa: BLE001 - zlib and lzma have errors of their own
            self.say("zip-entry-damaged", entry=entry.name, problem=f"{type(error).__name__}: {error}")

    @property
    def is_exhausted(self) -> bool:
        """Whether so much was read that nothing more is."""
        return self._read > TOTAL_LIMIT_BYTES

    def read(self, entry: Entry, limit: int) -> bytes | None:
        """Return an entry's bytes; None if they are damaged, a bomb, or more than `limit`."""
        said, data = len(self.findings), bytearray()
        for block in self.blocks(entry):
            data += block
            if len(data) > limit:
                return None
        return None if len(self.findings) > said else bytes(data)

    def drain(self, entry: Entry) -> None:
        """Read an entry to its end only to see that it is whole."""
        for _ in self.blocks(entry):
            pass


def _entry(info: zipfile.ZipInfo) -> Entry:
    return Entry(
        name=info.orig_filename,
        size=info.file_size,
        compressed=info.compress_size,
        method=info.compress_type,
        flags=info.flag_bits,
        mode=info.external_attr >> 16,
        offset=info.header_offset,
        info=info,
    )


def _declared_entries(file: ArtifactFile) -> int:
    """Return how many entries the archive's end says there are, before anybody believes it."""
    with file.open() as stream:
        start = max(0, file.size - 66_000)
        stream.seek(start)
        tail = stream.read(66_100)
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + 22:
        return 0
    count, size = struct.unpack("<HL", tail[at + 10 : at + 16])
    zip64 = tail.rfind(b"PK\x06\x06", 0, at)
    if zip64 >= 0 and len(tail) >= zip64 + 40:
        count = struct.unpack("<Q", tail[zip64 + 32 : zip64 + 40])[0]
    return int(max(count, size // 46 if size < 0xFFFFFFFF else 0) if count == 0xFFFF else count)
