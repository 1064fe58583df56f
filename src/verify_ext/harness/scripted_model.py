"""A model that follows a script: an OpenAI-compatible endpoint on loopback, in the trusted process.

It answers what the script says for the step that a request belongs to, and keeps what reached it:
the prompt, the offered tools, the messages. Whoever asks is a process that runs extension code, so
sizes are bounded and nothing is believed but that these bytes arrived.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from verify_ext.sample_arguments import sample_arguments

STEP_HEADER = "x-verify-ext-step"
"""Which step of the script a request belongs to, as the job says."""
REQUEST_LIMIT_BYTES = 8 * 1024 * 1024
REQUESTS_OF_STEP = 40
"""An agent that asks more often in one step goes in circles; then the endpoint refuses to answer."""
_REQUESTS_KEPT, _BYTES_KEPT = 400, 64 * 1024 * 1024
_TIMEOUT_S = 60.0
FINAL_ANSWER = "done"


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One answer of the model: tools to call (name and arguments, all at once), else a text.

    Like a real model it calls nothing that it was not offered. Arguments that are None are made from
    the schema that the tool was offered with; files that they name lie in `output`.
    """

    calls: tuple[tuple[str, Mapping[str, Any] | None], ...] = ()
    output: str = ""
    text: str = FINAL_ANSWER


Script = Mapping[str, tuple[Turn, ...]]
"""Step to its turns, in order; after the last one, and in a step that is not named, the answer is final."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What reached the model in one request. All of it is a stranger's text."""

    system: str
    """The texts of all system messages."""
    messages: tuple[dict[str, Any], ...]
    """The others, oldest first, each with at least a `role`."""
    tools: tuple[dict[str, Any], ...]
    """The functions that were offered: `name`, `description`, `parameters`."""

    @property
    def offered(self) -> frozenset[str]:
        """The names of the offered tools."""
        return frozenset(str(tool.get("name")) for tool in self.tools)

    def texts(self, role: str) -> list[str]:
        """Return the texts of the messages of a role."""
        return [_text(message) for message in self.messages if message.get("role") == role]


Transcript = Mapping[str, tuple[Request, ...]]
"""Step to the requests that reached the model in it, in order."""


class ScriptedModel:
    """The endpoint. A context manager; threads may share it, each with conversations of its own."""

    def __init__(self) -> None:
        self._conversations: dict[str, Conversation] = {}

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.conversations = self._conversations
        self._thread = threading.Thread(target=self._server.serve_forever, name="scripted-model", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @contextlib.contextmanager
    def conversation(self, script: Script) -> Iterator[Conversation]:
        """Answer by this script at a URL of its own, that nobody else can guess."""
        token = secrets.token_hex(16)
        conversation = Conversation(url=f"http://127.0.0.1:{self.port}/{token}/v1", script=script)
        self._conversations[token] = conversation
        try:
            yield conversation
        finally:
            del self._conversations[token]


@dataclass
class Conversation:
    """The requests of one job. Its `transcript` grows until the job has ended."""

    url: str
    script: Script
    _requests: dict[str, list[Request]] = field(default_factory=dict)
    _asked: dict[str, int] = field(default_factory=dict)
    _turns: dict[str, int] = field(default_factory=dict)
    _kept: int = 0
    _bytes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def transcript(self) -> Transcript:
        with self._lock:
            return {step: tuple(requests) for step, requests in self._requests.items()}

    def answer(self, step: str, body: dict[str, Any], size: int) -> Turn | None:
        """Keep what was asked and return what the script says; None if it was asked too often.

        The image probe is not counted.
        """
        if _is_image_probe(body):
            return Turn(text="red")
        request = _request(body)
        with self._lock:
            kept = len(self._requests.get(step, ())) < REQUESTS_OF_STEP
            if kept and self._kept < _REQUESTS_KEPT and self._bytes + size <= _BYTES_KEPT:
                self._kept += 1
                self._bytes += size
                self._requests.setdefault(step, []).append(request)
            turns = self.script.get(step, ())
            asked = self._asked[step] = self._asked.get(step, 0) + 1
            number = self._turns.get(step, 0)
            if asked > REQUESTS_OF_STEP:
                return None
            if number >= len(turns) or not request.tools:
                return Turn()
            self._turns[step] = number + 1
            return _played(turns[number], request)


def _played(turn: Turn, request: Request) -> Turn:
    """Return what a script's turn comes to with the tools that were offered."""
    schemas = {str(tool.get("name")): tool.get("parameters") for tool in request.tools}
    calls = [
        (name, sample_arguments(schemas[name], turn.output) if arguments is None else arguments)
        for name, arguments in turn.calls
        if name in schemas
    ]
    return replace(turn, calls=tuple(calls))


def _is_image_probe(body: dict[str, Any]) -> bool:
    """Return whether this asks what an image shows: the harness does so once, with no tools offered."""
    messages = body.get("messages")
    if body.get("tools") or not isinstance(messages, list) or len(messages) != 1:
        return False
    content = messages[0].get("content") if isinstance(messages[0], dict) else None
    return isinstance(content, list) and any(
        isinstance(part, dict) and part.get("type") == "image_url" for part in content
    )


def _request(body: dict[str, Any]) -> Request:
    messages = [message for message in _list(body.get("messages")) if isinstance(message, dict)]
    functions = [tool.get("function") for tool in _list(body.get("tools")) if isinstance(tool, dict)]
    return Request(
        system="\n".join(_text(message) for message in messages if message.get("role") == "system"),
        messages=tuple(message for message in messages if message.get("role") != "system"),
        tools=tuple(function for function in functions if isinstance(function, dict)),
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    conversations: dict[str, Conversation]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A job that is ended in the middle of a request is nothing to print."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _TIMEOUT_S
    server: _Server

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: what was asked is kept in the transcript."""

    def do_POST(self) -> None:
        self.close_connection = True
        _, token, *rest = self.path.split("/")
        conversation = self.server.conversations.get(token)
        length = self.headers.get("content-length", "")
        if conversation is None or rest != ["v1", "chat", "completions"]:
            return self.send_error(404)
        if not length.isdigit() or int(length) > REQUEST_LIMIT_BYTES:
            return self.send_error(413)
        try:
            body = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            return self.send_error(400)
        if not isinstance(body, dict):
            return self.send_error(400)
        turn = conversation.answer(self.headers.get(STEP_HEADER, ""), body, int(length))
        if turn is None:
            return self.send_error(400, "asked too often in one step")
        message = _message(turn)
        if body.get("stream") is True:
            self._send("text/event-stream", _streamed(message))
        else:
            self._send("application/json", json.dumps(_completion(message)).encode())

    def _send(self, content_type: str, payload: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(payload)))
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(payload)


def _message(turn: Turn) -> dict[str, Any]:
    if not turn.calls:
        return {"role": "assistant", "content": turn.text}
    calls = [
        {
            "id": f"call_{secrets.token_hex(6)}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)},
        }
        for name, arguments in turn.calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


_ENVELOPE = {"id": "scripted", "created": 0, "model": "scripted"}
_USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def _completion(message: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "message": message, "finish_reason": _reason(message)}
    return {**_ENVELOPE, "object": "chat.completion", "choices": [choice], "usage": _USAGE}


def _streamed(message: dict[str, Any]) -> bytes:
    """Return the answer as server-sent events: its content, why it ended, what it took."""
    delta = dict(message)
    if "tool_calls" in delta:
        delta["tool_calls"] = [{"index": index, **call} for index, call in enumerate(delta["tool_calls"])]
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": _reason(message)}]},
        {"choices": [], "usage": _USAGE},
    ]
    shown = [json.dumps({**_ENVELOPE, "object": "chat.completion.chunk", **chunk}) for chunk in chunks]
    return "".join(f"data: {line}\n\n" for line in (*shown, "[DONE]")).encode()


def _reason(message: dict[str, Any]) -> str:
    return "tool_calls" if "tool_calls" in message else "stop"
