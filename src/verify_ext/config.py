"""What a run is asked to do."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from verify_ext.harness.outcome import Limits


def default_cache() -> Path:
    """Return where harness environments are kept: VERIFY_EXT_CACHE, else the user's cache folder.

    Root's is /var/cache: its home is closed to the users that jobs run as.
    """
    own = os.environ.get("VERIFY_EXT_CACHE")
    if own:
        return Path(own)
    home = "/var/cache" if os.geteuid() == 0 else os.path.join(os.path.expanduser("~"), ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or home) / "verify-ext"


@dataclass(frozen=True, kw_only=True)
class Options:
    """The settings of one run."""

    paths: tuple[Path, ...]
    repo: Path | None = None
    harnesses: tuple[str, ...] = ()
    harness_python: Path | None = None
    static: bool = False
    """Read only; nothing of an extension is executed and no harness is needed."""
    offline: bool = False
    """Use environments that are prepared; never ask an index."""
    cache: Path
    limits: Limits
    allow_empty: bool = False
    repeat: int = 1
    """How often each tool test is taken in fresh sessions; what differs is a finding."""
    require_protections: bool = False
    """Judge nothing where a part of the jail is missing."""
