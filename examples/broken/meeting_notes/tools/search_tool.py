"""Finds a note by its words."""

from typing import Any

from openjiuwen.core.foundation.tool.base import Tool, ToolCard


class SearchTool(Tool):
    """Searches notes."""

    def __init__(self, folder: str) -> None:
        super().__init__(
            ToolCard(
                id="search_tool",
                name="search_tool",
                description="Find notes by words.",
                input_params={"type": "object", "properties": {"words": {"type": "string"}}},
            )
        )
        self.folder = folder

    async def invoke(self, inputs: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {"success": True, "notes": []}

    async def stream(self, inputs: dict[str, Any], **kwargs: Any) -> Any:
        yield await self.invoke(inputs, **kwargs)
