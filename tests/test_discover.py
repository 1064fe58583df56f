"""The walk through a repo: what is found, and what is left alone."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from verify_ext import git
from verify_ext.discover import discover, find_repo
from verify_ext.kinds import all_kinds
from verify_ext.model import Extension

MANIFEST = "harness_config.yaml"


def make(folder: Path, *files: str) -> Path:
    for name in (MANIFEST, *files):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    return folder


def init(repo: Path) -> None:
    subprocess.run(["git", "init", "--quiet", repo], check=True)


def found(repo: Path, *paths: Path) -> tuple[Extension, ...]:
    return discover(paths or (repo,), repo.resolve(), all_kinds()).extensions


@pytest.mark.parametrize("in_git", [True, False])
def test_extensions_are_found_in_one_order(tmp_path: Path, in_git: bool) -> None:
    for name in ("z", "a/b", "a", "文 件"):
        make(tmp_path / name, "tools/tool.py")
    if in_git:
        init(tmp_path)
    extensions = found(tmp_path)
    assert [each.path for each in extensions] == ["a", "a/b", "z", "文 件"]
    assert extensions == found(tmp_path, tmp_path / "z", tmp_path / "文 件", tmp_path / "a", tmp_path)
    assert extensions[1].files == (MANIFEST, "tools/tool.py")
    assert extensions[0].files == ("b/harness_config.yaml", "b/tools/tool.py", MANIFEST, "tools/tool.py")
    assert all(each.in_git is in_git for each in extensions)


def test_what_git_ignores_is_left_out_unless_it_is_named(tmp_path: Path) -> None:
    init(tmp_path)
    (tmp_path / ".gitignore").write_text("build/\n*.log\n__pycache__/\n")
    make(tmp_path / "kept", "debug.log", "__pycache__/tool.cpython-311.pyc")
    make(tmp_path / "build/out")
    assert [(each.path, each.files) for each in found(tmp_path)] == [("kept", (MANIFEST,))]
    assert [each.path for each in found(tmp_path, tmp_path / "build")] == ["build/out"]


def test_dependencies_and_environments_are_not_walked(tmp_path: Path) -> None:
    for name in ("node_modules/x", ".venv/lib/x", "venv/x", ".git/x", "own"):
        make(tmp_path / name)
    assert [each.path for each in found(tmp_path)] == ["own"]


def test_bytecode_that_git_tracks_stays_in_view(tmp_path: Path) -> None:
    init(tmp_path)
    make(tmp_path / "own", "tools/__pycache__/tool.cpython-311.pyc")
    assert found(tmp_path)[0].files == (MANIFEST, "tools/__pycache__/tool.cpython-311.pyc")


def test_outside_git_only_bytecode_that_is_not_checked_stays_in_view(tmp_path: Path) -> None:
    make(tmp_path / "own", "loose.pyc")
    cache = tmp_path / "own/__pycache__"
    cache.mkdir()
    (cache / "local.pyc").write_bytes(b"\xa7\r\r\n" + bytes(12))
    (cache / "unchecked.pyc").write_bytes(b"\xa7\r\r\n\x01\0\0\0" + bytes(8))
    assert found(tmp_path)[0].files == ("__pycache__/unchecked.pyc", MANIFEST, "loose.pyc")


def test_links_are_listed_and_never_followed(tmp_path: Path) -> None:
    make(tmp_path / "outside", "secret")
    repo = tmp_path / "repo"
    make(repo / "own")
    (repo / "elsewhere").symlink_to(tmp_path / "outside")
    (repo / "own/link").symlink_to(tmp_path / "outside")
    (repo / "own/loop").symlink_to(repo)
    (extension,) = found(repo)
    assert (extension.path, extension.files) == ("own", (MANIFEST, "link", "loop"))


def test_pipes_and_sockets_do_not_count(tmp_path: Path) -> None:
    make(tmp_path / "own")
    os.mkfifo(tmp_path / "own/pipe")
    os.mkfifo(tmp_path / MANIFEST)
    assert [each.files for each in found(tmp_path)] == [(MANIFEST,)]


def test_names_that_are_not_text_are_kept_apart(tmp_path: Path) -> None:
    make(tmp_path / "own")
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/own/\xff\n.py"))).write_bytes(b"")
    assert found(tmp_path)[0].files == (MANIFEST, os.fsdecode(b"\xff\n.py"))


def test_a_manifest_may_be_named_itself(tmp_path: Path) -> None:
    make(tmp_path / "own")
    make(tmp_path / "other")
    assert [each.path for each in found(tmp_path, tmp_path / "own" / MANIFEST)] == ["own"]


def test_a_repository_in_the_repository_is_walked(tmp_path: Path) -> None:
    init(tmp_path)
    make(tmp_path / "own")
    inner = tmp_path / "vendor"
    init(inner)
    make(inner / "pkg")
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for command in (("add", "."), (*author, "commit", "--quiet", "--message=first")):
        subprocess.run(["git", "-C", inner, *command], check=True)
    subprocess.run(["git", "-C", tmp_path, "-c", "advice.addEmbeddedRepo=false", "add", "."], check=True)
    assert [each.path for each in found(tmp_path)] == ["own", "vendor/pkg"]
    assert [each.path for each in found(tmp_path, tmp_path / "vendor")] == ["vendor/pkg"]


def test_what_git_knows_is_not_followed_out_of_the_repo(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    init(repo)
    make(repo / "own")
    subprocess.run(["git", "-C", repo, "add", "."], check=True)
    (repo / "own").rename(tmp_path / "elsewhere")
    (repo / "own").symlink_to(tmp_path / "elsewhere")
    assert found(repo) == ()


def test_a_repo_cannot_claim_to_be_elsewhere(tmp_path: Path) -> None:
    init(tmp_path)
    make(tmp_path / "own")
    subprocess.run(["git", "-C", tmp_path, "config", "core.worktree", "/usr"], check=True)
    assert find_repo([tmp_path / "own"]) == tmp_path / "own"


def test_a_path_is_no_pattern(tmp_path: Path) -> None:
    init(tmp_path)
    make(tmp_path / "a*")
    make(tmp_path / "ab")
    assert [each.path for each in found(tmp_path, tmp_path / "a*")] == ["a*"]


def test_the_repo_itself_may_be_the_extension(tmp_path: Path) -> None:
    make(tmp_path, "tools/tool.py")
    (extension,) = found(tmp_path)
    assert (extension.path, extension.name) == (".", tmp_path.name)
    assert extension.shown(MANIFEST) == MANIFEST


def test_a_path_outside_the_repo_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "elsewhere")
    make(tmp_path / "repo/own")
    result = discover([tmp_path / "elsewhere"], tmp_path / "repo", all_kinds())
    assert [each.id for each in result.findings] == ["config_invalid/path-outside-repo"]
    assert result.extensions == ()


def test_a_repo_of_another_user_is_read(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    init(tmp_path)
    (tmp_path / ".gitignore").write_text("ignored/\n")
    make(tmp_path / "own")
    make(tmp_path / "ignored")
    for path in (tmp_path, *tmp_path.rglob("*")):
        os.chown(path, 1001, 127)
    assert [each.path for each in found(tmp_path)] == ["own"]
    assert git.top_level(tmp_path) == tmp_path


def test_a_repo_cannot_make_git_run_a_program(tmp_path: Path) -> None:
    init(tmp_path)
    make(tmp_path / "own")
    (tmp_path / ".gitattributes").write_text("* filter=trap diff=trap\n")
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for command in (("add", "."), (*author, "commit", "--quiet", "--message=first")):
        subprocess.run(["git", "-C", tmp_path, *command], check=True)
    trap = tmp_path.parent / f"{tmp_path.name}.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    for name in (
        "core.fsmonitor",
        "filter.trap.clean",
        "filter.trap.process",
        "diff.external",
        "diff.trap.textconv",
    ):
        subprocess.run(["git", "-C", tmp_path, "config", name, str(trap)], check=True)
    assert git.revision(tmp_path)[1] is False
    (tmp_path / "own" / MANIFEST).write_bytes(b"another content")
    assert git.revision(tmp_path)[1] is True
    assert [each.path for each in found(tmp_path)] == ["own"]
    assert not (tmp_path / "sprung").exists()


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    result = discover([tmp_path / "nowhere"], tmp_path, all_kinds())
    assert [each.id for each in result.findings] == ["config_invalid/path-missing"]
    result = discover([tmp_path], tmp_path, all_kinds())
    assert [each.id for each in result.findings] == ["nothing_selected/no-extension-found"]
    result = discover([tmp_path], tmp_path, all_kinds(), allow_empty=True)
    assert [each.id for each in result.findings] == ["nothing_selected/empty-allowed"]


def test_the_repo_is_that_of_the_first_path(tmp_path: Path) -> None:
    init(tmp_path / "repo")
    make(tmp_path / "repo/own")
    assert find_repo([tmp_path / "repo/own" / MANIFEST]) == tmp_path / "repo"
    shutil.rmtree(tmp_path / "repo/.git")
    assert find_repo([tmp_path / "repo/own"]) == tmp_path / "repo/own"
