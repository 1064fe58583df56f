"""Texts that a terminal, a workflow runner or a browser would obey. Every output shows them, none obeys."""

from pathlib import Path

from tests.attacks.catalogue import TOOL, attack, run_code
from tests.mutations.edit import replace

EVIL = "\\x1b[2J\\x1b]0;x\\x07\\r\\n::error file=x,line=1::FORGED\\n##[error]FORGED\\n::set-env name=X::y\\n<img src=x> @everyone |`"
"""As it is written in a Python string."""


@attack("module_import_failed/import-raised")
def exception(package: Path) -> None:
    """An exception whose message is full of commands. It is quoted, not obeyed."""
    run_code(package, f'raise RuntimeError("{EVIL}")')


@attack("extension_crashed/job-disturbed")
def exception_of_an_odd_class(package: Path) -> None:
    """An exception whose class is named like a command, and whose message cannot be had. It is quoted, not obeyed."""
    run_code(
        package,
        f"""
        def shown(self):
            raise SystemExit("x")
        raise type("{EVIL}", (Exception,), {{"__str__": shown, "__module__": "{EVIL}"}})()
        """,
    )


@attack("extension_crashed/no-result")
def output(package: Path) -> None:
    """Prints commands and dies, so that its output is in the report. It is quoted, not obeyed."""
    run_code(package, f'print("{EVIL}" * 3, flush=True)\nos.write(2, "{EVIL}".encode())\nos._exit(3)')


@attack("class_init_failed/card-id-differs", "schema_refused_by_provider/tool-name-characters")
def tool(package: Path) -> None:
    """A tool whose name and description are commands. They are quoted, not obeyed."""
    replace(package / TOOL, 'name="verify_ext_canary_tool"', f'name="{EVIL}"')
    replace(package / TOOL, "description=DESCRIPTION", f'description="{EVIL}"')


@attack("skill_manifest_invalid/skill-name-differs")
def skill(package: Path) -> None:
    """A skill whose name and description are commands. They are quoted, not obeyed."""
    path = package / "skills/canary-skill/SKILL.md"
    path.write_text(f'---\nname: "{EVIL}"\ndescription: "{EVIL}"\n---\n')


@attack(
    "manifest_invalid/class-name", "manifest_invalid/schema-version", "manifest_invalid/skills-dir-separator"
)
def manifest(package: Path) -> None:
    """A manifest whose every field is a command. They are quoted, not obeyed."""
    path = package / "harness_config.yaml"
    replace(path, "class: CanaryTool", f'class: "{EVIL}"')
    replace(path, "schema_version: harness_config.v0.1", f'schema_version: "{EVIL}"')
    replace(path, "- skills", f'- "{EVIL}"')


@attack("manifest_invalid/link-dangling")
def names_of_files(package: Path) -> None:
    """Files and folders whose names hold line breaks, commands and invalid UTF-8. They are quoted, not obeyed."""
    import os

    for name in (
        b"a\n::error::FORGED",
        b"##[error]FORGED",
        b"\xff\xfe.py",
        b"\x1b[2J.txt",
        b"n" * 255,
        b"|`<b>@x",
    ):
        with open(os.path.join(os.fsencode(package), name), "wb") as stream:
            stream.write(b"x = 1\n")
    broken = os.path.join(os.fsencode(package), b"link\n::error::FORGED")
    os.symlink(b"nowhere\n::error::FORGED", broken)


@attack("isolation_violated/file-write")
def attempts(package: Path) -> None:
    """Tries to write to files that are named like commands. The attempt is quoted, not obeyed."""
    run_code(package, f'attempt(write, "/etc/" + "{EVIL}".replace("/", "").replace(chr(0), ""))')


@attack("module_import_failed/import-raised")
def frames(package: Path) -> None:
    """A traceback whose file and function names are commands. They are quoted, not obeyed."""
    run_code(
        package,
        f"""
        code = compile("def f():\\n raise ValueError('x')\\n", __file__ + "{EVIL}", "exec")
        scope = {{}}
        exec(code, scope)
        scope["f"].__code__ = scope["f"].__code__.replace(co_name="{EVIL}")
        scope["f"]()
        """,
    )
