"""Acceptance specs of the good package with something wrong: `code/rule` in the docstring."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.mutations.accept_harmless import SPEC, spec
from tests.mutations.edit import replace


def _assertions(data: dict[str, Any], section: str) -> dict[str, Any]:
    asserted: dict[str, Any] = data[section][0]["assertions"]
    return asserted


def not_json(package: Path) -> None:
    """acceptance_spec_invalid/syntax"""
    replace(package / SPEC, '"components": [', '"components": [,')


def not_utf_8(package: Path) -> None:
    """acceptance_spec_invalid/unreadable"""
    (package / SPEC).write_bytes(b'{"name": "\xff"}')


def two_specs(package: Path) -> None:
    """acceptance_spec_invalid/two-specs"""
    (package / "acceptance.yaml").write_text("name: another\n")


def key_twice(package: Path) -> None:
    """acceptance_spec_invalid/duplicate-key"""
    replace(package / SPEC, '"effect": "write",', '"effect": "write", "effect": "read",')


def misspelled_field(package: Path) -> None:
    """acceptance_spec_invalid/unknown-field"""
    replace(package / SPEC, '"tool_tests"', '"tools_tests"')


def misspelled_assertion(package: Path) -> None:
    """acceptance_spec_invalid/unknown-field"""
    replace(package / SPEC, '"required_fields"', '"require_fields"')


def lacks_a_query(package: Path) -> None:
    """acceptance_spec_invalid/field-missing"""
    spec(package, lambda data: data["tool_tests"][0].pop("query"))


def without_a_name(package: Path) -> None:
    """acceptance_spec_invalid/field-missing"""
    spec(package, lambda data: data.pop("name"))


def unknown_format(package: Path) -> None:
    """acceptance_spec_invalid/schema"""
    spec(package, lambda data: data["tool_tests"][0]["artifacts"][0].update(format="powerpoint"))


def empty_query(package: Path) -> None:
    """acceptance_spec_invalid/schema"""
    spec(package, lambda data: data["rail_tests"][0].update(query=""))


def fields_that_are_a_text(package: Path) -> None:
    """acceptance_spec_invalid/schema"""
    spec(package, lambda data: _assertions(data, "tool_tests").update(required_fields="slides"))


def must_call_another_tool(package: Path) -> None:
    """acceptance_spec_invalid/other-tool"""
    spec(package, lambda data: _assertions(data, "tool_tests").update(must_call_tool="slide_tool"))


def component_that_is_not_declared(package: Path) -> None:
    """acceptance_spec_invalid/component-unknown"""
    spec(package, lambda data: data.update(components=["tool:DeckTol", "rail", "skill"]))


def rail_that_is_not_declared(package: Path) -> None:
    """acceptance_spec_invalid/component-unknown
    acceptance_spec_invalid/vacuous
    """
    spec(package, lambda data: data["rail_tests"][0].update(rail_name="LogRail"))


def skill_that_is_not_declared(package: Path) -> None:
    """acceptance_spec_invalid/component-unknown
    acceptance_spec_invalid/vacuous
    """
    spec(package, lambda data: data["skill_tests"][0].update(skill_name="decks"))


def two_rails_and_no_name(package: Path) -> None:
    """acceptance_spec_invalid/rail-not-named"""
    text = (package / "rails/request_log_rail.py").read_text()
    (package / "rails/second_rail.py").write_text(text.replace("RequestLogRail", "SecondRail"))
    replace(
        package / "harness_config.yaml",
        "  rails:\n",
        "  rails:\n    - type: package\n"
        "      module: openjiuwen.extensions.harness.deck_maker.rails.second_rail\n      class: SecondRail\n",
    )


def state_file_elsewhere(package: Path) -> None:
    """acceptance_spec_invalid/state-file-place"""
    spec(
        package,
        lambda data: _assertions(data, "rail_tests").update(observable_state_file="/tmp/<session_id>"),
    )


def state_file_that_leaves(package: Path) -> None:
    """acceptance_spec_invalid/state-file-place"""
    path = ".state/../../<session_id>.json"
    spec(package, lambda data: _assertions(data, "rail_tests").update(observable_state_file=path))


def state_file_of_all_sessions(package: Path) -> None:
    """acceptance_spec_invalid/state-file-not-per-session"""
    spec(
        package, lambda data: _assertions(data, "rail_tests").update(observable_state_file=".state/log.json")
    )


def misspelled_placeholder(package: Path) -> None:
    """acceptance_spec_invalid/placeholder-unknown"""
    replace(package / SPEC, "<output_dir>", "<output-dir>")


def path_of_another_format(package: Path) -> None:
    """acceptance_spec_invalid/format-and-path"""
    replace(package / SPEC, "review.pptx", "review.docx")


def nothing_is_tested(package: Path) -> None:
    """acceptance_spec_invalid/vacuous"""
    (package / SPEC).write_text(json.dumps({"name": "nothing"}))


def no_tool_test(package: Path) -> None:
    """acceptance_spec_invalid/vacuous"""
    spec(package, lambda data: data.pop("tool_tests"))


def no_rail_test(package: Path) -> None:
    """acceptance_spec_invalid/vacuous"""
    spec(package, lambda data: data.pop("rail_tests"))


def no_skill_test(package: Path) -> None:
    """acceptance_spec_invalid/vacuous"""
    spec(package, lambda data: data.pop("skill_tests"))


def rail_test_that_asserts_nothing(package: Path) -> None:
    """acceptance_spec_invalid/vacuous"""
    spec(package, lambda data: data["rail_tests"][0].update(assertions={}))


def fields_of_no_file(package: Path) -> None:
    """acceptance_spec_invalid/vacuous"""
    spec(package, lambda data: _assertions(data, "rail_tests").pop("observable_state_file"))


def state_that_nothing_prepares(package: Path) -> None:
    """acceptance_spec_invalid/vacuous"""
    spec(package, lambda data: data.pop("prewarm_queries"))
