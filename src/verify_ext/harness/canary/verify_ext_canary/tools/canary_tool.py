"""A tool that returns what it is given."""

from typing import Any

from openjiuwen.core.foundation.tool.base import Tool, ToolCard

from openjiuwen.extensions.harness.verify_ext_canary.words import DESCRIPTION


class CanaryTool(Tool):
    """Echoes its text."""

    def __init__(self) -> None:
        super().__init__(
            ToolCard(
                id="verify_ext_canary_tool",
                name="verify_ext_canary_tool",
                description=DESCRIPTION,
                input_params={
                    "type": "object",
                    "properties": {"text": {"type": "string"}},
                    "required": ["text"],
                },
            )
        )

    async def invoke(self, inputs: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {"success": True, "text": inputs["text"]}

    async def stream(self, inputs: dict[str, Any], **kwargs: Any) -> Any:
        yield await self.invoke(inputs, **kwargs)
