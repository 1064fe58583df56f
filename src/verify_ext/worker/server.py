"""The fork server: imports the harness once, then forks supervisors, which fork the jobs.

Neither it nor a supervisor runs extension code. It answers on one socket; each supervisor gets a
socket of its own, on which it is given jobs and reports.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import itertools
import os
import platform
import select
import signal
import socket
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from . import contracts, jail, process, supervisor
from .protocol import Stream


def serve(settings: dict[str, Any]) -> None:
    """Serve until the trusted side closes the socket.

    `settings`: `socket` (descriptor number), `jobs` (kind → folder of its jobs), `jail`
    (whether jobs are jailed; only to measure what the jail costs are they not).
    """
    stream = Stream(socket.socket(fileno=settings["socket"]))
    stream.greet()
    try:
        contract = contracts.pick()
        jobs = {kind: _load_job(kind, path) for kind, path in settings["jobs"].items()}
    except Exception as error:  # whatever a broken harness raises on import, said and not judged
        stream.send({"type": "failed", "error": _last_line(error), "log": traceback.format_exc()})
        return
    process.become_subreaper()
    protections: dict[str, Any] = {"parts": [], "missing": {}, "abi": 0}
    if settings["jail"]:
        protections = jail.probe()
    jail.hide()
    stream.send(
        {
            "type": "ready",
            "contract": contract.name,
            "harness": contract.version(),
            "python": platform.python_version(),
            "protections": protections,
        }
    )
    _Server(stream, contract, jobs, frozenset(protections["parts"])).run()


def _last_line(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]


def _load_job(kind: str, path: str) -> ModuleType:
    """Import a kind's package of jobs, that its modules may import each other and nothing of ours."""
    name = f"verify_ext_job_{kind.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(
        name, Path(path) / "__init__.py", submodule_search_locations=[path]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"no jobs in {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class _Server:
    def __init__(
        self,
        stream: Stream,
        contract: contracts.Contract,
        jobs: dict[str, ModuleType],
        parts: frozenset[str],
    ) -> None:
        self._stream = stream
        self._parts = parts
        self._uids = itertools.count(jail.FIRST_UID)
        self._contract = contract
        self._jobs = jobs
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def run(self) -> None:
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # only to be woken
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the group; we decide
        while True:
            sources = [self._stream.connection.fileno(), self._wake_read]
            ready, _, _ = select.select(sources, [], [])
            if self._wake_read in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake_read, 4096)
                process.reap_ended()
            if sources[0] in ready:
                received = self._stream.receive()
                if received is None:
                    break
                self._handle(*received)
        process.kill_all_below()

    def _handle(self, message: dict[str, Any], descriptors: list[int]) -> None:
        if message["type"] == "preload":
            self._preload(message["modules"])
        elif message["type"] == "supervisor":
            self._fork(descriptors[0])

    def _preload(self, modules: list[str]) -> None:
        """Import what the canary's jobs imported, and keep it out of the collector's way.

        A module that cannot be imported alone is left to the jobs: this only saves time.
        """
        imported = 0
        for name in modules:
            if name not in sys.modules:
                with contextlib.suppress(Exception):
                    importlib.import_module(name)
                    imported += 1
        gc.collect()
        gc.freeze()
        self._stream.send({"type": "preloaded", "imported": imported})

    def _fork(self, descriptor: int) -> None:
        sys.stdout.flush()  # or every job would print what the server had not yet written
        sys.stderr.flush()
        uid = next(self._uids)
        if os.fork() == 0:
            # From here on this process is a supervisor; it must never return into the loop.
            try:
                os.close(self._wake_read)
                os.close(self._wake_write)
                signal.set_wakeup_fd(-1)
                self._stream.connection.close()
                stream = Stream(socket.socket(fileno=descriptor))
                bench = supervisor.Bench(self._contract, self._find, self._parts, uid)
                supervisor.supervise(stream, bench)
            finally:
                os._exit(70)
        os.close(descriptor)

    def _find(self, message: dict[str, Any]) -> supervisor.Job:
        job: supervisor.Job = self._jobs[message["kind"]].EXERCISES[message["exercise"]]
        return job
