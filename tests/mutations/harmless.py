"""Changes of the good package that nobody must complain about; each docstring says what is harmless."""

import os
import py_compile
from pathlib import Path

from tests.mutations.edit import append, prepend, replace

MANIFEST = "harness_config.yaml"
TOOL = "tools/deck_tool.py"
SKILL = "skills/deck-writing/SKILL.md"
PROVIDE = """def provide(cls):
    wants_template = cls.__init__
    cls.__init__ = lambda self: wants_template(self, None)
    return cls


"""
OWN = "openjiuwen.extensions.harness.deck_maker."


def _write(package: Path, file: str, text: str) -> None:
    (package / file).parent.mkdir(parents=True, exist_ok=True)
    (package / file).write_text(text, encoding="utf-8")


def nothing_changed(package: Path) -> None:
    """The good package itself."""


def as_the_harness_itself_documents_it(package: Path) -> None:
    """The manifest of the harness's own guide for extensions: no id, no description, `skills/`."""
    _write(
        package,
        MANIFEST,
        "schema_version: harness_config.v0.1\nname: deck_maker\nresources:\n  rails:\n    - type: package\n"
        f"      module: {OWN}rails.request_log_rail\n      class: RequestLogRail\n  tools:\n    - type: package\n"
        f"      module: {OWN}tools.deck_tool\n      class: DeckTool\n  skills:\n    dirs:\n      - skills/\n",
    )


def windows_line_ends(package: Path) -> None:
    """Every file with CRLF."""
    for file in (path for path in package.rglob("*") if path.is_file()):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))


def byte_order_marks(package: Path) -> None:
    """A BOM in the manifest, in Python and in requirements.txt: their readers skip it."""
    for name in (MANIFEST, TOOL, "requirements.txt"):
        (package / name).write_bytes(b"\xef\xbb\xbf" + (package / name).read_bytes())


def relative_imports(package: Path) -> None:
    """Own modules imported relatively, at module level."""
    for file in package.rglob("*.py"):
        file.write_text(file.read_text(encoding="utf-8").replace(OWN, ".."), encoding="utf-8")


def package_import_of_a_module(package: Path) -> None:
    """`from package import module`, at module level."""
    old = "from openjiuwen.extensions.harness.deck_maker.state import read_requests"
    new = "from openjiuwen.extensions.harness.deck_maker import state\n\nread_requests = state.read_requests"
    replace(package / TOOL, old, new)


def import_in_try(package: Path) -> None:
    """A fast module with a fallback, at module level."""
    append(package / "state.py", "try:\n    import orjson\nexcept ImportError:\n    orjson = None")


def import_for_types(package: Path) -> None:
    """An own module imported for type checkers only, also in an `__init__.py`."""
    lines = (
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from .tools.deck_tool import DeckTool\n"
    )
    _write(package, "__init__.py", lines)


def harness_imported_late(package: Path) -> None:
    """Another package imported inside a function."""
    append(
        package / "state.py",
        "def runner():\n    from openjiuwen.core.runner.runner import Runner\n\n    return Runner",
    )


def initialisers_with_more_than_nothing(package: Path) -> None:
    """A licence header, a docstring, a version, a logger: no names are passed on."""
    _write(
        package,
        "__init__.py",
        "# Copyright 2026 the authors. Licensed under the Apache License 2.0.\n"
        '"""Makes decks."""\n\n'
        "from __future__ import annotations\n\n"
        "import logging\n"
        "from importlib.metadata import PackageNotFoundError, version\n\n"
        '__all__ = []\n__author__ = "the authors"\n\n'
        "try:\n    __version__ = version('deck-maker')\n"
        "except PackageNotFoundError:\n    __version__ = '0'\n"
        "logging.getLogger(__name__).addHandler(logging.NullHandler())\n",
    )


def chinese_text(package: Path) -> None:
    """Chinese in every place that people write in."""
    replace(package / MANIFEST, "description: Turns", "description: 把大纲变成幻灯片。Turns")
    replace(package / SKILL, "description: Structures", "description: 制作幻灯片，每页只讲一点。Structures")
    prepend(package / TOOL, "# 生成演示文稿")


def source_in_gbk(package: Path) -> None:
    """Python source in an encoding that its first line declares (PEP 263)."""
    text = "# -*- coding: gbk -*-\n# 状态文件\n" + (package / "state.py").read_text(encoding="utf-8")
    (package / "state.py").write_bytes(text.encode("gbk"))


def comment_in_another_encoding(package: Path) -> None:
    """A comment that is not UTF-8: Python skips it."""
    with (package / "state.py").open("ab") as stream:
        stream.write("# für alle\n".encode("latin-1"))


def folder_with_a_space_above(package: Path) -> None:
    """A path with a space and Chinese in it."""
    above = package.parent / "我的 repo"
    above.mkdir()
    package.rename(above / "deck_maker")


def quoted_values(package: Path) -> None:
    """Every value in quotes."""
    text = (package / MANIFEST).read_text(encoding="utf-8")
    lines = []
    for line in text.splitlines():
        head, colon, value = line.partition(": ")
        lines.append(f"{head}: '{value}'" if colon else line.replace("- skills", '- "skills"'))
    _write(package, MANIFEST, "\n".join(lines) + "\n")


def flow_style(package: Path) -> None:
    """The whole manifest as JSON, which is YAML."""
    _write(
        package,
        MANIFEST,
        '{"schema_version": "harness_config.v0.1", "name": "deck_maker", "resources": {"rails": [{"type": "package",'
        f' "module": "{OWN}rails.request_log_rail", "class": "RequestLogRail"}}], "tools": [{{"type": "package",'
        f' "module": "{OWN}tools.deck_tool", "class": "DeckTool"}}], "skills": {{"dirs": ["skills"]}}}}}}\n',
    )


def anchors_and_merge_keys(package: Path) -> None:
    """Entries that share their type by an anchor under a helper key."""
    text = (package / MANIFEST).read_text(encoding="utf-8")
    text = text.replace("    - type: package\n", "    - <<: *entry\n")
    _write(package, MANIFEST, "x-entry: &entry\n  type: package\n" + text)


def merge_key_overridden(package: Path) -> None:
    """A merged key that the entry itself overrides is not written twice."""
    text = (package / MANIFEST).read_text(encoding="utf-8")
    text = text.replace("    - type: package\n", "    - <<: *entry\n      type: package\n")
    _write(package, MANIFEST, "x-entry: &entry {type: builtin}\n" + text)


def nothing_in_optional_sections(package: Path) -> None:
    """Optional keys that are written without a value."""
    append(package / MANIFEST, "meta:\nprompts:\nworkspace: ~\nmax_iterations: null\ncompletion_timeout:")


def skills_without_value(package: Path) -> None:
    """`skills:` without a value is the same as no skills."""
    text = (package / MANIFEST).read_text(encoding="utf-8")
    _write(package, MANIFEST, text[: text.index("    dirs:")])


def empty_lists(package: Path) -> None:
    """Sections with nothing in them."""
    append(package / MANIFEST, "  mcps: []\nprompts: {sections: []}")


def lax_numbers(package: Path) -> None:
    """Numbers as the schema's models read them: in quotes, as floats, as booleans."""
    append(package / MANIFEST, "max_iterations: '30'\ncompletion_timeout: '2.5'")


def known_keys_of_newer_versions(package: Path) -> None:
    """Top-level keys that only newer versions read."""
    append(package / MANIFEST, "language: en\nenable_task_loop: false\nmetadata: {stage: beta}")


def class_name_for_class(package: Path) -> None:
    """`class_name`, which every version takes for `class`."""
    replace(package / MANIFEST, "class: DeckTool", "class_name: DeckTool")


def class_imported_into_the_module(package: Path) -> None:
    """A declared module that imports the class from another one."""
    _write(package, "tools/entry.py", "from .deck_tool import DeckTool\n")
    replace(package / MANIFEST, "tools.deck_tool", "tools.entry")


def class_under_another_name(package: Path) -> None:
    """A declared name that is assigned the class."""
    append(package / TOOL, "Deck = DeckTool")
    replace(package / MANIFEST, "class: DeckTool", "class: Deck")


def class_defined_by_condition(package: Path) -> None:
    """Two classes of one name, of which one is defined, with a constructor argument in one."""
    append(
        package / TOOL,
        "import sys\n\nif sys.platform == 'win32':\n    class Deck(DeckTool):\n        def __init__(self, template):\n"
        "            super().__init__()\nelse:\n    class Deck(DeckTool):\n        pass",
    )
    replace(package / MANIFEST, "class: DeckTool", "class: Deck")


def class_that_cannot_be_read(package: Path) -> None:
    """A name that code makes while the module is imported."""
    append(package / TOOL, "globals()['Deck'] = DeckTool")
    replace(package / MANIFEST, "class: DeckTool", "class: Deck")


def class_from_everything(package: Path) -> None:
    """A class that may come with `import *`."""
    _write(package, "tools/entry.py", "from .deck_tool import *\n")
    replace(package / MANIFEST, "tools.deck_tool", "tools.entry")


def constructor_with_defaults(package: Path) -> None:
    """A constructor whose arguments may all be left out."""
    replace(
        package / TOOL,
        "def __init__(self) -> None:",
        "def __init__(self, template=None, *pages, size: int = 1, **more) -> None:",
    )


def constructor_made_by_a_decorator(package: Path) -> None:
    """A decorator that makes the constructor need no argument."""
    replace(package / TOOL, "class DeckTool(Tool):", "@provide\nclass DeckTool(Tool):")
    replace(package / TOOL, "def __init__(self) -> None:", "def __init__(self, template) -> None:")
    replace(package / TOOL, "TITLE_LAYOUT,", PROVIDE + "TITLE_LAYOUT,")


def tool_with_a_base_of_its_own(package: Path) -> None:
    """Abstract methods that an own base class implements."""
    _write(
        package,
        "tools/base.py",
        "from openjiuwen.core.foundation.tool.base import Tool\n\n\nclass StreamingTool(Tool):\n"
        "    async def stream(self, inputs, **kwargs):\n        yield await self.invoke(inputs, **kwargs)\n",
    )
    text = (package / TOOL).read_text(encoding="utf-8")
    text = text[: text.index("    async def stream")] + text[text.index("\n\ndef add_slide") :]
    text = text.replace("class DeckTool(Tool)", "class DeckTool(StreamingTool)")
    _write(package, TOOL, text.replace("import Tool, ToolCard", "import ToolCard"))
    prepend(package / TOOL, f"from {OWN}tools.base import StreamingTool")


def folder_of_modules_without_initialiser(package: Path) -> None:
    """A folder of modules without `__init__.py`: the harness loads them by path."""
    (package / "tools/__init__.py").unlink()


def module_with_a_hyphen(package: Path) -> None:
    """A file name that no import statement can name: the harness loads it by path."""
    (package / TOOL).rename(package / "tools/deck-tool.py")
    replace(package / MANIFEST, "tools.deck_tool", "tools.deck-tool")


def tests_that_use_what_is_declared(package: Path) -> None:
    """Tests that import the declared modules and a helper module."""
    _write(
        package,
        "tests/test_deck.py",
        f"from {OWN}state import read_requests\nfrom {OWN}tools.deck_tool import DeckTool\n\n\n"
        "def test_deck():\n    assert DeckTool().card.name and read_requests('x') == []\n",
    )


def test_that_imports_late(package: Path) -> None:
    """Own modules imported inside a test: tests are not loaded by the harness."""
    _write(
        package,
        "tests/test_deck.py",
        f"def test_deck():\n    from {OWN}tools.deck_tool import DeckTool\n\n    assert DeckTool()\n",
    )


def skills_at_the_root(package: Path) -> None:
    """Skill folders beside the modules, named by `.`."""
    (package / "skills/deck-writing").rename(package / "deck-writing")
    replace(package / MANIFEST, "- skills", "- .")


def what_is_no_skill_below_skills(package: Path) -> None:
    """Hidden folders, `_` folders, folders that the harness skips, and files, beside the skills."""
    for file in ("README.md", ".cache/x.md", "_shared/style.md", "assets/logo.svg"):
        _write(package, f"skills/{file}", "x\n")


def skill_with_scripts(package: Path) -> None:
    """A skill's own Python, with an `__init__.py` that passes names on, and skills inside the skill."""
    _write(package, "skills/deck-writing/scripts/__init__.py", "from .outline import make\n")
    _write(package, "skills/deck-writing/scripts/outline.py", "def make():\n    from . import missing\n")
    _write(package, "skills/deck-writing/more/SKILL.md", "---\nname: other\ndescription: More.\n---\n")


def skill_through_a_link(package: Path) -> None:
    """A skill folder and a file that are links inside the extension."""
    (package / "shared").mkdir()
    (package / "skills/deck-writing").rename(package / "shared/deck-writing")
    os.symlink("../shared/deck-writing", package / "skills/deck-writing")
    os.symlink("requirements.txt", package / "needs.txt")


def skill_with_more_fields(package: Path) -> None:
    """Fields of other clients, hyphens in the body, a comment after the name."""
    replace(
        package / SKILL,
        "name: deck-writing\n",
        "name: deck-writing  # as its folder\nlicense: Apache-2.0\nmetadata: {version: 1.0, tags: [a, b]}\n"
        "allowed-tools: [deck_tool]\n",
    )
    append(package / SKILL, "---\n\n| a --- b |\n|---|\n\n---")


def hyphens_in_a_field_that_is_not_read(package: Path) -> None:
    """Three hyphens after all that the harness reads."""
    replace(package / SKILL, "deck.\n---\n", "deck.\nnote: a --- b\n---\n")


def skill_description_in_a_block(package: Path) -> None:
    """A folded description with colons, quotes and number signs in it."""
    _write(
        package,
        SKILL,
        "---   \nname: 'deck-writing'\ndescription: >-\n  Makes decks: \"one\" point each,\n  ranked #1.\n---\n",
    )


def requirements_with_everything_plain(package: Path) -> None:
    """Comments, blank lines, extras, markers, a continued line, no line end."""
    _write(
        package,
        "requirements.txt",
        "# decks\n\npython-pptx >= 1.0, < 2   # the library\npillow[fpx]~=11.0 ; python_version >= '3.11'\n"
        "lxml \\\n  >=5\nPyYAML",
    )


def no_requirements(package: Path) -> None:
    """An extension that needs nothing beyond the harness."""
    (package / "requirements.txt").unlink()
    replace(package / TOOL, "from pptx import Presentation", "Presentation: Any = None")


def compiled_by_a_run(package: Path) -> None:
    """Bytecode that Python left behind, outside git: it is checked against its source."""
    py_compile.compile(str(package / "state.py"), doraise=True)


def escaped_surrogates(package: Path) -> None:
    """An emoji as JSON writes it: PyYAML's own parser takes it, libyaml does not."""
    replace(package / MANIFEST, "description: Turns", 'description: "\\ud83d\\ude00 Turns')
    replace(package / MANIFEST, "what was asked for.", 'what was asked for."')
