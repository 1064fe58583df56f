"""Harness environments: built by the real uv, from the real index and from small ones of our own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import HARNESSES, ROOT
from tests.package_index import PackageIndex, expect, harness, wheel
from verify_ext.config import default_cache
from verify_ext.harness import environments, store, supported
from verify_ext.harness.choice import Chosen, choose
from verify_ext.harness.environments import (
    ensure_environment,
    find_environment,
)
from verify_ext.harness.overlays import ensure_overlay
from verify_ext.harness.trouble import flag_place

PLACE = flag_place("--harness", "a test")


def chosen(version: str) -> Chosen:
    return Chosen(version=version, origin="flag", location=PLACE.location)


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[PackageIndex]:
    """An index with a small harness in two versions."""
    files = (harness("0.1.12"), harness("0.1.17", "shared"), wheel("shared", "1.0"))
    with PackageIndex(*files) as index:
        index.use(monkeypatch, tmp_path)
        yield index


# --- The real harness ------------------------------------------------------------------------

READ_SKILLS = """
import asyncio, json, sys
sys.path.append(sys.argv[2])
from openjiuwen.core.single_agent.schema.agent_card import AgentCard
from openjiuwen.core.sys_operation import LocalWorkConfig, OperationMode, SysOperation, SysOperationCard
from openjiuwen.harness.deep_agent import DeepAgent
from openjiuwen.harness.schema.config import DeepAgentConfig

async def main():
    card = SysOperationCard(id="reader", mode=OperationMode.LOCAL, work_config=LocalWorkConfig(work_dir=None))
    system = SysOperation(card)
    agent = DeepAgent(AgentCard(name="reader", description="reads")).configure(
        DeepAgentConfig(enable_task_loop=False, sys_operation=system)
    )
    if hasattr(agent, "load_plugin"):
        from openjiuwen.harness.rails.skills.skill_use_rail import SkillUseRail
        rail = SkillUseRail(skills_dir=[], skill_mode="all")
        rail.set_sys_operation(system)
        agent.add_rail(rail)
        await agent.load_plugin(sys.argv[1])
        await agent._ensure_initialized()
    else:
        await agent.load_harness_config(sys.argv[1])
    rails = [rail for rail in agent._registered_rails if hasattr(rail, "skills_dir")]
    skills = [[skill.name, skill.description] for rail in rails for skill in rail.skills]
    print("skills:" + json.dumps(skills))

asyncio.run(main())
"""


@pytest.mark.parametrize("requirement", sorted(HARNESSES.values()))
def test_a_locked_harness_reads_skills_and_imports_what_lies_beside_it(
    requirement: str, tmp_path: Path, good_package: Path
) -> None:
    (asked,) = choose([requirement], tmp_path)
    environment = ensure_environment(asked, default_cache(), print)
    assert environment.locked
    assert environment.requirement == requirement
    assert environment == find_environment(asked, default_cache())
    needs = (good_package / "requirements.txt").read_text().splitlines()
    overlay = ensure_overlay(environment, needs, default_cache(), print, PLACE)
    assert overlay.environment == environment
    manifest = str(good_package / "harness_config.yaml")
    done = subprocess.run(
        [str(environment.python), "-I", "-B", "-c", READ_SKILLS, manifest, str(overlay.folder)],
        cwd=tmp_path,
        env={"PATH": os.defpath, "HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    answer = next((line for line in done.stdout.splitlines() if line.startswith("skills:")), None)
    assert answer is not None, done.stdout + done.stderr
    ((name, description),) = json.loads(answer.removeprefix("skills:"))
    assert name == "deck-writing"
    assert description.startswith("Structures a slide deck")  # not "Skill located in …"


@pytest.mark.parametrize("known", supported.supported_harnesses(), ids=lambda known: known.version)
def test_lock_files_are_of_what_they_are_named_after(known: supported.SupportedHarness) -> None:
    text = known.lock.read_text(encoding="utf-8")
    lines = " ".join(f"'{line}'" for line in supported.requirement_lines(known.version))
    assert f"printf '%s\\n' {lines} | uv pip compile" in text.splitlines()[1]
    assert "://" not in text
    assert "--index-url" not in text
    pins = [line for line in text.splitlines() if line and line[0] not in "# "]
    assert known.requirement + " \\" in pins
    assert all(line.endswith("\\") for line in pins)  # each is followed by its hashes


# --- Building --------------------------------------------------------------------------------


def test_a_version_without_a_lock_is_resolved_from_its_metadata(index: PackageIndex, tmp_path: Path) -> None:
    steps: list[str] = []
    environment = ensure_environment(chosen("0.1.17"), tmp_path / "cache", steps.append)
    assert not environment.locked
    assert steps[0] == f"installing openjiuwen==0.1.17 for Python {environment.python_version}"
    assert (environment.sites[0] / "shared.py").is_file()
    asked = len(index.asked)
    assert ensure_environment(chosen("0.1.17"), tmp_path / "cache", steps.append) == environment
    assert len(index.asked) == asked


def test_nothing_in_the_cache_is_writable_for_everybody(index: PackageIndex, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        ensure_environment(chosen("0.1.17"), tmp_path / "cache", print)
    finally:
        os.umask(before)
    for path in (tmp_path / "cache").rglob("*"):
        assert path.is_symlink() or not path.stat().st_mode & 0o002, path


def test_a_cache_below_the_current_folder(
    index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    environment = ensure_environment(chosen("0.1.17"), Path("cache"), print)
    assert environment.python.is_absolute()
    assert environment.python.exists()


def test_equal_environments_have_equal_fingerprints(index: PackageIndex, tmp_path: Path) -> None:
    one = ensure_environment(chosen("0.1.17"), tmp_path / "one", print)
    other = ensure_environment(chosen("0.1.17"), tmp_path / "other", print)
    assert one.fingerprint == other.fingerprint
    assert one.folder != other.folder
    index.files |= harness("0.1.18", "shared")
    assert ensure_environment(chosen("0.1.18"), tmp_path / "one", print).fingerprint != one.fingerprint


@pytest.mark.parametrize("damage", ["changed", "cut", "added", "seal"])
def test_a_damaged_environment_is_noticed_and_built_again(
    damage: str, index: PackageIndex, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    environment = ensure_environment(chosen("0.1.17"), cache, print)
    assert environment.folder
    victim = environment.sites[0] / "openjiuwen/harness/deep_agent.py"
    if damage == "changed":
        victim.write_text("passes = True\n")
    elif damage == "cut":
        victim.unlink()
    elif damage == "added":
        (environment.sites[0] / "zz.pth").write_text("import os")
    else:
        (environment.folder / "verify-ext.json").write_text("[")
    with expect("environment_error/damaged"):
        find_environment(chosen("0.1.17"), cache)
    steps: list[str] = []
    assert ensure_environment(chosen("0.1.17"), cache, steps.append) == environment
    assert "is damaged" in steps[0]
    assert victim.read_text() == ""
    assert find_environment(chosen("0.1.17"), cache) == environment


def test_starting_the_interpreter_leaves_no_bytecode(index: PackageIndex, tmp_path: Path) -> None:
    environment = ensure_environment(chosen("0.1.17"), tmp_path / "cache", print)
    subprocess.run([environment.python, "-I", "-c", "import shared"], check=True)
    assert find_environment(chosen("0.1.17"), tmp_path / "cache") == environment


def test_a_harness_that_does_not_start_is_left_to_the_canary(
    index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.files |= wheel("openjiuwen", "0.1.18", files={"openjiuwen.py": "raise OSError('no disk')"})
    steps: list[str] = []
    ensure_environment(chosen("0.1.18"), tmp_path / "cache", steps.append)
    assert steps[-1] == "openjiuwen==0.1.18 did not start: OSError: no disk"
    index.files |= wheel("openjiuwen", "0.1.20", files={"openjiuwen.py": "import time; time.sleep(60)"})
    monkeypatch.setattr(environments, "WARM_UP_LIMIT_S", 0.5)
    ensure_environment(chosen("0.1.20"), tmp_path / "cache", steps.append)
    assert steps[-1] == "openjiuwen==0.1.20 did not start within 0.5 seconds"


def start_builder(cache: Path) -> subprocess.Popen[str]:
    script = (
        "import sys, tests.test_environments as tests; from pathlib import Path;"
        "tests.ensure_environment(tests.chosen('0.1.17'), Path(sys.argv[1]), print)"
    )
    command = [sys.executable, "-u", "-c", script, str(cache)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_two_builders_at_once_build_once(index: PackageIndex, tmp_path: Path) -> None:
    index.gate.clear()
    with start_builder(tmp_path / "cache") as one, start_builder(tmp_path / "cache") as other:
        said = [builder.stdout.readline() for builder in (one, other) if builder.stdout]
        assert sorted(line.split()[0] for line in said) == ["installing", "waiting"]
        assert index.downloading.wait(60)
        index.gate.set()
        assert [one.wait(60), other.wait(60)] == [0, 0]
        rest = "".join(builder.stdout.read() for builder in (one, other) if builder.stdout)
    assert "installing" not in rest
    assert find_environment(chosen("0.1.17"), tmp_path / "cache")


def test_a_killed_builder_leaves_nothing_half_usable(index: PackageIndex, tmp_path: Path) -> None:
    cache, shelf = tmp_path / "cache", tmp_path / "cache/environments"
    index.gate.clear()
    with start_builder(cache) as builder:
        assert index.downloading.wait(60)
        builder.kill()
    (draft,) = [path for path in shelf.iterdir() if path.is_dir()]
    assert (draft / "bin/python").exists()
    with expect("environment_error/not-prepared"):
        find_environment(chosen("0.1.17"), cache)
    # Its uv lives on, and writes: the next builder waits for that one's end.
    steps: list[str] = []
    began = threading.Event()

    def note(step: str) -> None:
        steps.append(step)
        began.set()

    with ThreadPoolExecutor(1) as pool:
        task = pool.submit(ensure_environment, chosen("0.1.17"), cache, note)
        assert began.wait(60)
        assert steps == ["waiting for another build of openjiuwen==0.1.17"]
        index.gate.set()
        environment = task.result(60)
    assert [path for path in shelf.iterdir() if path.is_dir()] == [environment.folder]


def test_the_drafts_of_other_dead_builders_are_swept(tmp_path: Path) -> None:
    shelf = tmp_path / "environments"
    (shelf / ".dead.draft-1" / "bin").mkdir(parents=True)
    (shelf / ".alive.draft-2").mkdir()
    with store.only_builder(shelf, "alive", print), store.only_builder(shelf, "mine", print):
        with store.draft(shelf, "mine") as folder:
            store.seal(folder, {"made": "well"})
        assert sorted(path.name for path in shelf.iterdir() if path.is_dir()) == [".alive.draft-2", "mine"]
    found = store.look_up(shelf, "mine")
    assert found is not None
    assert (found.facts, found.damage) == ({"made": "well"}, None)


# --- What uv may be told ---------------------------------------------------------------------


def test_a_work_tree_cannot_supply_the_harness(
    index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work_tree = tmp_path / "work-tree"
    work_tree.mkdir()
    with PackageIndex(harness("0.1.17"), wheel("shared", "6.6.6")) as hostile:
        settings = f'[[index]]\nurl = "{hostile.url}"\ndefault = true\n'
        (work_tree / "uv.toml").write_text(settings)
        (work_tree / "pyproject.toml").write_text(settings.replace("[[index]]", "[[tool.uv.index]]"))
        (work_tree / ".python-version").write_text("2.7\n")
        # Only the user's own file names the index, and everything happens inside the work tree.
        monkeypatch.delenv("UV_DEFAULT_INDEX")
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        (tmp_path / "config/uv").mkdir(parents=True)
        (tmp_path / "config/uv/uv.toml").write_text(settings.replace(hostile.url, index.url))
        monkeypatch.setenv("TMPDIR", str(work_tree))
        monkeypatch.setattr("tempfile.tempdir", str(work_tree))
        monkeypatch.chdir(work_tree)
        environment = ensure_environment(chosen("0.1.17"), work_tree / "cache", print)
        assert hostile.asked == []
    assert (environment.sites[0] / "shared.py").read_text() == "version = '1.0'\n"


def test_uv_gets_no_token_and_no_order_of_others(
    index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import uv

    constraints = tmp_path / "constraints.txt"
    constraints.write_text("shared<1\n")
    for name, value in {
        "GITHUB_TOKEN": "secret",
        "UV_CONSTRAINT": str(constraints),
        "UV_PYTHON": "2.7",
        "UV_NO_BINARY": "1",
        "UV_INDEX_PRIVATE_PASSWORD": "needed",
    }.items():
        monkeypatch.setenv(name, value)
    ensure_environment(chosen("0.1.17"), tmp_path / "cache", print)
    shown = tmp_path / "shown"
    spy = tmp_path / "uv"
    spy.write_text(f"#!/bin/sh\nenv >{shown}\necho 'https://me:hunter2@example: boom' >&2\nexit 2\n")
    spy.chmod(0o755)
    monkeypatch.setattr(uv, "find_uv_bin", lambda: str(spy))
    with expect("environment_error/build-failed") as caught:
        ensure_environment(chosen("0.1.17"), tmp_path / "other", print)
    assert caught.value.finding.log == "https://…@example: boom"
    seen = shown.read_text()
    assert "needed" in seen
    assert not any(word in seen for word in ("secret", "UV_CONSTRAINT", "UV_NO_BINARY", "UV_PYTHON="))
