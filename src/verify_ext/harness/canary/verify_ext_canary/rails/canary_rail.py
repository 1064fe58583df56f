"""A rail that counts the queries of a session."""

from openjiuwen.core.single_agent.rail.base import AgentCallbackContext, AgentRail


class CanaryRail(AgentRail):
    """Does nothing that could fail."""

    async def before_invoke(self, ctx: AgentCallbackContext) -> None:
        ctx.extra["verify_ext_canary"] = True
