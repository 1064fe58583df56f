"""The trusted side of the worker's messages (worker/protocol.py describes them).

What comes from a worker is a stranger's word: sizes are bounded, JSON is parsed and never
trusted to have a shape, and whatever does not fit is a WireError.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

GREETING = b"verify-ext-worker 1\n"
MESSAGE_LIMIT_BYTES = 64 * 1024 * 1024
_HEADER_LIMIT = 20


class WireError(Exception):
    """What came is not what the protocol allows."""


class Wire:
    """A socket that carries messages."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = bytearray()

    def expect_greeting(self) -> None:
        """Raises WireError when the worker is not one, or speaks another version."""
        while len(self._buffer) < len(GREETING):
            if not self._fill():
                break
        if bytes(self._buffer[: len(GREETING)]) != GREETING:
            raise WireError("the worker did not greet")
        del self._buffer[: len(GREETING)]

    def send(self, message: dict[str, Any], descriptors: tuple[int, ...] = ()) -> None:
        payload = json.dumps(message, ensure_ascii=True).encode("ascii")
        data = b"%d\n" % len(payload) + payload
        sent = socket.send_fds(self._connection, [data], descriptors) if descriptors else 0
        self._connection.sendall(data[sent:])

    def receive(self) -> dict[str, Any] | None:
        """Return the next message, None at the end. Raises WireError and TimeoutError."""
        while b"\n" not in self._buffer:
            if len(self._buffer) > _HEADER_LIMIT:
                raise WireError("a header that is too long")
            if not self._fill():
                return None
        header, _, rest = bytes(self._buffer).partition(b"\n")
        if len(header) > _HEADER_LIMIT or not header.isdigit():
            raise WireError("a header that is not a number")
        size = int(header)
        if size > MESSAGE_LIMIT_BYTES:
            raise WireError(f"a message of {size} bytes")
        self._buffer = bytearray(rest)
        while len(self._buffer) < size:
            if not self._fill():
                raise WireError("the stream ended inside a message")
        payload = bytes(self._buffer[:size])
        del self._buffer[:size]
        return _object(payload)

    def _fill(self) -> bool:
        data = self._connection.recv(1 << 16)
        self._buffer += data
        return bool(data)


def split_messages(data: str) -> Iterator[dict[str, Any]]:
    """Yield the whole messages in what a job wrote; raise WireError at the first that is none."""
    rest = data.encode("utf-8")
    while rest:
        header, newline, rest = rest.partition(b"\n")
        if not newline or len(header) > _HEADER_LIMIT or not header.isdigit() or int(header) > len(rest):
            raise WireError("a message that is not whole")
        size = int(header)
        yield _object(rest[:size])
        rest = rest[size:]


def _object(payload: bytes) -> dict[str, Any]:
    try:
        message = json.loads(payload)
    except (ValueError, RecursionError):
        raise WireError("a message that is not JSON") from None
    if not isinstance(message, dict):
        raise WireError("a message that is not an object")
    return message
