"""Variants of the good package whose tools, rails and specs are different and right: all pass (L3)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.mutations.edit import append, replace

RAIL = "rails/request_log_rail.py"
TOOL = "tools/deck_tool.py"
SPEC = "acceptance.json"

RAIL_HEAD = '''"""A rail."""

from openjiuwen.core.single_agent.rail.base import AgentRail


class RequestLogRail(AgentRail):
    """Does one thing."""

'''


def spec(package: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    """Change the acceptance spec of a package."""
    path = package / SPEC
    data = json.loads(path.read_text(encoding="utf-8"))
    edit(data)
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False), encoding="utf-8")


def only_rail(package: Path, body: str, observe: dict[str, Any], **test: Any) -> None:
    """Make the rail do one thing, and the spec look for it; the tool no longer knows of a rail."""
    (package / RAIL).write_text(RAIL_HEAD + body, encoding="utf-8")
    replace(
        package / TOOL,
        "read_requests(session.get_session_id()) if session is not None else []",
        '["As asked."]',
    )
    rail_test = {"query": "Do what is usual.", **test, "assertions": observe}

    def edit(data: dict[str, Any]) -> None:
        data["rail_tests"] = [rail_test]
        data["prewarm_queries"] = []
        del data["tool_tests"][0]["assertions"]["state_fields"]

    spec(package, edit)


def only_result(package: Path, code: str, **assertions: Any) -> None:
    """Make the tool return something else, without a file or state; the spec asks for nothing of them."""
    text = (package / TOOL).read_text(encoding="utf-8")
    start, end = text.index('        session = kwargs.get("session")'), text.index("    async def stream")
    (package / TOOL).write_text(text[:start] + code + "\n\n" + text[end:], encoding="utf-8")

    def edit(data: dict[str, Any]) -> None:
        test = data["tool_tests"][0]
        del test["artifacts"]
        test["assertions"] = {"must_call_tool": "deck_tool", "required_fields": ["slides"], **assertions}

    spec(package, edit)


ARGUMENTS = {
    "title": "Review",
    "slides": [{"heading": "Revenue", "bullets": ["Up 12 percent"]}],
    "output_path": "<output_dir>/called.pptx",
}
CALL = [{"tool_name": "deck_tool", "arguments": ARGUMENTS}]


# --- rails -----------------------------------------------------------------------------------


def prompt_section(package: Path) -> None:
    only_rail(
        package,
        """    def init(self, agent):
        from openjiuwen.core.single_agent.prompts.builder import PromptSection

        agent.system_prompt_builder.add_section(
            PromptSection(name="house", content={"cn": "Be brief, always.", "en": "Be brief, always."})
        )

    def uninit(self, agent):
        agent.system_prompt_builder.remove_section("house")
""",
        {"prompt_contains": ["Be brief, always."]},
    )


def hidden_tool(package: Path) -> None:
    only_rail(
        package,
        """    async def before_model_call(self, ctx):
        if isinstance(ctx.inputs.tools, list):
            ctx.inputs.tools = [tool for tool in ctx.inputs.tools if tool.name != "bash"]
""",
        {"hidden_tools": ["bash"]},
    )


def refused_tool(package: Path) -> None:
    only_rail(
        package,
        """    async def before_tool_call(self, ctx):
        from openjiuwen.core.foundation.llm import ToolMessage

        if "called.pptx" in str(ctx.inputs.tool_args):
            ctx.extra["_skip_tool"] = True
            ctx.inputs.tool_result = {"success": False, "error": "not now"}
            ctx.inputs.tool_msg = ToolMessage(content="not now", tool_call_id=ctx.inputs.tool_call.id)
""",
        {"hidden_tools": ["deck_tool"]},
        calls=CALL,
    )


def rewritten_arguments(package: Path) -> None:
    only_rail(
        package,
        """    async def before_tool_call(self, ctx):
        import json

        arguments = ctx.inputs.tool_args
        arguments = json.loads(arguments) if isinstance(arguments, str) else dict(arguments)
        if arguments.get("title") == "Review":
            ctx.inputs.tool_args = json.dumps({**arguments, "title": "Board review"})
""",
        {"rewritten_arguments": {"deck_tool": {"title": "Board review"}}},
        calls=CALL,
    )


def stream_output(package: Path) -> None:
    only_rail(
        package,
        """    async def after_model_call(self, ctx):
        from openjiuwen.core.session.stream import OutputSchema

        await ctx.session.write_stream(OutputSchema(type="note", index=0, payload={"note": "model asked"}))
""",
        {"stream_contains": ["model asked"]},
    )


def steering(package: Path) -> None:
    only_rail(
        package,
        """    async def after_tool_call(self, ctx):
        ctx.push_steering("Now check the numbers.")
""",
        {"steering_contains": ["Now check the numbers."]},
        calls=CALL,
    )


def steering_at_every_call(package: Path) -> None:
    only_rail(
        package,
        """    async def after_model_call(self, ctx):
        ctx.push_steering("Check once more.")
""",
        {"steering_contains": ["Check once more."]},
    )


def side_effect_of_any_kind(package: Path) -> None:
    def edit(data: dict[str, Any]) -> None:
        data["rail_tests"][0]["assertions"] = {"must_observe_side_effect": True}

    spec(package, edit)


def values_in_the_state_file(package: Path) -> None:
    query = "Remember that the deck is for the board."

    def edit(data: dict[str, Any]) -> None:
        data["rail_tests"][0]["assertions"]["json_contains"] = {"requests.0": query}

    spec(package, edit)


def state_kept_by_hooks_of_tools(package: Path) -> None:
    """The rail writes when a tool was called, with the time, under a lock of asyncio."""
    (package / RAIL).write_text(
        RAIL_HEAD
        + '''    def __init__(self):
        import asyncio

        super().__init__()
        self.lock = asyncio.Lock()

    async def after_tool_call(self, ctx):
        """Count the calls of the session."""
        import asyncio
        import json
        import os
        import time
        from pathlib import Path

        folder = Path(__file__).resolve().parent.parent / ".state"
        folder.mkdir(exist_ok=True)
        path = folder / f"{ctx.session.get_session_id()}.json"
        async with self.lock:
            state = json.loads(path.read_text()) if path.is_file() else {"calls": []}
            await asyncio.sleep(0)
            state["calls"].append(ctx.inputs.tool_name)
            state["updated_at"] = time.time()
            draft = path.with_suffix(".tmp")
            draft.write_text(json.dumps(state))
            os.replace(draft, path)
''',
        encoding="utf-8",
    )
    replace(
        package / TOOL,
        "read_requests(session.get_session_id()) if session is not None else []",
        '["As asked."]',
    )

    def edit(data: dict[str, Any]) -> None:
        data["prewarm_queries"] = []
        del data["tool_tests"][0]["assertions"]["state_fields"]
        data["rail_tests"][0]["calls"] = CALL
        data["rail_tests"][0]["assertions"]["json_contains"] = ["updated_at", "calls"]

    spec(package, edit)


# --- tools -----------------------------------------------------------------------------------


def tool_output_object(package: Path) -> None:
    """The result is the harness's own ToolOutput, its fields in `data`."""
    text = (package / TOOL).read_text(encoding="utf-8")
    text = text.replace(
        "        return {\n",
        "        from openjiuwen.harness.tools.base_tool import ToolOutput\n\n        found = {\n",
    )
    text = text.replace(
        '"requests": requests,\n        }\n',
        '"requests": requests,\n        }\n        return ToolOutput(success=True, data=found)\n',
    )
    (package / TOOL).write_text(text, encoding="utf-8")


def result_as_json_text(package: Path) -> None:
    only_result(package, '        import json\n\n        return json.dumps({"success": True, "slides": 3})')


def typed_fields(package: Path) -> None:
    def edit(data: dict[str, Any]) -> None:
        data["tool_tests"][0]["assertions"]["required_fields"] = {
            "path": "string", "slides": "integer", "requests": "array", "exists": "boolean", "size_bytes": "number",
        }  # fmt: skip

    spec(package, edit)


def degraded_and_allowed(package: Path) -> None:
    code = '        return {"success": False, "error": "no office here", "degraded": True, "slides": 0}'
    only_result(package, code)

    def edit(data: dict[str, Any]) -> None:
        data["tool_tests"][0]["allow_degraded"] = True

    spec(package, edit)


def failure_that_is_expected(package: Path) -> None:
    code = '        return {"success": False, "error": "no such thing", "slides": 0}'
    only_result(package, code, tool_result_success=False)


def several_calls_of_one_tool(package: Path) -> None:
    def edit(data: dict[str, Any]) -> None:
        test = data["tool_tests"][0]
        again = json.loads(json.dumps(test).replace("review.pptx", "second.pptx"))
        data["tool_tests"].append(again)

    spec(package, edit)


def arguments_made_from_the_schema(package: Path) -> None:
    def edit(data: dict[str, Any]) -> None:
        del data["tool_tests"][0]["arguments"]

    spec(package, edit)


def relative_temporary_files(package: Path) -> None:
    """A tool may use temporary files and caches; what it removes again was never there."""
    replace(
        package / TOOL,
        "        deck.save(str(path))\n",
        "        import os\n        import tempfile\n\n"
        "        with tempfile.NamedTemporaryFile(suffix='.pptx') as draft:\n            deck.save(draft)\n"
        "        open('scratch.txt', 'w').close()\n        os.remove('scratch.txt')\n"
        "        os.makedirs(os.path.expanduser('~/.cache/decks'), exist_ok=True)\n"
        "        open(os.path.expanduser('~/.cache/decks/x'), 'w').close()\n"
        "        deck.save(str(path))\n",
    )


def touched_before_it_is_written(package: Path) -> None:
    """Path.touch makes what is not there, and does no harm to what is there."""
    replace(
        package / "tools/deck_tool.py",
        "        deck.save(str(path))",
        "        path.touch()\n        assert path.stat().st_size == 0\n"
        "        deck.save(str(path))\n        path.touch()\n        assert path.stat().st_size > 0",
    )


def copied_with_its_times(package: Path) -> None:
    """shutil.copy2 sets modes and times of the copy."""
    replace(
        package / "tools/deck_tool.py",
        "        deck.save(str(path))",
        "        import shutil, tempfile\n"
        "        with tempfile.TemporaryDirectory() as folder:\n"
        '            deck.save(f"{folder}/draft.pptx")\n'
        '            shutil.copy2(f"{folder}/draft.pptx", path)',
    )


def seed_spec(package: Path) -> None:
    """The spec that the seed recommends, with the names of this package and nothing of ours."""
    (package / SPEC).write_text(
        json.dumps(
            {
                "name": "runtime_extension_acceptance",
                "components": ["rail", "tool", "skill"],
                "prewarm_queries": ["请简单回复：hello"],
                "tool_tests": [
                    {
                        "tool_name": "deck_tool",
                        "query": "请调用 deck_tool，并只根据工具结果回答。",
                        "assertions": {
                            "must_call_tool": "deck_tool",
                            "tool_result_success": True,
                            "required_fields": ["path"],
                        },
                    }
                ],
                "rail_tests": [
                    {
                        "query": "请完成一个会触发 rail 生命周期的简短任务。",
                        "assertions": {
                            "observable_state_file": ".state/<session_id>.json",
                            "json_contains": ["requests"],
                            "must_observe_side_effect": True,
                        },
                    }
                ],
                "skill_tests": [
                    {
                        "query": "根据已加载的扩展技能，说明这个扩展适合何时使用。",
                        "assertions": {"answer_contains_any": ["统计", "工具", "slide"]},
                    }
                ],
            },
            ensure_ascii=False,
        ),
        encoding="utf-8",
    )


def skill_by_name_and_body(package: Path) -> None:
    """What only the body of SKILL.md says is read through skill_tool."""
    append(package / "skills/deck-writing/SKILL.md", "Never use more than seven words in a heading.")

    def edit(data: dict[str, Any]) -> None:
        data["skill_tests"] = [
            {
                "query": "How long is a heading?",
                "skill_name": "deck-writing",
                "assertions": {"answer_contains_any": ["seven words"]},
            }
        ]

    spec(package, edit)


def skills_listed_on_demand(package: Path) -> None:
    replace(package / "harness_config.yaml", "mode: all", "mode: auto_list")
