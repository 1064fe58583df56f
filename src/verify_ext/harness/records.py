"""What is installed in a folder, by the records that installers leave there.

Read from `*.dist-info` alone: no interpreter is started for it.
Source of the format: "Recording installed projects", the specification of `RECORD`.
"""

from __future__ import annotations

import base64
import binascii
import csv
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# What the installer writes about itself: it differs between installers, the package does not.
_INSTALLERS_OWN = frozenset({"INSTALLER", "RECORD", "REQUESTED", "direct_url.json", "uv_cache.json"})


@dataclass(frozen=True, kw_only=True)
class Installed:
    """One installed distribution: its normalised name, its version, its `*.dist-info` folder."""

    name: str
    version: str
    folder: Path

    @property
    def pin(self) -> str:
        return f"{self.name}=={self.version}"

    def requires(self) -> tuple[str, ...]:
        """Return its own requirements, as its metadata writes them."""
        from importlib.metadata import PathDistribution

        return tuple(PathDistribution(self.folder).requires or ())


@dataclass(frozen=True)
class RecordLine:
    """A file that came with a distribution, and the SHA-256 that it must have (hex)."""

    file: Path
    name: str
    sha256: str


def installed(sites: Sequence[Path]) -> tuple[Installed, ...]:
    """Return what is installed in some folders, sorted by name; of one name, the first counts."""
    from packaging.utils import InvalidName, canonicalize_name
    from packaging.version import InvalidVersion, Version

    found: dict[str, Installed] = {}
    for site in sites:
        for folder in sorted(site.glob("*.dist-info")):
            name, _, version = folder.name.removesuffix(".dist-info").partition("-")
            try:
                normal = canonicalize_name(name, validate=True)
                distribution = Installed(name=normal, version=str(Version(version)), folder=folder)
            except (InvalidName, InvalidVersion):
                continue  # what an interrupted uninstall leaves: "~enny-1.0.dist-info"
            found.setdefault(normal, distribution)
    return tuple(found[name] for name in sorted(found))


def record_lines(distribution: Installed) -> Iterator[RecordLine]:
    """Yield the files of a distribution that have a hash: bytecode and scripts may have none."""
    site = distribution.folder.parent
    try:
        with (distribution.folder / "RECORD").open(encoding="utf-8", newline="") as stream:
            rows = list(csv.reader(stream))
    except (OSError, UnicodeDecodeError, csv.Error):
        return  # no RECORD, no lines: what a distribution without one holds is bound by nothing
    for row in rows:
        digest = _hex(row[1]) if len(row) >= 2 else None
        if digest is not None:
            yield RecordLine(site / row[0], row[0], digest)


def _hex(recorded: str) -> str | None:
    algorithm, _, value = recorded.partition("=")
    try:
        raw = base64.urlsafe_b64decode(value + "=" * (-len(value) % 4))
    except (binascii.Error, ValueError):
        return None
    return raw.hex() if algorithm == "sha256" and len(raw) == 32 else None


def changed_files(distributions: Sequence[Installed]) -> tuple[str, ...]:
    """Hash every recorded file; return those that are missing or other than recorded.

    Each as `name of the distribution: path: what it is now`. Reads the whole environment: seconds.
    """
    return tuple(
        f"{distribution.name}: {line.name}: {actual}"
        for distribution in distributions
        for line in record_lines(distribution)
        if (actual := _sha256(line.file)) != line.sha256
    )


def _sha256(file: Path) -> str:
    try:
        # Not through a link to a device, nor a pipe: an installer makes regular files.
        if not file.is_file():
            return "missing"
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        return f"unreadable ({error.strerror})"


def fingerprint(identity: Mapping[str, str], distributions: Sequence[Installed], extra: Sequence[str]) -> str:
    """Return `sha256:…` over an interpreter and what is installed for it.

    Equal for equal wheels on equal interpreters, wherever they lie and whoever installed them:
    scripts (they name their interpreter) and the installer's own notes are left out. `extra` is
    what else counts, such as files that are not as recorded.
    """
    content = {
        "interpreter": dict(identity),
        "distributions": {
            distribution.pin: sorted(
                f"{line.name} {line.sha256}" for line in record_lines(distribution) if _counts(line)
            )
            for distribution in distributions
        },
        "extra": list(extra),
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _counts(line: RecordLine) -> bool:
    folder, name = os.path.split(line.name)
    inside = not line.name.startswith(("../", "/", "bin/"))
    return inside and not (folder.endswith(".dist-info") and name in _INSTALLERS_OWN)


def tree_digest(folder: Path) -> str:
    """Return a digest over the Python files below a folder, for code that no RECORD covers."""
    whole = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        whole.update(f"{file.relative_to(folder).as_posix()} {_sha256(file)}\n".encode())
    return whole.hexdigest()
