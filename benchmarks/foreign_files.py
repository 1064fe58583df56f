"""Examines files that others made: `python benchmarks/foreign_files.py [--convert] FOLDER …`.

Every file whose suffix is a format that is known is examined, each content once. With --convert the
LibreOffice of this machine also makes files of what it can read: documents to DOCX and PDF, tables to
XLSX, presentations to PPTX, PDF and PNG. Says how many were examined, by format, and what was found.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from verify_ext.artifacts import all_formats
from verify_ext.artifacts.apart import Request, examine_apart

CONVERSIONS = {
    ".txt": ("docx", "pdf"),
    ".html": ("docx", "pdf"),
    ".docx": ("docx", "pdf"),
    ".csv": ("xlsx",),
    ".xlsx": ("xlsx", "pdf"),
    ".odt": ("docx", "pdf"),
    ".ods": ("xlsx",),
    ".otp": ("pptx", "pdf"),
    ".odp": ("pptx", "pdf"),
    ".pptx": ("pptx", "pdf", "png"),
    ".svg": ("png", "pdf"),
}
CONVERTED_LIMIT = 25
"""How many files of one suffix are converted: it takes a second or two for each."""
SIZE_LIMIT_BYTES = 50 << 20
MEMORY_LIMIT_BYTES = 1 << 30


def files_below(folders: Sequence[Path], suffixes: set[str]) -> Iterator[Path]:
    """Yield the files with one of some suffixes, each content once."""
    seen = set()
    for folder in folders:
        for root, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                path = Path(root, name)
                if path.suffix.lower() not in suffixes or path.is_symlink() or not path.is_file():
                    continue
                if not 0 < path.stat().st_size <= SIZE_LIMIT_BYTES:
                    continue
                digest = hashlib.sha256(path.read_bytes()).digest()
                if digest not in seen:
                    seen.add(digest)
                    yield path


def convert(files: Sequence[Path], folder: Path) -> None:
    """Have LibreOffice make files of others, below a folder; what it cannot read it leaves out."""
    for source, targets in CONVERSIONS.items():
        chosen = [path for path in files if path.suffix.lower() == source][:CONVERTED_LIMIT]
        for target in targets if chosen else ():
            below = folder / f"{source[1:]}-to-{target}"
            command = ["soffice", "--headless", f"-env:UserInstallation=file://{folder}/profile"]
            command += ["--convert-to", target, "--outdir", str(below), *map(str, chosen)]
            subprocess.run(command, check=False, capture_output=True, timeout=600)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--convert", action="store_true")
    options = parser.parse_args()
    known = {suffix for each in all_formats() for suffix in each.suffixes}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.convert:
            convert(list(files_below(options.folders, set(CONVERSIONS))), folder)
        _report(list(files_below([*options.folders, folder], known)))
    return 0


def _report(files: Sequence[Path]) -> None:
    counts, found = Counter(path.suffix.lower() for path in files), 0
    requests = [Request(path=path, shown=path.name) for path in files]
    answers = examine_apart(requests, deadline_s=120, memory_bytes=MEMORY_LIMIT_BYTES)
    for path, examined in zip(files, answers, strict=True):
        found += bool(examined.findings)
        for finding in examined.findings[:3]:
            print(f"{finding.severity} {finding.id}: {path}: {finding.message[:120]}")
    shown = ", ".join(f"{count} {suffix}" for suffix, count in counts.most_common())
    print(f"{len(files)} files examined ({shown}); {found} with findings")


if __name__ == "__main__":
    sys.exit(main())
