"""Mutations of the good package that load, and fail when they are exercised (L3).

Each function damages a copy; the lines of its docstring up to the first empty one are the errors
expected of it, `code/rule`.
"""

import json
from pathlib import Path
from typing import Any

from tests.mutations.accept_harmless import (
    ARGUMENTS,
    CALL,
    RAIL,
    RAIL_HEAD,
    TOOL,
    only_rail,
    only_result,
    spec,
)
from tests.mutations.edit import add_tool, append, replace

SAVE = "        deck.save(str(path))\n"
STATE = "state.py"


# --- tools: called ---------------------------------------------------------------------------


def rail_hides_the_tool(package: Path) -> None:
    """tool_not_called/not-offered"""
    only_rail(
        package,
        """    async def before_model_call(self, ctx):
        if isinstance(ctx.inputs.tools, list):
            ctx.inputs.tools = [tool for tool in ctx.inputs.tools if tool.name != "deck_tool"]
""",
        {"hidden_tools": ["deck_tool"]},
    )


def rail_removes_the_tool(package: Path) -> None:
    """tool_not_called/not-offered"""
    only_rail(
        package,
        """    async def before_model_call(self, ctx):
        ctx.inputs.tools = []
""",
        {"hidden_tools": ["deck_tool"]},
    )


def rail_refuses_the_call(package: Path) -> None:
    """tool_not_called/not-executed"""
    only_rail(
        package,
        """    async def before_tool_call(self, ctx):
        from openjiuwen.core.foundation.llm import ToolMessage

        ctx.extra["_skip_tool"] = True
        ctx.inputs.tool_result = {"success": False, "error": "not now"}
        ctx.inputs.tool_msg = ToolMessage(content="not now", tool_call_id=ctx.inputs.tool_call.id)
""",
        {"hidden_tools": ["deck_tool"]},
        calls=CALL,
    )


def rail_renames_the_call(package: Path) -> None:
    """tool_not_called/not-executed"""
    only_rail(
        package,
        """    async def before_tool_call(self, ctx):
        ctx.inputs.tool_name = "deck_tools"
""",
        {"hidden_tools": ["deck_tool"]},
        calls=CALL,
    )


# --- tools: the result -----------------------------------------------------------------------


def tool_raises(package: Path) -> None:
    """tool_result_failed/raised"""
    replace(package / TOOL, SAVE, '        raise OSError("no room")\n')


def tool_misses_a_key(package: Path) -> None:
    """tool_result_failed/raised"""
    replace(package / TOOL, 'inputs["title"]', 'inputs["name"]')


def tool_is_not_async(package: Path) -> None:
    """tool_result_failed/raised"""
    replace(package / TOOL, "    async def invoke", "    def invoke")
    replace(package / TOOL, "yield await self.invoke", "yield self.invoke")


def tool_leaves_the_process(package: Path) -> None:
    """extension_crashed/no-result"""
    replace(package / TOOL, SAVE, "        import os\n\n        os._exit(3)\n")


def tool_hangs(package: Path) -> None:
    """extension_timed_out/deadline"""
    replace(package / TOOL, SAVE, "        import time\n\n        time.sleep(1000)\n")


def tool_says_that_it_failed(package: Path) -> None:
    """tool_result_failed/says-failed"""
    only_result(package, '        return {"success": False, "error": "no template", "slides": 0}')


def tool_output_says_that_it_failed(package: Path) -> None:
    """tool_result_failed/says-failed"""
    only_result(
        package,
        "        from openjiuwen.harness.tools.base_tool import ToolOutput\n\n"
        '        return ToolOutput(success=False, error="no template", data={"slides": 0})',
    )


def tool_succeeds_where_it_must_fail(package: Path) -> None:
    """tool_result_failed/says-succeeded"""
    only_result(package, '        return {"success": True, "slides": 0}', tool_result_success=False)


def tool_returns_nothing(package: Path) -> None:
    """tool_result_failed/nothing-returned"""
    only_result(package, "        print(inputs)")


def tool_returns_prose(package: Path) -> None:
    """tool_result_schema_missing/not-an-object"""
    only_result(package, '        return "I have made a beautiful deck with 3 slides."')


def tool_returns_a_list(package: Path) -> None:
    """tool_result_schema_missing/not-an-object"""
    only_result(package, '        return ["slides", 3]')


def result_lacks_a_field(package: Path) -> None:
    """tool_result_schema_missing/field-missing"""
    replace(package / TOOL, '            "slides": len(deck.slides),\n', "")


def result_lacks_the_path(package: Path) -> None:
    """tool_result_schema_missing/field-missing"""
    replace(package / TOOL, '"path": str(path)', '"file": str(path)')


def result_field_has_another_type(package: Path) -> None:
    """tool_result_schema_missing/field-type"""
    replace(package / TOOL, "len(deck.slides)", "str(len(deck.slides))")

    def edit(data: dict[str, Any]) -> None:
        data["tool_tests"][0]["assertions"]["required_fields"] = {"slides": "integer"}

    spec(package, edit)


def success_is_a_text(package: Path) -> None:
    """tool_result_schema_missing/field-type"""
    only_result(package, '        return {"success": "yes", "slides": 3}')


def success_is_not_said(package: Path) -> None:
    """tool_result_schema_missing/success-missing"""
    only_result(package, '        return {"slides": 3}')


def success_is_null(package: Path) -> None:
    """tool_result_schema_missing/field-type"""
    only_result(package, '        return {"success": None, "slides": 3}')


def degraded_and_silent(package: Path) -> None:
    """tool_result_schema_missing/degraded-unmarked"""
    only_result(package, '        return {"success": False, "slides": 0}')

    def edit(data: dict[str, Any]) -> None:
        data["tool_tests"][0]["allow_degraded"] = True

    spec(package, edit)


def degraded_with_an_empty_error(package: Path) -> None:
    """tool_result_schema_missing/degraded-unmarked"""
    only_result(package, '        return {"success": False, "error": "", "estimated": False, "slides": 0}')

    def edit(data: dict[str, Any]) -> None:
        data["allow_degraded"] = True

    spec(package, edit)


# --- tools: files ----------------------------------------------------------------------------

RETURN_SIZE = '"size_bytes": path.stat().st_size'


def file_is_not_written(package: Path) -> None:
    """artifact_not_created/no-such-file"""
    replace(package / TOOL, SAVE, "")
    replace(package / TOOL, "path.is_file()", "True")
    replace(package / TOOL, RETURN_SIZE, '"size_bytes": 28000')


def file_is_a_folder(package: Path) -> None:
    """artifact_not_created/no-such-file"""
    replace(package / TOOL, SAVE, "        path.mkdir()\n")
    replace(package / TOOL, "path.is_file()", "path.exists()")


def file_is_removed_again(package: Path) -> None:
    """artifact_not_created/no-such-file"""
    replace(package / TOOL, SAVE, SAVE + "        size = path.stat().st_size\n        path.unlink()\n")
    replace(package / TOOL, RETURN_SIZE, '"size_bytes": size')


def file_lies_in_the_current_folder(package: Path) -> None:
    """artifact_not_created/outside-output
    artifact_not_created/written-elsewhere
    """
    replace(package / TOOL, 'Path(inputs["output_path"])', 'Path("review.pptx").absolute()')


def file_lies_in_the_package(package: Path) -> None:
    """artifact_not_created/outside-output
    artifact_not_created/written-elsewhere
    """
    replace(package / TOOL, 'Path(inputs["output_path"])', 'Path(__file__).with_name("review.pptx")')


def a_log_beside_the_file(package: Path) -> None:
    """artifact_not_created/written-elsewhere"""
    replace(package / TOOL, SAVE, SAVE + '        Path("deck.log").write_text("made a deck")\n')


def a_cache_in_the_package(package: Path) -> None:
    """artifact_not_created/written-elsewhere"""
    replace(package / TOOL, SAVE, SAVE + '        Path(__file__).with_name("cache.json").write_text("{}")\n')


def existence_is_denied(package: Path) -> None:
    """artifact_not_created/says-it-does-not-exist"""
    replace(package / TOOL, "path.is_file()", "False")


def size_is_not_said(package: Path) -> None:
    """tool_result_schema_missing/file-field-missing"""
    replace(package / TOOL, '            "size_bytes": path.stat().st_size,\n', "")


def format_is_not_said(package: Path) -> None:
    """tool_result_schema_missing/file-field-missing"""
    replace(package / TOOL, '            "format": "pptx",\n', "")


def size_is_made_up(package: Path) -> None:
    """artifact_format_invalid/claimed-size"""
    replace(package / TOOL, RETURN_SIZE, '"size_bytes": 1024')


def size_is_taken_too_early(package: Path) -> None:
    """artifact_format_invalid/claimed-size"""
    replace(
        package / TOOL, SAVE, '        path.write_bytes(b"PK")\n        size = path.stat().st_size\n' + SAVE
    )
    replace(package / TOOL, RETURN_SIZE, '"size_bytes": size')


def format_is_another(package: Path) -> None:
    """artifact_format_invalid/claimed-format"""
    replace(package / TOOL, '"format": "pptx"', '"format": "pdf"')


def format_is_a_media_type_of_another(package: Path) -> None:
    """artifact_format_invalid/claimed-format"""
    replace(package / TOOL, '"format": "pptx"', '"format": "image/png"')


# --- rails -----------------------------------------------------------------------------------


def hook_raises(package: Path) -> None:
    """rail_hook_not_observed/hook-raised"""
    append(package / RAIL, "        raise KeyError('user')")


def another_hook_raises(package: Path) -> None:
    """rail_hook_not_observed/hook-raised"""
    append(
        package / RAIL,
        "    async def after_tool_call(self, ctx):\n        ctx.inputs.tool_result['slides'] /= 0",
    )


def hook_uses_what_the_context_lacks(package: Path) -> None:
    """rail_hook_not_observed/hook-raised"""
    # What a tool does not find for this reason is not said again.
    replace(package / RAIL, "ctx.inputs.query", "ctx.inputs.message.text")


def hook_takes_no_context(package: Path) -> None:
    """rail_hook_not_observed/hook-raised"""
    only_rail(
        package,
        "    async def before_invoke(self):\n        self.seen = True\n",
        {"must_observe_side_effect": True},
    )


def hooks_are_named_wrongly(package: Path) -> None:
    """rail_hook_not_observed/never-called"""
    only_rail(
        package,
        "    async def on_invoke(self, ctx):\n"
        "        add_request(ctx.session.get_session_id(), str(ctx.inputs.query))\n",
        {"observable_state_file": ".state/<session_id>.json"},
    )
    replace(
        package / RAIL,
        "from openjiuwen.core.single_agent.rail.base import AgentRail\n",
        "from openjiuwen.core.single_agent.rail.base import AgentRail\n\n"
        "from openjiuwen.extensions.harness.deck_maker.state import add_request\n",
    )


def rail_does_nothing(package: Path) -> None:
    """rail_hook_not_observed/no-side-effect"""
    only_rail(
        package,
        "    async def before_invoke(self, ctx):\n        self.seen = True\n",
        {"must_observe_side_effect": True},
    )


def rail_only_logs(package: Path) -> None:
    """rail_hook_not_observed/no-side-effect"""
    only_rail(
        package,
        "    async def after_model_call(self, ctx):\n        print('the model was called')\n",
        {"must_observe_side_effect": True},
    )


def state_file_has_another_name(package: Path) -> None:
    """rail_hook_not_observed/state-file-missing"""
    for _ in range(2):
        replace(package / STATE, '{session_id}.json"', '{session_id}-log.json"')


def state_is_not_written(package: Path) -> None:
    """rail_hook_not_observed/state-file-missing"""
    only_rail(
        package,
        "    async def before_invoke(self, ctx):\n        ctx.extra['asked'] = True\n",
        {"observable_state_file": ".state/<session_id>.json"},
    )


def state_is_shipped(package: Path) -> None:
    """rail_hook_not_observed/state-file-shipped"""
    only_rail(
        package,
        "    async def before_invoke(self, ctx):\n        ctx.extra['asked'] = True\n",
        {"observable_state_file": ".state/<session_id>.json"},
    )
    (package / ".state").mkdir()
    (package / ".state/rail-0.json").write_text('{"requests": []}', encoding="utf-8")


def state_is_not_json(package: Path) -> None:
    """rail_hook_not_observed/state-file-not-json"""
    replace(
        package / STATE,
        'json.loads(path.read_text(encoding="utf-8"))',
        "__import__('ast').literal_eval(path.read_text())",
    )
    replace(
        package / STATE,
        'json.dump({"requests": requests}, stream, ensure_ascii=False)',
        'print({"requests": requests}, file=stream)',
    )


def state_lacks_a_field(package: Path) -> None:
    """rail_hook_not_observed/state-field-missing"""
    replace(package / STATE, '"))["requests"]', '"))["asked"]')
    replace(package / STATE, '{"requests": requests}', '{"asked": requests}')


def state_field_is_null(package: Path) -> None:
    """rail_hook_not_observed/state-field-missing"""
    replace(package / STATE, '{"requests": requests}', '{"requests": requests, "updated_at": None}')

    def edit(data: dict[str, Any]) -> None:
        data["rail_tests"][0]["assertions"]["json_contains"] = ["updated_at"]

    spec(package, edit)


def state_field_has_another_value(package: Path) -> None:
    """rail_hook_not_observed/state-field-differs"""
    replace(package / STATE, '{"requests": requests}', '{"requests": requests, "version": 1}')

    def edit(data: dict[str, Any]) -> None:
        data["rail_tests"][0]["assertions"]["json_contains"] = {"version": 2}

    spec(package, edit)


def prompt_is_not_changed(package: Path) -> None:
    """rail_hook_not_observed/prompt-unchanged"""
    only_rail(
        package,
        """    async def before_model_call(self, ctx):
        ctx.extra["prompt"] = "Be brief, always."
""",
        {"prompt_contains": ["Be brief, always."]},
    )


def prompt_section_comes_too_late(package: Path) -> None:
    """rail_hook_not_observed/prompt-unchanged"""
    only_rail(
        package,
        """    async def after_invoke(self, ctx):
        ctx.extra["messages"] = ["Be brief, always."]
""",
        {"prompt_contains": ["Be brief, always."]},
    )


def tool_is_not_hidden(package: Path) -> None:
    """rail_hook_not_observed/tool-not-hidden"""
    only_rail(
        package,
        """    async def before_model_call(self, ctx):
        [tool for tool in ctx.inputs.tools or [] if tool.name != "deck_tool"]
""",
        {"hidden_tools": ["deck_tool"]},
    )


def call_is_not_refused(package: Path) -> None:
    """rail_hook_not_observed/tool-not-hidden"""
    only_rail(
        package,
        """    async def before_tool_call(self, ctx):
        ctx.extra["skip"] = True
""",
        {"hidden_tools": ["deck_tool"]},
        calls=CALL,
    )


def arguments_are_not_rewritten(package: Path) -> None:
    """rail_hook_not_observed/arguments-not-rewritten"""
    only_rail(
        package,
        """    async def before_tool_call(self, ctx):
        arguments = dict(title="Board review")
""",
        {"rewritten_arguments": {"deck_tool": {"title": "Board review"}}},
        calls=CALL,
    )


def arguments_are_rewritten_too_late(package: Path) -> None:
    """rail_hook_not_observed/arguments-not-rewritten"""
    only_rail(
        package,
        """    async def after_tool_call(self, ctx):
        ctx.inputs.tool_args = '{"title": "Board review"}'
""",
        {"rewritten_arguments": {"deck_tool": {"title": "Board review"}}},
        calls=CALL,
    )


def stream_is_not_written(package: Path) -> None:
    """rail_hook_not_observed/stream-unchanged"""
    only_rail(
        package,
        "    async def after_model_call(self, ctx):\n        print('model asked')\n",
        {"stream_contains": ["model asked"]},
    )


def steering_comes_too_late(package: Path) -> None:
    """rail_hook_not_observed/steering-not-seen"""
    only_rail(
        package,
        '    async def after_invoke(self, ctx):\n        ctx.push_steering("Check the numbers.")\n',
        {"steering_contains": ["Check the numbers."]},
    )


def steering_says_something_else(package: Path) -> None:
    """rail_hook_not_observed/steering-not-seen"""
    only_rail(
        package,
        '    async def after_tool_call(self, ctx):\n        ctx.push_steering("Go on.")\n',
        {"steering_contains": ["Check the numbers."]},
        calls=CALL,
    )


def rail_ends_every_run(package: Path) -> None:
    """rail_hook_not_observed/run-failed
    skill_not_loaded/not-in-prompt
    tool_not_called/run-failed
    """
    only_rail(
        package,
        '    async def before_model_call(self, ctx):\n        ctx.request_force_finish({"output": "no"})\n',
        {"must_observe_side_effect": True},
    )


# --- state -----------------------------------------------------------------------------------


def tool_ignores_the_state(package: Path) -> None:
    """rail_tool_state_not_shared/not-returned"""
    replace(package / TOOL, '"requests": requests,', '"requests": [],')


def tool_reads_and_forgets_the_state(package: Path) -> None:
    """rail_tool_state_not_shared/not-returned"""
    replace(package / TOOL, '"requests": requests,', '"requests": ["I need a deck"],')

    def edit(data: dict[str, Any]) -> None:
        del data["tool_tests"][0]["assertions"]["state_fields"]

    spec(package, edit)


def tool_reads_another_file(package: Path) -> None:
    """rail_tool_state_not_shared/other-file"""
    replace(package / TOOL, "read_requests(session.get_session_id())", "read_requests(self.card.id)")
    text = (package / STATE).read_text(encoding="utf-8")
    text = text.replace(
        "    if not path.is_file():\n",
        "    (STATE_FOLDER / f'{session_id}.txt').exists()\n    if not path.is_file():\n",
    )
    text += '''

def first_time(session_id: str) -> None:
    """Leave an empty list for whoever reads."""
    path = STATE_FOLDER / f"{session_id}.json"
    draft = path.with_suffix(".tmp")
    if not path.is_file():
        STATE_FOLDER.mkdir(exist_ok=True)
        draft.write_text('{"requests": []}')
        os.replace(draft, path)
'''
    (package / STATE).write_text(text, encoding="utf-8")
    replace(package / TOOL, "import read_requests", "import first_time, read_requests")
    replace(
        package / TOOL, "        requests = read", "        first_time(self.card.id)\n        requests = read"
    )


def state_is_kept_in_memory(package: Path) -> None:
    """state_source_not_allowed/kept-in-memory"""
    text = (package / STATE).read_text(encoding="utf-8")
    start = text.index("def read_requests")
    text = (
        text[:start]
        + '''def read_requests(session_id: str) -> list[str]:
    """Return what this process has heard; the file is only written."""
    return list(json.loads(os.environ.get(session_id, "[]")))


'''
        + text[text.index("def add_request") :]
    )
    text = text.replace("request]\n", "request]\n        os.environ[session_id] = json.dumps(requests)\n")
    (package / STATE).write_text(text, encoding="utf-8")


def state_of_all_sessions_is_one(package: Path) -> None:
    """rail_hook_not_observed/no-side-effect
    state_not_isolated/seen-by-other-session
    state_not_isolated/shared-file
    """
    text = (package / STATE).read_text(encoding="utf-8")
    text = text.replace("{session_id}", "{kind(session_id)}")
    text += "\n\ndef kind(session_id: str) -> str:\n    return type(session_id).__name__\n"
    (package / STATE).write_text(text, encoding="utf-8")

    def edit(data: dict[str, Any]) -> None:
        del data["rail_tests"][0]["assertions"]["observable_state_file"]
        del data["rail_tests"][0]["assertions"]["json_contains"]

    spec(package, edit)


def state_is_written_in_place(package: Path) -> None:
    """state_write_not_atomic/written-in-place"""
    replace(
        package / STATE,
        '        os.replace(temporary, STATE_FOLDER / f"{session_id}.json")',
        """        target = os.path.join(os.path.dirname(temporary), f"{session_id}.json")
        with open(temporary) as draft, open(target, "w") as final:
            final.write(draft.read())
        os.remove(temporary)""",
    )


def updates_are_lost(package: Path) -> None:
    """state_write_not_atomic/update-lost"""
    (package / RAIL).write_text(
        RAIL_HEAD.replace(
            "\n\nclass",
            "\nfrom openjiuwen.extensions.harness.deck_maker.state import read_requests, write_requests\n\n\nclass",
        )
        + '''    async def before_invoke(self, ctx):
        """Append the query; whoever comes in between is forgotten."""
        import asyncio

        session_id = ctx.session.get_session_id()
        requests = read_requests(session_id)
        await asyncio.sleep(0.05)
        write_requests(session_id, [*requests, str(ctx.inputs.query)])
''',
        encoding="utf-8",
    )
    text = (package / STATE).read_text(encoding="utf-8")
    text = text.replace(
        "def add_request(session_id: str, request: str)",
        "def write_requests(session_id: str, requests: list[str])",
    )
    text = text.replace("        requests = [*read_requests(session_id), request]\n", "")
    (package / STATE).write_text(text, encoding="utf-8")


# --- the spec, as far as only the living harness can tell ------------------------------------


def spec_names_no_tool_of_ours(package: Path) -> None:
    """acceptance_spec_invalid/tool-unknown
    acceptance_spec_invalid/tool-untested
    """

    def edit(data: dict[str, Any]) -> None:
        data["tool_tests"][0]["tool_name"] = "slide_tool"
        data["tool_tests"][0]["assertions"]["must_call_tool"] = "slide_tool"

    spec(package, edit)


def spec_forgets_a_tool(package: Path) -> None:
    """acceptance_spec_invalid/tool-untested"""
    add_tool(package, "PosterTool", identity="poster_tool", name="poster_tool")


def spec_calls_against_the_schema(package: Path) -> None:
    """acceptance_spec_invalid/arguments-refused"""

    def edit(data: dict[str, Any]) -> None:
        data["tool_tests"][0]["arguments"] = {**ARGUMENTS, "slides": "three"}

    spec(package, edit)


def spec_leaves_out_an_argument(package: Path) -> None:
    """acceptance_spec_invalid/arguments-refused"""

    def edit(data: dict[str, Any]) -> None:
        del data["tool_tests"][0]["arguments"]["title"]

    spec(package, edit)


def spec_looks_for_what_is_always_there(package: Path) -> None:
    """acceptance_spec_invalid/observable-always-there"""

    def edit(data: dict[str, Any]) -> None:
        data["rail_tests"][0]["assertions"]["prompt_contains"] = ["AI"]

    spec(package, edit)


def spec_hides_what_is_not_there(package: Path) -> None:
    """acceptance_spec_invalid/observable-always-there"""

    def edit(data: dict[str, Any]) -> None:
        data["rail_tests"][0]["assertions"]["hidden_tools"] = ["telepathy"]

    spec(package, edit)


# --- skills ----------------------------------------------------------------------------------


def rail_takes_the_skills_out_of_the_prompt(package: Path) -> None:
    """skill_not_loaded/not-in-prompt"""
    only_rail(
        package,
        """    async def before_model_call(self, ctx):
        builder = ctx.agent.system_prompt_builder
        for name in list(builder.get_all_sections()):
            if "skill" in str(name).lower():
                builder.remove_section(name)
""",
        {"prompt_contains": []},
    )

    def edit(data: dict[str, Any]) -> None:
        data["rail_tests"][0]["assertions"] = {"observable_state_file": ".state/x.json"}

    spec(package, edit)
    text = (package / RAIL).read_text(encoding="utf-8")
    text += """
    async def before_invoke(self, ctx):
        import os
        from pathlib import Path

        folder = Path(__file__).resolve().parent.parent / ".state"
        folder.mkdir(exist_ok=True)
        name = f"{ctx.session.get_session_id()}.json"
        (folder / f"{name}.tmp").write_text("{}")
        os.replace(folder / f"{name}.tmp", folder / name)
"""
    (package / RAIL).write_text(text, encoding="utf-8")
    spec(
        package,
        lambda data: data["rail_tests"][0]["assertions"].update(
            observable_state_file=".state/<session_id>.json"
        ),
    )


def skill_does_not_say_what_is_expected(package: Path) -> None:
    """skill_not_loaded/text-missing"""

    def edit(data: dict[str, Any]) -> None:
        data["skill_tests"][0]["assertions"]["answer_contains_any"] = ["spreadsheet", "电子表格"]

    spec(package, edit)


def skill_lost_what_it_said(package: Path) -> None:
    """skill_not_loaded/text-missing"""
    path = package / "skills/deck-writing/SKILL.md"
    text = path.read_text(encoding="utf-8").replace("slide deck", "talk").replace("presentation", "talk")
    path.write_text(text.replace("slides", "pages").replace("deck.", "talk."), encoding="utf-8")
    json.loads((package / "acceptance.json").read_text(encoding="utf-8"))
