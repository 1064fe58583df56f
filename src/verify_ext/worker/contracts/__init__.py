"""How a harness loads a package: one adapter per contract, picked by what the harness can do.

No other place asks which version this is. `pick()` looks at features, never at a version.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

MAX_ITERATIONS = 12
"""Turns of the model for one query: a rail that steers every call would never end."""
COMPLETION_TIMEOUT_S = 30.0


class Contract(ABC):
    """The operations that differ between harness versions, and what derives from them.

    All of them speak of an *agent*: a fresh `DeepAgent` as the seed "verify-ext" makes it, in
    local mode so that skills can be read.
    """

    name: str

    def version(self) -> str:
        return importlib.metadata.version("openjiuwen")

    def new_agent(self, model_url: str | None = None, *, loop: bool = False) -> Any:
        """Return a configured agent that has loaded nothing yet.

        It asks the model at `model_url`, or has none. With `loop` it works in the outer task loop,
        without which steering messages go nowhere.
        """
        from openjiuwen.core.single_agent.schema.agent_card import AgentCard
        from openjiuwen.core.sys_operation import (
            LocalWorkConfig,
            OperationMode,
            SysOperation,
            SysOperationCard,
        )
        from openjiuwen.harness.deep_agent import DeepAgent
        from openjiuwen.harness.schema.config import DeepAgentConfig

        operation = SysOperation(
            SysOperationCard(
                id="verify_ext_operation",
                mode=OperationMode.LOCAL,
                work_config=LocalWorkConfig(work_dir=None),
            )
        )
        agent = DeepAgent(AgentCard(name="test_agent", description="test")).configure(
            DeepAgentConfig(
                model=None if model_url is None else _model(model_url),
                enable_task_loop=loop,
                sys_operation=operation,
                max_iterations=MAX_ITERATIONS,
                completion_timeout=COMPLETION_TIMEOUT_S,
            )
        )
        self.prepare(agent, operation)
        return agent

    async def open_session(self, agent: Any, session_id: str, inputs: dict[str, Any]) -> Any:
        """Return a session as a host makes one: rails and tools get it in every version."""
        from openjiuwen.core.session.agent import create_agent_session

        session = create_agent_session(session_id=session_id, card=agent.card)
        await session.pre_run(inputs=inputs)
        return session

    def prepare(self, agent: Any, operation: Any) -> None:  # noqa: B027 - nothing is a fine answer
        """Give the agent what this contract expects a host to carry."""

    @abstractmethod
    def load_class(self, root: Path, module: str, class_name: str) -> type:
        """Import one declared class with the harness's own loader, without constructing it."""

    @abstractmethod
    async def load(self, agent: Any, manifest: Path) -> Any:
        """Load a package through the harness's real entry; return what it says it loaded."""

    @abstractmethod
    def labels(self, loaded: Any) -> list[str]:
        """Return the names of what was loaded, as `rail:<name>`, `tool:<name>`, `skill_dir:<path>`."""

    @abstractmethod
    async def unload(self, agent: Any, manifest: Path, loaded: Any) -> None:
        """Undo a load through the harness's real entry."""

    async def settle(self, agent: Any) -> None:
        """Initialise what the harness leaves until the first use, so that it can be judged."""
        await agent._ensure_initialized()

    def cards(self, agent: Any) -> list[Any]:
        return list(agent.ability_manager.list())

    def tool(self, tool_id: str) -> Any:
        """Return the tool instance that the harness would call for this id, or None."""
        from openjiuwen.core.runner.runner import Runner

        return Runner.resource_mgr.get_tool(tool_id)

    def rails(self, agent: Any) -> list[Any]:
        return [*agent._registered_rails, *agent._pending_rails]

    def skill_rails(self, agent: Any) -> list[Any]:
        from openjiuwen.harness.rails.skills.skill_use_rail import SkillUseRail

        return [rail for rail in self.rails(agent) if isinstance(rail, SkillUseRail)]


def pick() -> Contract:
    """Import the harness and return the adapter for how it loads packages.

    Raises whatever the harness raises when it cannot be imported, and RuntimeError for one that
    can hot-load in no way we know.
    """
    from openjiuwen.harness.deep_agent import DeepAgent

    if hasattr(DeepAgent, "load_plugin") and hasattr(DeepAgent, "unload_extension"):
        module = "records"
    elif hasattr(DeepAgent, "load_harness_config") and hasattr(DeepAgent, "unload_harness_config"):
        module = "labels"
    else:
        raise RuntimeError("this openjiuwen has no hot-loading entry that is known")
    contract = importlib.import_module(f".{module}", __name__).CONTRACT
    assert isinstance(contract, Contract)
    return contract


def _model(url: str) -> Any:
    """Return a model that is asked at `url`, by a key that opens nothing."""
    from openjiuwen.core.foundation.llm.model import Model
    from openjiuwen.core.foundation.llm.schema.config import ModelClientConfig, ModelRequestConfig

    return Model(
        ModelClientConfig(
            client_provider="OpenAI", api_key="none", api_base=url, verify_ssl=False, max_retries=0
        ),
        ModelRequestConfig(model="scripted"),
    )
