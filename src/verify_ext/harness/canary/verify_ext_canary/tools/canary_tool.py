"""A tool that returns what it is given, and makes a file of it."""

import json
from pathlib import Path
from typing import Any

from openjiuwen.core.foundation.tool.base import Tool, ToolCard

from openjiuwen.extensions.harness.verify_ext_canary.state import read_queries
from openjiuwen.extensions.harness.verify_ext_canary.words import DESCRIPTION


class CanaryTool(Tool):
    """Writes its text to a file."""

    def __init__(self) -> None:
        super().__init__(
            ToolCard(
                id="verify_ext_canary_tool",
                name="verify_ext_canary_tool",
                description=DESCRIPTION,
                input_params={
                    "type": "object",
                    "properties": {"text": {"type": "string"}, "output_path": {"type": "string"}},
                    "required": ["text", "output_path"],
                },
            )
        )

    async def invoke(self, inputs: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        path = Path(inputs["output_path"])
        path.write_text(json.dumps({"text": inputs["text"]}), encoding="utf-8")
        return {
            "success": True,
            "text": inputs["text"],
            "queries": read_queries(kwargs["session"].get_session_id()),
            "path": str(path),
            "exists": path.is_file(),
            "format": "json",
            "size_bytes": path.stat().st_size,
        }

    async def stream(self, inputs: dict[str, Any], **kwargs: Any) -> Any:
        yield await self.invoke(inputs, **kwargs)
