"""Notices what an extension tries that the jail refuses.

An audit hook (PEP 578) runs in the extension's own process, so what it says is observed, never
proof: the jail is what holds. It helps a reader to see what was tried, and where.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

_LIMIT = 20
_LOOPBACK = "127.0.0.1"
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty")
_OF_OTHERS = re.compile(r"^/proc/(\d+)/(?:environ|mem|maps|smaps|fd|cwd|root|auxv|task)\b")
_CHANGES = (
    "os.mkdir",
    "os.rmdir",
    "os.remove",
    "os.rename",
    "os.link",
    "os.truncate",
    "os.chmod",
    "os.chown",
    "os.utime",
)


def watch(say: Callable[[dict[str, Any]], None], own: str, ports: Sequence[int]) -> Callable[[], None]:
    """Report attempts from now on, each once, with the line of the extension that made it.

    `own` is the job's folder: what happens in it is the extension's business, as is a connection to
    one of `ports` on loopback. Returns what ends it.
    """
    seen: set[tuple[str, str]] = set()
    busy = silent = False
    prefix = os.path.realpath(own) + os.sep

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal busy
        handler = _HANDLERS.get(event)
        if handler is None or busy or silent or len(seen) >= _LIMIT:
            return
        busy = True  # what the hook itself does raises events too
        try:
            found = None
            with contextlib.suppress(OSError, ValueError):  # a name that leads nowhere, a folder that is gone
                found = handler(arguments, prefix)
            if found is not None and found not in seen and not _is_loopback(event, arguments, ports):
                seen.add(found)
                file, line = _extension_frame(prefix)
                say(
                    {
                        "type": "violation",
                        "kind": found[0],
                        "what": found[1][:300],
                        "file": file,
                        "line": line,
                    }
                )
        finally:
            busy = False

    def fall_silent() -> None:
        nonlocal silent
        silent = True

    sys.addaudithook(hook)
    return fall_silent


def _extension_frame(prefix: str) -> tuple[str | None, int]:
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(prefix):
            return file, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None, 0


def _open(arguments: tuple[Any, ...], prefix: str) -> tuple[str, str] | None:
    path, _, flags = (*arguments, None, None)[:3]
    text = _text(path)
    if text is None:
        return None
    if isinstance(flags, int) and flags & _WRITING:
        return _change((path,), prefix)
    match = _OF_OTHERS.match(text)
    if match and int(match[1]) != os.getpid():
        return "process-inspection", text
    return None


def _change(arguments: tuple[Any, ...], prefix: str) -> tuple[str, str] | None:
    for path in arguments[:2]:
        text = _text(path)
        if text is None or not text:
            continue
        full = os.path.realpath(os.path.dirname(os.path.abspath(text))) + os.sep
        if not full.startswith(prefix) and text not in _DEVICES:
            return "file-write", text
    return None


def _link(arguments: tuple[Any, ...], prefix: str) -> tuple[str, str] | None:
    """A link may name anything: what counts is where it is made."""
    return _change(arguments[1:2], prefix)


def _text(path: Any) -> str | None:
    if isinstance(path, bytes):
        return os.fsdecode(path)
    if isinstance(path, os.PathLike):
        with contextlib.suppress(Exception):  # an __fspath__ of the extension's own
            return str(os.fspath(path))
    return path if isinstance(path, str) else None


def _connect(arguments: tuple[Any, ...], prefix: str) -> tuple[str, str] | None:
    return "network", repr(arguments[1])


def _lookup(arguments: tuple[Any, ...], prefix: str) -> tuple[str, str] | None:
    return "network", f"look-up of {arguments[0]!r}"


def _is_loopback(event: str, arguments: tuple[Any, ...], ports: Sequence[int]) -> bool:
    """Return whether this is how a client reaches one of the ports that were opened for it."""
    if event == "socket.connect":
        return tuple(arguments[1])[:2] in {(_LOOPBACK, port) for port in ports}
    return bool(ports) and event == "socket.getaddrinfo" and arguments[0] in (_LOOPBACK, _LOOPBACK.encode())


def _kill(arguments: tuple[Any, ...], prefix: str) -> tuple[str, str] | None:
    pid = arguments[0]
    with contextlib.suppress(OSError, TypeError):
        if pid > 1 and os.getsid(pid) == os.getsid(0):
            return None
    return "signal", f"signal {arguments[1]} to process {pid}"


_HANDLERS: dict[str, Callable[[tuple[Any, ...], str], tuple[str, str] | None]] = {
    "open": _open,
    **dict.fromkeys(_CHANGES, _change),
    "os.symlink": _link,
    "socket.connect": _connect,
    "socket.sendto": _connect,
    "socket.getaddrinfo": _lookup,
    "socket.gethostbyname": _lookup,
    "os.kill": _kill,
    "os.killpg": _kill,
}
