"""Files of every format: good ones are silent, and each damage has its rule and no other."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests import office
from tests.conftest import ROOT
from tests.mutations import artifacts as mutations
from verify_ext.artifacts import all_formats, examine
from verify_ext.artifacts.apart import Request, examine_apart
from verify_ext.artifacts.model import Depth, Examined, Expected
from verify_ext.kinds.harness_package.accept.results import SUFFIXES

CORPUS = ROOT.parent / "shared/corpus/artifacts"
RULES_OF_CORPUS: dict[str, list[str]] = yaml.safe_load(
    (ROOT / "tests/corpus_artifacts.yaml").read_text("utf-8")
)
MUTATIONS = [
    function
    for name, function in inspect.getmembers(mutations, inspect.isfunction)
    if function.__module__ == mutations.__name__ and not name.startswith("_")
]


def ids(examined: Examined) -> list[str]:
    return sorted({finding.id for finding in examined.findings})


def put(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda function: function.__name__)
def test_a_damaged_file_gives_its_rule_and_nothing_else(
    mutation: Callable[[], tuple[str, bytes]], tmp_path: Path
) -> None:
    name, data = mutation()
    examined = examine(put(tmp_path, name, data), name)
    expected = inspect.cleandoc(mutation.__doc__ or "").split("\n\n")[0].splitlines()
    assert ids(examined) == sorted(line.strip() for line in expected)
    for finding in examined.findings:
        assert finding.location.path == name
        assert finding.message


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("deck.pptx", office.pptx()),
        ("text.docx", office.docx()),
        ("book.xlsx", office.xlsx()),
        ("picture.png", office.picture()),
        ("data.json", b'{"a": [1, 2.5, null, "x"]}'),
        ("data.csv", b'name,sum\nx,-4\n"y, z",5\n'),
        ("files.zip", office.packed({"a/b.txt": b"text", "notes..txt": b"text"})),
        ("document.pdf", mutations._pdf()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_good_file_is_silent(name: str, data: bytes, tmp_path: Path) -> None:
    examined = examine(put(tmp_path, name, data), name)
    assert ids(examined) == []
    assert examined.format == SUFFIXES[Path(name).suffix]
    assert examined.facts


def test_facts_are_counted(tmp_path: Path) -> None:
    assert examine(put(tmp_path, "deck.pptx", office.pptx()), "deck.pptx").facts == {"slides": 2}
    assert examine(put(tmp_path, "p.png", office.picture()), "p.png").facts == {
        "width": 40,
        "height": 30,
        "frames": 1,
    }


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of artifacts is not here")
def test_the_corpus_is_judged_as_it_should_be() -> None:
    expected = json.loads((CORPUS / "expect.json").read_text("utf-8"))
    wrong = []
    for name, row in expected.items():
        examined = examine(CORPUS / name, Path(name).name)
        severities = {finding.severity.value for finding in examined.findings}
        fine = {
            "bad": "error" in severities,
            "warn": "error" not in severities,
            "ok": not severities,
        }[row["verdict"]]
        if not fine or ids(examined) != RULES_OF_CORPUS.get(name, []):
            wrong.append((name, row, ids(examined)))
    assert wrong == []


def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder.pptx").mkdir()
    (tmp_path / "link.pptx").symlink_to("/etc/hostname")
    os.mkfifo(tmp_path / "pipe.pptx")
    for name in ("folder.pptx", "link.pptx", "pipe.pptx"):
        assert ids(examine(tmp_path / name, name)) == ["artifact_not_created/not-a-file"]
    assert ids(examine(tmp_path / "none.pptx", "none.pptx")) == ["artifact_not_created/file-missing"]
    assert ids(examine(put(tmp_path, "a.json", b""), "a.json")) == ["artifact_format_invalid/empty-file"]


def test_what_was_asked_for(tmp_path: Path) -> None:
    path = put(tmp_path, "data.json", b'{"a": {"b": 1}}')
    expected = Expected(required_fields=("a.b", "c"))
    assert ids(examine(path, "data.json", expected=expected)) == [
        "artifact_format_invalid/json-field-missing"
    ]
    expected = Expected(min_bytes=100)
    assert ids(examine(path, "data.json", expected=expected)) == [
        "artifact_format_invalid/smaller-than-asked"
    ]
    assert ids(examine(path, "data.json", expected=Expected(format="pdf"))) == [
        "artifact_format_invalid/other-format"
    ]


def test_the_first_depth_does_not_look_inside(tmp_path: Path) -> None:
    name, data = mutations.unknown_shape()
    assert ids(examine(put(tmp_path, name, data), name, depth=Depth.FORMAT)) == []


def test_suffixes_of_results_are_those_of_the_formats() -> None:
    known = {suffix: each.name for each in all_formats() for suffix in each.suffixes}
    assert {suffix: name for suffix, name in known.items() if suffix in SUFFIXES} == SUFFIXES
    assert set(SUFFIXES.values()) == {each.name for each in all_formats()}


# --- in a process of its own -------------------------------------------------------------------


def test_apart_the_same_is_found(tmp_path: Path) -> None:
    made = [mutation() for mutation in (mutations.unknown_shape, mutations.csv_with_a_formula)]
    paths = [put(tmp_path, name, data) for name, data in made]
    requests = [Request(path=path, shown=path.name) for path in paths]
    apart = examine_apart(requests, deadline_s=60, memory_bytes=1 << 30)
    assert apart == [examine(path, path.name) for path in paths]


def test_a_file_that_ends_the_process_costs_itself_alone(tmp_path: Path) -> None:
    big = put(tmp_path, "big.json", b"[" + b"[1,2]," * 8_000_000 + b"1]")
    good = put(tmp_path, "good.json", b'{"a": 1}')
    requests = [Request(path=path, shown=path.name) for path in (big, good)]
    found = examine_apart(requests, deadline_s=120, memory_bytes=600 << 20)
    assert [ids(each) for each in found] == [["artifact_format_invalid/unbounded"], []]


def test_a_process_that_cannot_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "nothing"))
    request = Request(path=put(tmp_path, "a.json", b"{}"), shown="a.json")
    (found,) = examine_apart([request], deadline_s=60, memory_bytes=1 << 30)
    assert ids(found) == ["environment_error/examiner-unavailable"]
