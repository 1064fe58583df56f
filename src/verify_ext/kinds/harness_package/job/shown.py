"""What a job says of objects and errors: plain data, cut to a bounded size."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Say = Callable[[dict[str, Any]], None]

TEXT_LIMIT = 2_000


def error_of(error: BaseException, root: Path) -> dict[str, Any]:
    """Return an exception as data: its type, its words, where inside the extension it came from."""
    chain = _chain(error)
    deepest = next((found for found in reversed(chain) if _frames(found, root)), chain[-1])
    return {
        "type": type(deepest).__name__,
        "message": cut(_words(deepest).replace(f"{root.parent}/", ""), TEXT_LIMIT),
        "missing_module": _missing_module(deepest),
        "frames": _frames(deepest, root),
    }


def _chain(error: BaseException) -> list[BaseException]:
    """Return an exception and what caused it, outermost first: harnesses wrap what they catch."""
    chain = [error]
    while len(chain) < 20:
        cause = chain[-1].__cause__ or (None if chain[-1].__suppress_context__ else chain[-1].__context__)
        if cause is None or cause in chain:
            break
        chain.append(cause)
    return chain


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # a __str__ of the extension's own
        return "(its message cannot be shown)"


def _missing_module(error: BaseException) -> str | None:
    return error.name if isinstance(error, ModuleNotFoundError) else None


def _frames(error: BaseException, root: Path) -> list[dict[str, Any]]:
    frames = [
        {"file": relative, "line": frame.lineno or 1, "function": frame.name}
        for frame in traceback.extract_tb(error.__traceback__)
        if (relative := inside(frame.filename, root))
    ]
    if isinstance(error, SyntaxError) and error.filename and (relative := inside(error.filename, root)):
        frames.append({"file": relative, "line": error.lineno or 1, "function": "<module>"})
    return frames[-50:]


def inside(file: str, root: Path) -> str | None:
    try:
        return Path(file).resolve().relative_to(root).as_posix()
    except (ValueError, OSError):
        return None


def relative(path: Path, root: Path) -> str:
    return inside(str(path), root) or str(path)


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + f"… ({len(text) - limit} more characters)"


_NODES_LIMIT = 20_000
_STRING_LIMIT = 20_000
_DEPTH_LIMIT = 40


def value_of(value: Any) -> dict[str, Any]:
    """Return any object as data: its `type` in JSON's words, its `value`, what of it is not JSON.

    Models, dataclasses and mappings are objects, other sequences and sets are arrays. `foreign`
    names the places whose values are of no JSON type; they are shown as text.
    """
    foreign: list[str] = []
    shown = _plain(value, "", foreign, [_NODES_LIMIT], 0)
    return {"type": json_type(shown), "value": shown, "foreign": foreign[:20]}


def json_type(value: Any) -> str:
    """Return JSON's name for the type of plain data."""
    if isinstance(value, bool):
        return "boolean"
    names = {dict: "object", list: "array", str: "string", int: "integer", float: "number"}
    return names.get(type(value), "null")


def _plain(value: Any, path: str, foreign: list[str], budget: list[int], depth: int) -> Any:
    budget[0] -= 1
    if budget[0] < 0 or depth > _DEPTH_LIMIT:
        return "…"
    if value is None or isinstance(value, (bool, int)):
        return value if not isinstance(value, int) or abs(value) < 1 << 63 else str(value)[:100]
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    if isinstance(value, str):
        return cut(value.encode("utf-8", "replace").decode(), _STRING_LIMIT)
    value = _unfolded(value)
    if isinstance(value, dict):
        return {
            cut(str(key), 200): _plain(item, f"{path}.{key}"[:200], foreign, budget, depth + 1)
            for key, item in list(value.items())[:_NODES_LIMIT]
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        return [
            _plain(item, f"{path}[{index}]"[:200], foreign, budget, depth + 1)
            for index, item in enumerate(list(value)[:_NODES_LIMIT])
        ]
    foreign.append(f"{path.lstrip('.') or 'the result'}: {type(value).__name__}"[:200])
    return cut(_words_of(value), TEXT_LIMIT)


def _unfolded(value: Any) -> Any:
    """Return what a model, a dataclass or a mapping holds as a dict; anything else as it is."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return dict(value) if isinstance(value, Mapping) else value


def _words_of(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # a __str__ of the extension's own
        return f"a {type(value).__name__}"
