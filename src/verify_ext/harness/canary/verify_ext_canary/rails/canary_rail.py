"""A rail that keeps the queries of a session."""

from openjiuwen.core.single_agent.rail.base import AgentCallbackContext, AgentRail

from openjiuwen.extensions.harness.verify_ext_canary.state import add_query


class CanaryRail(AgentRail):
    """Writes each query to the session's state file."""

    async def before_invoke(self, ctx: AgentCallbackContext) -> None:
        if ctx.session is not None:
            add_query(ctx.session.get_session_id(), str(ctx.inputs.query))
