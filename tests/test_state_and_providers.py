"""Where a tool takes state from, and what model APIs refuse of it, as far as it is seen without a call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.mutations.edit import replace
from tests.test_acceptance_spec import subject
from verify_ext.kinds.harness_package.provider_rules import judge_provider
from verify_ext.model import Declared, Location
from verify_ext.source import Spot

TOOL = "tools/deck_tool.py"
TAKES = 'kwargs.get("session")'
PLACE = Location(path="deck_maker/tools/deck_tool.py")


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ('kwargs.get("session"); kwargs["ctx"]', 'kwargs["ctx"]'),
        ('kwargs.get("session"); kwargs.get("ctx")', 'kwargs.get("ctx")'),
        ('kwargs.get("session"); kwargs.pop("agent", None)', 'kwargs.pop("agent", None)'),
        ('kwargs.get("session") or kwargs["agent"]', 'kwargs["agent"]'),
    ],
)
def test_state_from_context_or_agent(code: str, name: str, good_package: Path) -> None:
    replace(good_package / TOOL, TAKES, code)
    (finding,) = subject(good_package).checked.findings
    assert finding.id == "state_source_not_allowed/context-or-agent"
    assert finding.component == "tool:DeckTool"
    line = (good_package / TOOL).read_text().splitlines()[finding.location.line - 1]
    assert line[finding.location.column - 1 :].startswith(name)


def test_state_from_a_parameter(good_package: Path) -> None:
    replace(
        good_package / TOOL,
        "def invoke(self, inputs: dict[str, Any], ",
        "def invoke(self, inputs, ctx=None, ",
    )
    found = subject(good_package).checked.findings
    assert [each.id for each in found] == ["state_source_not_allowed/context-or-agent"]


@pytest.mark.parametrize("code", ["host._registered_rails", "host.find_rails_by_type((object,))"])
def test_state_from_the_rails_of_an_agent(code: str, good_package: Path) -> None:
    replace(good_package / TOOL, TAKES, f"kwargs.get('session'); host = self; {code}")
    found = subject(good_package).checked.findings
    assert [each.id for each in found] == ["state_source_not_allowed/rails-of-agent"]


@pytest.mark.parametrize(
    "code",
    [
        'kwargs.get("session"); inputs.get("ctx")',
        'kwargs.get("session"); options = {"agent": 1}; options["agent"]',
        'kwargs["session"]',
        'kwargs.get("session"); kwargs.get("language", "en")',
    ],
)
def test_other_keys_are_nobodys_business(code: str, good_package: Path) -> None:
    replace(good_package / TOOL, TAKES, code)
    assert subject(good_package).checked.findings == ()


def judged(name: str, **parameters: Any) -> list[str]:
    part = Declared(type="tool", name="DeckTool", location=PLACE)
    return [each.id for each in judge_provider(part, Spot(PLACE), name, {"type": "object", **parameters})]


def test_what_every_api_takes_is_silent() -> None:
    nested = {"a": {"type": "array", "items": {"type": "string"}}, "b": {"anyOf": [{"type": "null"}]}}
    assert judged("deck_tool", properties=nested) == []
    assert judged("Deck-Tool-2", properties={}) == []


@pytest.mark.parametrize("name", ["report.generate", "deck tool", "幻灯片", "deck/tool"])
def test_names_with_other_characters(name: str) -> None:
    assert judged(name) == ["schema_refused_by_provider/tool-name-characters"]


def test_names_that_are_long() -> None:
    assert judged("x" * 64) == []
    assert judged("x" * 65) == ["schema_refused_by_provider/tool-name-long"]


@pytest.mark.parametrize("name", ["oneOf", "anyOf", "allOf", "not", "enum"])
def test_combinators_at_the_root(name: str) -> None:
    assert judged("deck_tool", **{name: []}) == ["schema_refused_by_provider/root-combinator"]


def test_arrays_without_items() -> None:
    inner = {"type": "object", "properties": {"c": {"type": "array"}}}
    for properties in ({"a": {"type": "array"}}, {"b": {"type": "array", "items": inner}}):
        assert judged("deck_tool", properties=properties) == [
            "schema_refused_by_provider/array-without-items"
        ]
