"""`verify-ext doctor`: what it says of a machine that works, and of one that does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import HARNESSES
from tests.test_run import run
from verify_ext.harness.protections import demand
from verify_ext.harness.trouble import EnvironmentTrouble


def test_a_prepared_harness_is_healthy(tmp_path: Path) -> None:
    run("prepare", "--harness", HARNESSES["labels"], cwd=tmp_path, expected=0)
    said = run("doctor", "--harness", HARNESSES["labels"], cwd=tmp_path, expected=0).stdout
    for words in (
        "openjiuwen==0.1.16 (flag): contract labels, canary passed",
        "landlock",
        "seccomp",
        "cache",
    ):
        assert words in said


def test_what_is_not_prepared_is_said_with_what_to_do(tmp_path: Path) -> None:
    said = run(
        "doctor", "--harness", HARNESSES["labels"], "--cache", tmp_path / "empty", cwd=tmp_path, expected=4
    ).stdout
    assert "environment_error/not-prepared" in said
    assert "verify-ext prepare" in said


def protections(**missing: str) -> dict[str, Any]:
    return {"landlock": None if "landlock" in missing else 7, "missing": missing}


def test_a_missing_protection_is_refused_where_it_is_required() -> None:
    demand(protections())
    demand(protections(uid="not started as root"))
    for missing in (
        protections(seccomp="no"),
        protections(uid="not started as root", landlock="no"),
        protections(uid="/root is closed to other users"),
        {"landlock": 4, "missing": {"uid": "not started as root"}},
    ):
        with pytest.raises(EnvironmentTrouble, match="environment_error/protections-missing"):
            demand(missing)
