"""Remembers what the user asked for, so that the deck can say it."""

from openjiuwen.core.single_agent.rail.base import AgentCallbackContext, AgentRail

from openjiuwen.extensions.harness.deck_maker.state import add_request


class RequestLogRail(AgentRail):
    """Writes each request of a session to the session's state file."""

    async def before_invoke(self, ctx: AgentCallbackContext) -> None:
        if ctx.session is not None:
            add_request(ctx.session.get_session_id(), str(ctx.inputs.query))
