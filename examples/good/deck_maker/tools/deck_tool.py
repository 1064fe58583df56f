"""Makes a PowerPoint deck from an outline."""

from pathlib import Path
from typing import Any

from openjiuwen.core.foundation.tool.base import Tool, ToolCard
from pptx import Presentation

from openjiuwen.extensions.harness.deck_maker.state import read_requests

TITLE_LAYOUT, BULLET_LAYOUT = 0, 1

INPUT_PARAMS = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "description": "Title of the deck"},
        "slides": {
            "type": "array",
            "description": "The slides, in order",
            "items": {
                "type": "object",
                "properties": {
                    "heading": {"type": "string"},
                    "bullets": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["heading", "bullets"],
            },
        },
        "output_path": {"type": "string", "description": "Where to write the .pptx file"},
    },
    "required": ["title", "slides", "output_path"],
}


class DeckTool(Tool):
    """Writes a .pptx file and reports where it is."""

    def __init__(self) -> None:
        super().__init__(
            ToolCard(
                id="deck_tool",
                name="deck_tool",
                description="Make a PowerPoint deck from a title and a list of slides.",
                input_params=INPUT_PARAMS,
            )
        )

    async def invoke(self, inputs: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        session = kwargs.get("session")
        requests = read_requests(session.get_session_id()) if session is not None else []
        deck = Presentation()
        add_slide(deck, TITLE_LAYOUT, inputs["title"], requests[-1:])
        for slide in inputs["slides"]:
            add_slide(deck, BULLET_LAYOUT, slide["heading"], slide["bullets"])
        path = Path(inputs["output_path"])
        deck.save(str(path))
        return {
            "success": True,
            "path": str(path),
            "exists": path.is_file(),
            "format": "pptx",
            "size_bytes": path.stat().st_size,
            "slides": len(deck.slides),
            "requests": requests,
        }

    async def stream(self, inputs: dict[str, Any], **kwargs: Any) -> Any:
        yield await self.invoke(inputs, **kwargs)


def add_slide(deck: Any, layout: int, heading: str, lines: list[str]) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[layout])
    slide.shapes.title.text = heading
    slide.placeholders[1].text = "\n".join(lines)
