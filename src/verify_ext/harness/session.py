"""A fork server in one harness environment, seen from the trusted side."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

from verify_ext.harness.outcome import VIOLATIONS, Limits, Outcome, Violation
from verify_ext.harness.wire import Wire, WireError, split_messages

START_LIMIT_S = 300.0
"""Importing the harness takes 3 to 8 s; a cold, loaded disk has been seen to take a minute."""
GRACE_S = 30.0
_VIOLATIONS_LIMIT = 20
"""A job reports no more (worker/violations.py); whoever writes more is not the job."""
_WORKER = Path(__file__).resolve().parent.parent / "worker" / "__main__.py"
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


class SessionError(Exception):
    """The harness could not be started; `log` is what it said."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.log = log


@dataclass(frozen=True, kw_only=True)
class Job:
    """What one job is about: `root` is its own copy of the extension, `folder` its own scratch."""

    kind: str
    exercise: str
    root: Path
    folder: Path
    request: dict[str, Any]
    paths: tuple[Path, ...] = ()
    ports: tuple[int, ...] = ()
    """TCP ports on loopback that it may connect to."""


def job_environment() -> dict[str, str]:
    """Return the variables that a job or its server gets: an allow-list, never a token."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {"PATH": os.defpath, "LANG": "C.UTF-8", **kept, "PYTHONDONTWRITEBYTECODE": "1"}


class Session:
    """Runs jobs in one harness environment. Threads may share it.

    A context manager: entering imports the harness (seconds), leaving ends every process of it.
    """

    def __init__(
        self, python: Path, jobs: Mapping[str, Path], scratch: Path, limits: Limits, *, jail: bool = True
    ) -> None:
        self.limits = limits
        self.protections: dict[str, Any] = {}
        self._jail = jail
        self.contract = ""
        self.harness_version = ""
        self._python = python
        self._jobs = {kind: str(path) for kind, path in jobs.items()}
        self._folder = Path(tempfile.mkdtemp(prefix="server-", dir=scratch))
        self._lock = threading.Lock()
        self._server: _Server | None = None
        self._closed = False
        self._preloaded: tuple[str, ...] = ()
        self._idle: list[_Supervisor] = []

    def __enter__(self) -> Self:
        try:
            with self._lock:
                self._start()
        except BaseException:  # cancelled while the harness was being imported, too
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every process of the session. Jobs that were running raise SessionError."""
        self._closed = True
        self._dismiss()
        server, self._server = self._server, None
        if server is not None:
            server.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def preload(self, modules: Iterable[str]) -> None:
        """Import modules in the server once, so that no job needs to (raises SessionError)."""
        self._preloaded = tuple(modules)
        self._dismiss()  # they were forked before, without these modules
        if self._server is not None:
            self._server.preload(self._preloaded)

    def _dismiss(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def run(self, job: Job, limits: Limits) -> Outcome | None:
        """Run a job to its end; None if the process that watches it was lost.

        Raises SessionError if the harness cannot be started again.
        """
        supervisor = self._take_supervisor()
        outcome = supervisor.run(job, limits)
        if outcome is None:
            supervisor.close()
        else:
            self._idle.append(supervisor)
        return outcome

    def _take_supervisor(self) -> _Supervisor:
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        with self._lock:
            if self._server is None or self._closed:
                raise SessionError("the session is not open", "")
            supervisor = self._server.new_supervisor()
            if supervisor is None:  # the server was killed
                supervisor = self._restart().new_supervisor()
            if supervisor is None:
                raise SessionError("the harness ended as soon as it was started", "")
            return supervisor

    def _restart(self) -> _Server:
        if self._server is not None:
            self._server.stop()
        return self._start()

    def _start(self) -> _Server:
        if self._closed:
            raise SessionError("the session was closed", "")
        server = self._server = _Server(self._python, self._jobs, self._folder, self._jail)
        if self._closed:  # meanwhile, by another thread, which did not see this one
            server.stop()
            raise SessionError("the session was closed", "")
        ready = server.ready()
        self.contract, self.harness_version = ready["contract"], ready["harness"]
        self.protections = ready["protections"]
        if self._preloaded:
            server.preload(self._preloaded)
        return server


class _Server:
    """One server process."""

    def __init__(self, python: Path, jobs: dict[str, str], folder: Path, jail: bool) -> None:
        ours, theirs = socket.socketpair()
        with theirs, open(folder / "server.log", "wb") as log:
            settings = {"socket": theirs.fileno(), "jobs": jobs, "jail": jail}
            home = folder / "home"
            (home / "tmp").mkdir(parents=True, exist_ok=True)
            self._process = subprocess.Popen(
                [str(python), "-I", "-B", str(_WORKER), json.dumps(settings)],
                cwd=home,
                env={**job_environment(), "HOME": str(home), "TMPDIR": str(home / "tmp")},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        self._log = folder / "server.log"
        self._socket = ours
        self._wire = Wire(ours)
        self._sending = threading.Lock()

    def ready(self) -> dict[str, Any]:
        """Wait until the harness is imported and return what the server says of it."""
        self._socket.settimeout(START_LIMIT_S)
        try:
            self._wire.expect_greeting()
            message = self._wire.receive()
        except (WireError, TimeoutError, OSError) as error:
            self._fail(f"the harness did not start: {error}")
        if message is None or message.get("type") != "ready":
            reason = (message or {}).get("error") or "its process ended"
            self._fail(f"the harness did not start: {reason}")
        return message

    def preload(self, modules: tuple[str, ...]) -> None:
        try:
            with self._sending:
                self._wire.send({"type": "preload", "modules": list(modules)})
                if self._wire.receive() is None:
                    self._fail("the harness ended while modules were being imported")
        except (WireError, TimeoutError, OSError) as error:
            self._fail(f"the harness ended while modules were being imported: {error}")

    def _fail(self, message: str) -> NoReturn:
        self.stop()
        text = self._log.read_bytes()[-20_000:].decode("utf-8", "replace")
        raise SessionError(message, text)

    def new_supervisor(self) -> _Supervisor | None:
        """Have a supervisor forked, which then runs jobs; None when the server is gone."""
        ours, theirs = socket.socketpair()
        with theirs, self._sending:
            try:
                self._wire.send({"type": "supervisor"}, (theirs.fileno(),))
            except OSError:
                ours.close()
                return None
        return _Supervisor(ours)

    def stop(self) -> None:
        """End the server and everything below it."""
        self._socket.close()  # asks it to end all jobs and itself
        try:
            self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


class _Supervisor:
    """A process that runs one job after the other."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._wire = Wire(connection)

    def run(self, job: Job, limits: Limits) -> Outcome | None:
        """Run one job; None when the supervisor is gone, or does not answer any more."""
        self._socket.settimeout(limits.deadline_s + GRACE_S)
        try:
            self._wire.send(_job_message(job, limits))
            message = self._wire.receive()
        except (WireError, OSError):  # OSError: also the time-out
            return None
        return None if message is None else _outcome(message)

    def close(self) -> None:
        """Ask it to end, with all that is below it."""
        self._socket.close()


def _job_message(job: Job, limits: Limits) -> dict[str, Any]:
    for name in ("home", "tmp", "work"):
        folder = job.folder / name
        folder.mkdir(exist_ok=True)
        folder.chmod(0o777)  # the job is another user, who knows the folder's name; nobody can list it
    return {
        "type": "job",
        "kind": job.kind,
        "exercise": job.exercise,
        "request": {**job.request, "root": str(job.root)},
        "folder": str(job.folder),
        "paths": [str(path) for path in job.paths],
        "ports": list(job.ports),
        "environment": job_environment(),
        "limits": limits.message(),
    }


def _outcome(message: dict[str, Any]) -> Outcome:
    """Read the supervisor's last word; what the job itself wrote is read with suspicion."""
    observed: dict[str, Any] | None = None
    imported: tuple[str, ...] = ()
    component, malformed, disturbed, unstarted = None, None, None, message.get("unstarted")
    violations: list[Violation] = []
    try:
        for number, part in enumerate(split_messages(message["result"])):
            if part.get("type") == "progress" and observed is None:
                component = part.get("component") if isinstance(part.get("component"), str) else None
            elif part.get("type") == "violation" and observed is None:
                violations.append(_violation(part))
                if len(violations) > _VIOLATIONS_LIMIT:
                    raise WireError("more attempts than a job reports")
            elif part.get("type") == "result" and observed is None:
                observed, imported = _result(part)
            elif part.get("type") == "failed" and observed is None:
                disturbed = str(part.get("problem"))
            elif part.get("type") == "unstarted" and number == 0:  # later it would be the extension's word
                unstarted = str(part.get("problem"))
            else:
                raise WireError("a message out of order")
    except WireError as error:
        malformed, observed = str(error), None
    whole = message["broken"] is None and message["status"] == 0
    return Outcome(
        observed=observed if whole else None,
        imported=imported,
        broken=message["broken"],
        status=message["status"],
        signal=message["signal"],
        output=message["output"],
        output_bytes=message["output_bytes"],
        component=component,
        malformed=malformed if whole else None,
        disturbed=disturbed,
        unstarted=unstarted,
        violations=tuple(violations),
        left_processes=message["left_processes"],
        cpu_s=message["cpu_s"],
        wall_s=message["wall_s"],
        peak_kib=message["peak_kib"],
    )


def _result(part: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Read what the job observed and imported. Raises WireError."""
    observed, imported = part.get("observed"), part.get("imported")
    if not isinstance(observed, dict) or not isinstance(imported, list):
        raise WireError("a result that has not the shape of one")
    return observed, tuple(name for name in imported if isinstance(name, str))


def _violation(part: dict[str, Any]) -> Violation:
    """Read one attempt that the job reported. Raises WireError."""
    kind, what, file, line = (part.get(name) for name in ("kind", "what", "file", "line"))
    if kind not in VIOLATIONS or not isinstance(what, str) or type(line) is not int:
        raise WireError("an attempt that has not the shape of one")
    return Violation(kind=kind, what=what[:500], file=file if isinstance(file, str) else None, line=line)
