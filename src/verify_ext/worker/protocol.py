"""Messages between the trusted process and the worker, version 1.

A stream opens with the line `GREETING`. Each message is a header of at most 20 bytes (the
payload's length in decimal, then a newline) and exactly that many bytes of JSON, an object.
"""

from __future__ import annotations

import json
import socket
from typing import Any

GREETING = b"verify-ext-worker 1\n"
MESSAGE_LIMIT_BYTES = 16 * 1024 * 1024
_HEADER_LIMIT = 20


class ProtocolError(Exception):
    """The other side sent something that is not a message."""


def pack(message: dict[str, Any]) -> bytes:
    """Return the bytes of one message."""
    payload = json.dumps(message, ensure_ascii=True, allow_nan=False).encode("ascii")
    return b"%d\n" % len(payload) + payload


class Stream:
    """A socket that carries messages, and descriptors beside them."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._buffer = bytearray()
        self._descriptors: list[int] = []

    def greet(self) -> None:
        self.connection.sendall(GREETING)

    def send(self, message: dict[str, Any]) -> None:
        self.connection.sendall(pack(message))

    def receive(self) -> tuple[dict[str, Any], list[int]] | None:
        """Return the next message and the descriptors that came with it; None at the end."""
        header = self._take_until_newline()
        if header is None:
            return None
        size = int(header)
        if size > MESSAGE_LIMIT_BYTES:
            raise ProtocolError(f"a message of {size} bytes")
        while len(self._buffer) < size:
            if not self._fill():
                raise ProtocolError("the stream ended inside a message")
        payload = bytes(self._buffer[:size])
        del self._buffer[:size]
        descriptors, self._descriptors = self._descriptors, []
        message = json.loads(payload)
        if not isinstance(message, dict):
            raise ProtocolError("a message that is not an object")
        return message, descriptors

    def _take_until_newline(self) -> bytes | None:
        while b"\n" not in self._buffer:
            if len(self._buffer) > _HEADER_LIMIT:
                raise ProtocolError("a header that is too long")
            if not self._fill():
                return None
        header, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        if not header.isdigit():
            raise ProtocolError("a header that is not a number")
        return header

    def _fill(self) -> bool:
        data, descriptors, _, _ = socket.recv_fds(self.connection, 65536, 4)
        self._descriptors += descriptors
        self._buffer += data
        return bool(data)
