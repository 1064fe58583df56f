"""The kinds of extension, one folder each.

To the rest of the program a kind is a `Kind`: how it is found, how it is read (L1, nothing
executed), and which exercises run in a harness, in order. A folder `kinds/<kind>/` holds
`check.py`, a package `job` (which runs inside the harness and imports nothing of ours) and
`judge.py` (which turns what the jobs saw into findings), with RULES beside the checks.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verify_ext.harness.scripted_model import Script, Transcript
from verify_ext.model import Artifact, Checked, Extension, Finding, Layer, Verdict


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a job takes place: `root` is its own copy of the extension, `folder` all it may write."""

    root: Path
    folder: Path
    repeat: int = 1
    """How often what can be repeated is to be done (--repeat)."""

    @property
    def output(self) -> Path:
        """Where the files that it is asked for belong."""
        return self.folder / "output"


@dataclass(frozen=True, kw_only=True)
class Ask:
    """What a job is asked for: plain data, and what the scripted model says, if it needs one."""

    request: dict[str, Any]
    script: Script | None = None


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What is known of a job that ended with a whole result.

    `observed` is its own word, already of the exercise's shape; `transcript` is what reached the
    scripted model, `found` what `inspect` found in its folder.
    """

    observed: dict[str, Any]
    transcript: Transcript = field(default_factory=dict)
    found: Any = None


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """One job in the harness and the judgement of what it saw.

    `ask` says what the job is asked for (None: there is nothing to exercise, and the verdict is
    `absent`). `inspect` looks at its folder when it has ended, before that is removed. `judge` gets
    what the static check declared, what was seen, and what the same exercise saw of the canary
    (None for the canary itself); it returns findings, and the files that were made.
    """

    name: str
    layer: Layer
    ask: Callable[[Checked, Place], Ask | None]
    judge: Callable[[Extension, Checked, Seen, Seen | None], Iterable[Finding | Artifact]]
    observed_schema: dict[str, Any]
    component_types: tuple[str, ...]
    inspect: Callable[[Extension, Checked, Place, Seen], Any] | None = None
    absent: Verdict = Verdict.PASS


@dataclass(frozen=True, kw_only=True)
class Draft:
    """How a first acceptance spec of a kind is written (`verify-ext init`).

    The first of `file_names` is written, unless one of them is there. `write` gets the extension's
    name, what the static check declared and what `exercise` saw, and returns the file's text.
    """

    file_names: tuple[str, ...]
    exercise: str
    write: Callable[[str, Checked, Mapping[str, Any]], str]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of extension; `name` is what `results.json` calls it, `job` the folder of its jobs."""

    name: str
    manifest_names: tuple[str, ...]
    check: Callable[[Extension], Checked]
    job: Path | None
    exercises: tuple[Exercise, ...]
    draft: Draft | None = None


def all_kinds() -> tuple[Kind, ...]:
    """Return the kinds, sorted by name: every folder here whose package has a `KIND`."""
    found = []
    for info in pkgutil.iter_modules(__path__, f"{__name__}."):
        kind = getattr(importlib.import_module(info.name), "KIND", None)
        if isinstance(kind, Kind):
            found.append(kind)
    return tuple(sorted(found, key=lambda kind: kind.name))
