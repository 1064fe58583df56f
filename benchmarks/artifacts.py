"""What examining files costs: `python benchmarks/artifacts.py`.

In one run: the processor time of an examination to the structural depth against opening the same file
with the usual library alone, both in a process of their own, as a job or a command pays for it, and
both warm, many times in one process; the memory that a presentation of 200 MB takes; how long bombs
take.
"""

from __future__ import annotations

import io
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests import office
from tests.mutations import artifacts as mutations
from verify_ext.artifacts import examine
from verify_ext.artifacts.apart import Request, examine_apart
from verify_ext.artifacts.model import Depth

ROUNDS = 15
MEMORY_LIMIT = 300 << 20


def cpu_ms(work: Callable[[], Any]) -> float:
    """Return the median processor time of some work, in milliseconds."""
    work()
    taken = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        taken.append((time.process_time() - began) * 1000)
    return statistics.median(taken)


def decks() -> dict[str, tuple[bytes, Callable[[bytes], Any]]]:
    """Return files by name, each with what opens it by the library alone."""
    import docx
    import openpyxl
    import pptx
    import pypdf
    from PIL import Image

    def wide(sheet: Any) -> None:
        for number in range(10, 1_500):
            sheet.append([f"row {number}", number, number / 3])

    def load(data: bytes) -> None:
        Image.open(io.BytesIO(data)).load()

    return {
        "pptx": (office.pptx(), lambda data: pptx.Presentation(io.BytesIO(data))),
        "docx": (office.docx(), lambda data: docx.Document(io.BytesIO(data))),
        "xlsx": (office.xlsx(), lambda data: openpyxl.load_workbook(io.BytesIO(data))),
        "xlsx, 1,500 rows": (office.xlsx(wide), lambda data: openpyxl.load_workbook(io.BytesIO(data))),
        "pdf": (mutations._pdf(), lambda data: len(pypdf.PdfReader(io.BytesIO(data)).pages)),
        "png, 1 megapixel": (office.picture((1000, 1000)), load),
    }


OURS = (
    "from pathlib import Path; from verify_ext.artifacts import examine;"
    " from verify_ext.artifacts.model import Depth; examine(Path({path!r}), 'file', depth=Depth.STRUCTURE)"
)
THEIRS = {
    "pptx": "import pptx; pptx.Presentation({path!r})",
    "docx": "import docx; docx.Document({path!r})",
    "xlsx": "import openpyxl; openpyxl.load_workbook({path!r})",
    "pdf": "import pypdf; len(pypdf.PdfReader({path!r}).pages)",
    "png": "from PIL import Image; Image.open({path!r}).load()",
}


def cold_ms(code: str) -> float:
    """Return the median processor time of a process that runs some code once, in milliseconds."""
    taken = []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        taken.append(used * 1000)
    return statistics.median(taken)


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder, failed = Path(name), False
        for title, (data, opens) in decks().items():
            path = folder / f"file.{title.partition(',')[0]}"
            path.write_bytes(data)
            ours = cpu_ms(lambda path=path: examine(path, path.name, depth=Depth.STRUCTURE))  # type: ignore[misc]
            theirs = cpu_ms(lambda path=path, opens=opens: opens(path.read_bytes()))  # type: ignore[misc]
            cold = cold_ms(OURS.format(path=str(path)))
            cold_theirs = cold_ms(THEIRS[path.suffix[1:]].format(path=str(path)))
            print(
                f"{title:18} {cold:6.0f} ms, the library alone {cold_theirs:6.0f} ms: {cold / cold_theirs:.2f};"
                f" warm {ours:6.2f} and {theirs:6.2f} ms: {ours / theirs:.2f}"
            )
        failed |= not _large(folder)
        _bombs(folder)
    return int(failed)


def _large(folder: Path) -> bool:
    """Examine a presentation of 200 MB within the memory limit."""
    path = folder / "large.pptx"
    with zipfile.ZipFile(io.BytesIO(office.pptx())) as small, zipfile.ZipFile(path, "w") as large:
        for info in small.infolist():
            content = small.read(info)
            if info.filename.endswith(".png"):
                content += random.Random(1).randbytes(200 << 20)
            large.writestr(info.filename, content, zipfile.ZIP_STORED)
    request = Request(path=path, shown=path.name)
    began = time.perf_counter()
    (found,) = examine_apart([request], deadline_s=120, memory_bytes=MEMORY_LIMIT)
    taken = time.perf_counter() - began
    fine = found.facts.get("slides") == 2
    print(
        f"{path.stat().st_size >> 20} MB of pptx in {MEMORY_LIMIT >> 20} MB of address space: {fine}, {taken:.1f} s"
    )
    return fine


def _bombs(folder: Path) -> None:
    made = (
        mutations.zip_bomb,
        mutations.zip_that_claims_a_million_entries,
        mutations.json_too_deep,
    )
    files = [mutation() for mutation in made]
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for number in range(200_000):
            archive.writestr(str(number), b"")
    files.append(("many.zip", stream.getvalue()))
    for name, data in files:
        path = folder / name
        path.write_bytes(data)
        began = time.perf_counter()
        (found,) = examine_apart(
            [Request(path=path, shown=name)], deadline_s=60, memory_bytes=MEMORY_LIMIT * 2
        )
        rules = ", ".join(finding.id for finding in found.findings)
        print(f"{name:12} {len(data) >> 10:8} KiB {time.perf_counter() - began:6.2f} s  {rules}")
        os.unlink(path)


if __name__ == "__main__":
    sys.exit(main())
