"""The static check of a harness package: every rule appears, where it should, and nothing else."""

from __future__ import annotations

import csv
import inspect
import re
import shutil
import struct
import time
from collections.abc import Callable
from dataclasses import replace as replaced
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.mutations import harmless, harness_package, harness_package_live
from tests.packages import extension_of, files_below
from verify_ext.kinds.harness_package import (
    check_classes,
    check_declared,
    check_entries,
    check_files,
    check_imports,
    check_manifest,
    check_requirements,
    check_skill_md,
    check_skills,
)
from verify_ext.kinds.harness_package.check import check as check_all
from verify_ext.kinds.harness_package.check_skill_md import check_frontmatter, read_skill
from verify_ext.kinds.harness_package.contents import Contents
from verify_ext.model import Checked, Extension, Finding, Layer, Severity

Mutation = Callable[[Path], None]

ROOT = Path(__file__).resolve().parent.parent
GOOD = ROOT / "examples/good/deck_maker"
BAD = sorted(path for path in (Path(__file__).parent / "bad").iterdir() if path.is_dir())
TABLES = (
    check_classes,
    check_declared,
    check_entries,
    check_files,
    check_imports,
    check_manifest,
    check_requirements,
    check_skill_md,
    check_skills,
)
RULES = {rule.id: rule for module in TABLES for rule in module.RULES.values()}
RULE_IN_A_COMMENT = re.compile(r"(?:#|<!--) ([a-z_]+/[a-z-]+)")


def functions_of(module: ModuleType) -> list[Mutation]:
    """Return the public functions that a module defines."""
    return [
        function
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    ]


MUTATIONS = functions_of(harness_package)
HARMLESS = functions_of(harmless)


def check(extension: Extension) -> Checked:
    """Check a package; acceptance specs have tests of their own."""
    checked = check_all(extension)
    return replaced(checked, findings=tuple(each for each in checked.findings if each.layer is not Layer.L3))


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return shutil.copytree(GOOD, tmp_path / "repo" / "deck_maker")


def checked(package: Path, *, in_git: bool = True) -> Checked:
    """Check a package, wherever a mutation has moved it."""
    root = next((package.parent.parent).rglob("tools")).parent
    return check(extension_of(root, in_git=in_git))


def expected(mutation: Mutation) -> list[tuple[str, str]]:
    """Return what a mutation's docstring expects: rules, each with the blamed place."""
    lines = [line.strip() for line in (mutation.__doc__ or "").strip().splitlines()]
    return sorted(zip(lines[::2], lines[1::2], strict=True))


def found(finding: Finding) -> tuple[str, str]:
    """Return a finding as a docstring would have it."""
    place = finding.location
    path = f"at {place.path.partition('/')[2]}"
    if (place.line, place.column, place.end_line, place.end_column) == (1, 1, 1, 1):
        return finding.id, path
    last = place.end_column - 1 if place.end_line == place.line else len(place.text)
    text = f"{place.text[: place.column - 1]}«{place.text[place.column - 1 : last]}»{place.text[last:]}"
    return finding.id, f"{path}: {text}".strip()


# --- every rule, and nothing else ------------------------------------------------------------


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda function: function.__name__)
def test_a_mutation_gives_its_findings_at_their_places_and_no_others(
    mutation: Mutation, package: Path
) -> None:
    mutation(package)
    findings = checked(package).findings
    assert sorted(found(finding) for finding in findings) == expected(mutation)
    for finding in findings:
        assert finding.severity is RULES[finding.id].severity
        assert finding.expected
        assert finding.actual
        assert "\n" not in finding.message


@pytest.mark.parametrize("change", HARMLESS, ids=lambda function: function.__name__)
def test_a_harmless_change_gives_no_finding(change: Mutation, package: Path) -> None:
    change(package)
    assert checked(package, in_git="outside git" not in (change.__doc__ or "")).findings == ()


@pytest.mark.parametrize("folder", BAD, ids=lambda folder: folder.name)
def test_a_bad_package_is_blamed_on_the_lines_that_name_the_rule(folder: Path) -> None:
    marked = {
        (f"{folder.name}/{file}", number, rule)
        for file in files_below(folder)
        for number, line in enumerate((folder / file).read_text(encoding="utf-8").splitlines(), start=1)
        for rule in RULE_IN_A_COMMENT.findall(line)
    }
    findings = check(extension_of(folder)).findings
    assert {(finding.location.path, finding.location.line, finding.id) for finding in findings} == marked


def test_every_rule_has_a_mutation_or_a_bad_package() -> None:
    by_mutation = {rule for mutation in MUTATIONS for rule, _ in expected(mutation)}
    by_package = {
        rule
        for folder in BAD
        for file in files_below(folder)
        for rule in RULE_IN_A_COMMENT.findall((folder / file).read_text(encoding="utf-8"))
    }
    assert sorted(RULES.keys() - by_mutation - by_package) == []
    assert sorted((by_mutation | by_package) - RULES.keys()) == []


@pytest.mark.parametrize(
    "mutation", functions_of(harness_package_live), ids=lambda function: function.__name__
)
def test_what_needs_the_living_harness_gives_no_static_error(mutation: Mutation, package: Path) -> None:
    mutation(package)
    errors = {finding.id for finding in checked(package).findings if finding.severity is Severity.ERROR}
    assert errors <= set((mutation.__doc__ or "").split())


# --- what is declared ------------------------------------------------------------------------


def test_the_good_package_declares_its_components(package: Path) -> None:
    result = checked(package)
    assert [part.id for part in result.components] == [
        "rail:RequestLogRail",
        "tool:DeckTool",
        "skill:deck-writing",
    ]
    rail, tool, skill = result.components
    own = "openjiuwen.extensions.harness.deck_maker"
    assert rail.facts == {"module": f"{own}.rails.request_log_rail", "class": "RequestLogRail"}
    assert tool.facts == {"module": f"{own}.tools.deck_tool", "class": "DeckTool"}
    assert skill.facts["dir"] == "skills"
    assert skill.facts["path"] == "skills/deck-writing"
    assert skill.facts["description"].startswith("Structures a slide deck")
    assert tool.location.path == "deck_maker/tools/deck_tool.py"
    assert tool.location.text == "class DeckTool(Tool):"
    assert skill.location.text.strip() == "- skills"
    assert result.requirements == ("python-pptx<2,>=1.0",)
    assert result.location.path == "deck_maker/harness_config.yaml"


def test_requirements_are_plain_and_normalised(package: Path) -> None:
    harmless.requirements_with_everything_plain(package)
    result = checked(package)
    assert result.requirements == (
        "python-pptx<2,>=1.0",
        'pillow[fpx]~=11.0; python_version >= "3.11"',
        "lxml>=5",
        "PyYAML",
    )
    assert len(result.requirement_locations) == len(result.requirements)
    assert result.requirement_locations[0].line == 3


def test_nothing_of_a_line_that_is_not_plain_is_required(package: Path) -> None:
    lines = [
        "openjiuwen==0.1.16",
        "-e ./pkg",
        "pillow @ https://example.org/p.whl",
        "pillow==11 --global-option=x",
        "git+https://example.org/x.git#egg=x",
    ]
    (package / "requirements.txt").write_text("\n".join(lines), encoding="utf-8")
    result = checked(package)
    assert result.requirements == ()
    assert len(result.findings) == len(lines)


def test_a_skill_behind_a_link_is_known_by_where_it_lies(package: Path) -> None:
    harmless.skill_through_a_link(package)
    skill = checked(package).components[-1]
    assert (skill.name, skill.facts["path"]) == ("deck-writing", "shared/deck-writing")


def test_components_of_damaged_entries_are_still_expected(package: Path) -> None:
    harness_package.class_not_defined(package)
    result = checked(package)
    assert "tool:DecksTool" in {part.id for part in result.components}
    assert {finding.component for finding in result.findings} == {"tool:DecksTool"}


def test_files_that_are_not_listed_do_not_exist(package: Path) -> None:
    whole = extension_of(package)
    without = [
        file for file in whole.files if file not in ("tools/deck_tool.py", "skills/deck-writing/SKILL.md")
    ]
    result = check(
        type(whole)(path=whole.path, root=whole.root, kind=whole.kind, files=tuple(without), in_git=True)
    )
    assert {finding.id for finding in result.findings} == {
        "manifest_invalid/module-file-missing",
        "manifest_invalid/skills-dir-missing",
    }


def test_the_extension_may_be_the_repository_itself(package: Path) -> None:
    result = check(extension_of(package, path="."))
    assert result.findings == ()
    assert result.location.path == "harness_config.yaml"


# --- what the tables cannot say --------------------------------------------------------------


@pytest.mark.parametrize(("flags", "blamed"), [(0b00, False), (0b01, True), (0b11, False)])
def test_bytecode_outside_git_is_blamed_if_python_would_not_check_it(
    package: Path, flags: int, blamed: bool
) -> None:
    (package / "__pycache__").mkdir()
    header = struct.pack("<HHIQ", 3495, 0x0A0D, flags, 0)
    (package / "__pycache__" / "state.cpython-311.pyc").write_bytes(header + b"rest")
    findings = checked(package, in_git=False).findings
    assert [finding.id for finding in findings] == ["manifest_invalid/bytecode-shipped"] * blamed


def test_bytecode_without_a_source_is_blamed_outside_git_too(package: Path) -> None:
    (package / "state.pyc").write_bytes(b"x")
    findings = checked(package, in_git=False).findings
    assert [finding.id for finding in findings] == ["manifest_invalid/bytecode-shipped"]


def test_a_comma_in_the_path_of_the_repository_matters_to_skills(package: Path) -> None:
    result = check(extension_of(package, path="a,b/deck_maker"))
    assert [finding.id for finding in result.findings] == ["manifest_invalid/skills-dir-separator"]


def test_a_name_that_nearly_exists_is_suggested(package: Path) -> None:
    harness_package.class_not_defined(package)
    (finding,) = checked(package).findings
    assert finding.message.endswith("has no class DecksTool (did you mean 'DeckTool'?)")


def test_many_findings_of_one_rule_are_counted(package: Path) -> None:
    lines = "".join(f"unknown_{number}: 1\n" for number in range(500))
    with (package / "harness_config.yaml").open("a", encoding="utf-8") as stream:
        stream.write(lines)
    findings = checked(package).findings
    assert len(findings) == 100
    assert findings[-1].message.endswith("(one of 500)")


def test_the_good_package_is_read_in_milliseconds(package: Path) -> None:
    extension = extension_of(package)
    check(extension)  # imports the parsers
    durations = []
    for _ in range(5):
        start = time.process_time()
        check(extension)
        durations.append(time.process_time() - start)
    assert min(durations) < 0.05


# --- real skills -----------------------------------------------------------------------------

SKILLS = ROOT.parent / "shared/corpus/skills"


@pytest.mark.skipif(not SKILLS.is_dir(), reason="the corpus of real skills is not here")
def test_real_skills_are_read_as_the_harness_reads_them() -> None:
    wrong = []
    with (SKILLS / "expected-real.tsv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    for row in rows:
        folder = (SKILLS / row["path"]).parent
        contents = Contents(extension_of(folder))
        read = read_skill(contents, "SKILL.md")
        findings = [read] if isinstance(read, Finding) else list(check_frontmatter(read, folder.name))
        lost = {each.rule for each in findings if each.severity is Severity.ERROR} - {
            "name-missing",
            "name-type",
        }
        if bool(lost) != (row["loads_in_openjiuwen"] == "no"):
            wrong.append((row["path"], sorted(lost), row["loads_in_openjiuwen"]))
    assert len(rows) > 600
    assert wrong == []


# --- hostile input ---------------------------------------------------------------------------

NAMES = files_below(GOOD)


@pytest.fixture(scope="module")
def playground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shutil.copytree(GOOD, tmp_path_factory.mktemp("hostile") / "deck_maker")


@given(name=st.sampled_from(NAMES), data=st.binary(max_size=300))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_arbitrary_bytes_in_any_file_never_raise(playground: Path, name: str, data: bytes) -> None:
    original = (playground / name).read_bytes()
    try:
        (playground / name).write_bytes(data)
        for finding in check(extension_of(playground)).findings:
            assert finding.location.line >= 1
    finally:
        (playground / name).write_bytes(original)


@given(
    name=st.sampled_from(NAMES),
    cut=st.floats(0, 1),
    insert=st.text(alphabet="\t\n -:#[]{}&*!|>'\"%@`,?=~0aé中😀\u2028\ufeff", max_size=12),
)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_text_inserted_anywhere_never_raises(playground: Path, name: str, cut: float, insert: str) -> None:
    original = (playground / name).read_text(encoding="utf-8")
    at = int(cut * len(original))
    try:
        (playground / name).write_text(original[:at] + insert + original[at:], encoding="utf-8")
        check(extension_of(playground))
    finally:
        (playground / name).write_text(original, encoding="utf-8")


HOSTILE_MANIFESTS = {
    "aliases that multiply": "a: &a [x, x, x, x, x, x, x, x, x]\n"
    + "".join(
        f"{new}: &{new} [*{old}, *{old}, *{old}, *{old}, *{old}]\n"
        for old, new in zip("abcdefghi", "bcdefghij", strict=True)
    )
    + "resources: {tools: *j, rails: *j}\n",
    "deep flow": "[" * 50_000,
    "deep blocks": "".join(" " * depth + "a:\n" for depth in range(400)),
    "many equal keys": "a:\n" * 60_000,
    "as many keys as are read": "".join(f"resource_{number}:\n" for number in range(4_999)),
    "as many entries as are read": "resources:\n  tools:\n"
    + "".join(
        f"    - {{module: openjiuwen.extensions.harness.deck_maker.t{n}, type: package}}\n"
        for n in range(1_900)
    ),
    "long key": "k" * 200_000 + ": 1\n",
    "long merge": "a: &a {x: 1}\nb: {<<: [" + "*a, " * 30_000 + "]}\n",
    "numbers": "max_iterations: " + "9" * 10_000 + "\n",
}


@pytest.mark.parametrize("text", HOSTILE_MANIFESTS.values(), ids=HOSTILE_MANIFESTS.keys())
def test_a_hostile_manifest_is_refused_in_bounded_time(package: Path, text: str) -> None:
    (package / "harness_config.yaml").write_text(text, encoding="utf-8")
    start = time.process_time()
    assert checked(package).findings
    assert time.process_time() - start < 10


HOSTILE_FILES = {
    "tools/deck_tool.py": "x = " + "(" * 5_000,
    "state.py": "def late():\n" + "    from . import a\n" * 20_000,
    "rails/__init__.py": "from .a import b\n" * 20_000,
    "requirements.txt": " " * 500_000 + "#\n" + "a ; " + "(" * 100_000 + "\n" + "b==" + "1" * 100_000 + "\n",
    "skills/deck-writing/SKILL.md": "---\n" + "[" * 60_000 + "\n---\n",
}


@pytest.mark.parametrize(("name", "text"), HOSTILE_FILES.items(), ids=HOSTILE_FILES.keys())
def test_a_hostile_file_is_read_in_bounded_time(package: Path, name: str, text: str) -> None:
    (package / name).write_text(text, encoding="utf-8")
    start = time.process_time()
    assert checked(package).findings
    assert time.process_time() - start < 10
