"""Rules and tests in step: what can be said is declared, and what is declared has been made to appear."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from verify_ext.codes import collect
from verify_ext.model import Fault

RULES = collect()
_ID = re.compile(r"^[a-z]+(?:_[a-z]+)+/[a-z0-9]+(?:-[a-z0-9]+)*$")


def literals(folder: Path) -> Iterator[tuple[Path, str]]:
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield file, node.value


def test_whatever_looks_like_a_rule_in_the_source_is_declared() -> None:
    named = {(file.name, text) for file, text in literals(ROOT / "src/verify_ext") if _ID.match(text)}
    assert {(file, text) for file, text in named if text not in RULES} == set()


# Samples of findings prove nothing about the rules that they name.
NOT_TESTS = {"test_rules.py", "report_sample.py"}
TESTED = "\n".join(
    file.read_text(encoding="utf-8", errors="replace")
    for file in (ROOT / "tests").rglob("*")
    if file.suffix in (".py", ".yaml", ".md", ".txt")
    and file.name not in NOT_TESTS
    and "golden" not in file.parts
)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_test_makes_the_rule_appear(rule: str) -> None:
    assert re.search(rf"{re.escape(rule)}(?![\w-])", TESTED), f"no test names {rule}"


def test_rules_say_what_to_do() -> None:
    for rule in RULES.values():
        for text in (rule.message, rule.remedy, rule.why, rule.source, rule.code.meaning):
            assert text.strip(), rule.id
        assert rule.code.fault in Fault
