"""Small edits of a package's files; each fails if it would change nothing."""

from pathlib import Path


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    if text.count(old) == 0 or old == new:
        raise AssertionError(f"{path.name} does not hold {old!r}")
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text(encoding="utf-8") + "\n" + text + "\n", encoding="utf-8")


def prepend(path: Path, text: str) -> None:
    path.write_text(text + "\n" + path.read_text(encoding="utf-8"), encoding="utf-8")


def add_tool(package: Path, class_name: str, *, identity: str, name: str) -> None:
    """Declare and write a second tool that is fine by itself."""
    module = class_name.lower()
    (package / "tools" / f"{module}.py").write_text(
        "from openjiuwen.core.foundation.tool.base import Tool, ToolCard\n\n\n"
        f"class {class_name}(Tool):\n"
        "    def __init__(self):\n"
        f"        super().__init__(ToolCard(id={identity!r}, name={name!r}, description='Makes posters.',\n"
        "                                  input_params={'type': 'object', 'properties': {}}))\n\n"
        "    async def invoke(self, inputs, **kwargs):\n        return {'success': True}\n\n"
        "    async def stream(self, inputs, **kwargs):\n        yield await self.invoke(inputs, **kwargs)\n",
        encoding="utf-8",
    )
    replace(
        package / "harness_config.yaml",
        "  tools:\n",
        "  tools:\n    - type: package\n"
        f"      module: openjiuwen.extensions.harness.deck_maker.tools.{module}\n      class: {class_name}\n",
    )
