"""openjiuwen 0.1.13 to 0.1.16: `load_harness_config` returns labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import Contract


class Labels(Contract):
    name = "labels"

    def load_class(self, root: Path, module: str, class_name: str) -> type:
        from openjiuwen.auto_harness.infra import runtime_extension_loader as loader
        from openjiuwen.auto_harness.schema import RuntimeExtensionArtifact

        loaded = loader._load_runtime_class(
            runtime_ext=RuntimeExtensionArtifact(
                extension_name=root.name,
                runtime_path=str(root),
                config_path=str(root / "harness_config.yaml"),
            ),
            session_id="verify_ext",
            module_name=module,
            class_name=class_name,
        )
        return loaded  # type: ignore[no-any-return]

    async def load(self, agent: Any, manifest: Path) -> Any:
        return await agent.load_harness_config(str(manifest))

    def labels(self, loaded: Any) -> list[str]:
        return [str(label) for label in loaded]

    async def unload(self, agent: Any, manifest: Path, loaded: Any) -> None:
        await agent.unload_harness_config(str(manifest))


CONTRACT = Labels()
