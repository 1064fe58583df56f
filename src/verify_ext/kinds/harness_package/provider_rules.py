"""What real model APIs refuse of a tool, though a scripted one accepts it.

Each rule says which APIs refuse; the sources are their public references. What only some refuse is a
warning, what all that speak OpenAI's protocol refuse is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from verify_ext.codes import Place, Rule, Rules
from verify_ext.kinds.harness_package.acceptance_codes import SCHEMA_REFUSED_BY_PROVIDER
from verify_ext.model import Declared, Finding, Layer, Provenance, Severity

_OPENAI = "OpenAI API reference, chat completions: tools.function.name, tools.function.parameters"
_ANTHROPIC = "Anthropic API reference, messages: tools.name, tools.input_schema"
_NAME = re.compile(r"[a-zA-Z0-9_-]+\Z")
_NAME_LIMIT = 64
_COMBINATORS = ("oneOf", "anyOf", "allOf", "not", "enum")
_NODES_LIMIT = 5_000

RULES = Rules(
    Rule(
        code=SCHEMA_REFUSED_BY_PROVIDER,
        rule="tool-name-characters",
        layer=Layer.L1,
        message="the tool's name {name!r} is refused by OpenAI and Anthropic",
        remedy="Use letters, digits, _ and - only: report_generate, not report.generate.",
        why="A request that offers the tool fails as a whole, whatever else it offers.",
        source=f"{_OPENAI} (a-z, A-Z, 0-9, underscores and dashes); {_ANTHROPIC}",
    ),
    Rule(
        code=SCHEMA_REFUSED_BY_PROVIDER,
        rule="tool-name-long",
        layer=Layer.L1,
        message="the tool's name has {count} characters; OpenAI and Anthropic refuse more than 64",
        remedy="Shorten the name.",
        why="A request that offers the tool fails as a whole, whatever else it offers.",
        source=f"{_OPENAI} (maximum length 64); {_ANTHROPIC}",
    ),
    Rule(
        code=SCHEMA_REFUSED_BY_PROVIDER,
        rule="root-combinator",
        layer=Layer.L1,
        message="input_params has {name} at its root, which OpenAI and Anthropic refuse",
        remedy="Put the alternatives into a property, or describe them in words.",
        why="A request that offers the tool fails as a whole, whatever else it offers.",
        source="OpenAI: \"schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the"
        ' top level"; Anthropic: "input_schema does not support oneOf, allOf, or anyOf at the top level"',
    ),
    Rule(
        code=SCHEMA_REFUSED_BY_PROVIDER,
        rule="array-without-items",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="the array at {path} has no items; OpenAI and Gemini refuse it",
        remedy="Say what its elements are: items.",
        why="A request that offers the tool fails as a whole, whatever else it offers.",
        source='OpenAI: "array schema missing items"; Gemini API: "items: missing field"',
    ),
)


def judge_provider(part: Declared, place: Place, name: str, parameters: Any) -> Iterator[Finding]:
    """Judge a tool's name and parameter schema by what model APIs accept.

    `name` and `parameters` are those of its card, as its own process shows them.
    """

    def finding(rule: str, actual: str, **words: Any) -> Finding:
        return RULES.finding(
            f"schema_refused_by_provider/{rule}",
            place,
            component=part.id,
            actual=actual,
            provenance=Provenance.OBSERVED,
            **words,
        )

    if not _NAME.match(name):
        yield finding("tool-name-characters", name[:100], name=name[:100])
    elif len(name) > _NAME_LIMIT:
        yield finding("tool-name-long", name[:100], count=len(name))
    if not isinstance(parameters, dict):
        return
    for combinator in _COMBINATORS:
        if combinator in parameters:
            yield finding("root-combinator", combinator, name=combinator)
            break
    path = _array_without_items(parameters)
    if path is not None:
        yield finding("array-without-items", path, path=path)


def _array_without_items(parameters: dict[str, Any]) -> str | None:
    """Return where the first array without `items` is, None if there is none."""
    waiting: list[tuple[str, Any]] = [("", parameters)]
    for _ in range(_NODES_LIMIT):
        if not waiting:
            break
        path, schema = waiting.pop(0)
        if not isinstance(schema, dict):
            continue
        if schema.get("type") == "array" and not any(key in schema for key in ("items", "prefixItems")):
            return path.lstrip(".") or "the root"
        properties = schema.get("properties")
        if isinstance(properties, dict):
            waiting += [(f"{path}.{key}", below) for key, below in properties.items()]
        waiting.append((f"{path}[]", schema.get("items")))
    return None
