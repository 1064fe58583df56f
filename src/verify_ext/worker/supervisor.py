"""One job at a time and everything it starts, watched from outside.

A supervisor is forked from the server and lives for many jobs. It forks each job, reads what
the job prints and reports, holds it to its limits, ends all that the job left behind (it is
their subreaper, so a double fork does not escape), and then says once how it went.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import confinement, jail, process, violations
from .protocol import Stream, pack

RESULT_LIMIT_BYTES = 8 * 1024 * 1024
_CHUNK = 1 << 16
_COUNT_AFTER_S = 0.5
_COUNT_EVERY_S = 0.2

Job = Callable[[Any, dict[str, Any], Callable[[dict[str, Any]], None]], dict[str, Any]]


@dataclass
class Tail:
    """What was printed: all of it counted, its first and last characters kept."""

    keep: int
    total: int = 0
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = self.keep // 2 - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self.tail += data
        if len(self.tail) > self.keep:
            del self.tail[: len(self.tail) - self.keep // 2]

    def text(self) -> str:
        tail = self.tail[-(self.keep // 2) :]
        cut = self.total - len(self.head) - len(tail)
        mark = f"\n[… {cut} bytes cut …]\n".encode() if cut > 0 else b""
        return (bytes(self.head) + mark + bytes(tail)).decode("utf-8", "replace")


@dataclass(frozen=True)
class Bench:
    """What a supervisor runs jobs with: the harness's contract, and the jail they get."""

    contract: object
    find: Callable[[dict[str, Any]], Job]
    parts: frozenset[str]
    uid: int


def supervise(stream: Stream, bench: Bench) -> None:
    """Run one job after the other until the trusted side closes the socket. Never returns."""
    jail.hide()
    process.become_subreaper()
    process.die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    while (received := stream.receive()) is not None:
        message, _ = received
        stream.send(_supervised(message, bench, stream))
    process.kill_all_below()
    os._exit(0)


def _supervised(message: dict[str, Any], bench: Bench, stream: Stream) -> dict[str, Any]:
    """Run one job to its end and return how it went; nothing that it started is left."""
    result_read, result_write = os.pipe()
    output_read, output_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            stream.connection.close()
            os.close(result_read)
            os.close(output_read)
            _run_job(message, bench, result_write, output_write)
        finally:
            os._exit(70)
    os.close(result_write)
    os.close(output_write)
    try:
        outcome = _Watch(pid, result_read, output_read, message["limits"]).until_ended()
    finally:
        os.close(result_read)
        os.close(output_read)
    outcome["left_processes"] = process.kill_all_below()
    return outcome


def _run_job(message: dict[str, Any], bench: Bench, result: int, output: int) -> None:
    run = bench.find(message)
    result = confinement.enter(message, result, output, parts=bench.parts, uid=bench.uid)

    def say(frame: dict[str, Any]) -> None:
        view = memoryview(pack(frame))
        while view:
            view = view[os.write(result, view) :]

    known = set(sys.modules)
    violations.watch(say, message["folder"])
    try:
        observed = run(bench.contract, message["request"], say)
    except BaseException as error:  # not the extension's call but ours around it, disturbed by it
        say({"type": "failed", "problem": f"{type(error).__name__}: {error}"[:2000]})
        os._exit(70)
    with contextlib.suppress(Exception):  # the extension may have put anything in their place
        sys.stdout.flush()
        sys.stderr.flush()
    say({"type": "result", "observed": observed, "imported": sorted(set(sys.modules) - known)})
    # Not sys.exit: what the extension registered to run at exit is not part of the job.
    os._exit(0)


class _Watch:
    """Reads what a job says until it ends or breaks a limit."""

    def __init__(self, pid: int, result: int, output: int, limits: dict[str, Any]) -> None:
        self._pid = pid
        self._pidfd = os.pidfd_open(pid)
        self._limits = limits
        self._result = bytearray()
        self._output = Tail(limits["output_kept"])
        self._readers = {result: self._on_result, output: self._on_output}
        self._broken: str | None = None

    def until_ended(self) -> dict[str, Any]:
        started = time.monotonic()
        self._poll_until_end(started)
        if self._broken == "deadline":
            self._ask_where()
        if self._broken:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
        _, status, usage = os.wait4(self._pid, 0)
        self._drain()
        os.close(self._pidfd)
        return {
            "type": "outcome",
            "broken": self._broken,
            "status": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
            "result": self._result.decode("utf-8", "replace"),
            "output": self._output.text(),
            "output_bytes": self._output.total,
            "wall_s": round(time.monotonic() - started, 4),
            "cpu_s": round(usage.ru_utime + usage.ru_stime, 4),
            "peak_kib": usage.ru_maxrss,
        }

    def _poll_until_end(self, started: float) -> None:
        poll = select.poll()
        for descriptor in (*self._readers, self._pidfd):
            poll.register(descriptor, select.POLLIN)
        count_at = started + _COUNT_AFTER_S
        while self._broken is None:
            now = time.monotonic()
            left = started + self._limits["deadline_s"] - now
            if left <= 0:
                self._broken = "deadline"
                return
            if now >= count_at:
                count_at = now + _COUNT_EVERY_S
                if process.count_below() > self._limits["processes"]:
                    self._broken = "processes"
                    return
            ready = poll.poll(max(1, int(min(left, count_at - now) * 1000)))
            for descriptor, _ in ready:
                if descriptor in self._readers and not self._read(descriptor):
                    poll.unregister(descriptor)
                    del self._readers[descriptor]
            if any(descriptor == self._pidfd for descriptor, _ in ready):
                return

    def _ask_where(self) -> None:
        """Let a hanging job print where it is (confinement.py registers the signal)."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGUSR1)
        time.sleep(0.3)

    def _read(self, descriptor: int) -> bool:
        data = os.read(descriptor, _CHUNK)
        self._readers[descriptor](data)
        return bool(data)

    def _on_result(self, data: bytes) -> None:
        self._result += data
        if len(self._result) > RESULT_LIMIT_BYTES:
            self._broken = "result"

    def _on_output(self, data: bytes) -> None:
        self._output.add(data)
        if self._output.total > self._limits["output_bytes"]:
            self._broken = "output"

    def _drain(self) -> None:
        """Take what is still in the pipes, without waiting for whoever else holds them open."""
        for descriptor in self._readers:
            os.set_blocking(descriptor, False)
            with contextlib.suppress(BlockingIOError):
                while self._broken in (None, "deadline") and self._read(descriptor):
                    pass
