"""A first acceptance spec, made from what a package declares and from its tools' own cards.

It passes only if every tool answers with success, every rail changes something and every skill
reaches the model. It knows nothing of what a tool is *for*: what its result must hold is for the
author to add.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from verify_ext.artifacts import format_of_suffix
from verify_ext.kinds.harness_package.acceptance import OUTPUT_DIR
from verify_ext.model import Checked, Declared
from verify_ext.sample_arguments import sample_arguments

_WORDS_LIMIT = 60


def first_spec(name: str, checked: Checked, observed: Mapping[str, Any]) -> str:
    """Return the text of a spec for a package that is called `name`.

    `observed` is what its construct job saw: the cards of its tools.
    """
    cards = {each["id"]: each["card"] for each in observed["components"] if each["card"] is not None}
    tools = [_tool_test(cards[part.id]) for part in _of_type(checked, "tool") if part.id in cards]
    rails, skills = list(_of_type(checked, "rail")), list(_of_type(checked, "skill"))
    spec: dict[str, Any] = {
        "name": f"{name}_acceptance",
        "components": [
            kind for kind, there in (("rail", rails), ("tool", tools), ("skill", skills)) if there
        ],
        "prewarm_queries": ["Please remember that I asked."] if rails and tools else [],
        "tool_tests": tools,
        "rail_tests": [_rail_test(part, tools) for part in rails],
        "skill_tests": [_skill_test(part) for part in skills],
    }
    spec = {key: value for key, value in spec.items() if value}
    return json.dumps(spec, indent=2, ensure_ascii=False) + "\n"


def _of_type(checked: Checked, kind: str) -> Iterator[Declared]:
    return (part for part in checked.components if part.type == kind)


def _tool_test(card: Mapping[str, Any]) -> dict[str, Any]:
    name, arguments = card["name"], sample_arguments(card["parameters"], OUTPUT_DIR)
    test = {
        "tool_name": name,
        "query": f"Call {name} now and answer only from its result.",
        "arguments": arguments,
        "artifacts": list(_artifacts(arguments)),
        "assertions": {"must_call_tool": name, "tool_result_success": True},
    }
    if not test["artifacts"]:
        del test["artifacts"]
    return test


def _artifacts(arguments: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a claim for the file that the arguments ask for: its path is in `path` (seed, artifacts)."""
    asked = [value for value in arguments.values() if isinstance(value, str) and value.startswith(OUTPUT_DIR)]
    for path in asked[:1]:
        made = format_of_suffix(f".{path.rpartition('.')[2]}")
        if made is not None:
            yield {"path_field": "path", "format": made.name}


def _rail_test(part: Declared, tools: list[dict[str, Any]]) -> dict[str, Any]:
    """Have the rail see a query and a tool's call, and ask for any change by it."""
    calls = [{"tool_name": test["tool_name"], "arguments": test["arguments"]} for test in tools[:1]]
    return {
        "rail_name": part.name,
        "query": "Please remember that I asked.",
        **({"calls": calls} if calls else {}),
        "assertions": {"must_observe_side_effect": True},
    }


def _skill_test(part: Declared) -> dict[str, Any]:
    described = " ".join(str(part.facts.get("description") or part.name).split())
    words = re.split(r"[.;:,。；：，]", described, maxsplit=1)[0]
    if len(words) > _WORDS_LIMIT:
        words = words[:_WORDS_LIMIT].rpartition(" ")[0] or words[:_WORDS_LIMIT]
    return {
        "skill_name": part.name,
        "query": f"When should the skill {part.name} be used?",
        "assertions": {"answer_contains_any": [words.strip() or part.name]},
    }
