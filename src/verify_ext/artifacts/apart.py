"""Examines files in a process of its own: whatever they do to a decoder, it ends there.

The process reads requests as JSON lines and writes one answer for each. Its memory, its processor
time and what it may write are limited by the system; a file that ends it costs that file alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from verify_ext.artifacts.codes import ARTIFACT_FORMAT_INVALID
from verify_ext.artifacts.model import Depth, Examined, Expected
from verify_ext.codes import ENVIRONMENT_ERROR, Rule, Rules
from verify_ext.model import Fault, Finding, Layer, Location, Provenance, Severity
from verify_ext.source import file_spot

_ANSWER_LIMIT_BYTES = 16 * 1024 * 1024
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ")

RULES = Rules(
    Rule(
        code=ARTIFACT_FORMAT_INVALID,
        rule="unbounded",
        layer=None,
        message="the file cannot be examined in bounded time and memory: {problem}",
        remedy="Make it smaller or simpler; a file that takes this much to read is a trap for its reader.",
        why="A program that opens it hangs or is ended in the same way.",
        source="docs/design.md, section 9: limits against bombs",
    ),
    Rule(
        code=ENVIRONMENT_ERROR,
        rule="examiner-unavailable",
        layer=None,
        message="the process that examines files could not be started: {problem}",
        remedy="Give the machine more memory or processes.",
        why="The file was not looked at.",
        source="docs/design.md, section 9",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Request:
    """One file to examine."""

    path: Path
    shown: str
    expected: Expected = field(default_factory=Expected)
    depth: Depth = Depth.CONTENT


def examine_apart(requests: Sequence[Request], *, deadline_s: float, memory_bytes: int) -> list[Examined]:
    """Examine files in a limited process; return what was found of each, in order.

    `deadline_s` holds for each file, `memory_bytes` for the process. A file that ends the process
    gets a finding, and the others are examined by another one. Raises nothing for what is in them.
    """
    answers: list[Examined] = []
    while len(answers) < len(requests):
        left = requests[len(answers) :]
        got, problem = _examine_some(left, deadline_s, memory_bytes)
        answers += got
        if len(got) < len(left):
            answers.append(_failed(left[len(got)], problem))
    return answers


def _failed(request: Request, problem: tuple[str, str]) -> Examined:
    rule, words = problem
    return Examined(format=None, findings=(RULES.finding(rule, file_spot(request.shown), problem=words),))


def _examine_some(
    requests: Sequence[Request], deadline_s: float, memory_bytes: int
) -> tuple[list[Examined], tuple[str, str]]:
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    limits = [str(memory_bytes), str(int(deadline_s) + 1)]
    command = [sys.executable, "-I", "-B", "-c", _START, _SOURCES, *limits]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd="/",
            close_fds=True,
            start_new_session=True,
        )
    except OSError as error:
        return [], ("environment_error/examiner-unavailable", error.strerror or str(error))
    with process:
        try:
            return _talk(process, requests, deadline_s)
        finally:
            process.kill()


_SOURCES = str(Path(__file__).resolve().parent.parent.parent)
# By path, so that it is these sources whatever is installed.
_START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from verify_ext.artifacts.apart import main; main()"
)


def _talk(
    process: subprocess.Popen[bytes], requests: Sequence[Request], deadline_s: float
) -> tuple[list[Examined], tuple[str, str]]:
    """Ask for one file after the other until the process fails."""
    assert process.stdin is not None
    assert process.stdout is not None
    answers: list[Examined] = []
    for request in requests:
        asked = {**asdict(request), "path": os.fspath(request.path), "depth": int(request.depth)}
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(asked).encode() + b"\n")
            process.stdin.flush()
        line = _line(process.stdout, deadline_s)
        if line is None:
            return answers, ("artifact_format_invalid/unbounded", f"it took more than {deadline_s:g} s")
        if not line.endswith(b"\n"):
            process.kill()
            return answers, ("artifact_format_invalid/unbounded", _ending(process.wait()))
        answers.append(_examined(json.loads(line)))
    return answers, ("", "")


def _line(stream: IO[bytes], deadline_s: float) -> bytes | None:
    """Return a line, what there is of it at the end, or None when it does not come in time."""
    import select

    until, data = time.monotonic() + deadline_s, b""
    descriptor = stream.fileno()
    while not data.endswith(b"\n") and len(data) < _ANSWER_LIMIT_BYTES:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return None
        part = os.read(descriptor, 1 << 16)
        if not part:
            break
        data += part
    return data


def _ending(status: int) -> str:
    if status < 0:
        return f"its reader was ended by signal {-status}"
    return (
        "its reader ran out of memory" if status == _NO_MEMORY else f"its reader ended with status {status}"
    )


_NO_MEMORY = 71


def _examined(data: dict[str, Any]) -> Examined:
    return Examined(
        format=data["format"],
        facts=data["facts"],
        findings=tuple(_finding(each) for each in data["findings"]),
    )


def _finding(data: dict[str, Any]) -> Finding:
    return Finding(
        **{
            **data,
            "fault": Fault(data["fault"]),
            "severity": Severity(data["severity"]),
            "layer": None if data["layer"] is None else Layer(data["layer"]),
            "location": Location(**data["location"]),
            "provenance": Provenance(data["provenance"]),
        }
    )


# --- the process itself --------------------------------------------------------------------


def main() -> None:
    """Answer requests until there are no more; memory and seconds are the arguments."""
    memory_bytes, seconds = (int(argument) for argument in sys.argv[1:3])
    _limit(memory_bytes)
    answers, sys.stdout = sys.stdout.buffer, open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - to the end
    for line in sys.stdin.buffer:
        _allow(seconds)
        try:
            answer = json.dumps(asdict(_answer(json.loads(line))))
        except MemoryError:
            os._exit(_NO_MEMORY)
        answers.write(answer.encode() + b"\n")
        answers.flush()


def _limit(memory_bytes: int) -> None:
    for name, value in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        _, hard = resource.getrlimit(name)
        resource.setrlimit(
            name, (value, value) if hard == resource.RLIM_INFINITY else (min(value, hard), hard)
        )


def _allow(seconds: int) -> None:
    """Give the next file its processor time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds, hard))


def _answer(asked: dict[str, Any]) -> Examined:
    from verify_ext.artifacts import examine

    expected = asked["expected"]
    return examine(
        Path(asked["path"]),
        asked["shown"],
        depth=Depth(asked["depth"]),
        expected=Expected(**{**expected, "required_fields": tuple(expected["required_fields"])}),
    )
