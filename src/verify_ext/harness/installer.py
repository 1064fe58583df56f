"""Running uv: resolving and installing, with nothing but the operator's own settings.

What decides where packages come from are uv's variables and the user's or system's `uv.toml`.
A work tree's `uv.toml` or `pyproject.toml` could name an index that serves the harness itself, so
uv runs in a folder whose empty `uv.toml` ends its search (tried with 0.5.20 and 0.13). It gets
plain requirement lines only, and wheels only: nothing is built, no code of a package runs.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from verify_ext.codes import Place
from verify_ext.harness.trouble import (
    RULES,
    EnvironmentTrouble,
    index_is_silent,
    installer_trouble,
    log_end,
    readable,
)

TIME_LIMIT_S = 900.0

_PASSED_ON = re.compile(
    r"""
    # who and where the operator is
    PATH|HOME|TMPDIR|LANG|LC_ALL|LD_LIBRARY_PATH|NETRC|XDG_(CONFIG_HOME|CONFIG_DIRS|CACHE_HOME|DATA_HOME)
    # how the network is reached
    |(HTTP|HTTPS|ALL|NO)_PROXY|(http|https|all|no)_proxy|SSL_CERT_FILE|SSL_CERT_DIR|SSL_CLIENT_CERT
    |UV_(NATIVE_TLS|SYSTEM_CERTS|INSECURE_HOST|OFFLINE|HTTP_TIMEOUT|REQUEST_TIMEOUT|HTTP_RETRIES)
    # which index, and how; whatever would change the meaning of our own arguments is left out
    |UV_(INDEX|DEFAULT_INDEX|INDEX_URL|EXTRA_INDEX_URL|FIND_LINKS|NO_INDEX|INDEX_STRATEGY|KEYRING_PROVIDER)
    |UV_INDEX_\w+_(USERNAME|PASSWORD)
    |UV_(CACHE_DIR|CONFIG_FILE|NO_CONFIG|CONCURRENT_DOWNLOADS)
    """,
    re.VERBOSE,
)

_NO_SOLUTION = "No solution found when resolving"
_FRAME = re.compile(r"^\s*(?:error:|cause:|×|╰─▶|├─▶|│)?\s*", re.MULTILINE)


@dataclass(frozen=True)
class Resolution:
    """What the resolver found: pinned lines with hashes, or why there is no solution."""

    pins: str
    refusal: str
    log: str

    @property
    def found(self) -> bool:
        return not self.refusal


@dataclass(frozen=True, kw_only=True)
class Installer:
    """uv for one interpreter. `what` and `place` are what trouble is about and where it is told.

    Every method raises EnvironmentTrouble for anything that is not an answer.
    """

    python: Path
    what: str
    place: Place
    keep_open: tuple[int, ...] = ()
    """Descriptors that uv inherits: the lock of what it builds."""

    def resolve(
        self,
        lines: Sequence[str],
        *,
        constraints: Sequence[str] = (),
        preferences: Sequence[str] = (),
        python_version: str | None = None,
        ask_again: str | None = None,
    ) -> Resolution:
        """Resolve requirement lines; keep to `preferences` (pins) where nothing speaks against it.

        What the index said in the last minutes counts, but for the package `ask_again`.
        """
        files = {
            "requirements.txt": _lines(lines),
            "constraints.txt": _lines(constraints),
            "pins.txt": _lines(preferences),
        }
        arguments = [
            *("pip", "compile", "--quiet", "requirements.txt", "--constraints", "constraints.txt"),
            *("--output-file", "pins.txt", "--no-header", "--no-annotate"),
            *("--generate-hashes", "--only-binary", ":all:", "--no-sources", "--python", str(self.python)),
            *(("--python-version", python_version) if python_version else ()),
            *(("--refresh-package", ask_again) if ask_again else ()),
        ]
        with tempfile.TemporaryDirectory(prefix="verify-ext-") as folder:
            status, said = self._run(arguments, Path(folder), files)
            if status == 0:
                return Resolution((Path(folder) / "pins.txt").read_text(encoding="utf-8"), "", "")
        if status == 1 and _NO_SOLUTION in said and not index_is_silent(said):
            return Resolution("", _refusal(said), log_end(said))
        raise installer_trouble(self.place, self.what, said)

    def make_environment(self, folder: Path) -> Installer:
        """Make an empty, relocatable environment; return the installer for it."""
        arguments = ["venv", "--quiet", "--no-project", "--relocatable", "--python", str(self.python)]
        self._checked([*arguments, str(folder)])
        return replace(self, python=folder / "bin" / "python")

    def install(self, pins: str, *, target: Path | None = None, afresh: bool = False) -> None:
        """Install exactly these hashed pins, into the environment of `python` or a plain folder.

        Files are copied, not linked to uv's cache: whoever edits a file elsewhere must not change
        this one. `afresh` downloads everything again, in case that cache is damaged.
        """
        arguments = [
            *("pip", "install", "--quiet", "--requirements", "pins.txt", "--no-deps", "--require-hashes"),
            *("--only-binary", ":all:", "--no-sources", "--link-mode", "copy", "--python", str(self.python)),
            *(("--target", str(target)) if target else ()),
            *(("--no-cache",) if afresh else ()),
        ]
        self._checked(arguments, {"pins.txt": pins})
        # uv leaves its own lock writable for everybody.
        ((target or self.python.parent.parent) / ".lock").unlink(missing_ok=True)

    def _checked(self, arguments: Sequence[str], files: dict[str, str] | None = None) -> None:
        with tempfile.TemporaryDirectory(prefix="verify-ext-") as folder:
            status, said = self._run(arguments, Path(folder), files or {})
        if status != 0:
            raise installer_trouble(self.place, self.what, said)

    def _run(self, arguments: Sequence[str], folder: Path, files: dict[str, str]) -> tuple[int, str]:
        """Run uv in `folder` with some files in it; return its status and what it said."""
        for name, text in {"uv.toml": "", **files}.items():
            (folder / name).write_text(text, encoding="utf-8")
        try:
            done = subprocess.run(
                [self._uv(), *arguments],
                cwd=folder,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIME_LIMIT_S,
                check=False,
                pass_fds=self.keep_open,
                umask=0o022,  # readable for the user that jobs run as, writable for nobody else
            )
        except subprocess.TimeoutExpired:
            rule = "environment_error/timed-out"
            raise EnvironmentTrouble(RULES.finding(rule, self.place, seconds=TIME_LIMIT_S)) from None
        return done.returncode, readable(done.stderr)

    def _uv(self) -> str:
        try:
            import uv

            return uv.find_uv_bin()
        except (ImportError, FileNotFoundError) as error:
            finding = RULES.finding("environment_error/uv-missing", self.place, actual=str(error))
            raise EnvironmentTrouble(finding) from None


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if _PASSED_ON.fullmatch(name)}
    return {**kept, "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "NO_COLOR": "1"}


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _refusal(said: str) -> str:
    """Return the resolver's reason on one line, without the frame that it draws around it."""
    reason = said.split(_NO_SOLUTION, 1)[1].partition("\n")[2]
    return " ".join(_FRAME.sub(" ", reason).split())
