"""Loads one package in a fresh interpreter, as the seed "verify-ext" writes it: the yardstick.

`python -I fresh_load.py MANIFEST`, run by an interpreter that has openjiuwen.
"""

import asyncio
import sys

from openjiuwen.core.single_agent.schema.agent_card import AgentCard
from openjiuwen.harness.deep_agent import DeepAgent
from openjiuwen.harness.rails.skills.skill_use_rail import SkillUseRail
from openjiuwen.harness.schema.config import DeepAgentConfig


async def load(manifest: str) -> None:
    agent = DeepAgent(AgentCard(name="test_agent", description="test")).configure(
        DeepAgentConfig(enable_task_loop=False)
    )
    if hasattr(agent, "load_plugin"):  # newer harnesses bind skills to a rail that the agent carries
        agent.add_rail(SkillUseRail(skills_dir=[], skill_mode="all"))
    loaded = await agent.load_harness_config(manifest)
    if not loaded:
        raise SystemExit(f"{manifest}: nothing was loaded")


asyncio.run(load(sys.argv[1]))
