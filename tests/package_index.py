"""A package index of our own on this machine, and wheels to put in it.

It speaks the simple repository API (PEP 503), so that the real installer can be led into every
trouble that an index can make, in milliseconds and without any network.
"""

from __future__ import annotations

import base64
import hashlib
import http.server
import os
import subprocess
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from verify_ext.harness.trouble import EnvironmentTrouble

HARNESS_FILES = {
    "openjiuwen/__init__.py": "",
    "openjiuwen/core/__init__.py": "",
    "openjiuwen/core/runner/__init__.py": "",
    "openjiuwen/core/runner/runner.py": "",
    "openjiuwen/harness/__init__.py": "",
    "openjiuwen/harness/deep_agent.py": "",
}
"""What is started once when an environment is built."""


def wheel(
    name: str,
    version: str,
    *,
    requires: tuple[str, ...] = (),
    tag: str = "py3",
    files: Mapping[str, str] | None = None,
    wrong_record: bool = False,
) -> dict[str, bytes]:
    """Return a wheel as `{file name: bytes}`, for the Pythons of `tag`.

    With `wrong_record` it records other hashes than its files have.
    """
    files = {f"{name}.py": f"version = {version!r}\n"} if files is None else dict(files)
    info = f"{name}-{version}.dist-info"
    metadata = [f"Name: {name}", f"Version: {version}"]
    metadata += [f"Requires-Dist: {line}" for line in requires]
    files[f"{info}/METADATA"] = "Metadata-Version: 2.1\n" + "\n".join(metadata) + "\n"
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}-none-any\n"
    )
    record = [
        f"{path},{_hash(text + ('#' if wrong_record else ''))},{len(text)}" for path, text in files.items()
    ]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,"]) + "\n"
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return {f"{name}-{version}-{tag}-none-any.whl": packed.getvalue()}


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).decode().rstrip("=")


def harness(version: str, *requires: str, wrong_record: bool = False) -> dict[str, bytes]:
    """Return a wheel that looks like the harness to whoever installs it."""
    return wheel("openjiuwen", version, requires=requires, files=HARNESS_FILES, wrong_record=wrong_record)


class PackageIndex:
    """Serves `files` while it is open. `status` is what every question is answered with.

    While `gate` is not set, a file can be had once, for its metadata; the second download, to
    install it, waits and sets `downloading`. `asked` holds the paths that were asked for.
    """

    def __init__(self, *files: dict[str, bytes], status: int = 200) -> None:
        self.files = {name: data for part in files for name, data in part.items()}
        self.status = status
        self.memory = "no-store"
        """The Cache-Control of every answer: by default an installer must ask each time."""
        self.asked: list[str] = []
        self.gate = threading.Event()
        self.gate.set()
        self.downloading = threading.Event()
        index = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.send_error(405)  # as an index without range requests

            def do_GET(self) -> None:
                index.asked.append(self.path)
                status, body, kind = index.answer(self.path)
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", kind)
                    self.send_header("Cache-Control", index.memory)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True  # the installer was killed meanwhile, as tests do

            def log_message(self, format: str, *arguments: object) -> None:
                """Say nothing: `asked` has it."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/simple"

    def use(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        """Let the installer know this index and no other, with a download cache of its own."""
        for name in [name for name in os.environ if name.startswith("UV_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("UV_DEFAULT_INDEX", self.url)
        monkeypatch.setenv("UV_CACHE_DIR", str(folder / "uv-cache"))
        monkeypatch.setenv("UV_HTTP_RETRIES", "0")

    def answer(self, path: str) -> tuple[int, bytes, str]:
        name = path.rstrip("/").rpartition("/")[2]
        if name in self.files:
            if self.asked.count(path) > 1:
                self.downloading.set()
                self.gate.wait(60)
            return 200, self.files[name], "application/octet-stream"
        found = sorted(file for file in self.files if file.split("-")[0].replace("_", "-").lower() == name)
        if self.status != 200 or not found:
            return (404 if self.status == 200 else self.status), b"no", "text/html"
        links = [f'<a href="/files/{file}#sha256={self.sha256(file)}">{file}</a>' for file in found]
        return 200, f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode(), "text/html"

    def sha256(self, file: str) -> str:
        return hashlib.sha256(self.files[file]).hexdigest()

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.gate.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def tiny_disk(folder: Path) -> Iterator[Path]:
    """Mount a disk with room for 512 KiB; skip the test where that is not allowed."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no right to mount a small disk: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def expect(rule: str) -> Iterator[pytest.ExceptionInfo[EnvironmentTrouble]]:
    """Expect EnvironmentTrouble with a finding of exactly this rule."""
    with pytest.raises(EnvironmentTrouble) as caught:
        yield caught
    assert caught.value.finding.id == rule, caught.value.finding
