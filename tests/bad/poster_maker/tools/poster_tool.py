"""A tool as other frameworks want it: configured from outside, synchronous, imported late."""

from openjiuwen.core.foundation.tool.base import Tool, ToolCard


class PosterTool(Tool):  # class_init_failed/abstract-method
    def __init__(self, config: dict) -> None:  # class_init_failed/constructor-arguments
        super().__init__(
            ToolCard(
                id="poster-tool",  # class_init_failed/card-id-differs
                name="poster_tool",
                description="Makes a poster.",
                input_params={"type": "object", "properties": {}},
            )
        )
        self.config = config

    async def invoke(self, inputs, **kwargs):
        from ..rails.palette_rail import PALETTE  # module_import_failed/lazy-own-import

        return {"success": True, "palette": PALETTE}
