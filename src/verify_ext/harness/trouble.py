"""What goes wrong around an environment, and that it is nobody's extension.

An installer or the system refuses; which rule that is, is read from facts that were provoked for
real: exit status, `errno`, and the few phrases of uv that are the same from 0.5.20 to 0.13. What
is not recognised stays `environment_error/build-failed`: the extension is never blamed for it.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

from verify_ext.codes import ENVIRONMENT_ERROR, Place, Rule, Rules
from verify_ext.model import Finding, Location
from verify_ext.source import Spot

LOG_LIMIT = 4000

RULES = Rules(
    Rule(
        code=ENVIRONMENT_ERROR,
        rule="index-unreachable",
        layer=None,
        message="the package index could not be reached, or did not answer as an index does",
        remedy="Check network, proxy and index settings (UV_DEFAULT_INDEX, HTTPS_PROXY, SSL_CERT_FILE or "
        "your uv.toml), then run `verify-ext prepare` again.",
        why="Without an index nothing can be installed, and nothing is known about a missing package.",
        source="what uv reports when no index answers, or when one refuses",
    ),
    Rule(
        code=ENVIRONMENT_ERROR,
        rule="disk-full",
        layer=None,
        message="there is no room left to build the environment",
        remedy="Free some space (an environment takes 0.6 GB), or point VERIFY_EXT_CACHE and UV_CACHE_DIR "
        "to a larger disk.",
        why="Half an environment is none.",
        source="ENOSPC and EDQUOT",
    ),
    Rule(
        code=ENVIRONMENT_ERROR,
        rule="not-writable",
        layer=None,
        message="the environment cannot be written where it should be kept",
        remedy="Point VERIFY_EXT_CACHE (environments) and UV_CACHE_DIR (downloads) to folders that this "
        "user can write.",
        why="An environment is built once and kept for the next run.",
        source="EACCES, EPERM and EROFS",
    ),
    Rule(
        code=ENVIRONMENT_ERROR,
        rule="hash-mismatch",
        layer=None,
        message="the package index serves other bytes than the lock file of {what} names",
        remedy="Ask whoever runs the index or mirror: a file was replaced after it was published.",
        why="A harness made of other bytes than those that were tested proves nothing.",
        source="lock files that ship with verify-ext, `uv pip install --require-hashes`",
    ),
    Rule(
        code=ENVIRONMENT_ERROR,
        rule="timed-out",
        layer=None,
        message="the installer did not finish within {seconds:g} seconds",
        remedy="Check network, proxy and index, then run `verify-ext prepare` again.",
        why="A stalled download must not hold a job until its own limit.",
        source="a limit of verify-ext",
    ),
    Rule(
        code=ENVIRONMENT_ERROR,
        rule="uv-missing",
        layer=None,
        message="the installer uv is not where verify-ext is installed",
        remedy="Install verify-ext again together with its dependencies (uv is one of them).",
        why="Environments are built with uv.",
        source="the dependencies of verify-ext",
    ),
    Rule(
        code=ENVIRONMENT_ERROR,
        rule="build-failed",
        layer=None,
        message="the environment for {what} could not be built",
        remedy="Read the log; if it does not help, report it together with the log.",
        why="What is not understood is not blamed on an extension.",
        source="the exit status of uv, or an error of the system",
    ),
)

_BY_ERRNO = {
    errno.ENOSPC: "environment_error/disk-full",
    errno.EDQUOT: "environment_error/disk-full",
    errno.EACCES: "environment_error/not-writable",
    errno.EPERM: "environment_error/not-writable",
    errno.EROFS: "environment_error/not-writable",
}

_OS_ERROR = re.compile(r"\(os error (\d+)\)")
_HASH_MISMATCH = re.compile(r"\bHash mismatch for\b")
_NO_INDEX = re.compile(
    r"Failed to fetch|error sending request|network was disabled|connectivity is disabled|hint: An index"
)
_SECRET = re.compile(r"(?<=://)[^/@\s]+@")


class EnvironmentTrouble(Exception):
    """No environment, and why: `finding` says it, its code says whose fault that is."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(f"{finding.id}: {finding.message}")
        self.finding = finding


def flag_place(flag: str, value: str) -> Spot:
    """Return the place of what was said on the command line or as an input."""
    return Spot(Location(path=flag, text=value, end_column=1 + len(value)))


def installer_trouble(place: Place, what: str, said: str) -> EnvironmentTrouble:
    """Return the trouble behind what uv said when it failed, for `what` was being installed."""
    rule = _rule_of(said)
    lines = [line.strip().removeprefix("error: ").removeprefix("cause: ") for line in said.splitlines()]
    said_lines = [line for line in lines if line] or ["(it said nothing)"]
    # The first line says what was tried, the last one what was in the way.
    actual = said_lines[0] if len(said_lines) == 1 else f"{said_lines[0]} ({said_lines[-1]})"
    return EnvironmentTrouble(RULES.finding(rule, place, what=what, actual=actual, log=log_end(said)))


def _rule_of(said: str) -> str:
    # The system's word first: a full disk also shows up as a download that failed.
    for match in _OS_ERROR.finditer(said):
        if int(match[1]) in _BY_ERRNO:
            return _BY_ERRNO[int(match[1])]
    if _HASH_MISMATCH.search(said):
        return "environment_error/hash-mismatch"
    if index_is_silent(said):
        return "environment_error/index-unreachable"
    return "environment_error/build-failed"


def index_is_silent(said: str) -> bool:
    """Tell whether uv speaks of an index that did not answer, refused, or was not to be asked."""
    return bool(_NO_INDEX.search(said))


@contextmanager
def system_trouble(place: Place, what: str) -> Iterator[None]:
    """Turn what the system refuses while `what` is built (OSError) into EnvironmentTrouble."""
    try:
        yield
    except OSError as error:
        rule = _BY_ERRNO.get(error.errno or 0, "environment_error/build-failed")
        raise EnvironmentTrouble(RULES.finding(rule, place, what=what, actual=str(error))) from error


def readable(said: bytes) -> str:
    """Return what a program said as text, without passwords in addresses."""
    return _SECRET.sub("…@", said.decode("utf-8", "replace"))


def log_end(said: str) -> str:
    """Return as much of the end of a log as a finding carries."""
    text = said.strip()
    return text if len(text) <= LOG_LIMIT else "…" + text[-LOG_LIMIT:]
