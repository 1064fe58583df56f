"""Imports, constructs, loads and unloads a package, and says what it saw (L1 and L2)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from .shown import TEXT_LIMIT, Say, cut, error_of, relative


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
        seen["error"] = {"stage": stage, **error_of(error, root)}
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
        shown, problem = None, cut(str(error), TEXT_LIMIT)
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
        seen["error"] = error_of(error, root)
        return seen
    seen["labels"] = [_shown_label(label, root) for label in contract.labels(loaded)]
    seen["classes"] = {item["id"]: declared_class(contract, root, item) for item in request["components"]}
    seen["cards"] = [_registered(contract, card) for card in contract.cards(agent)]
    seen["rails"] = [_class_of(rail) for rail in contract.rails(agent)]
    for rail in contract.skill_rails(agent):
        folders = rail.skills_dir
        seen["skill_dirs"] += [folders] if isinstance(folders, str) else [str(name) for name in folders]
        seen["skills"] += [
            {
                "name": str(skill.name),
                "description": cut(str(skill.description), 20_000),
                "folder": relative(Path(str(skill.directory)), root),
            }
            for skill in rail.skills
        ]
    seen["skill_dirs"] = [relative(Path(folder), root) for folder in seen["skill_dirs"]]
    seen["unload"] = await _unload(contract, agent, manifest, loaded, before, say)
    return seen


def _shown_label(label: str, root: Path) -> str:
    kind, _, name = label.partition(":")
    return f"{kind}:{relative(Path(name), root)}" if kind == "skill_dir" else label


def _registered(contract: Any, card: Any) -> dict[str, Any]:
    tool = contract.tool(card.id)
    return {
        "id": str(card.id),
        "name": str(card.name),
        "tool": None if tool is None else _class_of(tool),
    }


def declared_class(contract: Any, root: Path, item: dict[str, Any]) -> dict[str, str] | None:
    """Return what the declared class calls itself: a module may bind it under another name."""
    try:
        return _names(contract.load_class(root, item["module"], item["class"]))
    except BaseException:  # it was loaded a moment ago; without it the manifest's names must do
        return None


def _class_of(instance: Any) -> dict[str, str]:
    return _names(type(instance))


def _names(loaded: type) -> dict[str, str]:
    return {"class": loaded.__name__, "module": str(loaded.__module__)}


def _is_of_harness(contract: Any, card: Any) -> bool:
    """Return whether a tool is the harness's own: for skills it adds some, and keeps them."""
    module = str(type(contract.tool(getattr(card, "id", None))).__module__)
    return module.startswith("openjiuwen.") and not module.startswith("openjiuwen.extensions.")


async def _unload(
    contract: Any, agent: Any, manifest: Path, loaded: Any, before: dict[str, list[str]], say: Say
) -> dict[str, Any]:
    say({"type": "progress", "component": None, "stage": "unload"})
    try:
        await contract.unload(agent, manifest, loaded)
    except BaseException as error:
        return {"error": error_of(error, manifest.parent), "left": {}}
    after = _residue(contract, agent)
    left = {name: sorted(set(after[name]) - set(before[name])) for name in after}
    return {"error": None, "left": {name: items for name, items in left.items() if items}}


def _residue(contract: Any, agent: Any) -> dict[str, list[str]]:
    """Return what an agent carries that a package may have brought."""
    builder = agent.system_prompt_builder
    return {
        "tools": [str(card.name) for card in contract.cards(agent) if not _is_of_harness(contract, card)],
        "rails": [type(rail).__name__ for rail in contract.rails(agent)],
        "skills": [str(skill.name) for rail in contract.skill_rails(agent) for skill in rail.skills],
        "prompt sections": [] if builder is None else [str(name) for name in builder.get_all_sections()],
    }
