"""Which harness is verified in: the flag, the repository's pin, else the newest supported."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.package_index import expect
from verify_ext.harness.choice import choose
from verify_ext.harness.supported import requirement_lines, supported_harnesses

NEWEST = supported_harnesses()[-1].version


def write(repo: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (repo / name).write_text(text, encoding="utf-8")
    return repo


def test_flags_win_and_none_counts_twice(tmp_path: Path) -> None:
    write(tmp_path, {"requirements.txt": "openjiuwen==0.1.13\n"})
    chosen = choose(["openjiuwen==0.1.16", "OpenJiuwen == 0.1.19.post2", "openjiuwen==0.1.16"], tmp_path)
    assert [each.requirement for each in chosen] == ["openjiuwen==0.1.16", "openjiuwen==0.1.19.post2"]
    assert {each.origin for each in chosen} == {"flag"}


NO_FLAGS = """
openjiuwen
0.1.16
openjiuwen>=0.1.16
openjiuwen==0.1.*
openjiuwen==0.1.16,!=0.1.17
openjiuwen[all]==0.1.16
openjiuwen @ file:///x.whl
openjiuwen==0.1.16; os_name=='nt'
other==0.1.16
-e ."""


@pytest.mark.parametrize("flag", [*NO_FLAGS.split("\n"), "openjiuwen==0.1.16\n--index-url=x"])
def test_a_flag_must_name_one_version(flag: str, tmp_path: Path) -> None:
    with expect("config_invalid/harness-requirement") as caught:
        choose([flag], tmp_path)
    assert caught.value.finding.location.text == flag
    assert caught.value.finding.expected == f"openjiuwen=={NEWEST}"


def test_versions_without_hot_loading_are_refused(tmp_path: Path) -> None:
    with expect("harness_unavailable/too-old"):
        choose(["openjiuwen==0.1.12"], tmp_path)
    with expect("harness_unavailable/too-old") as caught:
        choose([], write(tmp_path, {"requirements.txt": "six\nopenjiuwen==0.1.13rc1\n"}))
    assert (caught.value.finding.location.path, caught.value.finding.location.line) == ("requirements.txt", 2)


PINS = {
    "nothing": ({}, NEWEST, "newest supported"),
    "dependencies": (
        {"pyproject.toml": '[project]\ndependencies = [\n  "six",\n  "openjiuwen==0.1.16",\n]\n'},
        "0.1.16",
        "pyproject.toml:4",
    ),
    "extra": (
        {"pyproject.toml": '[project.optional-dependencies]\nrun = ["openjiuwen[all] == 0.1.16"]\n'},
        "0.1.16",
        "pyproject.toml:2",
    ),
    "group": (
        {
            "pyproject.toml": '[dependency-groups]\nb = ["six"]\na = [{include-group = "b"}, "openjiuwen===0.1.14"]\n'
        },
        "0.1.14",
        "pyproject.toml:3",
    ),
    "hashed": (
        {"requirements-dev.txt": "# openjiuwen==0.1.13\nopenjiuwen==0.1.16 \\\n    --hash=sha256:00\n"},
        "0.1.16",
        "requirements-dev.txt:2",
    ),
    "option": (
        {"requirements.txt": "OPENJIUWEN==0.1.16 --hash=sha256:00 # pinned\n"},
        "0.1.16",
        "requirements.txt:1",
    ),
    "marker": (
        {
            "requirements.txt": "openjiuwen==0.1.13; python_version<'3'\nopenjiuwen==0.1.16; python_version>'3'\n"
        },
        "0.1.16",
        "requirements.txt:2",
    ),
    "lock": (
        {"uv.lock": 'version = 1\n\n[[package]]\nname = "openjiuwen"\nversion = "0.1.16"\n'},
        "0.1.16",
        "uv.lock:4",
    ),
    "lock and range": (
        {
            "pyproject.toml": '[project]\ndependencies = ["openjiuwen>=0.1.13"]\n',
            "poetry.lock": '[[package]]\nname = "openjiuwen"\nversion = "0.1.17"\n',
        },
        "0.1.17",
        "poetry.lock:2",
    ),
    "range": (
        {"requirements.txt": "openjiuwen<0.1.17\n"},
        "0.1.16",
        "newest supported that requirements.txt:1 allows",
    ),
    "wide range": ({"requirements.txt": "openjiuwen>=0.1.13\n"}, NEWEST, "newest supported"),
    "others": (
        {
            "requirements.txt": "openjiuwen-tools==0.1.16\nnot-openjiuwen==0.1.16\n",
            "uv.lock": "# openjiuwen\n",
        },
        NEWEST,
        "newest supported",
    ),
    "no mention, no parsing": (
        {"pyproject.toml": "[[[", "requirements-x.txt": "\ud800"},
        NEWEST,
        "newest supported",
    ),
}


@pytest.mark.parametrize("case", PINS)
def test_the_pin_of_a_repository_counts(case: str, tmp_path: Path) -> None:
    files, version, origin = PINS[case]
    for name, text in files.items():
        (tmp_path / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    (chosen,) = choose([], tmp_path)
    assert (chosen.version, chosen.origin) == (version, origin)


def test_pins_that_differ_are_not_guessed_about(tmp_path: Path) -> None:
    write(
        tmp_path, {"requirements.txt": "openjiuwen==0.1.16\n", "requirements-new.txt": "openjiuwen==0.1.17\n"}
    )
    with expect("config_invalid/harness-pins-differ") as caught:
        choose([], tmp_path)
    finding = caught.value.finding
    assert finding.message == (
        "requirements-new.txt:1 pins openjiuwen==0.1.17 and requirements.txt:1 pins openjiuwen==0.1.16"
    )
    assert finding.location.path == "requirements.txt"


def test_a_range_without_a_supported_version(tmp_path: Path) -> None:
    with expect("harness_unavailable/outside-range"):
        choose([], write(tmp_path, {"requirements.txt": "openjiuwen>=99\n"}))


def test_a_pin_that_cannot_be_read_is_not_overlooked(tmp_path: Path) -> None:
    rule = "config_invalid/harness-pin-unreadable"
    for text in ("[project\n# openjiuwen", "a = " + "[" * 5000 + "'openjiuwen'", 'x = "openjiuwen\x00"'):
        with expect(rule):
            choose([], write(tmp_path, {"pyproject.toml": text}))
    (tmp_path / "pyproject.toml").unlink()
    (tmp_path / "requirements.txt").write_bytes(b"openjiuwen==0.1.16 \xff\n")
    with expect(rule):
        choose([], tmp_path)
    for text in ("openjiuwen==\n", "openjiuwen; nonsense\n", "openjiuwen==0.1.16; extra == 'x' and\n"):
        with expect(rule) as caught:
            choose([], write(tmp_path, {"requirements.txt": "\n" + text}))
        assert caught.value.finding.location.line == 2


def test_files_that_are_none(tmp_path: Path) -> None:
    rule, file = "config_invalid/harness-pin-unreadable", tmp_path / "requirements.txt"
    os.mkfifo(file)
    with expect(rule):
        choose([], tmp_path)
    for target in ("requirements.txt", "/etc/passwd", "../outside"):
        file.unlink()
        file.symlink_to(target)
        with expect(rule):
            choose([], tmp_path)
    file.unlink()
    (tmp_path / "base").write_text("openjiuwen==0.1.16\n")
    file.symlink_to("base")
    assert choose([], tmp_path)[0].origin == "requirements.txt:1"


def test_what_the_metadata_of_some_versions_forgets() -> None:
    assert requirement_lines("0.1.13") == ("openjiuwen==0.1.13", "greenlet")
    assert requirement_lines("0.1.14.post2") == ("openjiuwen==0.1.14.post2",)
    assert requirement_lines("0.1.16") == ("openjiuwen==0.1.16", "filelock<4")
    assert requirement_lines("0.1.16.post20") == ("openjiuwen==0.1.16.post20",)
