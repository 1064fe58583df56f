"""Keeps the palette of a session."""

from openjiuwen.core.single_agent.rail.base import AgentRail

PALETTE = ["#102030", "#f0e0d0"]


class PaletteRail(AgentRail):
    pass
