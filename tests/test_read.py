"""Reading an extension: what goes wrong here costs this extension alone, and never passes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.packages import extension_of
from verify_ext.events import CheckResult
from verify_ext.evidence.digest import PACKAGE_LIMIT_FILES, digest
from verify_ext.kinds.harness_package import KIND
from verify_ext.model import Checked, Extension, Verdict
from verify_ext.reading import read


def result(extension: Extension, check: object = KIND.check) -> CheckResult:
    return next(read(extension, replace(KIND, check=check)).results())  # type: ignore[arg-type]


def test_a_file_that_cannot_be_read(good_package: Path) -> None:
    extension = extension_of(good_package)
    found = result(replace(extension, files=(*extension.files, "zz-gone.py")))
    assert [each.id for each in found.findings] == ["manifest_invalid/unreadable-file"]
    assert found.verdict is Verdict.FAIL


def test_more_files_than_any_extension_has(good_package: Path) -> None:
    extension = extension_of(good_package)
    many = tuple(f"data/{number}" for number in range(PACKAGE_LIMIT_FILES))
    found = result(replace(extension, files=(*extension.files, *many)))
    assert "resource_limit_exceeded/package-size" in [each.id for each in found.findings]
    assert found.verdict is Verdict.FAIL


def test_a_bug_of_ours_is_said_and_blames_nobody(good_package: Path) -> None:
    def broken(_: Extension) -> Checked:
        raise ZeroDivisionError("ours")

    found = result(extension_of(good_package), broken)
    assert [each.id for each in found.findings] == ["verifier_error/unexpected"]
    assert found.verdict is Verdict.ERROR
    assert "ZeroDivisionError" in (found.findings[0].log or "")


def test_the_digest_sees_bytes_names_modes_and_links(good_package: Path) -> None:
    before = digest(extension_of(good_package))
    seen = {before}

    def changed() -> str:
        now = digest(extension_of(good_package))
        assert now not in seen
        seen.add(now)
        return now

    tool = good_package / "tools/deck_tool.py"
    text = tool.read_bytes()
    tool.write_bytes(text + b"\n")
    changed()
    tool.write_bytes(text)
    assert digest(extension_of(good_package)) == before
    tool.chmod(0o755)
    changed()
    tool.chmod(0o644)
    (good_package / "empty").write_bytes(b"")
    changed()
    (good_package / "empty").rename(good_package / "renamed")
    changed()
    (good_package / "renamed").unlink()
    (good_package / "renamed").symlink_to("state.py")
    changed()
    (good_package / "renamed").unlink()
    assert digest(extension_of(good_package)) == before


def test_the_copy_is_what_was_digested(good_package: Path, tmp_path: Path) -> None:
    (good_package / "link").symlink_to("state.py")
    extension = extension_of(good_package)
    before = digest(extension, copy_to=tmp_path / "copy")
    copied = replace(extension, root=tmp_path / "copy")
    assert digest(copied) == before
    assert sorted(
        path.relative_to(tmp_path / "copy").as_posix()
        for path in (tmp_path / "copy").rglob("*")
        if not path.is_dir()
    ) == list(extension.files)
