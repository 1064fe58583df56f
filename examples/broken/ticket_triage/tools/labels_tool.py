"""Reads the labels that tickets can have."""

from pathlib import Path
from typing import Any

from openjiuwen.core.foundation.tool.base import Tool, ToolCard

LABELS = Path("labels.txt").read_text(encoding="utf-8").split()


class LabelsTool(Tool):
    """Returns the known labels."""

    def __init__(self) -> None:
        super().__init__(
            ToolCard(
                id="labels",
                name="labels",
                description="List the labels that a ticket can have.",
                input_params={"type": "object", "properties": {}},
            )
        )

    async def invoke(self, inputs: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {"success": True, "labels": LABELS}

    async def stream(self, inputs: dict[str, Any], **kwargs: Any) -> Any:
        yield await self.invoke(inputs, **kwargs)
