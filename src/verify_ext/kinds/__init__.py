"""The kinds of extension, one folder each.

To the rest of the program a kind is a `Kind`: how it is found, how it is read (L1, nothing
executed), and which exercises run in a harness, in order. A folder `kinds/<kind>/` holds
`find.py`, `check.py`, `job.py` (which runs inside the harness and imports nothing of ours) and
`judge.py` (which turns what the job saw into findings), with RULES beside the checks.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verify_ext.model import Checked, Extension, Finding, Layer


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """One job in the harness and the judgement of what it saw.

    `request` says what the job is asked for (None: there is nothing to exercise); `judge`
    gets what the static check declared, what the job observed (plain data, already checked
    against `observed_schema`) and what the same exercise observed of the canary (None for the
    canary itself), and returns findings.
    """

    name: str
    layer: Layer
    request: Callable[[Checked], dict[str, Any] | None]
    judge: Callable[[Extension, Checked, dict[str, Any], dict[str, Any] | None], Iterable[Finding]]
    observed_schema: dict[str, Any]
    component_types: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of extension; `name` is what `results.json` calls it, `job` the worker's file."""

    name: str
    manifest_names: tuple[str, ...]
    check: Callable[[Extension], Checked]
    job: Path | None
    exercises: tuple[Exercise, ...]


def all_kinds() -> tuple[Kind, ...]:
    """Return the kinds, sorted by name: every folder here whose package has a `KIND`."""
    found = []
    for info in pkgutil.iter_modules(__path__, f"{__name__}."):
        kind = getattr(importlib.import_module(info.name), "KIND", None)
        if isinstance(kind, Kind):
            found.append(kind)
    return tuple(sorted(found, key=lambda kind: kind.name))
