"""Notes of meetings."""

from openjiuwen.extensions.harness.meeting_notes.tools.notes_tool import NotesTool

__all__ = ["NotesTool"]
