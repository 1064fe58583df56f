"""The shape of what the jobs of a harness package may say, as JSON Schema.

A job shares its process with the extension: what does not have this shape is not judged.
"""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string", "maxLength": 200_000}
_TEXTS = {"type": "array", "items": _TEXT, "maxItems": 10_000}
_CLASS = {
    "type": "object",
    "properties": {"class": _TEXT, "module": _TEXT},
    "required": ["class", "module"],
}
_ERROR = {
    "type": ["object", "null"],
    "properties": {
        "type": _TEXT,
        "message": _TEXT,
        "stage": _TEXT,
        "missing_module": {"type": ["string", "null"]},
        "frames": {
            "type": "array",
            "maxItems": 60,
            "items": {
                "type": "object",
                "properties": {"file": _TEXT, "line": {"type": "integer"}, "function": _TEXT},
                "required": ["file", "line", "function"],
            },
        },
    },
    "required": ["type", "message", "missing_module", "frames"],
}

CONSTRUCT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "components": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": _TEXT,
                    "error": {**_ERROR, "required": [*_ERROR["required"], "stage"]},
                    "is_rail": {"type": "boolean"},
                    "is_tool": {"type": "boolean"},
                    "card": {
                        "type": ["object", "null"],
                        "properties": {
                            "id": _TEXT,
                            "name": _TEXT,
                            "given": _TEXTS,
                            "parameters_problem": {"type": ["string", "null"]},
                        },
                        "required": ["id", "name", "given", "parameters", "parameters_problem"],
                    },
                },
                "required": ["id", "error", "card", "is_rail"],
            },
        }
    },
    "required": ["components"],
}

LOAD: dict[str, Any] = {
    "type": "object",
    "properties": {
        "error": _ERROR,
        "labels": _TEXTS,
        "classes": {"type": "object", "additionalProperties": {"anyOf": [_CLASS, {"type": "null"}]}},
        "cards": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": _TEXT, "name": _TEXT, "tool": {"anyOf": [_CLASS, {"type": "null"}]}},
                "required": ["id", "name", "tool"],
            },
        },
        "rails": {"type": "array", "items": _CLASS},
        "skills": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": _TEXT, "description": _TEXT, "folder": _TEXT},
                "required": ["name", "description", "folder"],
            },
        },
        "skill_dirs": _TEXTS,
        "unload": {
            "type": "object",
            "properties": {
                "error": _ERROR,
                "left": {"type": "object", "additionalProperties": _TEXTS},
            },
            "required": ["error", "left"],
        },
    },
    "required": ["error", "labels", "classes", "cards", "rails", "skills", "skill_dirs"],
    "if": {"properties": {"error": {"type": "null"}}},
    "then": {"required": ["unload"]},
}

_VALUE = {
    "type": "object",
    "properties": {"type": _TEXT, "foreign": _TEXTS},
    "required": ["type", "value", "foreign"],
}
_RECORD = {
    "type": "object",
    "properties": {
        "error": _ERROR,
        "calls": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": _TEXT, "result": _VALUE, "error": _ERROR, "message": _TEXT},
                "required": ["name", "result", "error", "message"],
            },
        },
        "executions": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": _TEXT}, "required": ["name", "arguments"]},
        },
        "hooks": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"class": _TEXT, "module": _TEXT, "event": _TEXT, "error": _ERROR},
                "required": ["class", "module", "event", "error"],
            },
        },
        "stream": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"type": _TEXT, "text": _TEXT},
                "required": ["type", "text"],
            },
        },
    },
    "required": ["error", "calls", "executions", "hooks", "stream"],
}

ACCEPT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "error": _ERROR,
        "cards": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": _TEXT, "tool": {"anyOf": [_CLASS, {"type": "null"}]}},
                "required": ["name", "tool"],
            },
        },
        "classes": {"type": "object", "additionalProperties": {"anyOf": [_CLASS, {"type": "null"}]}},
        "steps": {"type": "object", "additionalProperties": _RECORD},
        "files": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "step": _TEXT,
                    "tool": {"type": ["string", "null"]},
                    "how": {"enum": ["read", "write", "create", "append", "move"]},
                    "path": _TEXT,
                    "from": {"type": ["string", "null"]},
                    "file": {"type": ["string", "null"]},
                    "line": {"type": "integer"},
                },
                "required": ["step", "tool", "how", "path", "from", "file", "line"],
            },
        },
    },
    "required": ["error", "cards", "classes", "steps", "files"],
}
