"""Python interpreters: which one it is, and whether the harness runs on it."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verify_ext.codes import ENVIRONMENT_ERROR, Place, Rule, Rules
from verify_ext.harness.trouble import EnvironmentTrouble, log_end, readable

PYTHONS = ("3.11", "3.12", "3.13")
"""The versions that the harness runs on (its Requires-Python), oldest first."""

ANSWER_LIMIT_S = 60

RULES = Rules(
    Rule(
        code=ENVIRONMENT_ERROR,
        rule="interpreter-unusable",
        layer=None,
        message="{python} cannot be used as a Python interpreter: {problem}",
        remedy="Name a working interpreter, for instance the bin/python of a virtual environment.",
        why="The harness runs in the interpreter that it is installed for.",
        source="asking the interpreter for its version, in isolated mode",
    ),
    Rule(
        code=ENVIRONMENT_ERROR,
        rule="python-version",
        layer=None,
        message="the harness does not run on Python {version} ({python})",
        remedy="Run verify-ext with Python {oldest} to {newest}.",
        why="The harness's metadata excludes every other Python.",
        source="Requires-Python of openjiuwen",
    ),
)

# Everything an environment's identity and contents hang on. The mark tells our answer from what
# a `.pth` file prints. Nothing is imported beyond the standard library.
_MARK = "verify-ext-interpreter:"
_QUESTION = f"""
import importlib.util, json, os, site, sys, sysconfig
paths = sysconfig.get_paths()
standard = {{os.path.realpath(paths[name]) for name in ("stdlib", "platstdlib")}}
standard |= {{os.path.join(folder, "lib-dynload") for folder in standard}}
sites = [p for p in sys.path if os.path.isdir(p) and os.path.realpath(p) not in standard]
spec = importlib.util.find_spec("openjiuwen")
print({_MARK!r} + json.dumps({{
    "version": "%d.%d.%d" % sys.version_info[:3],
    "implementation": sys.implementation.name,
    "abi": sysconfig.get_config_var("SOABI") or "",
    "platform": sysconfig.get_platform(),
    "base": os.path.realpath(getattr(sys, "_base_executable", sys.executable) or sys.executable),
    "sites": sites,
    "packages": list(spec.submodule_search_locations or ()) if spec else [],
}}))
"""

_PASSED_ON = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LD_LIBRARY_PATH")


@dataclass(frozen=True, kw_only=True)
class Interpreter:
    """What an interpreter says about itself."""

    python: Path
    version: str
    """Such as "3.11.7"."""
    implementation: str
    abi: str
    platform: str
    base: str
    """The real executable behind a virtual environment."""
    sites: tuple[Path, ...]
    """The folders of installed packages, in the order of its search path."""
    packages: tuple[Path, ...]
    """Where it would import openjiuwen from."""

    @property
    def minor(self) -> str:
        return ".".join(self.version.split(".")[:2])

    @property
    def identity(self) -> dict[str, str]:
        """What decides which wheels fit and how they run; the same on equal machines."""
        return {
            "implementation": self.implementation,
            "version": self.version,
            "abi": self.abi,
            "platform": self.platform,
        }


def inspect(python: Path, place: Place) -> Interpreter:
    """Ask an interpreter, in isolated mode, what it is. Nothing of the harness is imported.

    Raises EnvironmentTrouble if it cannot be asked, or if the harness does not run on it.
    """
    python = Path(os.path.abspath(python))  # a link is kept: it is what makes a virtual environment
    facts = _ask(python, place)
    try:
        interpreter = Interpreter(
            python=python,
            **{name: str(facts[name]) for name in _TEXTS},
            sites=tuple(Path(site) for site in facts["sites"]),
            packages=tuple(Path(folder) for folder in facts["packages"]),
        )
    except (KeyError, TypeError):
        raise _unusable(python, "its answer makes no sense", place) from None
    if interpreter.minor not in PYTHONS or interpreter.implementation != "cpython":
        raise EnvironmentTrouble(
            RULES.finding(
                "environment_error/python-version",
                place,
                expected=f"CPython {', '.join(PYTHONS)}",
                actual=f"{interpreter.implementation} {interpreter.version}",
                version=interpreter.version,
                python=python,
                oldest=PYTHONS[0],
                newest=PYTHONS[-1],
            )
        )
    return interpreter


_TEXTS = ("version", "implementation", "abi", "platform", "base")


def _ask(python: Path, place: Place) -> dict[str, Any]:
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    try:
        # Isolated and from an empty folder: nothing of a work tree can be imported.
        with tempfile.TemporaryDirectory(prefix="verify-ext-") as empty:
            done = subprocess.run(
                [python, "-I", "-B", "-c", _QUESTION],
                cwd=empty,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=ANSWER_LIMIT_S,
                check=False,
            )
    except subprocess.TimeoutExpired:
        raise _unusable(python, f"no answer within {ANSWER_LIMIT_S} seconds", place) from None
    except (OSError, ValueError) as error:
        raise _unusable(python, getattr(error, "strerror", None) or str(error), place) from None
    said = readable(done.stdout)
    answer = next((line for line in said.splitlines() if line.startswith(_MARK)), None)
    if done.returncode != 0 or answer is None:
        log = log_end(readable(done.stderr) or said)
        raise _unusable(python, f"it ended with status {done.returncode}", place, log)
    try:
        facts = json.loads(answer.removeprefix(_MARK))
    except ValueError:
        raise _unusable(python, "its answer makes no sense", place) from None
    return facts if isinstance(facts, dict) else {}


def _unusable(python: Path, problem: str, place: Place, log: str | None = None) -> EnvironmentTrouble:
    return EnvironmentTrouble(
        RULES.finding(
            "environment_error/interpreter-unusable",
            place,
            actual=problem,
            log=log,
            python=python,
            problem=problem,
        )
    )
