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

from . import confinement, jail, process, usage, violations
from .protocol import Stream, pack

RESULT_LIMIT_BYTES = 8 * 1024 * 1024
_CHUNK = 1 << 16
_COUNT_EVERY_S = 0.1
_MEASURE_AFTER_S = 0.5
_MEASURE_EVERY_S = 0.2
_FORK_TRIES = 50
_FORK_EVERY_S = 0.1

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
    process.come_first()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    while (received := stream.receive()) is not None:
        message, _ = received
        stream.send(_supervised(message, bench, stream))
        if process.children():  # something resists: no other job may meet it, as the same user
            break
    process.kill_all_below()
    os._exit(0)


def _supervised(message: dict[str, Any], bench: Bench, stream: Stream) -> dict[str, Any]:
    """Run one job to its end and return how it went; nothing that it started is left."""
    result_read, result_write = os.pipe()
    output_read, output_write = os.pipe()
    for descriptor in (result_read, output_read):  # a job can take its words back before they are read
        os.set_blocking(descriptor, False)
    try:
        pid = _fork()
    except OSError as error:
        for descriptor in (result_read, result_write, output_read, output_write):
            os.close(descriptor)
        return _unstarted(error)
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
    uid = bench.uid if "uid" in bench.parts else None
    try:
        outcome = _Watch(pid, result_read, output_read, message, uid).until_ended()
    finally:
        os.close(result_read)
        os.close(output_read)
    outcome["left_processes"] = process.kill_all_below()
    return outcome


def _unstarted(error: OSError) -> dict[str, Any]:
    return {
        "type": "outcome",
        "unstarted": f"no process could be made: {error.strerror}",
        "broken": None,
        "status": None,
        "signal": None,
        "result": "",
        "output": "",
        "output_bytes": 0,
        "left_processes": 0,
        "wall_s": 0.0,
        "cpu_s": 0.0,
        "peak_kib": 0,
    }


def _fork() -> int:
    """Fork, and wait a little where other jobs leave no room for it now. Raises OSError."""
    for _ in range(_FORK_TRIES):
        with contextlib.suppress(OSError):
            return os.fork()
        time.sleep(_FORK_EVERY_S)
    return os.fork()


def _run_job(message: dict[str, Any], bench: Bench, result: int, output: int) -> None:
    run = bench.find(message)
    result = confinement.detach(result, output)
    try:
        confinement.enter(message, parts=bench.parts, uid=bench.uid)
    except Exception as error:  # nothing of the extension has run yet
        os.write(result, pack({"type": "unstarted", "problem": f"{type(error).__name__}: {error}"[:500]}))
        os._exit(71)

    def say(frame: dict[str, Any]) -> None:
        view = memoryview(pack(frame))
        while view:
            view = view[os.write(result, view) :]

    known = set(sys.modules)
    fall_silent = violations.watch(say, message["folder"], message["ports"])
    try:
        observed = run(bench.contract, message["request"], say)
    except BaseException as error:  # not the extension's call but ours around it, disturbed by it
        say({"type": "failed", "problem": f"{type(error).__name__}: {error}"[:2000]})
        os._exit(70)
    with contextlib.suppress(Exception):  # the extension may have put anything in their place
        sys.stdout.flush()
        sys.stderr.flush()
    fall_silent()  # a thread of the extension may go on; nothing may come between the parts of a result
    say({"type": "result", "observed": observed, "imported": sorted(set(sys.modules) - known)})
    # Not sys.exit: what the extension registered to run at exit is not part of the job.
    os._exit(0)


class _Watch:
    """Reads what a job says until it ends or breaks a limit."""

    def __init__(self, pid: int, result: int, output: int, message: dict[str, Any], uid: int | None) -> None:
        self._pid = pid
        self._pidfd = os.pidfd_open(pid)
        self._limits = limits = message["limits"]
        self._folder = message["folder"]
        self._uid = uid
        self._result = bytearray()
        self._output = Tail(limits["output_kept"])
        self._readers = {result: self._on_result, output: self._on_output}
        self._broken: str | None = None

    def until_ended(self) -> dict[str, Any]:
        started = time.monotonic()
        self._measure_at = started + _MEASURE_AFTER_S
        self._poll_until_end(started)
        if self._broken == "deadline":
            self._ask_where()
        if self._broken:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
        _, status, used = os.wait4(self._pid, 0)
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
            "cpu_s": round(used.ru_utime + used.ru_stime, 4),
            "peak_kib": used.ru_maxrss,
        }

    def _poll_until_end(self, started: float) -> None:
        poll = select.poll()
        for descriptor in (*self._readers, self._pidfd):
            poll.register(descriptor, select.POLLIN)
        count_at = started + _COUNT_EVERY_S
        while self._broken is None:
            now = time.monotonic()
            left = started + self._limits["deadline_s"] - now
            if left <= 0:
                self._broken = "deadline"
                return
            if now >= count_at:
                count_at = now + _COUNT_EVERY_S
                self._broken = self._too_much()
                continue
            ready = poll.poll(max(1, int(min(left, count_at - now) * 1000)))
            for descriptor, _ in ready:
                if descriptor in self._readers and not self._read(descriptor):
                    poll.unregister(descriptor)
                    del self._readers[descriptor]
            if any(descriptor == self._pidfd for descriptor, _ in ready):
                return

    def _too_much(self) -> str | None:
        """Return which limit the job and all below it have broken together; None if none."""
        process.reap_orphans(self._pid)
        pids = process.below()
        if len(pids) > self._limits["processes"]:
            return "processes"
        if usage.threads(pids) > self._limits["threads"]:
            return "threads"
        return self._measured(pids) if time.monotonic() >= self._measure_at else None

    def _measured(self, pids: list[int]) -> str | None:
        """Measure memory and disk: not at all of a job that is quick, less often where it takes long."""
        began, limits = time.thread_time(), self._limits
        parts = [os.path.join(self._folder, name) for name in os.listdir(self._folder)]
        with usage.as_user(self._uid):
            if usage.memory_is_full(pids, limits["memory_of_all_bytes"]):
                # Where processes are made without end they are what fills the memory.
                return "processes" if len(process.below()) > limits["processes"] else "memory-of-all"
            if usage.disk_is_full(parts, pids, limits["disk_bytes"], limits["files"]):
                return "disk"
        self._measure_at = time.monotonic() + max(_MEASURE_EVERY_S, 5 * (time.thread_time() - began))
        return None

    def _ask_where(self) -> None:
        """Let a hanging job print where it is (confinement.py registers the signal)."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGUSR1)
        time.sleep(0.3)

    def _read(self, descriptor: int) -> bool:
        """Take what there is, which may be nothing; False at the end."""
        data = _available(descriptor)
        if data:
            self._readers[descriptor](data)
        return data != b""

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
            while self._broken in (None, "deadline") and (data := _available(descriptor)):
                self._readers[descriptor](data)


def _available(descriptor: int) -> bytes | None:
    """Return what can be read now, None if nothing can, b"" at the end."""
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None
