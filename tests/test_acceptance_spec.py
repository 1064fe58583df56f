"""Acceptance specs: read as the seed prints them, and every problem said at its place."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.conftest import ROOT
from tests.mutations import acceptance_spec as mutations
from tests.mutations.accept_harmless import seed_spec, spec
from verify_ext.discover import discover
from verify_ext.kinds import all_kinds
from verify_ext.model import Layer, Severity, Verdict
from verify_ext.reading import Subject, read
from verify_ext.sample_arguments import sample_arguments

MUTATIONS = [
    function
    for name, function in inspect.getmembers(mutations, inspect.isfunction)
    if function.__module__ == mutations.__name__ and not name.startswith("_")
]


def subject(package: Path) -> Subject:
    kinds = {kind.name: kind for kind in all_kinds()}
    (extension,) = discover([package], package.parent, tuple(kinds.values())).extensions
    return read(extension, kinds[extension.kind])


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda function: function.__name__)
def test_a_wrong_spec_gives_its_rule_and_nothing_else(
    mutation: Callable[[Path], None], good_package: Path
) -> None:
    mutation(good_package)
    read = subject(good_package)
    expected = [line.strip() for line in inspect.cleandoc(mutation.__doc__ or "").splitlines()]
    assert sorted({finding.id for finding in read.checked.findings}) == sorted(expected)
    for finding in read.checked.findings:
        assert finding.fault == "spec"
        assert finding.layer is Layer.L3
        assert finding.location.path.startswith("deck_maker/acceptance.")
    assert [result.layer for result in read.results()] == [Layer.L1, Layer.L3]
    assert [result.verdict for result in read.results()] == [Verdict.PASS, Verdict.FAIL]


def test_the_place_is_that_of_the_field(good_package: Path) -> None:
    mutations.misspelled_assertion(good_package)
    (finding,) = subject(good_package).checked.findings
    line = (good_package / "acceptance.json").read_text().splitlines()[finding.location.line - 1]
    assert line[finding.location.column - 1 :].startswith('"require_fields"')
    assert "did you mean 'required_fields'" in finding.message


def test_all_problems_are_said_at_once(good_package: Path) -> None:
    def edit(data: dict[str, object]) -> None:
        data["colour"] = "red"
        data["tool_tests"] = 1

    spec(good_package, edit)
    assert len(subject(good_package).checked.findings) == 2


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_the_spec_of_the_seed_is_accepted(suffix: str, good_package: Path) -> None:
    seed_spec(good_package)
    if suffix == "yaml":
        path = good_package / "acceptance.json"
        data = json.loads(path.read_text())
        path.unlink()
        (good_package / "acceptance.yaml").write_text(yaml.safe_dump(data, allow_unicode=True))
    read = subject(good_package)
    assert read.checked.findings == ()
    assert read.checked.required == (Layer.L3,)


def test_without_a_spec_there_is_a_notice(good_package: Path) -> None:
    (good_package / "acceptance.json").rename(good_package / "acceptance.yml")
    read = subject(good_package)
    (finding,) = read.checked.findings
    assert finding.id == "acceptance_spec_missing/no-spec"
    assert finding.severity is Severity.NOTICE
    assert "acceptance.yml is not read" in finding.message
    assert read.checked.required == ()


def test_the_schema_is_one_and_fits_the_examples() -> None:
    schema = json.loads((ROOT / "src/verify_ext/schemas/acceptance.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    for path in ROOT.rglob("acceptance.json"):
        jsonschema.validate(json.loads(path.read_text()), schema)


def test_arguments_are_made_from_the_schema() -> None:
    schema = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "examples": ["Review"]},
            "output_path": {"type": "string", "description": "Where to write the .pptx file"},
            "count": {"type": "integer", "minimum": 3},
            "kind": {"enum": ["a", "b"]},
            "slides": {"type": "array", "items": {"type": "object", "properties": {}, "required": []}},
            "left_out": {"type": "string"},
        },
        "required": ["output_path", "count", "kind", "slides"],
    }
    made = sample_arguments(schema, "/output")
    assert made == {
        "title": "Review",
        "output_path": "/output/result.pptx",
        "count": 3,
        "kind": "a",
        "slides": [{}],
    }
    jsonschema.validate(made, schema)
    assert sample_arguments({"type": "object", "properties": 3}, "/output") == {}
