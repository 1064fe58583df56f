"""JSON Schemas of what users write or read, as package data."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any


def load(name: str) -> dict[str, Any]:
    """Return the schema `<name>.schema.json` of this folder. Raises FileNotFoundError."""
    text = resources.files(__name__).joinpath(f"{name}.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
