"""Arguments for a tool, made from its own parameter schema alone.

What the author gave comes first: constants, examples, defaults, the first of an enumeration. The
rest is the smallest value of the right type. The schema is a stranger's: depth and size are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_DEPTH_LIMIT, _WIDTH_LIMIT = 8, 50
_TEXT_LIMIT = 2_000
_PATH_NAME = re.compile(r"(?:^|_)(?:path|file|filename|filepath|output|dest|destination)$")
_SUFFIX = re.compile(
    r"\.(pptx|docx|xlsx|pdf|png|jpe?g|gif|webp|bmp|tiff?|svg|json|csv|zip|txt|md|html)\b", re.I
)
_FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "email": "name@example.org",
    "uri": "https://example.org/",
    "url": "https://example.org/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


def sample_arguments(schema: Any, output: str) -> dict[str, Any]:
    """Return an object with every property that a parameter schema requires, and those with examples.

    `output` is the folder in which files that the arguments name belong.
    """
    made = _object(schema if isinstance(schema, Mapping) else {}, output, 0)
    return made


def _object(schema: Mapping[str, Any], output: str, depth: int) -> dict[str, Any]:
    properties = schema.get("properties")
    required = schema.get("required")
    if not isinstance(properties, Mapping):
        return {}
    wanted = (
        set(required) if isinstance(required, list) and all(isinstance(x, str) for x in required) else set()
    )
    return {
        name: _value(name, below, output, depth + 1)
        for name, below in list(properties.items())[:_WIDTH_LIMIT]
        if isinstance(below, Mapping) and (name in wanted or _given(below))
    }


def _given(schema: Mapping[str, Any]) -> bool:
    return bool(schema.get("examples")) or "example" in schema


def _value(name: str, schema: Mapping[str, Any], output: str, depth: int) -> Any:
    if "const" in schema:
        return schema["const"]
    examples = schema.get("examples")
    if isinstance(examples, list) and examples:
        return examples[0]
    for key in ("example", "default"):
        if schema.get(key) is not None:
            return schema[key]
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return choices[0]
    for key in ("anyOf", "oneOf", "allOf"):
        options = schema.get(key)
        if isinstance(options, list) and options and isinstance(options[0], Mapping) and depth < _DEPTH_LIMIT:
            return _value(name, options[0], output, depth + 1)
    return _of_type(name, schema, output, depth)


def _of_type(name: str, schema: Mapping[str, Any], output: str, depth: int) -> Any:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), "string")
    if kind == "object":
        return _object(schema, output, depth) if depth < _DEPTH_LIMIT else {}
    if kind == "array":
        items = schema.get("items")
        if not isinstance(items, Mapping) or depth >= _DEPTH_LIMIT:
            return []
        return [_value(name, items, output, depth + 1)]
    if kind in ("integer", "number"):
        return _number(schema)
    if kind == "boolean":
        return True
    return None if kind == "null" else _text(name, schema, output)


def _number(schema: Mapping[str, Any]) -> int | float:
    for key, step in (("minimum", 0), ("exclusiveMinimum", 1), ("maximum", 0), ("exclusiveMaximum", -1)):
        bound = schema.get(key)
        if isinstance(bound, (int, float)) and not isinstance(bound, bool) and abs(bound) < 1e15:
            return bound + step
    return 1


def _text(name: str, schema: Mapping[str, Any], output: str) -> str:
    words = f"{name} {schema.get('description', '')}"[:_TEXT_LIMIT]
    if _PATH_NAME.search(name.lower()):
        suffix = _SUFFIX.search(words)
        return f"{output}/result{suffix[0].lower() if suffix else '.txt'}"
    known = _FORMATS.get(str(schema.get("format")))
    least = schema.get("minLength")
    made = known or f"example {name}".replace("_", " ")
    return made.ljust(min(least, _TEXT_LIMIT), "x") if isinstance(least, int) else made
