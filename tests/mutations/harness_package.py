"""Mutations of the good package that reading alone must find.

Each function damages a copy. Its docstring is the whole outcome: for each finding a line
`code/rule`, then `at path: text` with the line that is blamed and `«…»` around the part that is
(or `at path` alone for a file as a whole). Exactly these findings are expected, warnings
included.
"""

import os
import struct
from pathlib import Path

from tests.mutations.edit import add_tool, append, prepend, replace

MANIFEST = "harness_config.yaml"
REQUIREMENTS = "requirements.txt"
RAIL = "rails/request_log_rail.py"
TOOL = "tools/deck_tool.py"
SKILL = "skills/deck-writing/SKILL.md"

TOOL_ENTRY = """    - type: package
      module: openjiuwen.extensions.harness.deck_maker.tools.deck_tool
      class: DeckTool
"""
RAIL_ENTRY = """    - type: package
      module: openjiuwen.extensions.harness.deck_maker.rails.request_log_rail
      class: RequestLogRail
"""
SKILLS = """  skills:
    dirs:
      - skills
    mode: all
"""
DESCRIPTION = "Structures a slide deck so that each slide makes one point."


def _write(package: Path, file: str, text: str) -> None:
    (package / file).parent.mkdir(parents=True, exist_ok=True)
    (package / file).write_text(text, encoding="utf-8")


def _manifest(package: Path, old: str, new: str) -> None:
    replace(package / MANIFEST, old, new)


def _skill(package: Path, old: str, new: str) -> None:
    replace(package / SKILL, old, new)


def _test(package: Path, line: str) -> None:
    _write(package, "tests/test_deck.py", f"{line}\n\n\ndef test_deck():\n    assert DeckTool\n")


# --- the manifest as a file ------------------------------------------------------------------


def manifest_missing(package: Path) -> None:
    """manifest_invalid/manifest-missing
    at harness_config.yaml
    """
    (package / MANIFEST).unlink()


def manifest_of_another_ending(package: Path) -> None:
    """manifest_invalid/manifest-missing
    at harness_config.yml
    """
    (package / MANIFEST).rename(package / "harness_config.yml")


def manifest_is_a_folder(package: Path) -> None:
    """manifest_invalid/manifest-missing
    at harness_config.yaml
    """
    (package / MANIFEST).rename(package / "old.yaml")
    (package / MANIFEST).mkdir()
    (package / "old.yaml").rename(package / MANIFEST / "config.yaml")


def manifest_not_readable_as_text(package: Path) -> None:
    """manifest_invalid/manifest-unreadable
    at harness_config.yaml
    """
    # The file was there when the files were listed, and is a FIFO when it is read.
    (package / MANIFEST).unlink()
    os.mkfifo(package / MANIFEST)


def manifest_too_large(package: Path) -> None:
    """manifest_invalid/manifest-too-large
    at harness_config.yaml
    """
    append(package / MANIFEST, "# " + "x" * 300_000)


def manifest_with_endless_lists(package: Path) -> None:
    """manifest_invalid/manifest-too-large
    at harness_config.yaml
    """
    append(package / MANIFEST, "x-numbers: [" + "0, " * 10_000 + "]")


def manifest_in_gbk(package: Path) -> None:
    """manifest_invalid/manifest-encoding
    at harness_config.yaml: description: «�»��� an outline
    """
    text = (package / MANIFEST).read_text(encoding="utf-8")
    text = text.replace(
        "Turns an outline into a PowerPoint deck that says what was asked for.", "中文 an outline"
    )
    (package / MANIFEST).write_bytes(text.encode("gbk"))


def manifest_with_unquoted_colon(package: Path) -> None:
    """manifest_invalid/yaml-syntax
    at harness_config.yaml: description: Decks«»: made from an outline
    """
    replace(
        package / MANIFEST,
        "description: Turns an outline into a PowerPoint deck that says what was asked for.",
        "description: Decks: made from an outline",
    )


def manifest_with_a_tab_that_only_libyaml_takes(package: Path) -> None:
    """manifest_invalid/yaml-syntax
    at harness_config.yaml: name:«»\tdeck_maker
    """
    _manifest(package, "name: deck_maker", "name:\tdeck_maker")


def manifest_with_unquoted_template(package: Path) -> None:
    """manifest_invalid/yaml-syntax
    at harness_config.yaml: description: {«{ what }»}
    """
    replace(
        package / MANIFEST,
        "description: Turns an outline into a PowerPoint deck that says what was asked for.",
        "description: {{ what }}",
    )


def manifest_with_an_impossible_date(package: Path) -> None:
    """manifest_invalid/yaml-syntax
    at harness_config.yaml: description: «2024-13-45»
    """
    replace(
        package / MANIFEST,
        "description: Turns an outline into a PowerPoint deck that says what was asked for.",
        "description: 2024-13-45",
    )


def manifest_with_an_alias_in_itself(package: Path) -> None:
    """manifest_invalid/yaml-nesting
    at harness_config.yaml: x-loop: «&loop [*loop]»
    """
    append(package / MANIFEST, "x-loop: &loop [*loop]")


def manifest_nested_deeply(package: Path) -> None:
    """manifest_invalid/yaml-nesting
    at harness_config.yaml:  «[»
    """
    append(package / MANIFEST, "x-deep:" + "\n [" * 120 + "1" + "]" * 120)


def manifest_empty(package: Path) -> None:
    """manifest_invalid/manifest-empty
    at harness_config.yaml
    """
    _write(package, MANIFEST, "# nothing yet\n")


def manifest_is_a_list(package: Path) -> None:
    """manifest_invalid/manifest-not-a-mapping
    at harness_config.yaml: «- schema_version: harness_config.v0.1»
    """
    _write(package, MANIFEST, "- schema_version: harness_config.v0.1\n")


# --- the schema ------------------------------------------------------------------------------


def schema_version_missing(package: Path) -> None:
    """manifest_invalid/schema-version-missing
    at harness_config.yaml: «id»: deck_maker
    """
    _manifest(package, "schema_version: harness_config.v0.1\n", "")


def schema_version_of_tomorrow(package: Path) -> None:
    """manifest_invalid/schema-version
    at harness_config.yaml: schema_version: «harness_config.v0.2»
    """
    _manifest(package, "harness_config.v0.1", "harness_config.v0.2")


def schema_version_is_a_number(package: Path) -> None:
    """manifest_invalid/schema-version
    at harness_config.yaml: schema_version: «0.1»
    """
    _manifest(package, "harness_config.v0.1", "0.1")


def name_is_a_number(package: Path) -> None:
    """manifest_invalid/field-type
    at harness_config.yaml: name: «2024»
    """
    _manifest(package, "name: deck_maker", "name: 2024")


def description_is_a_date(package: Path) -> None:
    """manifest_invalid/field-type
    at harness_config.yaml: description: «2024-01-01»
    """
    replace(
        package / MANIFEST,
        "description: Turns an outline into a PowerPoint deck that says what was asked for.",
        "description: 2024-01-01",
    )


def max_iterations_is_a_word(package: Path) -> None:
    """manifest_invalid/field-type
    at harness_config.yaml: max_iterations: «lots»
    """
    append(package / MANIFEST, "max_iterations: lots")


def tags_hold_a_year(package: Path) -> None:
    """manifest_invalid/field-type
    at harness_config.yaml: meta: {tags: [decks, «2024»]}
    """
    append(package / MANIFEST, "meta: {tags: [decks, 2024]}")


def environment_holds_a_number(package: Path) -> None:
    """manifest_invalid/field-type
    at harness_config.yaml:   mcps: [{command: serve, env: {PORT: «8080»}}]
    manifest_invalid/not-hot-loaded
    at harness_config.yaml:   «mcps»: [{command: serve, env: {PORT: 8080}}]
    """
    _manifest(package, SKILLS, SKILLS + "  mcps: [{command: serve, env: {PORT: 8080}}]\n")


def resources_are_a_list(package: Path) -> None:
    """manifest_invalid/field-type
    at harness_config.yaml:   «- rails:»
    """
    text = (package / MANIFEST).read_text(encoding="utf-8")
    _write(package, MANIFEST, text[: text.index("resources:")] + "resources:\n  - rails:\n")


def tools_are_a_mapping(package: Path) -> None:
    """manifest_invalid/field-type
    at harness_config.yaml:     «module: openjiuwen.extensions.harness.deck_maker.tools.deck_tool»
    """
    _manifest(package, TOOL_ENTRY, TOOL_ENTRY.partition("\n")[2].replace("      ", "    "))


def key_is_no_text(package: Path) -> None:
    """manifest_invalid/field-type
    at harness_config.yaml: «on»: true
    """
    append(package / MANIFEST, "on: true")


def section_without_a_name(package: Path) -> None:
    """manifest_invalid/field-type
    at harness_config.yaml: prompts: {sections: [«{content: Hello}»]}
    manifest_invalid/not-hot-loaded
    at harness_config.yaml: «prompts»: {sections: [{content: Hello}]}
    """
    append(package / MANIFEST, "prompts: {sections: [{content: Hello}]}")


def all_tools_commented_out(package: Path) -> None:
    """manifest_invalid/empty-section
    at harness_config.yaml:   tools:«»
    """
    _manifest(package, TOOL_ENTRY, "".join(f"#{line}\n" for line in TOOL_ENTRY.splitlines()))


def tools_written_twice(package: Path) -> None:
    """manifest_invalid/repeated-resource-key
    at harness_config.yaml:   «tools»: []
    """
    _manifest(package, SKILLS, SKILLS + "  tools: []\n")


def resources_written_twice(package: Path) -> None:
    """manifest_invalid/repeated-resource-key
    at harness_config.yaml: «resources»: {skills: {dirs: [skills]}}
    """
    append(package / MANIFEST, "resources: {skills: {dirs: [skills]}}")


def class_written_twice(package: Path) -> None:
    """manifest_invalid/repeated-resource-key
    at harness_config.yaml:       «class»: DeckTool
    """
    _manifest(package, "      class: DeckTool\n", "      class: DeckMaker\n      class: DeckTool\n")


def description_written_twice(package: Path) -> None:
    """manifest_invalid/repeated-key
    at harness_config.yaml: «description»: Makes decks.
    """
    append(package / MANIFEST, "description: Makes decks.")


def key_misspelt(package: Path) -> None:
    """manifest_invalid/unknown-key
    at harness_config.yaml: «descripton»: Turns an outline into a PowerPoint deck that says what was asked for.
    """
    _manifest(package, "description:", "descripton:")


def resource_key_misspelt(package: Path) -> None:
    """manifest_invalid/unknown-key
    at harness_config.yaml:   «skill»:
    """
    _manifest(package, "  skills:\n", "  skill:\n")


# --- what it declares ------------------------------------------------------------------------


def name_of_another(package: Path) -> None:
    """manifest_invalid/name-differs
    at harness_config.yaml: name: «Deck Maker»
    manifest_invalid/id-differs
    at harness_config.yaml: id: «deck_maker»
    """
    _manifest(package, "name: deck_maker", "name: Deck Maker")


def id_of_another(package: Path) -> None:
    """manifest_invalid/id-differs
    at harness_config.yaml: id: «decks»
    """
    _manifest(package, "id: deck_maker", "id: decks")


def folder_with_a_hyphen(package: Path) -> None:
    """manifest_invalid/directory-name
    at harness_config.yaml:     - «type: package»
    """
    for file in package.rglob("*.py"):
        old = "openjiuwen.extensions.harness.deck_maker."
        file.write_text(file.read_text(encoding="utf-8").replace(old, ".."), encoding="utf-8")
    manifest = (package / MANIFEST).read_text(encoding="utf-8")
    _write(package, MANIFEST, manifest.replace("deck_maker", "deck-maker"))
    package.rename(package.with_name("deck-maker"))


def tools_beside_resources(package: Path) -> None:
    """manifest_invalid/outside-resources
    at harness_config.yaml: «tools»:
    """
    _manifest(package, "  tools:\n" + TOOL_ENTRY, "")
    append(package / MANIFEST, "tools:\n" + TOOL_ENTRY)


def prompts_declared(package: Path) -> None:
    """manifest_invalid/not-hot-loaded
    at harness_config.yaml: «prompts»:
    """
    append(package / MANIFEST, "prompts:\n  sections:\n    - name: tone\n      content: Be brief.")


def second_manifest(package: Path) -> None:
    """manifest_invalid/second-manifest
    at tools/tools.yaml
    """
    _write(package, "tools/tools.yaml", "tools: [lsp]\n")


def nothing_declared(package: Path) -> None:
    """manifest_invalid/nothing-declared
    at harness_config.yaml: «resources»: {rails: [], skills: {dirs: []}}
    """
    text = (package / MANIFEST).read_text(encoding="utf-8")
    resources = "resources: {rails: [], skills: {dirs: []}}\n"
    _write(package, MANIFEST, text[: text.index("resources:")] + resources)


def no_resources(package: Path) -> None:
    """manifest_invalid/nothing-declared
    at harness_config.yaml: «schema_version»: harness_config.v0.1
    """
    text = (package / MANIFEST).read_text(encoding="utf-8")
    _write(package, MANIFEST, text[: text.index("resources:")])


# --- entries ---------------------------------------------------------------------------------


def entry_is_text(package: Path) -> None:
    """manifest_invalid/entry-not-a-mapping
    at harness_config.yaml:     - «deck_tool»
    """
    _manifest(package, TOOL_ENTRY, "    - deck_tool\n")


def entry_without_type(package: Path) -> None:
    """manifest_invalid/entry-type-missing
    at harness_config.yaml:     - «module»: openjiuwen.extensions.harness.deck_maker.tools.deck_tool
    """
    _manifest(package, TOOL_ENTRY, TOOL_ENTRY.replace("type: package\n      ", ""))


def entry_of_a_builtin(package: Path) -> None:
    """manifest_invalid/entry-type
    at harness_config.yaml:     - type: «builtin»
    """
    _manifest(package, TOOL_ENTRY, "    - type: builtin\n      name: filesystem\n")


def entry_type_misspelt(package: Path) -> None:
    """manifest_invalid/entry-type
    at harness_config.yaml:     - type: «Package»
    """
    _manifest(package, TOOL_ENTRY, TOOL_ENTRY.replace("package", "Package"))


def entry_point(package: Path) -> None:
    """entry_point_not_allowed/entry-point
    at harness_config.yaml:     - type: «entry_point»
    """
    _manifest(package, TOOL_ENTRY, "    - type: entry_point\n      name: deck_tool\n")


def module_missing(package: Path) -> None:
    """manifest_invalid/module-missing
    at harness_config.yaml:     - «type»: package
    """
    _manifest(package, TOOL_ENTRY, "    - type: package\n      class: DeckTool\n")


def module_empty(package: Path) -> None:
    """manifest_invalid/module-missing
    at harness_config.yaml:       module: «""»
    """
    _manifest(package, "openjiuwen.extensions.harness.deck_maker.tools.deck_tool", '""')


def module_is_a_path(package: Path) -> None:
    """manifest_invalid/module-name
    at harness_config.yaml:       module: «tools/deck_tool.py»
    """
    _manifest(package, "openjiuwen.extensions.harness.deck_maker.tools.deck_tool", "tools/deck_tool.py")


def module_with_two_dots(package: Path) -> None:
    """manifest_invalid/module-name
    at harness_config.yaml:       module: «openjiuwen.extensions.harness.deck_maker.tools..deck_tool»
    """
    _manifest(package, "tools.deck_tool", "tools..deck_tool")


def module_is_a_number(package: Path) -> None:
    """manifest_invalid/module-name
    at harness_config.yaml:       module: «5»
    """
    _manifest(package, "openjiuwen.extensions.harness.deck_maker.tools.deck_tool", "5")


def module_outside_extension(package: Path) -> None:
    """manifest_invalid/module-outside-extension
    at harness_config.yaml:       module: «deck_maker.tools.deck_tool»
    """
    _manifest(
        package, "openjiuwen.extensions.harness.deck_maker.tools.deck_tool", "deck_maker.tools.deck_tool"
    )


def module_of_an_extension_that_begins_alike(package: Path) -> None:
    """manifest_invalid/module-outside-extension
    at harness_config.yaml:       module: «openjiuwen.extensions.harness.deck_maker_evil.tools.deck_tool»
    """
    _manifest(package, "deck_maker.tools", "deck_maker_evil.tools")


def module_is_the_package(package: Path) -> None:
    """manifest_invalid/module-is-package
    at harness_config.yaml:       module: «openjiuwen.extensions.harness.deck_maker»
    """
    _manifest(package, "deck_maker.tools.deck_tool", "deck_maker")


def module_file_missing(package: Path) -> None:
    """manifest_invalid/module-file-missing
    at harness_config.yaml:       module: «openjiuwen.extensions.harness.deck_maker.tools.deck_tools»
    """
    _manifest(package, "tools.deck_tool", "tools.deck_tools")


def module_with_py_at_its_end(package: Path) -> None:
    """manifest_invalid/module-file-missing
    at harness_config.yaml:       module: «openjiuwen.extensions.harness.deck_maker.tools.deck_tool.py»
    """
    _manifest(package, "tools.deck_tool", "tools.deck_tool.py")


def module_is_a_folder(package: Path) -> None:
    """manifest_invalid/module-is-folder
    at harness_config.yaml:       module: «openjiuwen.extensions.harness.deck_maker.tools»
    """
    _manifest(package, "tools.deck_tool", "tools")


def class_missing(package: Path) -> None:
    """manifest_invalid/class-missing
    at harness_config.yaml:       module: «openjiuwen.extensions.harness.deck_maker.tools.deck_tool»
    """
    _manifest(package, "      class: DeckTool\n", "")


def class_empty(package: Path) -> None:
    """manifest_invalid/class-missing
    at harness_config.yaml:       class:«»
    """
    _manifest(package, "class: DeckTool", "class:")


def class_with_its_module(package: Path) -> None:
    """manifest_invalid/class-name
    at harness_config.yaml:       class: «deck_tool.DeckTool»
    """
    _manifest(package, "class: DeckTool", "class: deck_tool.DeckTool")


def class_under_two_keys(package: Path) -> None:
    """manifest_invalid/class-twice
    at harness_config.yaml:       class_name: «DeckMaker»
    """
    _manifest(package, "class: DeckTool", "class: DeckTool\n      class_name: DeckMaker")


def tool_declared_twice(package: Path) -> None:
    """manifest_invalid/duplicate-component
    at harness_config.yaml:       class: «DeckTool»
    """
    _manifest(package, TOOL_ENTRY, TOOL_ENTRY + TOOL_ENTRY)


def two_rails_of_one_class_name(package: Path) -> None:
    """manifest_invalid/duplicate-component
    at harness_config.yaml:       class: «RequestLogRail»
    """
    _write(package, "rails/other.py", (package / RAIL).read_text(encoding="utf-8"))
    _manifest(package, RAIL_ENTRY, RAIL_ENTRY + RAIL_ENTRY.replace("request_log_rail", "other"))


def two_tools_of_one_class_name(package: Path) -> None:
    """manifest_invalid/same-class-name
    at harness_config.yaml:       class: «DeckTool»
    """
    text = (package / TOOL).read_text(encoding="utf-8")
    _write(package, "tools/other.py", text.replace('"deck_tool"', '"other_tool"'))
    _manifest(package, TOOL_ENTRY, TOOL_ENTRY + TOOL_ENTRY.replace("deck_tool", "other"))


def entry_key_misspelt(package: Path) -> None:
    """manifest_invalid/unknown-entry-key
    at harness_config.yaml:       «klass»: DeckTool
    """
    _manifest(package, "class: DeckTool", "class: DeckTool\n      klass: DeckTool")


def entry_with_parameters(package: Path) -> None:
    """manifest_invalid/entry-key-by-version
    at harness_config.yaml:       «params»: {}
    """
    _manifest(package, "class: DeckTool", "class: DeckTool\n      params: {}")


# --- modules and classes ---------------------------------------------------------------------


def syntax_error(package: Path) -> None:
    """module_import_failed/syntax-error
    at tools/deck_tool.py: def broken(«»:
    """
    append(package / TOOL, "def broken(:")


def syntax_error_in_an_imported_module(package: Path) -> None:
    """module_import_failed/syntax-error
    at state.py: STATE = «»)
    """
    append(package / "state.py", "STATE = )")


def syntax_error_in_an_initialiser(package: Path) -> None:
    """module_import_failed/syntax-error
    at rails/__init__.py: rails = «»]
    """
    _write(package, "rails/__init__.py", "rails = ]\n")


def source_in_latin_1_without_saying_so(package: Path) -> None:
    """module_import_failed/source-encoding
    at tools/deck_tool.py: NAME = "Pr«�»sentation"
    """
    with (package / TOOL).open("ab") as stream:
        stream.write('NAME = "Präsentation"\n'.encode("latin-1"))


def source_too_large(package: Path) -> None:
    """module_import_failed/source-too-large
    at state.py
    """
    append(package / "state.py", f"# {'x' * 5_000_000}")


def source_not_readable_as_text(package: Path) -> None:
    """module_import_failed/source-unreadable
    at state.py
    """
    (package / "state.py").unlink()
    os.mkfifo(package / "state.py")


def class_not_defined(package: Path) -> None:
    """manifest_invalid/class-not-defined
    at harness_config.yaml:       class: «DecksTool»
    """
    _manifest(package, "class: DeckTool", "class: DecksTool")


def class_renamed_in_the_module(package: Path) -> None:
    """manifest_invalid/class-not-defined
    at harness_config.yaml:       class: «DeckTool»
    """
    replace(package / TOOL, "class DeckTool(", "class PowerPointTool(")


def class_inside_a_function(package: Path) -> None:
    """manifest_invalid/class-not-defined
    at harness_config.yaml:       class: «InnerTool»
    """
    append(
        package / TOOL, "def make():\n    class InnerTool(DeckTool):\n        pass\n\n    return InnerTool()"
    )
    _manifest(package, "class: DeckTool", "class: InnerTool")


def class_is_a_function(package: Path) -> None:
    """manifest_invalid/class-is-no-class
    at harness_config.yaml:       class: «make_tool»
    """
    append(package / TOOL, "def make_tool():\n    return DeckTool()")
    _manifest(package, "class: DeckTool", "class: make_tool")


def class_is_a_constant(package: Path) -> None:
    """manifest_invalid/class-is-no-class
    at harness_config.yaml:       class: «INPUT_PARAMS»
    """
    _manifest(package, "class: DeckTool", "class: INPUT_PARAMS")


def constructor_wants_an_argument(package: Path) -> None:
    """class_init_failed/constructor-arguments
    at tools/deck_tool.py:     def __init__(self, «template: str», size: int = 1) -> None:
    """
    replace(
        package / TOOL,
        "def __init__(self) -> None:",
        "def __init__(self, template: str, size: int = 1) -> None:",
    )


def constructor_wants_a_keyword(package: Path) -> None:
    """class_init_failed/constructor-arguments
    at rails/request_log_rail.py:     def __init__(self, *, «folder»):
    """
    replace(
        package / RAIL,
        "    async def before_invoke",
        "    def __init__(self, *, folder):\n        super().__init__()\n\n    async def before_invoke",
    )


def tool_without_stream(package: Path) -> None:
    """class_init_failed/abstract-method
    at tools/deck_tool.py: «class DeckTool»(Tool):
    """
    replace(package / TOOL, "async def stream(", "async def stream_slides(")


def tool_with_misspelt_invoke(package: Path) -> None:
    """class_init_failed/abstract-method
    at tools/deck_tool.py: «class DeckTool»(Tool):
    """
    replace(package / TOOL, "async def invoke(", "async def invok(")


def card_id_differs_from_its_name(package: Path) -> None:
    """class_init_failed/card-id-differs
    at tools/deck_tool.py:                 id=«"deck"»,
    """
    replace(package / TOOL, 'id="deck_tool"', 'id="deck"')


# --- imports ---------------------------------------------------------------------------------


def reexport_in_the_extension(package: Path) -> None:
    """manifest_invalid/init-reexport
    at __init__.py: «from .tools.deck_tool import DeckTool»
    """
    _write(package, "__init__.py", "from .tools.deck_tool import DeckTool\n\n__all__ = ['DeckTool']\n")


def reexport_by_full_name(package: Path) -> None:
    """manifest_invalid/init-reexport
    at tools/__init__.py: «from openjiuwen.extensions.harness.deck_maker.tools.deck_tool import DeckTool»
    """
    line = "from openjiuwen.extensions.harness.deck_maker.tools.deck_tool import DeckTool"
    _write(package, "tools/__init__.py", f'"""Tools."""\n\n{line}\n')


def reexport_when_asked_for(package: Path) -> None:
    """manifest_invalid/init-reexport
    at tools/__init__.py:     «from . import deck_tool»
    """
    _write(
        package,
        "tools/__init__.py",
        "def __getattr__(name):\n    from . import deck_tool\n\n    return getattr(deck_tool, name)\n",
    )


def reexport_of_the_harness(package: Path) -> None:
    """manifest_invalid/init-reexport
    at tools/__init__.py: «from openjiuwen.core.foundation.tool.base import Tool»
    """
    _write(package, "tools/__init__.py", "from openjiuwen.core.foundation.tool.base import Tool\n")


def reexport_of_everything(package: Path) -> None:
    """manifest_invalid/init-reexport
    at rails/__init__.py: «from pathlib import *»
    """
    _write(package, "rails/__init__.py", "from pathlib import *\n")


def own_module_imported_late(package: Path) -> None:
    """module_import_failed/lazy-own-import
    at tools/deck_tool.py:         «from openjiuwen.extensions.harness.deck_maker.state import add_request»
    """
    late = "        from openjiuwen.extensions.harness.deck_maker.state import add_request\n\n"
    replace(
        package / TOOL,
        '        session = kwargs.get("session")',
        late + '        session = kwargs.get("session")',
    )


def own_module_imported_late_and_relatively(package: Path) -> None:
    """module_import_failed/lazy-own-import
    at state.py:     «from . import tools»
    """
    append(package / "state.py", "def more() -> object:\n    from . import tools\n\n    return tools")


def test_guesses_a_module(package: Path) -> None:
    """manifest_invalid/test-module
    at tests/test_deck.py: «from openjiuwen.extensions.harness.deck_maker.tools.decks import DeckTool»
    """
    _test(package, "from openjiuwen.extensions.harness.deck_maker.tools.decks import DeckTool")


def test_takes_the_class_from_elsewhere(package: Path) -> None:
    """manifest_invalid/test-module
    at tests/test_deck.py: «from openjiuwen.extensions.harness.deck_maker.tools import DeckTool»
    """
    _test(package, "from openjiuwen.extensions.harness.deck_maker.tools import DeckTool")


# --- skills ----------------------------------------------------------------------------------


def skills_without_dirs(package: Path) -> None:
    """manifest_invalid/skills-dirs-missing
    at harness_config.yaml:   «skills»:
    """
    _manifest(package, SKILLS, "  skills:\n    mode: all\n")


def skills_are_a_list(package: Path) -> None:
    """manifest_invalid/field-type
    at harness_config.yaml:   skills: «[skills]»
    """
    _manifest(package, SKILLS, "  skills: [skills]\n")


def skills_dirs_are_text(package: Path) -> None:
    """manifest_invalid/field-type
    at harness_config.yaml:     dirs: «skills»
    """
    _manifest(package, "dirs:\n      - skills", "dirs: skills")


def skills_dirs_without_value(package: Path) -> None:
    """manifest_invalid/field-type
    at harness_config.yaml:     dirs:«»
    """
    _manifest(package, "dirs:\n      - skills", "dirs:")


def skills_dir_is_a_number(package: Path) -> None:
    """manifest_invalid/field-type
    at harness_config.yaml:       - «7»
    """
    _manifest(package, "      - skills\n", "      - skills\n      - 7\n")


def skills_mode_unknown(package: Path) -> None:
    """manifest_invalid/skills-mode
    at harness_config.yaml:     mode: «auto»
    """
    _manifest(package, "mode: all", "mode: auto")


def skills_dir_empty(package: Path) -> None:
    """manifest_invalid/skills-dir-empty
    at harness_config.yaml:       - «""»
    """
    _manifest(package, "      - skills\n", '      - skills\n      - ""\n')


def skills_dir_absolute(package: Path) -> None:
    """manifest_invalid/skills-dir-outside
    at harness_config.yaml:       - «/opt/skills»
    """
    _manifest(package, "      - skills\n", "      - skills\n      - /opt/skills\n")


def skills_dir_of_the_user(package: Path) -> None:
    """manifest_invalid/skills-dir-outside
    at harness_config.yaml:       - «~/skills»
    """
    _manifest(package, "      - skills\n", "      - skills\n      - ~/skills\n")


def skills_dir_above(package: Path) -> None:
    """manifest_invalid/skills-dir-outside
    at harness_config.yaml:       - «skills/../../shared»
    """
    _manifest(package, "      - skills\n", "      - skills\n      - skills/../../shared\n")


def skills_dir_missing(package: Path) -> None:
    """manifest_invalid/skills-dir-missing
    at harness_config.yaml:       - «skill»
    """
    _manifest(package, "      - skills\n", "      - skill\n")


def skills_dir_is_a_file(package: Path) -> None:
    """manifest_invalid/skills-dir-not-a-folder
    at harness_config.yaml:       - «skills/deck-writing/SKILL.md»
    """
    _manifest(package, "      - skills\n", "      - skills/deck-writing/SKILL.md\n")


def skills_dir_with_a_comma(package: Path) -> None:
    """manifest_invalid/skills-dir-separator
    at harness_config.yaml:       - «skills,all»
    """
    (package / "skills").rename(package / "skills,all")
    _manifest(package, "      - skills\n", "      - skills,all\n")


def skills_dir_twice(package: Path) -> None:
    """manifest_invalid/skills-dir-repeated
    at harness_config.yaml:       - «./skills/»
    """
    _manifest(package, "      - skills\n", "      - skills\n      - ./skills/\n")


def skills_dir_is_a_skill(package: Path) -> None:
    """manifest_invalid/skills-dir-is-skill
    at harness_config.yaml:       - «skills/deck-writing»
    """
    _manifest(package, "      - skills\n", "      - skills/deck-writing\n")


def skills_dir_and_a_skill_in_it(package: Path) -> None:
    """manifest_invalid/skills-dir-is-skill
    at harness_config.yaml:       - «skills/deck-writing»
    manifest_invalid/skills-dir-repeated
    at harness_config.yaml:       - «skills»
    """
    _manifest(package, "      - skills\n", "      - skills/deck-writing\n      - skills\n")


def folder_without_skills(package: Path) -> None:
    """skill_manifest_invalid/no-skill
    at harness_config.yaml:       - «docs»
    """
    _write(package, "docs/README.md", "# Documents\n")
    _manifest(package, "      - skills\n", "      - skills\n      - docs\n")


def skill_without_skill_md(package: Path) -> None:
    """skill_manifest_invalid/skill-md-missing
    at harness_config.yaml:       - «skills»
    """
    _write(package, "skills/outlining/README.md", "# Outlining\n")


def skill_md_in_small_letters(package: Path) -> None:
    """skill_manifest_invalid/skill-md-name
    at skills/deck-writing/skill.md
    """
    (package / SKILL).rename((package / SKILL).with_name("skill.md"))


def skill_in_a_folder_that_is_skipped(package: Path) -> None:
    """skill_manifest_invalid/skill-folder-skipped
    at skills/assets/SKILL.md
    """
    (package / "skills/deck-writing").rename(package / "skills/assets")
    replace(package / "skills/assets/SKILL.md", "name: deck-writing", "name: assets")


def skill_in_a_group(package: Path) -> None:
    """skill_manifest_invalid/skill-nested
    at skills/slides/deck-writing/SKILL.md
    """
    (package / "skills/slides").mkdir()
    (package / "skills/deck-writing").rename(package / "skills/slides/deck-writing")


def two_skills_of_one_name(package: Path) -> None:
    """skill_manifest_invalid/duplicate-skill
    at more/deck-writing/SKILL.md
    """
    _write(package, "more/deck-writing/SKILL.md", (package / SKILL).read_text(encoding="utf-8"))
    _manifest(package, "      - skills\n", "      - skills\n      - more\n")


# --- SKILL.md --------------------------------------------------------------------------------


def skill_too_large(package: Path) -> None:
    """skill_manifest_invalid/skill-too-large
    at skills/deck-writing/SKILL.md
    """
    append(package / SKILL, "x" * 5_000_000)


def skill_with_endless_frontmatter(package: Path) -> None:
    """skill_manifest_invalid/skill-too-large
    at skills/deck-writing/SKILL.md: «---»
    """
    _skill(package, "name: deck-writing", "name: deck-writing\nnote: " + "x" * 70_000)


def skill_not_readable_as_text(package: Path) -> None:
    """skill_manifest_invalid/skill-unreadable
    at skills/deck-writing/SKILL.md
    """
    (package / SKILL).unlink()
    os.mkfifo(package / SKILL)


def skill_in_gbk(package: Path) -> None:
    """skill_manifest_invalid/skill-encoding
    at skills/deck-writing/SKILL.md: description: «�»���
    """
    (package / SKILL).write_bytes("---\nname: deck-writing\ndescription: 中文\n---\n".encode("gbk"))


def skill_with_a_byte_order_mark(package: Path) -> None:
    """skill_manifest_invalid/byte-order-mark
    at skills/deck-writing/SKILL.md
    """
    (package / SKILL).write_bytes(b"\xef\xbb\xbf" + (package / SKILL).read_bytes())


def skill_after_a_blank_line(package: Path) -> None:
    """skill_manifest_invalid/no-frontmatter
    at skills/deck-writing/SKILL.md
    """
    prepend(package / SKILL, "")


def skill_after_a_comment(package: Path) -> None:
    """skill_manifest_invalid/no-frontmatter
    at skills/deck-writing/SKILL.md: «<!-- Copyright -->»
    """
    prepend(package / SKILL, "<!-- Copyright -->")


def skill_without_frontmatter(package: Path) -> None:
    """skill_manifest_invalid/no-frontmatter
    at skills/deck-writing/SKILL.md: «# Deck writing»
    """
    text = (package / SKILL).read_text(encoding="utf-8")
    _write(package, SKILL, text[text.index("# Deck") :])


def skill_with_a_long_fence(package: Path) -> None:
    """skill_manifest_invalid/no-frontmatter
    at skills/deck-writing/SKILL.md: «-----»
    """
    text = (package / SKILL).read_text(encoding="utf-8")
    _write(package, SKILL, text.replace("---\n", "-----\n"))


def frontmatter_not_closed(package: Path) -> None:
    """skill_manifest_invalid/frontmatter-not-closed
    at skills/deck-writing/SKILL.md: «---»
    """
    _skill(package, "deck.\n---\n", "deck.\n")


def frontmatter_cut_in_the_description(package: Path) -> None:
    """skill_manifest_invalid/frontmatter-cut
    at skills/deck-writing/SKILL.md: description: Structures a slide deck «---» each slide makes one point.
    """
    replace(package / SKILL, "deck so that each", "deck --- each")
    replace(package / SKILL, " Use when the user wants slides, a presentation or a deck.", "")


def frontmatter_cut_before_the_description(package: Path) -> None:
    """skill_manifest_invalid/frontmatter-cut
    at skills/deck-writing/SKILL.md: license: "Apache «---» 2.0"
    """
    _skill(package, "description:", 'license: "Apache --- 2.0"\ndescription:')


def frontmatter_with_unquoted_colon(package: Path) -> None:
    """skill_manifest_invalid/frontmatter-syntax
    at skills/deck-writing/SKILL.md: description: Decks«»: each slide makes one point.
    """
    replace(package / SKILL, "Structures a slide deck so that each", "Decks: each")
    replace(package / SKILL, " Use when the user wants slides, a presentation or a deck.", "")


def frontmatter_with_a_list_as_key(package: Path) -> None:
    """skill_manifest_invalid/frontmatter-syntax
    at skills/deck-writing/SKILL.md: «[a]»: b
    """
    _skill(package, "name: deck-writing", "name: deck-writing\n[a]: b")


def frontmatter_is_text(package: Path) -> None:
    """skill_manifest_invalid/frontmatter-not-a-mapping
    at skills/deck-writing/SKILL.md: «Deck writing»
    """
    _write(package, SKILL, "---\nDeck writing\n---\n")


def skill_without_description(package: Path) -> None:
    """skill_manifest_invalid/description-missing
    at skills/deck-writing/SKILL.md: «name»: deck-writing
    """
    _write(package, SKILL, "---\nname: deck-writing\n---\n\n# Deck writing\n")


def frontmatter_empty(package: Path) -> None:
    """skill_manifest_invalid/name-missing
    at skills/deck-writing/SKILL.md: «---»
    skill_manifest_invalid/description-missing
    at skills/deck-writing/SKILL.md: «---»
    """
    _write(package, SKILL, "---\n---\n\n# Deck writing\n")


def skill_with_blank_description(package: Path) -> None:
    """skill_manifest_invalid/description-empty
    at skills/deck-writing/SKILL.md: «description»: " "
    """
    _write(package, SKILL, '---\nname: deck-writing\ndescription: " "\n---\n')


def skill_with_no_description_after_the_colon(package: Path) -> None:
    """skill_manifest_invalid/description-empty
    at skills/deck-writing/SKILL.md: «description»:
    """
    _write(package, SKILL, "---\nname: deck-writing\ndescription:\n---\n")


def skill_description_is_a_list(package: Path) -> None:
    """skill_manifest_invalid/description-type
    at skills/deck-writing/SKILL.md: description: «[decks, slides]»
    """
    _write(package, SKILL, "---\nname: deck-writing\ndescription: [decks, slides]\n---\n")


def skill_description_ends_in_a_comment(package: Path) -> None:
    """skill_manifest_invalid/description-comment
    at skills/deck-writing/SKILL.md: description: Makes decks that rank« #1 everywhere.»
    """
    _write(
        package, SKILL, "---\nname: deck-writing\ndescription: Makes decks that rank #1 everywhere.\n---\n"
    )


def skill_without_name(package: Path) -> None:
    """skill_manifest_invalid/name-missing
    at skills/deck-writing/SKILL.md: «description»: Makes decks.
    """
    _write(package, SKILL, "---\ndescription: Makes decks.\n---\n")


def skill_name_is_a_boolean(package: Path) -> None:
    """skill_manifest_invalid/name-type
    at skills/deck-writing/SKILL.md: name: «yes»
    """
    _skill(package, "name: deck-writing", "name: yes")


def skill_name_of_another(package: Path) -> None:
    """skill_manifest_invalid/skill-name-differs
    at skills/deck-writing/SKILL.md: name: «deck writing»
    """
    _skill(package, "name: deck-writing", "name: deck writing")


def skill_field_twice(package: Path) -> None:
    """skill_manifest_invalid/repeated-field
    at skills/deck-writing/SKILL.md: «name»: deck-writing
    """
    _skill(package, "name: deck-writing", "name: decks\nname: deck-writing")


# --- requirements ----------------------------------------------------------------------------


def requirements_in_latin_1(package: Path) -> None:
    """manifest_invalid/requirements-unreadable
    at requirements.txt: python-pptx  # f«�»r Folien
    """
    (package / REQUIREMENTS).write_bytes("python-pptx  # für Folien\n".encode("latin-1"))


def requirements_with_an_index(package: Path) -> None:
    """manifest_invalid/requirements-option
    at requirements.txt: «--index-url https://example.org/simple»  # ours
    """
    append(package / REQUIREMENTS, "--index-url https://example.org/simple  # ours")


def requirements_with_an_editable(package: Path) -> None:
    """manifest_invalid/requirements-option
    at requirements.txt: «-e ./vendor/pkg»
    """
    append(package / REQUIREMENTS, "-e ./vendor/pkg")


def requirements_with_another_file(package: Path) -> None:
    """manifest_invalid/requirements-option
    at requirements.txt: «-r more.txt»
    """
    append(package / REQUIREMENTS, "-r more.txt")


def requirements_with_settings(package: Path) -> None:
    """manifest_invalid/requirements-option
    at requirements.txt: «pillow>=11 --config-settings=a=b»
    """
    append(package / REQUIREMENTS, "pillow>=11 --config-settings=a=b")


def requirements_with_an_address(package: Path) -> None:
    """manifest_invalid/requirements-url
    at requirements.txt: «pillow @ https://example.org/pillow-11.0-py3-none-any.whl»
    """
    append(package / REQUIREMENTS, "pillow @ https://example.org/pillow-11.0-py3-none-any.whl")


def requirements_with_a_repository(package: Path) -> None:
    """manifest_invalid/requirements-url
    at requirements.txt: «git+https://example.org/pillow.git»
    """
    append(package / REQUIREMENTS, "git+https://example.org/pillow.git")


def requirements_with_a_path(package: Path) -> None:
    """manifest_invalid/requirements-path
    at requirements.txt: «./vendor/pkg»
    """
    append(package / REQUIREMENTS, "./vendor/pkg")


def requirements_with_a_wheel(package: Path) -> None:
    """manifest_invalid/requirements-path
    at requirements.txt: «pillow-11.0-py3-none-any.whl»
    """
    append(package / REQUIREMENTS, "pillow-11.0-py3-none-any.whl")


def requirements_with_a_sentence(package: Path) -> None:
    """manifest_invalid/requirements-invalid
    at requirements.txt:   «pillow 11 or newer»
    """
    append(package / REQUIREMENTS, "  pillow 11 or newer")


def requirements_with_a_broken_marker(package: Path) -> None:
    """manifest_invalid/requirements-invalid
    at requirements.txt: «pillow>=11; python > 3»
    """
    append(package / REQUIREMENTS, "pillow>=11; python > 3")


def requirements_with_hashes(package: Path) -> None:
    """manifest_invalid/requirements-hash
    at requirements.txt: «pillow==11.0.0» \\
    """
    append(package / REQUIREMENTS, f"pillow==11.0.0 \\\n    --hash=sha256:{'0' * 64}")


def requirements_with_the_harness(package: Path) -> None:
    """manifest_invalid/requirements-harness
    at requirements.txt: «OpenJiuwen>=0.1.16»
    """
    append(package / REQUIREMENTS, "OpenJiuwen>=0.1.16")


# --- files -----------------------------------------------------------------------------------


def link_out_of_the_extension(package: Path) -> None:
    """manifest_invalid/link-outside
    at skills/deck-writing/notes.md
    """
    os.symlink("../../../secret.md", package / "skills/deck-writing/notes.md")


def link_to_an_absolute_path(package: Path) -> None:
    """manifest_invalid/link-outside
    at template.pptx
    """
    os.symlink(package / REQUIREMENTS, package / "template.pptx")


def link_to_nothing(package: Path) -> None:
    """manifest_invalid/link-dangling
    at skills/deck-writing/SKILL.md
    """
    (package / SKILL).unlink()
    os.symlink("NOT_THERE.md", package / SKILL)


def links_in_a_circle(package: Path) -> None:
    """manifest_invalid/link-dangling
    at a
    manifest_invalid/link-dangling
    at b
    """
    os.symlink("b", package / "a")
    os.symlink("a", package / "b")


def module_is_a_link_to_nothing(package: Path) -> None:
    """manifest_invalid/link-dangling
    at tools/deck_tool.py
    """
    (package / TOOL).unlink()
    os.symlink("gone.py", package / TOOL)


def bytecode_in_git(package: Path) -> None:
    """manifest_invalid/bytecode-shipped
    at tools/__pycache__/deck_tool.cpython-311.pyc
    """
    (package / "tools/__pycache__").mkdir()
    for version in (311, 312):
        compiled = package / f"tools/__pycache__/deck_tool.cpython-{version}.pyc"
        compiled.write_bytes(struct.pack("<HHIII", 3495, 0x0A0D, 0, 1_700_000_000, 2_000))


def a_second_tool_that_is_not_there(package: Path) -> None:
    """manifest_invalid/module-file-missing
    at harness_config.yaml:       module: «openjiuwen.extensions.harness.deck_maker.tools.chartmaker»
    """
    add_tool(package, "ChartMaker", identity="chart_maker", name="chart_maker")
    (package / "tools/chartmaker.py").unlink()
