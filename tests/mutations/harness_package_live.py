"""Mutations of the good package that only the living harness can tell from it.

Each function damages a copy; the lines of its docstring up to the first empty one are the errors
expected of it, `code/rule`. A line that begins with `labels:` or `records:` holds for that
contract only.
"""

import shutil
from pathlib import Path

from tests.mutations.edit import add_tool, append, prepend, replace

RAIL = "rails/request_log_rail.py"
TOOL = "tools/deck_tool.py"
SKILL = "skills/deck-writing/SKILL.md"
CARD = """            ToolCard(
                id="deck_tool",
                name="deck_tool",
                description="Make a PowerPoint deck from a title and a list of slides.",
                input_params=INPUT_PARAMS,
            )
"""


def _card(package: Path, old: str, new: str) -> None:
    replace(package / TOOL, CARD, CARD.replace(old, new))


# --- import ----------------------------------------------------------------------------------


def import_raises(package: Path) -> None:
    """module_import_failed/import-raised"""
    append(package / TOOL, 'raise RuntimeError("not today")')


def import_reads_a_missing_file(package: Path) -> None:
    """module_import_failed/import-raised"""
    append(package / TOOL, 'LABELS = open("labels.txt").read()')


def import_name_that_own_module_lacks(package: Path) -> None:
    """module_import_failed/import-raised"""
    replace(package / RAIL, "import add_request", "import add_requests as add_request")


def import_undeclared_package(package: Path) -> None:
    """dependency_missing/undeclared-module"""
    prepend(package / TOOL, "import surely_not_installed_anywhere")


def import_package_that_was_not_required(package: Path) -> None:
    """dependency_missing/undeclared-module"""
    (package / "requirements.txt").unlink()


def import_harness_module_that_is_not_there(package: Path) -> None:
    """module_import_failed/harness-api-missing"""
    prepend(package / RAIL, "import openjiuwen.harness.rails.telepathy")


def import_harness_name_that_is_not_there(package: Path) -> None:
    """module_import_failed/harness-api-missing"""
    append(package / RAIL, "from openjiuwen.core.single_agent.rail.base import Telepathy")


def import_own_module_that_is_generated_elsewhere(package: Path) -> None:
    """module_import_failed/own-module-missing"""
    name = "openjiuwen.extensions.harness.deck_maker.gener" + "ated"
    append(package / TOOL, f'import importlib\nimportlib.import_module("{name}")')


def import_exits(package: Path) -> None:
    """extension_crashed/exit-called"""
    append(package / TOOL, "import sys\nsys.exit(0)")


def import_interrupts(package: Path) -> None:
    """extension_crashed/exit-called"""
    append(package / RAIL, "raise KeyboardInterrupt")


def import_takes_all_memory(package: Path) -> None:
    """resource_limit_exceeded/memory"""
    append(package / TOOL, "HUGE = bytearray(1 << 45)")


# --- the process ends or breaks a limit ------------------------------------------------------


def process_ends_with_success(package: Path) -> None:
    """extension_crashed/no-result"""
    append(package / TOOL, "import os\nos._exit(0)")


def process_segfaults(package: Path) -> None:
    """extension_crashed/no-result"""
    append(package / TOOL, "import ctypes\nctypes.string_at(0)")


def process_kills_itself(package: Path) -> None:
    """extension_crashed/no-result"""
    append(package / RAIL, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")


def process_aborts_in_a_constructor(package: Path) -> None:
    """extension_crashed/no-result"""
    append(package / RAIL, "    def __init__(self):\n        import os\n        os.abort()")


def process_hangs(package: Path) -> None:
    """extension_timed_out/deadline"""
    append(package / TOOL, "import time\ntime.sleep(10_000)")


def process_spins(package: Path) -> None:
    """extension_timed_out/deadline"""
    append(package / TOOL, "while True:\n    pass")


def process_uses_up_its_processor_time(package: Path) -> None:
    """resource_limit_exceeded/cpu-time"""
    limit = "resource.setrlimit(resource.RLIMIT_CPU, (1, 9))"
    append(package / TOOL, f"import resource\n{limit}\nwhile True:\n    pass")


def process_floods_its_output(package: Path) -> None:
    """resource_limit_exceeded/output"""
    append(package / TOOL, 'for _ in range(1 << 10):\n    print("flood" * (1 << 18))')


def process_forks_without_end(package: Path) -> None:
    """resource_limit_exceeded/processes"""
    append(
        package / TOOL,
        "import os, time\nfor _ in range(200):\n    os.fork() or time.sleep(10_000)\ntime.sleep(10_000)",
    )


def process_forges_a_result(package: Path) -> None:
    """extension_crashed/component-not-reported
    extension_crashed/component-not-reported
    """
    forged = 'b\'{"type": "result", "observed": {"components": []}, "imported": []}\''
    append(
        package / TOOL, f"import os\nword = {forged}\nos.write(3, b'%d\\n' % len(word) + word)\nos._exit(0)"
    )


def process_writes_nonsense_as_its_result(package: Path) -> None:
    """extension_crashed/malformed-result"""
    append(package / TOOL, 'import os\nos.write(3, b"nonsense")\nos._exit(0)')


def process_floods_its_result(package: Path) -> None:
    """resource_limit_exceeded/result"""
    append(package / TOOL, 'import os\nwhile True:\n    os.write(3, b"x" * (1 << 16))')


def process_breaks_the_ability_manager(package: Path) -> None:
    """extension_crashed/job-disturbed"""
    append(
        package / TOOL,
        "from openjiuwen.core.single_agent.ability_manager import AbilityManager\n"
        "AbilityManager.list = lambda self: 1 / 0",
    )


# --- construction ----------------------------------------------------------------------------


def constructor_raises(package: Path) -> None:
    """class_init_failed/constructor-raised"""
    append(package / RAIL, "    def __init__(self):\n        raise ValueError('no key')")


def constructor_argument_inherited(package: Path) -> None:
    """class_init_failed/constructor-raised"""
    replace(package / RAIL, "class RequestLogRail(AgentRail):", "class RequestLogRail(Base):")
    replace(
        package / RAIL,
        "class RequestLogRail",
        "class Base(AgentRail):\n    def __init__(self, key):\n        self.key = key\n\n\nclass RequestLogRail",
    )


def rail_is_none(package: Path) -> None:
    """class_init_failed/not-a-rail"""
    replace(package / RAIL, "class RequestLogRail(AgentRail):", "class RequestLogRail:")


def tool_is_none(package: Path) -> None:
    """class_init_failed/not-a-tool"""
    replace(package / TOOL, "class DeckTool(Tool):", "class DeckTool:")
    replace(package / TOOL, f"        super().__init__(\n{CARD}        )", "        pass")


def card_is_none(package: Path) -> None:
    """class_init_failed/constructor-raised"""
    replace(package / TOOL, f"super().__init__(\n{CARD}        )", "pass")


def card_is_something_else(package: Path) -> None:
    """class_init_failed/card-missing"""
    append(
        package / TOOL,
        "class Card:\n    id = name = 'deck_tool'\n    tool_info = staticmethod(dict)\n\n"
        "DeckTool.card = property(lambda self: Card)",
    )


def card_cannot_be_read_twice(package: Path) -> None:
    """class_init_failed/card-unreadable"""
    append(
        package / TOOL,
        "class Card(ToolCard):\n    def tool_info(self):\n"
        "        self.read = read = [*getattr(self, 'read', []), 1]\n"
        "        return [super().tool_info()][len(read) - 1]\n    model_config = {'extra': 'allow'}",
    )
    _card(package, "ToolCard(", "Card(")


def card_without_id(package: Path) -> None:
    """class_init_failed/card-id-not-set"""
    _card(package, '                id="deck_tool",\n', "")


def card_without_name(package: Path) -> None:
    """class_init_failed/card-name-not-set"""
    _card(package, '                name="deck_tool",\n', "")


def card_with_empty_name(package: Path) -> None:
    """class_init_failed/card-name-not-set"""
    _card(package, '                name="deck_tool",\n', '                name="" + "",\n')


def parameters_left_out(package: Path) -> None:
    """class_init_failed/input-params-not-set"""
    _card(package, "                input_params=INPUT_PARAMS,\n", "")


def parameters_empty(package: Path) -> None:
    """class_init_failed/input-params-not-object"""
    _card(package, "INPUT_PARAMS", "{}")


def parameters_none(package: Path) -> None:
    """class_init_failed/constructor-raised"""
    _card(package, "INPUT_PARAMS", "None")


def parameters_without_type(package: Path) -> None:
    """class_init_failed/input-params-not-object"""
    replace(
        package / TOOL,
        '    "type": "object",\n    "properties": {\n        "title"',
        '    "properties": {\n        "title"',
    )


def parameters_of_type_null(package: Path) -> None:
    """class_init_failed/input-params-not-object"""
    replace(
        package / TOOL,
        '    "type": "object",\n    "properties": {\n        "title"',
        '    "type": None,\n    "properties": {\n        "title"',
    )


def parameters_of_type_array(package: Path) -> None:
    """class_init_failed/input-params-not-object"""
    replace(
        package / TOOL,
        '    "type": "object",\n    "properties": {\n        "title"',
        '    "type": "array",\n    "properties": {\n        "title"',
    )


def parameters_with_a_misspelled_type(package: Path) -> None:
    """class_init_failed/input-params-invalid-schema"""
    replace(package / TOOL, '"title": {"type": "string"', '"title": {"type": "strng"')


def parameters_with_required_as_a_flag(package: Path) -> None:
    """class_init_failed/input-params-invalid-schema"""
    replace(package / TOOL, '"required": ["title", "slides", "output_path"]', '"required": True')


def parameters_that_are_not_json(package: Path) -> None:
    """class_init_failed/input-params-not-json"""
    replace(package / TOOL, '"required": ["title", "slides", "output_path"]', '"required": {"title"}')


def two_tools_of_one_name(package: Path) -> None:
    """manifest_invalid/duplicate-tool-name"""
    add_tool(package, "PosterTool", identity="poster_tool", name="deck_tool")


def two_tools_of_one_id(package: Path) -> None:
    """manifest_invalid/duplicate-tool-id"""
    add_tool(package, "PosterTool", identity="deck_tool", name="poster_tool")


# --- loading ---------------------------------------------------------------------------------


def rail_init_raises(package: Path) -> None:
    """harness_load_failed/load-raised"""
    append(package / RAIL, "    def init(self, agent):\n        raise RuntimeError('no agent for me')")


def rail_under_another_name(package: Path) -> None:
    """labels: rail_not_registered/not-reported
    records: rail_not_registered/not-on-agent
    records: unload_incomplete/left-behind
    """
    append(package / RAIL, "    def init(self, agent):\n        type(self).__name__ = 'Other'")


def rail_that_stays_off_the_agent(package: Path) -> None:
    """rail_not_registered/not-on-agent"""
    append(
        package / RAIL,
        "    def init(self, agent):\n        usual = agent._register_rail_selective\n"
        "        async def all_but_me(rail):\n            if rail is not self:\n                await usual(rail)\n"
        "        agent._register_rail_selective = all_but_me",
    )


def tool_under_another_name(package: Path) -> None:
    """tool_not_registered/not-reported"""
    append(
        package / RAIL,
        "\nfrom openjiuwen.core.foundation.tool.base import Tool\n"
        "def rename(cls, **rest):\n    cls.__name__ = f'Other{id(cls)}'\nTool.__init_subclass__ = classmethod(rename)",
    )


def tool_with_a_name_of_the_harness(package: Path) -> None:
    """labels: tool_not_registered/name-of-harness-tool
    records: harness_load_failed/load-raised
    """
    _card(package, '"deck_tool"', '"skill_tool"')


def tool_whose_card_is_turned_away(package: Path) -> None:
    """labels: tool_not_registered/not-in-ability-manager
    records: tool_not_registered/not-reported
    """
    append(
        package / RAIL,
        "\nfrom openjiuwen.core.single_agent.ability_manager import AbilityManager\n"
        "def but_the_deck(usual):\n"
        "    return lambda self, card, *rest: card.name == 'deck_tool' or usual(self, card, *rest)\n"
        "for name in ('add', 'add_ability'):\n"
        "    if hasattr(AbilityManager, name):\n"
        "        setattr(AbilityManager, name, but_the_deck(getattr(AbilityManager, name)))",
    )


def tool_whose_id_changes(package: Path) -> None:
    """labels: tool_not_registered/no-instance
    records: tool_not_registered/not-reported
    """
    append(
        package / TOOL,
        "import itertools\nNUMBERS = itertools.count()\n"
        "def changing(self):\n    self._card = self._card.model_copy(update={'id': f'deck_{next(NUMBERS)}'})\n"
        "    return self._card\nDeckTool.card = property(changing)",
    )


def skill_folder_is_moved_away(package: Path) -> None:
    """labels: skill_not_loaded/not-reported
    records: skill_not_loaded/not-found
    """
    shutil.copytree(package / "skills/deck-writing", package / "more/second-skill")
    replace(package / "more/second-skill/SKILL.md", "name: deck-writing", "name: second-skill")
    replace(package / "harness_config.yaml", "      - skills\n", "      - skills\n      - more\n")
    append(
        package / RAIL,
        "\nimport pathlib\nMORE = pathlib.Path(__file__).parent.parent / 'more'\n"
        "if MORE.exists():\n    MORE.rename(MORE.with_name('elsewhere'))",
    )


def skill_file_is_deleted(package: Path) -> None:
    """skill_not_loaded/not-found"""
    append(
        package / RAIL,
        "\nimport pathlib\n(pathlib.Path(__file__).parent.parent / 'skills/deck-writing/SKILL.md').unlink(True)",
    )


def skill_file_is_overwritten(package: Path) -> None:
    """skill_not_loaded/without-description"""
    append(
        package / RAIL,
        "\nimport pathlib\n"
        "(pathlib.Path(__file__).parent.parent / 'skills/deck-writing/SKILL.md').write_text('# Deck')",
    )


def skills_dir_is_emptied(package: Path) -> None:
    """skill_not_loaded/not-in-skills-dir"""
    append(
        package / RAIL,
        "\nfrom openjiuwen.harness.rails.skills.skill_use_rail import SkillUseRail\n"
        "async def forget(self):\n    self.skills_dir = ['.']\n"
        "SkillUseRail.reload_skills = forget",
    )


def skills_filed_by_topic(package: Path) -> None:
    """labels: skill_not_loaded/not-found"""
    (package / "skills/topic").mkdir()
    (package / "skills/deck-writing").rename(package / "skills/topic/deck-writing")


# --- unloading -------------------------------------------------------------------------------


def unload_leaves_a_tool(package: Path) -> None:
    """unload_incomplete/left-behind"""
    append(
        package / RAIL,
        "    def init(self, agent):\n"
        "        from openjiuwen.core.foundation.tool.base import ToolCard\n"
        "        agent.ability_manager.add(ToolCard(id='left', name='left', input_params={'type': 'object'}))",
    )


def unload_leaves_a_prompt_section(package: Path) -> None:
    """unload_incomplete/left-behind"""
    append(
        package / RAIL,
        "    def init(self, agent):\n"
        "        from openjiuwen.core.single_agent.prompts.builder import PromptSection\n"
        "        section = PromptSection(name='left', content={'cn': 'x', 'en': 'x'}, priority=50)\n"
        "        agent.system_prompt_builder.add_section(section)",
    )


def unload_raises(package: Path) -> None:
    """unload_incomplete/unload-raised"""
    append(package / RAIL, "    def uninit(self, agent):\n        raise RuntimeError('I stay')")
