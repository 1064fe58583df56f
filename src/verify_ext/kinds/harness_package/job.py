"""What runs inside the harness for a harness package: says what it saw, judges nothing.

Standard library and openjiuwen only. `EXERCISES` maps a name to a function of the contract
adapter, the request and `say` (which reports progress, so that a crash has a place); each
returns plain data for `judge.py`.
"""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

Say = Callable[[dict[str, Any]], None]

_TEXT_LIMIT = 2_000


def construct(contract: Any, request: dict[str, Any], say: Say) -> dict[str, Any]:
    """Import and construct every declared rail and tool with the harness's own class loader."""
    root = Path(request["root"])
    return {"components": [_construct_one(contract, root, item, say) for item in request["components"]]}


def _construct_one(contract: Any, root: Path, item: dict[str, Any], say: Say) -> dict[str, Any]:
    seen: dict[str, Any] = {"id": item["id"], "error": None, "card": None, "is_rail": False}
    stage = "import"
    try:
        say({"type": "progress", "component": item["id"], "stage": stage})
        loaded = contract.load_class(root, item["module"], item["class"])
        stage = "construct"
        say({"type": "progress", "component": item["id"], "stage": stage})
        instance = loaded()
        stage = "card"
        if item["type"] == "tool":
            seen["card"] = _card(instance)
        seen["is_rail"] = _is_rail(instance)
        seen["is_tool"] = _is_tool(instance)
    except BaseException as error:  # SystemExit and KeyboardInterrupt too: the extension raised it
        seen["error"] = {"stage": stage, **_error(error, root)}
    return seen


def _is_rail(instance: Any) -> bool:
    from openjiuwen.core.single_agent.rail.base import AgentRail

    return isinstance(instance, AgentRail)


def _is_tool(instance: Any) -> bool:
    from openjiuwen.core.foundation.tool.base import Tool

    return isinstance(instance, Tool)


def _card(tool: Any) -> dict[str, Any] | None:
    """Return what the tool's card says, and which of it was given and not defaulted."""
    card = getattr(tool, "card", None)
    given = getattr(card, "model_fields_set", None)
    if card is None or given is None:
        return None
    parameters = card.tool_info().parameters
    if isinstance(parameters, type) and hasattr(parameters, "model_json_schema"):
        parameters = parameters.model_json_schema()
    try:
        shown = json.loads(json.dumps(parameters, allow_nan=False))
        problem = None
    except (TypeError, ValueError, RecursionError) as error:
        shown, problem = None, _cut(str(error), _TEXT_LIMIT)
    return {
        "id": str(card.id),
        "name": str(card.name),
        "given": sorted(str(name) for name in given),
        "parameters": shown,
        "parameters_problem": problem,
    }


def load(contract: Any, request: dict[str, Any], say: Say) -> dict[str, Any]:
    """Load the package through the harness's real entry, look at the agent, unload it again."""
    return asyncio.run(_load(contract, request, say))


async def _load(contract: Any, request: dict[str, Any], say: Say) -> dict[str, Any]:
    root = Path(request["root"])
    manifest = root / request["manifest"]
    agent = contract.new_agent()
    before = _residue(contract, agent)
    seen: dict[str, Any] = {
        "error": None,
        "labels": [],
        "classes": {},
        "cards": [],
        "rails": [],
        "skills": [],
        "skill_dirs": [],
    }
    say({"type": "progress", "component": None, "stage": "load"})
    try:
        loaded = await contract.load(agent, manifest)
        await contract.settle(agent)
    except BaseException as error:
        seen["error"] = _error(error, root)
        return seen
    seen["labels"] = [_shown_label(label, root) for label in contract.labels(loaded)]
    seen["classes"] = {item["id"]: _declared_class(contract, root, item) for item in request["components"]}
    seen["cards"] = [_registered(contract, card) for card in contract.cards(agent)]
    seen["rails"] = [_class_of(rail) for rail in contract.rails(agent)]
    for rail in contract.skill_rails(agent):
        folders = rail.skills_dir
        seen["skill_dirs"] += [folders] if isinstance(folders, str) else [str(name) for name in folders]
        seen["skills"] += [
            {
                "name": str(skill.name),
                "description": _cut(str(skill.description), 20_000),
                "folder": _relative(Path(str(skill.directory)), root),
            }
            for skill in rail.skills
        ]
    seen["skill_dirs"] = [_relative(Path(folder), root) for folder in seen["skill_dirs"]]
    seen["unload"] = await _unload(contract, agent, manifest, loaded, before, say)
    return seen


def _shown_label(label: str, root: Path) -> str:
    kind, _, name = label.partition(":")
    return f"{kind}:{_relative(Path(name), root)}" if kind == "skill_dir" else label


def _registered(contract: Any, card: Any) -> dict[str, Any]:
    tool = contract.tool(card.id)
    return {
        "id": str(card.id),
        "name": str(card.name),
        "tool": None if tool is None else _class_of(tool),
    }


def _declared_class(contract: Any, root: Path, item: dict[str, Any]) -> dict[str, str] | None:
    """Return what the declared class calls itself: a module may bind it under another name."""
    try:
        return _names(contract.load_class(root, item["module"], item["class"]))
    except BaseException:  # it was loaded a moment ago; without it the manifest's names must do
        return None


def _class_of(instance: Any) -> dict[str, str]:
    return _names(type(instance))


def _names(loaded: type) -> dict[str, str]:
    return {"class": loaded.__name__, "module": str(loaded.__module__)}


async def _unload(
    contract: Any, agent: Any, manifest: Path, loaded: Any, before: dict[str, list[str]], say: Say
) -> dict[str, Any]:
    say({"type": "progress", "component": None, "stage": "unload"})
    try:
        await contract.unload(agent, manifest, loaded)
    except BaseException as error:
        return {"error": _error(error, manifest.parent), "left": {}}
    after = _residue(contract, agent)
    left = {name: sorted(set(after[name]) - set(before[name])) for name in after}
    return {"error": None, "left": {name: items for name, items in left.items() if items}}


def _residue(contract: Any, agent: Any) -> dict[str, list[str]]:
    """Return what an agent carries that a package may have brought."""
    builder = agent.system_prompt_builder
    return {
        "tools": [str(card.name) for card in contract.cards(agent)],
        "rails": [type(rail).__name__ for rail in contract.rails(agent)],
        "skills": [str(skill.name) for rail in contract.skill_rails(agent) for skill in rail.skills],
        "prompt sections": [] if builder is None else [str(name) for name in builder.get_all_sections()],
    }


def _error(error: BaseException, root: Path) -> dict[str, Any]:
    """Return an exception as data: its type, its words, where inside the extension it came from."""
    chain = _chain(error)
    deepest = next((found for found in reversed(chain) if _frames(found, root)), chain[-1])
    return {
        "type": type(deepest).__name__,
        "message": _cut(_words(deepest).replace(f"{root.parent}/", ""), _TEXT_LIMIT),
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
        if (relative := _inside(frame.filename, root))
    ]
    if isinstance(error, SyntaxError) and error.filename and (relative := _inside(error.filename, root)):
        frames.append({"file": relative, "line": error.lineno or 1, "function": "<module>"})
    return frames[-50:]


def _inside(file: str, root: Path) -> str | None:
    try:
        return Path(file).resolve().relative_to(root).as_posix()
    except (ValueError, OSError):
        return None


def _relative(path: Path, root: Path) -> str:
    return _inside(str(path), root) or str(path)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + f"… ({len(text) - limit} more characters)"


EXERCISES = {"construct": construct, "load": load}
