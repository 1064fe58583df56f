"""Texts from a job without what belongs to this machine: two runs say the same of the same bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")
_DEPTH_LIMIT = 60


def portable(value: Any, places: Sequence[tuple[Path, str]], depth: int = 0) -> Any:
    """Return plain data with folders replaced by words, and addresses of objects left out.

    `places` are tried in order, so inner folders come before those that hold them.
    """
    if isinstance(value, str):
        for place, word in places:
            value = value.replace(f"{place}/", word).replace(str(place), word.rstrip("/") or ".")
        return _ADDRESS.sub("0x…", value)
    if depth > _DEPTH_LIMIT:
        return value
    if isinstance(value, dict):
        return {
            portable(key, places, depth + 1): portable(item, places, depth + 1) for key, item in value.items()
        }
    if isinstance(value, list):
        return [portable(item, places, depth + 1) for item in value]
    return value
