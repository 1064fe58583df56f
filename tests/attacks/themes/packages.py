"""Hostile before anything of it runs: links, pipes, bytecode, requirements, bombs for the reader."""

import os
from pathlib import Path

from tests.attacks.catalogue import TOOL, attack, run_code
from tests.mutations.edit import replace

MANIFEST = "harness_config.yaml"
SKILL = "skills/canary-skill/SKILL.md"
OUTSIDE = "manifest_invalid/link-outside"


def _link(package: Path, name: str, target: str) -> None:
    path = package / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


@attack(OUTSIDE)
def link_to_a_file_of_the_system(package: Path) -> None:
    """A file of the package is a link to /etc/passwd. It is reported, and nothing of it quoted."""
    _link(package, "data/users.txt", "/etc/passwd")


@attack(OUTSIDE)
def link_to_the_workspace(package: Path) -> None:
    """Links to the folder above, and to the source of another extension. They are reported, not followed."""
    _link(package, "data/all", "../../..")
    _link(package, "data/neighbour.py", "../../../neighbour/verify_ext_canary/tools/canary_tool.py")


@attack("manifest_invalid/manifest-missing", OUTSIDE)
def manifest_that_is_a_link(package: Path) -> None:
    """The manifest is a link to the verifier's environment, where the token is. It is not read."""
    _link(package, MANIFEST, "/proc/self/environ")


@attack(OUTSIDE)
def skill_that_is_a_link(package: Path) -> None:
    """SKILL.md is a link to the verifier's environment. It is not read."""
    _link(package, SKILL, "/proc/self/environ")


@attack(OUTSIDE)
def requirements_that_are_a_link(package: Path) -> None:
    """requirements.txt is a link to a secret, whose lines a report would quote. It is not read."""
    _link(package, "requirements.txt", "/proc/self/environ")


@attack(OUTSIDE)
def module_that_is_a_link(package: Path) -> None:
    """The tool's module is a link to a file outside. It is neither read nor imported."""
    _link(package, TOOL, "/etc/passwd")


@attack("manifest_invalid/skills-dir-missing")
def pipes_in_the_package(package: Path) -> None:
    """A pipe where a file is expected: whoever opens it waits for ever. Nobody opens it."""
    (package / SKILL).unlink()
    os.mkfifo(package / SKILL)
    os.mkfifo(package / "requirements.txt")
    os.mkfifo(package / "data")


@attack("manifest_invalid/requirements-option", "manifest_invalid/requirements-path")
def requirement_that_runs_a_program(package: Path) -> None:
    """requirements.txt asks for an editable install, whose setup.py would run outside the jail. It never runs."""
    (package / "requirements.txt").write_text("-e ./trap\n./trap\n")
    _trap(package)


@attack("manifest_invalid/requirements-option", "manifest_invalid/requirements-url")
def requirement_that_names_an_index(package: Path) -> None:
    """requirements.txt sends the installer to another index and to addresses. Nobody asks there."""
    (package / "requirements.txt").write_text(
        "--index-url http://127.0.0.1:9/simple\n--extra-index-url http://127.0.0.1:9/simple\n"
        "trap @ file:///tmp/trap\ntrap2 @ http://127.0.0.1:9/trap.whl\n--find-links /tmp\n-r ../../secrets.txt\n"
    )


def _trap(package: Path) -> None:
    (package / "trap").mkdir()
    code = "open('/tmp/verify-ext-attack-setup', 'w').write('setup.py ran')\n"
    (package / "trap/setup.py").write_text(code + "from setuptools import setup\nsetup(name='trap')\n")


@attack()
def files_that_python_runs_by_name(package: Path) -> None:
    """sitecustomize, usercustomize, conftest, .pth, setup.py: files that run because of their name. None runs."""
    code = "open('/tmp/verify-ext-attack-name', 'w').write('ran')\nraise SystemExit(3)\n"
    for name in (
        "sitecustomize.py",
        "usercustomize.py",
        "conftest.py",
        "setup.py",
        "logging.py",
        "os.py",
        "yaml.py",
    ):
        (package / name).write_text(code)
    (package / "evil.pth").write_text(f"import sys; {code.splitlines()[0]}\n")
    (package / "pyvenv.cfg").write_text("home = /tmp\n")


@attack()
def folder_that_is_named_as_the_harness(package: Path) -> None:
    """A folder named openjiuwen with another harness in it, and its own dist-info. The real one is used."""
    (package / "openjiuwen").mkdir()
    for name in ("core", "harness", "extensions"):  # without __init__.py, which 0.1.16 runs in any folder
        (package / f"openjiuwen/{name}.py").write_text("raise SystemExit('the wrong harness')\n")
    (package / "openjiuwen-99.dist-info").mkdir()
    (package / "openjiuwen-99.dist-info/METADATA").write_text("Name: openjiuwen\nVersion: 99\n")


@attack("manifest_invalid/bytecode-shipped")
def bytecode_that_differs_from_its_source(package: Path) -> None:
    """Ships bytecode that Python would take unchecked in place of the clean source. It is an error, and not copied."""
    import importlib.util
    import marshal

    code = compile("raise SystemExit('the bytecode ran')\n", "canary_tool.py", "exec")
    cache = package / "tools/__pycache__"
    cache.mkdir()
    for version in ("311", "312", "313"):
        data = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + marshal.dumps(code)
        (cache / f"canary_tool.cpython-{version}.pyc").write_bytes(data)


@attack("manifest_invalid/unknown-key")
def bomb_of_aliases(package: Path) -> None:
    """A manifest that says the same a billion times with a few bytes. It is read in no time."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    (package / MANIFEST).write_text("\n".join(lines) + "\n" + (package / MANIFEST).read_text())


@attack("manifest_invalid/yaml-syntax")
def manifest_nested_without_end(package: Path) -> None:
    """A manifest of brackets, to exhaust the reader's stack. It is refused."""
    (package / MANIFEST).write_text("a: " + "[" * 100_000 + "]" * 100_000)


@attack("module_import_failed/syntax-error")
def module_nested_without_end(package: Path) -> None:
    """A module that the compiler itself dies of. It is refused without a crash."""
    run_code(package, "x = " + "(" * 5000 + ")" * 5000)


@attack("resource_limit_exceeded/package-size")
def more_than_can_be_copied(package: Path) -> None:
    """Twenty-one thousand files, each of which every job would copy. It is refused."""
    folder = package / "many"
    folder.mkdir()
    for number in range(21_000):
        (folder / str(number)).touch()


@attack("resource_limit_exceeded/package-size")
def file_that_is_all_hole(package: Path) -> None:
    """A file of a terabyte that takes no room, until it is copied. It is refused."""
    with open(package / "huge", "wb") as stream:
        stream.truncate(1 << 40)


@attack("manifest_invalid/module-outside-extension")
def module_outside_the_package(package: Path) -> None:
    """The manifest names a module of Python that does something when it is called. It is not imported."""
    replace(package / MANIFEST, "openjiuwen.extensions.harness.verify_ext_canary.tools.canary_tool", "os")


@attack("manifest_invalid/module-name", "manifest_invalid/skills-dir-outside")
def module_above_the_package(package: Path) -> None:
    """The manifest names paths above the package: a module and a folder of skills. Neither is used."""
    replace(package / MANIFEST, "verify_ext_canary.tools.canary_tool", "verify_ext_canary....neighbour")
    replace(package / MANIFEST, "- skills", "- ../../neighbour/verify_ext_canary/skills")


@attack("class_init_failed/input-params-invalid-schema")
def parameters_that_break_the_judge(package: Path) -> None:
    """A tool's parameters name a dialect that is a list, and patterns that never end. They are no schema."""
    replace(package / TOOL, '"type": "object",', '"type": "object", "$schema": ["x"], "$ref": 3,')


@attack("extension_crashed/malformed-result")
def parameters_nested_deeply(package: Path) -> None:
    """A tool's parameters nest three hundred deep, beyond any reader's stack. They are refused, and nobody crashes."""
    run_code(
        package,
        """
        def deep(self, _real=CanaryTool.__init__):
            _real(self)
            inner = {"type": "object"}
            for _ in range(300):
                inner = {"type": "object", "properties": {"a": inner}}
            self.card.input_params = inner
        CanaryTool.__init__ = deep
        """,
    )
