"""Renders a poster."""

from openjiuwen.core.foundation.tool.base import Tool, ToolCard


class RenderTool(Tool)  # module_import_failed/syntax-error
    pass
