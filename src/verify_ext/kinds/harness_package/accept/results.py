"""Results of tools, as the tracking rail saw them, and what in them can be judged."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from verify_ext.artifacts.model import Expected
from verify_ext.kinds import Seen
from verify_ext.kinds.harness_package.acceptance import ArtifactClaim, ToolTest

MISSING = object()
PATH_FIELDS = ("path", "absolute_path", "output_path", "file_path")
SUFFIXES = {
    ".pptx": "pptx", ".docx": "docx", ".xlsx": "xlsx", ".pdf": "pdf", ".png": "png", ".jpg": "jpeg",
    ".jpeg": "jpeg", ".gif": "gif", ".webp": "webp", ".bmp": "bmp", ".tif": "tiff", ".tiff": "tiff",
    ".svg": "svg", ".json": "json", ".csv": "csv", ".zip": "zip",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of one call of a tool."""

    type: str
    """JSON's name for the type of what was returned."""
    value: Any
    error: Mapping[str, Any] | None
    """What the tool raised, as the job describes errors."""
    message: str
    """What the model is told of it."""

    @property
    def fields(self) -> Mapping[str, Any] | None:
        """The object in which fields are looked for; None if what was returned is none.

        A `ToolOutput` holds them in `data`; text that is itself a JSON object counts as one.
        """
        value = self.value
        if isinstance(value, str):
            value = _json_object(value)
        if not isinstance(value, Mapping):
            return None
        data = value.get("data")
        if isinstance(data, str):
            data = _json_object(data)
        outer = {key: item for key, item in value.items() if key != "data" and item is not None}
        return {**value, **data, **outer} if isinstance(data, Mapping) and "success" in value else value


def _json_object(text: str) -> Any:
    try:
        return json.loads(text) if text.lstrip().startswith("{") else text
    except (ValueError, RecursionError):
        return text


def result_of_step(seen: Seen, step: str, tool: str) -> Result | None:
    """Return the first result of a tool in a step; None if it was not called there."""
    calls = seen.observed["steps"].get(step, {}).get("calls", ())
    call = next((call for call in calls if call["name"] == tool), None)
    if call is None:
        return None
    shown = call["result"]
    return Result(type=shown["type"], value=shown["value"], error=call["error"], message=call["message"])


def field_of(fields: Any, name: str) -> Any:
    """Return the value of a field, dots leading into objects and numbers into arrays; else `MISSING`."""
    if isinstance(fields, Mapping) and name in fields:
        return fields[name]
    first, dot, rest = name.partition(".")
    if isinstance(fields, list) and first.isdigit() and int(first) < len(fields):
        below = fields[int(first)]
    elif isinstance(fields, Mapping) and dot and first in fields:
        below = fields[first]
    else:
        return MISSING
    return field_of(below, rest) if dot else below


@dataclass(frozen=True, kw_only=True)
class PathClaim:
    """A file that a result names: by a field that the spec gives, or by one that speaks for itself."""

    field: str
    path: str
    expected: Expected
    claim: ArtifactClaim | None
    """None where the spec does not ask for it."""


def path_claims(test: ToolTest, result: Result) -> Iterator[PathClaim]:
    """Yield the files that a result names, each once."""
    fields = result.fields
    seen: set[str] = set()
    for claim in test.artifacts:
        path = field_of(fields, claim.path_field)
        if isinstance(path, str) and path and path not in seen:
            seen.add(path)
            expected = Expected(
                format=claim.format, required_fields=claim.required_fields, min_bytes=claim.min_bytes
            )
            yield PathClaim(field=claim.path_field, path=path, expected=expected, claim=claim)
    if test.effect == "read" or fields is None or fields.get("success") is False:
        return
    for name in PATH_FIELDS:
        path = fields.get(name)
        if isinstance(path, str) and suffix_format(path) and path not in seen:
            seen.add(path)
            yield PathClaim(field=name, path=path, expected=Expected(), claim=None)


def suffix_format(path: str) -> str | None:
    """Return the format that a path's suffix names, None for none that is known."""
    return SUFFIXES.get(PurePosixPath(path).suffix.lower())


_MOVING = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "<uuid>"),
)
_SESSIONS = re.compile(r"\b(?:tool|rail|skill)-\d+(?:[-/][a-z]+(?:-[a-z]+)*(?:-\d+)?)?")
_NOW_S = (1.7e9, 4.1e9)


def settled(value: Any) -> Any:
    """Return plain data without what differs from call to call: session names, folders, times, ids."""
    if isinstance(value, str):
        for pattern, word in _MOVING:
            value = pattern.sub(word, value)
        return _SESSIONS.sub("<session>", value)
    if isinstance(value, float) and (_NOW_S[0] < value < _NOW_S[1] or _NOW_S[0] < value / 1000 < _NOW_S[1]):
        return "<time>"
    if isinstance(value, Mapping):
        return {str(key): settled(item) for key, item in value.items()}
    return [settled(item) for item in value] if isinstance(value, list) else value
