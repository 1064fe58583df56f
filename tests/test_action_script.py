"""docker/action.sh with a stand-in for the program and no docker: what it passes on, says and returns.

With docker and the real program it is run by tests/image and, inside both actions, by .ci/run-action.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]

# Writes down how it was called, says what a hostile extension might, and leaves results.
PROGRAM = """\
#!/bin/sh
{ printf '%s' "$1"; shift; printf ' <%s>' "$@"; echo; } >>"$CALLS"
env >"$CALLS.env.$(wc -l <"$CALLS")"
printf '::error::injected\\n##[error]injected\\n::set-output name=x::y' >&2
"""


@dataclass(frozen=True)
class Action:
    """The script of an action's checkout, a workspace, and the files that the runner provides."""

    folder: Path

    @property
    def calls(self) -> list[str]:
        return (self.folder / "calls").read_text().splitlines()

    @property
    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in (self.folder / "outputs").read_text().splitlines())

    def environment(self, step: str, inputs: dict[str, str]) -> dict[str, str]:
        own = {
            "PATH": os.environ["PATH"],
            "DOCKER_HOST": "unix:///nothing/listens/here",
            "RUNNER_TEMP": str(self.folder / "temp"),
            "GITHUB_WORKSPACE": str(self.folder / "work space"),
            "GITHUB_OUTPUT": str(self.folder / "outputs"),
            "GITHUB_TOKEN": "secret",
            "ACTIONS_RUNTIME_TOKEN": "secret",
            "CALLS": str(self.folder / "calls"),
        }
        if step not in ("start", "inside"):
            own["VERIFY_EXT_STATE"] = self.outputs["state"]
        return own | inputs

    def command(self, step: str, *arguments: str) -> list[str]:
        return [str(self.folder / "checkout/docker/action.sh"), step, *arguments]

    def run(self, step: str, *arguments: str, **inputs: str) -> tuple[int, str]:
        done = subprocess.run(
            self.command(step, *arguments),
            env=self.environment(step, inputs),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stderr == ""  # the runner reads it beside the other stream, in no certain order
        return done.returncode, done.stdout

    def environment_of_call(self, number: int) -> str:
        return (self.folder / f"calls.env.{number}").read_text()


@pytest.fixture
def action(tmp_path: Path) -> Callable[[str], Action]:
    def make(program: str) -> Action:
        for folder in ("checkout/docker", "checkout/src", "temp", "work space"):
            (tmp_path / folder).mkdir(parents=True)
        shutil.copy2(REPOSITORY / "docker/action.sh", tmp_path / "checkout/docker")
        (tmp_path / "checkout/pyproject.toml").touch()
        (tmp_path / "outputs").touch()
        entrypoint = tmp_path / "checkout/entrypoint"
        entrypoint.write_text(PROGRAM + program)
        entrypoint.chmod(0o755)
        return Action(tmp_path)

    return make


# Writes results where `verify` is told to, and ends as told.
VERIFYING = """\
while [ $# -gt 0 ]; do [ "$1" = --output ] && echo '{}' >"$2"; shift; done
exit ${CODE:-0}
"""


def test_inputs_become_arguments(action: Callable[[str], Action]) -> None:
    it = action(VERIFYING)
    workspace = it.folder / "work space"
    inputs = {
        "INPUT_PATHS": f"  examples/a b \r\n\n-odd\n{workspace}/absolute\n{workspace}\n",
        "INPUT_HARNESS": "openjiuwen==0.1.16\n  openjiuwen==0.1.19.post2\n",
    }
    assert it.run("start", **inputs)[0] == 0
    assert it.run("prepare", **inputs)[0] == 0
    assert it.run("verify", INPUT_TIMEOUT="30", INPUT_ALLOW_EMPTY="true", **inputs)[0] == 0
    assert it.run("report")[0] == 0
    state = it.outputs["state"]
    harnesses = "<--harness> <openjiuwen==0.1.16> <--harness> <openjiuwen==0.1.19.post2>"
    paths = "<--> <examples/a b> <-odd> <absolute> <.>"
    assert it.calls == [
        f"prepare {harnesses} {paths}",
        f"verify <--timeout> <30> <--allow-empty> {harnesses} <--output> <{state}/out/results.json> {paths}",
        f"report <{state}/results.json>",
    ]


def test_no_inputs_are_no_arguments(action: Callable[[str], Action]) -> None:
    it = action(VERIFYING)
    it.run("start")
    it.run("prepare", INPUT_PATHS="", INPUT_HARNESS="")
    assert it.calls == ["prepare <-->"]


@pytest.mark.parametrize("step", ["prepare", "verify"])
def test_what_it_prints_is_no_command(action: Callable[[str], Action], step: str) -> None:
    it = action(VERIFYING)
    it.run("start")
    first, second = it.run(step)[1], it.run(step)[1]
    tokens = []
    for said in (first, second):
        found = re.search(r"^::stop-commands::([0-9a-f]{32})\n(.*)\n::\1::$", said, re.MULTILINE | re.DOTALL)
        assert found, said
        assert "::error::injected" in found[2]
        outside = said.replace(found[0], "")
        assert "injected" not in outside
        tokens.append(found[1])
    assert tokens[0] != tokens[1]


def test_the_runs_that_need_no_token_get_none(action: Callable[[str], Action]) -> None:
    it = action(VERIFYING)
    it.run("start")
    it.run("prepare")
    it.run("verify")
    for call in (1, 2):
        found = it.environment_of_call(call)
        assert "secret" not in found
        assert "GITHUB_OUTPUT" not in found


def test_no_docker_is_said(action: Callable[[str], Action]) -> None:
    code, said = action("").run("start")
    assert code == 0
    assert "::warning title=verify-ext::No docker daemon answers here" in said


def test_protections_can_be_required(action: Callable[[str], Action]) -> None:
    it = action(VERIFYING)
    code, said = it.run("start", INPUT_REQUIRE_PROTECTIONS="true")
    assert (code, it.outputs["exit-code"], it.outputs["decision"]) == (4, "4", "manual_review")
    assert "nothing was run" in said
    assert not (it.folder / "calls").exists()


def test_an_input_that_is_neither_true_nor_false_is_refused(action: Callable[[str], Action]) -> None:
    it = action(VERIFYING)
    it.run("start")
    code, said = it.run("verify", INPUT_ALLOW_EMPTY="yes%\n::error::x")
    assert (code, it.outputs["exit-code"]) == (2, "2")
    assert "The input 'allow-empty' must be true or false, and is 'yes%25%0A::error::x'." in said


@pytest.mark.parametrize(
    ("verified", "reported", "code"), [(0, 0, 0), (1, 1, 1), (0, 4, 4), (5, 1, 1), (5, 0, 5), (143, 0, 143)]
)
def test_the_exit_code_is_that_of_report_but_never_a_success_of_its_own(
    action: Callable[[str], Action], verified: int, reported: int, code: int
) -> None:
    it = action(VERIFYING)
    it.run("start")
    assert it.run("verify", CODE=str(verified))[0] == 0
    assert it.run("report", CODE=str(reported))[0] == code
    assert it.outputs["results"] == f"{it.outputs['state']}/results.json"


@pytest.mark.parametrize(("verify_code", "code"), [("2", 2), ("143", 143), ("125", 4), ("137", 4), ("0", 5)])
def test_without_results_it_never_succeeds(
    action: Callable[[str], Action], verify_code: str, code: int
) -> None:
    it = action("exit ${CODE:-0}")
    it.run("start")
    it.run("verify", CODE=verify_code)
    found, said = it.run("report")
    assert (found, it.outputs["exit-code"]) == (code, str(code))
    assert "There are no results" in said


def test_a_link_is_no_result(action: Callable[[str], Action]) -> None:
    it = action("exit 0")
    it.run("start")
    it.run("verify")
    (Path(it.outputs["state"]) / "out/results.json").symlink_to("/etc/passwd")
    assert it.run("report")[0] == 5


def test_a_failed_prepare_is_left_to_verify(action: Callable[[str], Action]) -> None:
    it = action("exit 4")
    it.run("start")
    assert it.run("prepare")[0] == 0
    assert "prepared" not in it.outputs


def test_a_cancelled_verify_may_finish_its_results(action: Callable[[str], Action]) -> None:
    it = action('trap "echo {} >$CALLS.kept; exit 143" TERM\necho ready\nwhile :; do sleep 0.1; done')
    it.run("start")
    process = subprocess.Popen(
        it.command("verify"), env=it.environment("verify", {}), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    while "ready" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert said.endswith("::endgroup::\n")
    assert (it.folder / "calls.kept").exists()
    assert it.run("report")[0] == 143


def test_clean_leaves_the_results_alone(action: Callable[[str], Action]) -> None:
    it = action(VERIFYING)
    for step in ("start", "verify", "report", "clean"):
        assert it.run(step)[0] == 0
    assert Path(it.outputs["results"]).exists()
    assert not (Path(it.outputs["state"]) / "out").exists()


def test_clean_works_after_a_start_that_refused(action: Callable[[str], Action]) -> None:
    it = action(VERIFYING)
    assert it.run("start", INPUT_REQUIRE_PROTECTIONS="true")[0] == 4
    assert it.run("clean") == (0, "")


def test_other_environments_mean_another_cache(action: Callable[[str], Action]) -> None:
    it = action(VERIFYING)
    keys = []
    for change in ("", "requirements.txt", "requirements.txt", "README.md"):
        if change:
            with (it.folder / "work space" / change).open("a") as file:
                file.write("python-pptx\n")
        it.run("start")
        keys.append(it.outputs["cache-key"])
    it.run("start", INPUT_HARNESS="openjiuwen==0.1.16")
    keys.append(it.outputs["cache-key"])
    assert len(set(keys[:3])) == 3
    assert keys[3] == keys[2] != keys[4]


def test_inside_does_all_in_a_row(action: Callable[[str], Action]) -> None:
    it = action(VERIFYING)
    code, said = it.run("inside", "true", "true", INPUT_PATHS="examples")
    assert code == 0
    assert "<--allow-empty> <--require-protections>" in it.calls[1]
    assert [call.split()[0] for call in it.calls] == ["prepare", "verify", "report"]
    assert "::notice title=verify-ext::Reduced protections" in said
    assert Path(it.outputs["results"]).exists()
