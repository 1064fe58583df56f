"""Says how urgent a ticket is."""

from typing import Any

from openjiuwen.core.foundation.tool.base import Tool, ToolCard


class TriageTool(Tool):
    """Reads a ticket and returns its urgency."""

    def __init__(self) -> None:
        super().__init__(
            ToolCard(
                name="triage",
                description="Say how urgent a ticket is.",
                input_params={"properties": {"ticket": {"type": "string"}}},
            )
        )

    async def invoke(self, inputs: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {"success": True, "urgent": "down" in inputs["ticket"]}

    async def stream(self, inputs: dict[str, Any], **kwargs: Any) -> Any:
        yield await self.invoke(inputs, **kwargs)
