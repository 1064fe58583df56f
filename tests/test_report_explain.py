"""`explain` and docs/codes.md say what is declared, all of it and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from verify_ext import codes, explain
from verify_ext.codes import Code, Rule
from verify_ext.explain import FAULTS, UnknownNameError, document
from verify_ext.model import Fault, Layer, Severity

DOCUMENT = Path(__file__).parent.parent / "docs/codes.md"

MANIFEST = Code("manifest_invalid", Fault.EXTENSION, "The manifest is <broken>.")
ENVIRONMENT = Code("environment_error", Fault.ENVIRONMENT, "No index | no disk.")
RULES = (
    Rule(
        code=ENVIRONMENT,
        rule="no-disk",
        layer=None,
        message="There is no room in {folder}.",
        remedy="Make room.",
        why="Nothing can be installed.",
        source="measured",
    ),
    Rule(
        code=MANIFEST,
        rule="schema-version",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="The version is {found}, not <known>.",
        remedy="Write v0.1.",
        why="It is dropped.",
        source="seed, L1",
    ),
    Rule(
        code=MANIFEST,
        rule="unreadable",
        layer=Layer.L1,
        message="It is not YAML.",
        remedy="Mend it.",
        why="Nobody reads it.",
        source="seed, L1",
    ),
)


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain, "collect", lambda: {rule.id: rule for rule in RULES})


@pytest.mark.usefixtures("declared")
def test_a_rule_is_explained() -> None:
    assert explain.explain("manifest_invalid/schema-version") == (
        "manifest_invalid\n"
        "  The manifest is <broken>.\n"
        "  The fault is the extension's: its author can mend it.\n"
        "\n"
        "manifest_invalid/schema-version\n"
        "  says      The version is {found}, not <known>.\n"
        "  fix       Write v0.1.\n"
        "  why       It is dropped.\n"
        "  severity  warning\n"
        "  layer     L1\n"
        "  source    seed, L1\n"
    )


@pytest.mark.usefixtures("declared")
def test_a_code_is_explained_with_all_of_its_rules() -> None:
    said = explain.explain("manifest_invalid")
    assert said.count("The manifest is <broken>.") == 1
    assert "\nmanifest_invalid/schema-version\n" in said
    assert "\nmanifest_invalid/unreadable\n" in said
    assert "environment_error" not in said


@pytest.mark.usefixtures("declared")
def test_the_name_of_a_rule_alone_is_enough() -> None:
    assert explain.explain("no-disk") == explain.explain("environment_error/no-disk")
    assert "  layer     none: it is about the run\n" in explain.explain("no-disk")


@pytest.mark.usefixtures("declared")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("manifest_invald", "there is no code or rule 'manifest_invald'; did you mean manifest_invalid"),
        ("schema-versoin", "did you mean manifest_invalid/schema-version?"),
        ("", "there is no code or rule ''; all of them are in docs/codes.md"),
        ("zzz\x1b[2J", r"there is no code or rule 'zzz\x1b[2J'; all of them are in docs/codes.md"),
    ],
)
def test_an_unknown_name_is_met_with_close_ones(name: str, message: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        explain.explain(name)
    assert message in str(caught.value)


@pytest.mark.usefixtures("declared")
def test_the_document_holds_every_word() -> None:
    text = document()
    assert "| [`environment_error`](#environment_error) | environment | 1 | No index \\| no disk. |\n" in text
    assert "## manifest_invalid\n\nThe manifest is \\<broken>.\nThe fault is the extension's" in text
    for rule in RULES:
        assert f"### `{rule.id}`\n" in text
        for said in (rule.message, rule.remedy, rule.why, rule.source, rule.severity):
            assert said.replace("<", "\\<") in text


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("a __init__.py of *x* [1]", r"a \_\_init\_\_.py of \*x\* \[1\]"),
        ("a snake_case `__init__ <x>`", "a snake_case `__init__ <x>`"),
        ("two\nlines", "two lines"),
    ],
)
def test_templates_are_text_in_the_document(text: str, markdown: str) -> None:
    assert explain._text(text) == markdown


def test_every_fault_is_put_into_words() -> None:
    assert set(FAULTS) == set(Fault)


def test_every_declared_rule_is_explained() -> None:
    for name, rule in codes.collect().items():
        said = explain.explain(name)
        assert all(
            part in said for part in (rule.message, rule.remedy, rule.why, rule.source, rule.code.meaning)
        )


def test_the_document_is_up_to_date() -> None:
    """Red? `python -m verify_ext.explain --write docs/codes.md` writes it again."""
    assert DOCUMENT.read_text("utf-8") == document()


def test_the_document_is_written_or_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain.main(["--write", str(tmp_path / "codes.md")]) == 0
    assert explain.main([]) == 0
    assert (tmp_path / "codes.md").read_text("utf-8") == capsys.readouterr().out == document()
