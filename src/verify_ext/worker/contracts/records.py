"""openjiuwen 0.1.16.post20, 0.1.17 and newer: `load_plugin` returns a record of bindings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import Contract


class Records(Contract):
    name = "records"

    def prepare(self, agent: Any, operation: Any) -> None:
        # Skills bind only to an agent that already carries a SkillUseRail.
        from openjiuwen.harness.rails.skills.skill_use_rail import SkillUseRail

        rail = SkillUseRail(skills_dir=[], skill_mode="all")
        rail.set_sys_operation(operation)
        agent.add_rail(rail)

    def load_class(self, root: Path, module: str, class_name: str) -> type:
        from openjiuwen.harness.manifest import meta_elements
        from openjiuwen.harness.resources.extension_loader import _module_to_package_file

        file = _module_to_package_file(module, root)
        if file is None:
            raise ImportError(f"{module} is not a module of {root.name}")
        loaded = meta_elements._load_class_from_file(root / file, class_name, package_root=root)
        return loaded  # type: ignore[no-any-return]

    async def load(self, agent: Any, manifest: Path) -> Any:
        await self.settle(agent)  # a plugin comes to a host that runs, its own tools in place
        return await agent.load_plugin(str(manifest))

    def labels(self, loaded: Any) -> list[str]:
        return [self._label(ref.kind.value, ref.identity) for ref in loaded.refs]

    def _label(self, kind: str, identity: str) -> str:
        if kind == "tool":  # here the harness names the id that it made up, not the class
            return f"tool:{type(self.tool(identity)).__name__}"
        return f"skill_dir:{identity}" if kind == "skill" else f"{kind}:{identity}"

    async def unload(self, agent: Any, manifest: Path, loaded: Any) -> None:
        await agent.unload_extension(loaded)


CONTRACT = Records()
