"""Appends a note to the notes of a meeting."""

from typing import Any

from openjiuwen.core.foundation.tool.base import Tool, ToolCard


class NotesTool(Tool):
    """Writes a note."""

    def __init__(self) -> None:
        super().__init__(ToolCard(id="notes_tool", name="notes_tool", description="Write a note."))

    async def invoke(self, inputs: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {"success": True}

    async def stream(self, inputs: dict[str, Any], **kwargs: Any) -> Any:
        yield await self.invoke(inputs, **kwargs)
