"""`./entrypoint` in a clone, on real copies of this repository: nothing is faked but the machine."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
NEEDED_TOOLS = ("cat", "cksum", "dirname", "env", "find", "mkdir", "mv", "readlink", "rm", "sh")
ENVIRONMENT_ERROR = 4
# What a shell hands down of this test run would help or hinder the clone under test.
_OURS = ("PYTHON", "VIRTUAL_ENV", "VERIFY_EXT", "COV_")

# Exit code, standard output, standard error.
Said = tuple[int, str, str]
SetUp = tuple[Path, list[Said]]


def _clone(target: Path) -> Path:
    """Copy what the set-up reads: a whole clone would do, and cost a second."""
    target.mkdir(parents=True)
    for name in ("entrypoint", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(REPOSITORY / name, target)
    shutil.copytree(REPOSITORY / "src", target / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return target


def _environment(**changes: str) -> dict[str, str]:
    """A HOME that cannot be made, and no cache."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return kept | {"HOME": f"{os.devnull}/home", "XDG_CACHE_HOME": ""} | changes


def _start(clone: Path, *arguments: str, **changes: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [clone / "entrypoint", *arguments],
        cwd=clone.parent,
        env=_environment(**changes),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _run(clone: Path, *arguments: str, **changes: str) -> Said:
    process = _start(clone, *arguments, **changes)
    out, err = process.communicate(timeout=180)
    return process.returncode, out, err


def _path_with(folder: Path, python3: str) -> str:
    """Make a PATH that holds what the set-up needs and one `python3`, a shell script."""
    folder.mkdir()
    for tool in NEEDED_TOOLS:
        found = shutil.which(tool)
        assert found is not None
        (folder / tool).symlink_to(found)
    script = folder / "python3"
    script.write_text(f"#!/bin/sh\n{python3}\n")
    script.chmod(0o755)
    return str(folder)


@pytest.fixture(scope="module")
def set_up_clone(
    tmp_path_factory: pytest.TempPathFactory,
) -> SetUp:
    """A clone below a folder with a space, set up by two first calls at once, and what they said."""
    clone = _clone(tmp_path_factory.mktemp("clone") / "a folder" / "verify-ext")
    both = [_start(clone, "--version"), _start(clone, "--version")]
    said = []
    for process in both:
        out, err = process.communicate(timeout=180)
        said.append((process.returncode, out, err))
    return clone, said


def test_two_first_calls_at_once_set_up_once(
    set_up_clone: SetUp,
) -> None:
    _, said = set_up_clone
    assert [(code, out) for code, out, _ in said] == [(0, "verify-ext 0.1.0\n")] * 2
    assert sum("setting up" in err for _, _, err in said) == 1


def test_a_later_call_says_nothing_of_the_set_up(
    set_up_clone: SetUp,
) -> None:
    assert _run(set_up_clone[0], "--version") == (0, "verify-ext 0.1.0\n", "")


def test_an_active_environment_is_not_used(set_up_clone: SetUp, tmp_path: Path) -> None:
    code, out, _ = _run(set_up_clone[0], "--version", VIRTUAL_ENV=str(tmp_path), PYTHONHOME="")
    assert (code, out) == (0, "verify-ext 0.1.0\n")


def test_a_link_to_it_works(set_up_clone: SetUp, tmp_path: Path) -> None:
    link = tmp_path / "verify"
    link.symlink_to(set_up_clone[0] / "entrypoint")
    done = subprocess.run([link, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "verify-ext 0.1.0\n")


def test_other_dependencies_mean_a_new_set_up(
    set_up_clone: SetUp,
) -> None:
    clone, _ = set_up_clone
    left_over = clone / ".venv" / "left-over"
    left_over.touch()
    with (clone / "pyproject.toml").open("a") as file:
        file.write("\n# changed\n")
    code, out, err = _run(clone, "--version")
    assert (code, out, err.count("setting up")) == (0, "verify-ext 0.1.0\n", 1)
    assert not left_over.exists()


def test_a_killed_set_up_is_done_again(tmp_path: Path) -> None:
    clone = _clone(tmp_path / "clone")
    process = _start(clone, "--version")
    assert process.stderr is not None
    assert "setting up" in process.stderr.readline()
    while not (clone / ".venv/pyvenv.cfg").exists():
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    assert process.communicate()[0] == ""
    code, out, err = _run(clone, "--version")
    assert (code, out, err.count("setting up")) == (0, "verify-ext 0.1.0\n", 1)


def test_without_venv_the_pip_of_the_machine_is_used(tmp_path: Path) -> None:
    """Debian without python3-venv: `venv` is there, `ensurepip` is not."""
    path = _path_with(
        tmp_path / "bin",
        f'case "$*" in *--without-pip*) ;; *"-m venv"*) exit 1 ;; esac\nexec "{sys.executable}" "$@"',
    )
    clone = _clone(tmp_path / "clone")
    code, out, err = _run(clone, "--version", PATH=path)
    assert (code, out) == (0, "verify-ext 0.1.0\n"), err
    assert not (clone / ".venv/bin/pip").exists()


def test_without_venv_and_pip_it_says_what_to_install(tmp_path: Path) -> None:
    path = _path_with(
        tmp_path / "bin",
        f'case "$*" in *"-m venv"*|*"-m pip"*) exit 1 ;; esac\nexec "{sys.executable}" "$@"',
    )
    code, out, err = _run(_clone(tmp_path / "clone"), "--version", PATH=path)
    assert (code, out) == (ENVIRONMENT_ERROR, "")
    assert "apt-get install python3-venv" in err


def test_an_old_python_is_named(tmp_path: Path) -> None:
    path = _path_with(tmp_path / "bin", 'case "$*" in *platform*) echo 3.9.2 ;; *) exit 1 ;; esac')
    code, out, err = _run(_clone(tmp_path / "clone"), "--version", PATH=path)
    assert (code, out) == (ENVIRONMENT_ERROR, "")
    assert "needs Python 3.11 or newer, and found 3.9.2 as python3" in err


def test_a_python_that_does_not_run_is_passed_over(tmp_path: Path) -> None:
    """A version manager's shim exits 127 where its version is not chosen; the next on PATH serves."""
    shims = _path_with(tmp_path / "shims", "exit 127")
    path = _path_with(tmp_path / "bin", f'echo used >&2; exec "{sys.executable}" "$@"')
    clone = _clone(tmp_path / "clone")
    code, _, err = _run(clone, "--version", PATH=f"{shims}:{path}", **_no_index(tmp_path))
    assert (code, "used" in err) == (ENVIRONMENT_ERROR, True)


def test_without_an_index_it_says_so_and_leaves_nothing_half_done(tmp_path: Path) -> None:
    clone = _clone(tmp_path / "clone")
    code, out, err = _run(clone, "--version", **_no_index(tmp_path))
    assert (code, out) == (ENVIRONMENT_ERROR, "")
    assert "could not install what it needs" in err
    assert not (clone / ".venv/.verify-ext-complete").exists()


def _no_index(tmp_path: Path) -> dict[str, str]:
    """Settings under which pip finds nothing: an index at a port where nothing listens."""
    nothing = {name: "" for name in os.environ if name.startswith("PIP_")}
    return nothing | {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_RETRIES": "0",
        "PIP_NO_CACHE_DIR": "1",
    }


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become another user")
def test_a_clone_that_cannot_be_written_is_named() -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are for their owner alone
        clone = _clone(Path(name) / "clone")
        Path(name).chmod(0o755)
        done = subprocess.run(
            [clone / "entrypoint", "--version"],
            user=65534,
            group=65534,
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stdout) == (ENVIRONMENT_ERROR, "")
    assert f"cannot write {clone}/.venv" in done.stderr


def test_in_the_image_the_installed_command_is_started(tmp_path: Path) -> None:
    """As the image has it: no pyproject.toml beside it, hence nothing to set up."""
    shutil.copy2(REPOSITORY / "entrypoint", tmp_path)
    command = tmp_path / ".venv/bin/verify-ext"
    command.parent.mkdir(parents=True)
    command.write_text('#!/bin/sh\nprintf "<%s>" "$@"; exit 3\n')
    command.chmod(0o755)
    done = subprocess.run(
        [tmp_path / "entrypoint", "verify", "a b", ""], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "<verify><a b><>", "")
