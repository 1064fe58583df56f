"""What stands in the way of an environment: told by its own rule, blamed on no extension."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.package_index import PackageIndex, expect, harness, tiny_disk, wheel
from tests.test_environments import PLACE, chosen
from verify_ext.harness import installer, supported
from verify_ext.harness.environments import adopt_environment, ensure_environment, find_environment
from verify_ext.harness.interpreters import inspect


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[PackageIndex]:
    """An index with a small harness in two versions."""
    files = (harness("0.1.12"), harness("0.1.17", "shared"), wheel("shared", "1.0"))
    with PackageIndex(*files) as index:
        index.use(monkeypatch, tmp_path)
        yield index


def test_versions_that_cannot_be_had(index: PackageIndex, tmp_path: Path) -> None:
    with expect("harness_unavailable/unknown-version") as caught:
        ensure_environment(chosen("0.1.99"), tmp_path / "cache", print)
    assert "no version of openjiuwen==0.1.99" in (caught.value.finding.actual or "")
    assert caught.value.finding.location == PLACE.location
    index.files |= harness("0.1.18", "no-such-package")
    with expect("environment_error/build-failed"):
        ensure_environment(chosen("0.1.18"), tmp_path / "cache", print)


@pytest.mark.parametrize("status", [401, 403, 404, 500, 503])
def test_an_index_that_refuses_is_nobodys_fault(status: int, index: PackageIndex, tmp_path: Path) -> None:
    index.status = status
    with expect("environment_error/index-unreachable"):
        ensure_environment(chosen("0.1.17"), tmp_path / "cache", print)


def test_no_index_at_all(index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    with expect("environment_error/index-unreachable") as caught:
        ensure_environment(chosen("0.1.17"), tmp_path / "cache", print)
    assert "Connection refused" in (caught.value.finding.actual or "")
    monkeypatch.setenv("UV_OFFLINE", "1")
    with expect("environment_error/index-unreachable"):
        ensure_environment(chosen("0.1.17"), tmp_path / "cache", print)
    monkeypatch.delenv("UV_OFFLINE")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://login-page.invalid/simple")
    with expect("environment_error/index-unreachable"):
        ensure_environment(chosen("0.1.17"), tmp_path / "cache", print)


def test_a_stalled_index(index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installer, "TIME_LIMIT_S", 1.0)
    index.gate.clear()
    with expect("environment_error/timed-out"):
        ensure_environment(chosen("0.1.17"), tmp_path / "cache", print)


def test_no_room(index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index.files |= wheel("openjiuwen", "0.1.18", files={"openjiuwen.py": "#" * 1_000_000})
    with tiny_disk(tmp_path / "disk") as disk:
        with expect("environment_error/disk-full"):
            ensure_environment(chosen("0.1.18"), disk / "cache", print)
        assert not list(disk.glob("cache/environments/.*"))
        monkeypatch.setenv("UV_CACHE_DIR", str(disk / "uv"))
        with expect("environment_error/disk-full"):
            ensure_environment(chosen("0.1.18"), tmp_path / "cache", print)


def test_nowhere_to_write(index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with expect("environment_error/not-writable"):
        ensure_environment(chosen("0.1.17"), Path("/sys/verify-ext"), print)
    monkeypatch.setenv("UV_CACHE_DIR", "/sys/uv")
    with expect("environment_error/not-writable"):
        ensure_environment(chosen("0.1.17"), tmp_path / "cache", print)


def test_other_bytes_than_the_lock_file_names(
    index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supported, "_LOCKS", tmp_path)
    lock = tmp_path / "openjiuwen-0.1.12.txt"
    lock.write_text("openjiuwen==0.1.12 \\\n    --hash=sha256:" + "0" * 64 + "\n")
    with expect("environment_error/hash-mismatch"):
        ensure_environment(chosen("0.1.12"), tmp_path / "cache", print)
    lock.write_text(
        f"openjiuwen==0.1.12 \\\n    --hash=sha256:{index.sha256('openjiuwen-0.1.12-py3-none-any.whl')}\n"
    )
    assert ensure_environment(chosen("0.1.12"), tmp_path / "cache", print).locked


def test_a_package_that_is_not_what_it_records(index: PackageIndex, tmp_path: Path) -> None:
    index.files |= harness("0.1.18", wrong_record=True)
    steps: list[str] = []
    with expect("environment_error/record-mismatch") as caught:
        ensure_environment(chosen("0.1.18"), tmp_path / "cache", steps.append)
    assert "openjiuwen: openjiuwen/__init__.py: " in (caught.value.finding.actual or "")
    assert "downloading everything again" in steps[1]


def test_a_damaged_download_cache_is_gone_around(index: PackageIndex, tmp_path: Path) -> None:
    index.memory = "max-age=600"
    ensure_environment(chosen("0.1.17"), tmp_path / "cache", print)
    for file in (tmp_path / "uv-cache").rglob("deep_agent.py"):
        file.write_text("passes = True\n")
    steps: list[str] = []
    environment = ensure_environment(chosen("0.1.17"), tmp_path / "other", steps.append)
    assert "downloading everything again" in steps[1]
    assert find_environment(chosen("0.1.17"), tmp_path / "cache")  # it shares no file with that cache
    assert (environment.sites[0] / "openjiuwen/harness/deep_agent.py").read_text() == ""


def test_no_installer(index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import uv

    def nowhere() -> str:
        raise FileNotFoundError("no uv below here")

    monkeypatch.setattr(uv, "find_uv_bin", nowhere)
    with expect("environment_error/uv-missing"):
        ensure_environment(chosen("0.1.17"), tmp_path / "cache", print)


# --- Other interpreters ----------------------------------------------------------------------


def test_an_interpreter_of_somebody_else(index: PackageIndex, tmp_path: Path) -> None:
    made = ensure_environment(chosen("0.1.17"), tmp_path / "cache", print)
    adopted = adopt_environment(made.python)
    assert (adopted.requirement, adopted.locked, adopted.folder) == ("openjiuwen==0.1.17", False, None)
    assert adopted.python == made.python
    assert adopted.fingerprint == made.fingerprint
    (made.sites[0] / "openjiuwen/harness/deep_agent.py").write_text("changed = True\n")
    assert adopt_environment(made.python).fingerprint != made.fingerprint


def test_a_harness_from_a_work_tree_counts_by_its_bytes(index: PackageIndex, tmp_path: Path) -> None:
    made = ensure_environment(chosen("0.1.17"), tmp_path / "cache", print)
    os.rename(made.sites[0] / "openjiuwen", tmp_path / "openjiuwen")
    (made.sites[0] / "editable.pth").write_text(f"{tmp_path}\n")
    before = adopt_environment(made.python).fingerprint
    (tmp_path / "openjiuwen/harness/deep_agent.py").write_text("changed = True\n")
    assert adopt_environment(made.python).fingerprint != before


def test_interpreters_without_a_usable_harness(
    index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = installer.Installer(python=inspect(Path(sys.executable), PLACE).python, what="it", place=PLACE)
    empty = maker.make_environment(tmp_path / "empty")
    with expect("harness_unavailable/not-installed"):
        adopt_environment(empty.python)
    empty.install(f"openjiuwen==0.1.12 --hash=sha256:{index.sha256('openjiuwen-0.1.12-py3-none-any.whl')}\n")
    with expect("harness_unavailable/too-old"):
        adopt_environment(empty.python)
    strange = tmp_path / "python"
    for script, rule in {
        None: "environment_error/interpreter-unusable",
        "#!/bin/sh\nexit 3\n": "environment_error/interpreter-unusable",
        "#!/bin/sh\necho verify-ext-interpreter:[]\n": "environment_error/interpreter-unusable",
        "#!/bin/sh\necho verify-ext-interpreter:{\n": "environment_error/interpreter-unusable",
        f"#!/bin/sh\n{sys.executable} \"$@\" | sed 's/3[.][0-9]*[.]/3.9./'\n": "environment_error/python-version",
    }.items():
        if script is not None:
            strange.write_text(script)
            strange.chmod(0o755)
        with expect(rule):
            adopt_environment(strange)
    with expect("environment_error/python-version"):
        ensure_environment(chosen("0.1.17"), tmp_path / "cache", print, python=strange)
