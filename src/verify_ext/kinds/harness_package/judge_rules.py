"""The rules of a harness package that only the living harness can answer."""

from __future__ import annotations

from verify_ext.codes import (
    DEPENDENCY_MISSING,
    EXTENSION_CRASHED,
    MANIFEST_INVALID,
    RESOURCE_LIMIT_EXCEEDED,
    Code,
    Rule,
    Rules,
)
from verify_ext.kinds.harness_package.codes import CLASS_INIT_FAILED, MODULE_IMPORT_FAILED
from verify_ext.model import Fault, Layer

HARNESS_LOAD_FAILED = Code(
    "harness_load_failed", Fault.EXTENSION, "The real harness refuses to load the package."
)
RAIL_NOT_REGISTERED = Code(
    "rail_not_registered", Fault.EXTENSION, "A declared rail is not among the agent's rails after loading."
)
TOOL_NOT_REGISTERED = Code(
    "tool_not_registered", Fault.EXTENSION, "A declared tool cannot be called by the agent after loading."
)
SKILL_NOT_LOADED = Code(
    "skill_not_loaded", Fault.EXTENSION, "A declared skill does not reach the model as its author wrote it."
)
UNLOAD_INCOMPLETE = Code(
    "unload_incomplete", Fault.EXTENSION, "Unloading the package leaves something of it on the agent."
)

_SEED_L1 = 'Seed "verify-ext", L1 结构校验'
_SEED_L2 = 'Seed "verify-ext", L2 临时热加载'

RULES = Rules(
    # L1: import
    Rule(
        code=MODULE_IMPORT_FAILED,
        rule="import-raised",
        layer=Layer.L1,
        message="importing {class_name}'s module raised {error}",
        remedy="Make the module importable on its own; do what can fail when the tool is called.",
        why="The harness imports the module to load the package, and gives up on the package.",
        source=_SEED_L1,
    ),
    Rule(
        code=MODULE_IMPORT_FAILED,
        rule="own-module-missing",
        layer=Layer.L1,
        message="the extension's own module {module} is not found",
        remedy="Add the file, or import it by the name openjiuwen.extensions.harness.<folder>.<module>.",
        why="The harness makes an extension's modules importable under that name only.",
        source=_SEED_L1,
    ),
    Rule(
        code=MODULE_IMPORT_FAILED,
        rule="harness-api-missing",
        layer=Layer.L1,
        message="this harness version does not have what {class_name}'s module imports: {error}",
        remedy="Import what this openjiuwen version offers, or say which versions the extension supports.",
        why="Names move between openjiuwen versions; the package cannot be loaded where they are missing.",
        source=_SEED_L1,
    ),
    Rule(
        code=DEPENDENCY_MISSING,
        rule="undeclared-module",
        layer=Layer.L1,
        message="{class_name}'s module imports {module}, which is not installed with the harness",
        remedy="Add the package that provides {package!r} to the extension's requirements.txt.",
        why="A fresh harness environment has the harness's own dependencies and the declared ones only.",
        source="docs/design.md, section 7",
    ),
    Rule(
        code=EXTENSION_CRASHED,
        rule="exit-called",
        layer=Layer.L1,
        message="{class_name} tries to end the process: {error}",
        remedy="Raise an ordinary exception instead of calling sys.exit.",
        why="In a real agent this would end the agent.",
        source="docs/design.md, section 7",
    ),
    Rule(
        code=EXTENSION_CRASHED,
        rule="component-not-reported",
        layer=Layer.L1,
        message="the job that constructs the components said nothing about {what}",
        remedy="Do not interfere with the process that loads the extension.",
        why="What was not seen is not passed.",
        source="docs/design.md, section 7",
    ),
    Rule(
        code=RESOURCE_LIMIT_EXCEEDED,
        rule="memory",
        layer=Layer.L1,
        message="{class_name} ran out of memory while it was imported or constructed",
        remedy="Allocate less while loading.",
        why="The harness shares its memory with everything that it loads.",
        source="A limit of verify-ext: 8 GiB of address space a job",
    ),
    # L1: construction
    Rule(
        code=CLASS_INIT_FAILED,
        rule="constructor-raised",
        layer=Layer.L1,
        message="constructing {class_name} without arguments raised {error}",
        remedy="Make the constructor work without arguments: a tool calls super().__init__(ToolCard(…)) in it;"
        " what needs variables, files or the network is done when the tool is called.",
        why="The harness constructs every declared class without arguments.",
        source=_SEED_L1,
    ),
    Rule(
        code=CLASS_INIT_FAILED,
        rule="not-a-rail",
        layer=Layer.L1,
        message="{class_name} is declared as a rail but is no AgentRail",
        remedy="Derive the class from openjiuwen.core.single_agent.rail.base.AgentRail.",
        why="Its hooks would never be called.",
        source=_SEED_L1,
    ),
    Rule(
        code=CLASS_INIT_FAILED,
        rule="not-a-tool",
        layer=Layer.L1,
        message="{class_name} is declared as a tool but is no Tool",
        remedy="Derive the class from openjiuwen.core.foundation.tool.base.Tool.",
        why="An agent can only call a Tool that carries a ToolCard.",
        source=_SEED_L1,
    ),
    Rule(
        code=CLASS_INIT_FAILED,
        rule="card-missing",
        layer=Layer.L1,
        message="{class_name} has no ToolCard",
        remedy="Make a ToolCard in the constructor and hand it to super().__init__.",
        why="Without a card the tool has no name, no description and no parameters.",
        source=_SEED_L1,
    ),
    Rule(
        code=CLASS_INIT_FAILED,
        rule="card-unreadable",
        layer=Layer.L1,
        message="reading {class_name}'s card raised {error}",
        remedy="Make card and card.tool_info() readable without side effects.",
        why="The agent reads the card to tell the model about the tool.",
        source=_SEED_L1,
    ),
    Rule(
        code=CLASS_INIT_FAILED,
        rule="card-id-not-set",
        layer=Layer.L1,
        message="{class_name}'s ToolCard has no id of its own",
        remedy='Set id explicitly, best to the same text as name: ToolCard(id="…", name="…", …).',
        why="An id that is left out is random: the tool cannot be found again.",
        source=_SEED_L1 + ": ToolCard.id 和 ToolCard.name 必须显式设置",
    ),
    Rule(
        code=CLASS_INIT_FAILED,
        rule="card-name-not-set",
        layer=Layer.L1,
        message="{class_name}'s ToolCard has no name",
        remedy='Set name explicitly: ToolCard(id="…", name="…", …).',
        why="The model calls a tool by its name.",
        source=_SEED_L1 + ": ToolCard.id 和 ToolCard.name 必须显式设置",
    ),
    Rule(
        code=CLASS_INIT_FAILED,
        rule="input-params-not-set",
        layer=Layer.L1,
        message="{class_name}'s ToolCard has no input_params",
        remedy='Set input_params; without parameters to {{"type": "object", "properties": {{}}}}.',
        why="Model providers refuse a tool whose parameters are not an object schema.",
        source=_SEED_L1 + ": ToolCard.input_params 必须显式设置",
    ),
    Rule(
        code=CLASS_INIT_FAILED,
        rule="input-params-not-object",
        layer=Layer.L1,
        message="the parameters of the tool are not an object schema: {actual_type}",
        remedy='Begin input_params with "type": "object" and list the parameters under "properties".',
        why="Model providers refuse a tool whose parameters are not an object schema.",
        source=_SEED_L1 + ': 必须包含 type: "object"',
    ),
    Rule(
        code=CLASS_INIT_FAILED,
        rule="input-params-not-json",
        layer=Layer.L1,
        message="the parameters of the tool cannot be written as JSON: {problem}",
        remedy="Use only dictionaries with text keys, lists, text, numbers, booleans and None.",
        why="The parameters are sent to the model as JSON.",
        source=_SEED_L1 + ": 必须符合 JSON Schema 规范",
    ),
    Rule(
        code=CLASS_INIT_FAILED,
        rule="input-params-invalid-schema",
        layer=Layer.L1,
        message="the parameters of the tool are no valid JSON Schema: {problem}",
        remedy="Correct the schema at the place that is named.",
        why="Providers and harness validate calls against it.",
        source=_SEED_L1 + ": 必须符合 JSON Schema 规范",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="duplicate-tool-name",
        layer=Layer.L1,
        message="two tools are named {value!r}: this one and {other}",
        remedy="Give each tool a name of its own.",
        why="An agent keeps one tool per name: openjiuwen 0.1.16 silently drops one, newer ones refuse both.",
        source="openjiuwen: AbilityManager keys abilities by name",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="duplicate-tool-id",
        layer=Layer.L1,
        message="two tools have the id {value!r}: this one and {other}",
        remedy="Give each tool an id of its own.",
        why="Calls to one of them would reach the other.",
        source="openjiuwen: the resource manager keys tools by id",
    ),
    # L2
    Rule(
        code=HARNESS_LOAD_FAILED,
        rule="load-raised",
        layer=Layer.L2,
        message="loading the package into a DeepAgent raised {error}",
        remedy="Mend what is named; the trace shows the extension's own lines.",
        why="The package cannot be used in this harness.",
        source=_SEED_L2,
    ),
    Rule(
        code=RAIL_NOT_REGISTERED,
        rule="not-reported",
        layer=Layer.L2,
        message="the harness loaded the package but not the rail {name}",
        remedy="Declare the rail under resources.rails with type: package, module and class.",
        why="Its hooks are never called.",
        source=_SEED_L2 + ': 每个 rail 返回 "rail:<ClassName>"',
    ),
    Rule(
        code=RAIL_NOT_REGISTERED,
        rule="not-on-agent",
        layer=Layer.L2,
        message="the harness reports the rail {class_name}, but the agent does not carry it",
        remedy="Do not unregister rails while loading; give each rail class a name of its own.",
        why="Its hooks are never called.",
        source=_SEED_L2,
    ),
    Rule(
        code=TOOL_NOT_REGISTERED,
        rule="not-reported",
        layer=Layer.L2,
        message="the harness loaded the package but not the tool {name}",
        remedy="Declare the tool under resources.tools with type: package, module and class.",
        why="The model is never offered the tool.",
        source=_SEED_L2 + ': 每个 tool 返回 "tool:<ClassName>"',
    ),
    Rule(
        code=TOOL_NOT_REGISTERED,
        rule="not-in-ability-manager",
        layer=Layer.L2,
        message="no card in agent.ability_manager.list() leads to the tool {class_name}",
        remedy="Give the tool a name and an id that nothing else on the agent has, the harness's own"
        " tools (read_file, bash, code, skill_tool …) included.",
        why="The model's call would reach another tool, or none.",
        source=_SEED_L2 + ": Tool 的 ToolCard 出现在 agent.ability_manager.list()",
    ),
    Rule(
        code=TOOL_NOT_REGISTERED,
        rule="name-of-harness-tool",
        layer=Layer.L2,
        message="the tool takes the name {name}, which one of the harness's own tools has",
        remedy="Give the tool a name of its own.",
        why="The harness's own tool can no longer be called, or newer harnesses refuse the package.",
        source="openjiuwen: AbilityManager keys abilities by name",
    ),
    Rule(
        code=TOOL_NOT_REGISTERED,
        rule="no-instance",
        layer=Layer.L2,
        message="Runner.resource_mgr has no instance for the tool {class_name}",
        remedy="Do not change the card's id after construction.",
        why="The harness could offer the tool but not call it.",
        source='Seed "verify-ext", L3: Runner.resource_mgr.get_tool(tool_id) 能取回工具实例',
    ),
    Rule(
        code=SKILL_NOT_LOADED,
        rule="not-reported",
        layer=Layer.L2,
        message="the harness loaded the package but not the skill folder of {name}",
        remedy="Name the folder that holds the skill's folder under resources.skills.dirs.",
        why="The model never hears of the skill.",
        source=_SEED_L2 + ': skill 目录返回 "skill_dir:<path>"',
    ),
    Rule(
        code=SKILL_NOT_LOADED,
        rule="not-in-skills-dir",
        layer=Layer.L2,
        message="no SkillUseRail of the agent has {folder} among its skills_dir",
        remedy="Do not change the agent's SkillUseRail while loading.",
        why="The model never hears of the skill.",
        source=_SEED_L2 + ": SkillUseRail 且其 skills_dir 包含声明的 skill 目录路径",
    ),
    Rule(
        code=SKILL_NOT_LOADED,
        rule="not-found",
        layer=Layer.L2,
        message="the agent's SkillUseRail does not list the skill {name}",
        remedy="Put SKILL.md in a folder directly below a folder of resources.skills.dirs.",
        why="openjiuwen 0.1.16 and older look one level deep only; the model never hears of the skill.",
        source=_SEED_L2,
    ),
    Rule(
        code=SKILL_NOT_LOADED,
        rule="without-description",
        layer=Layer.L2,
        message="the skill {name} reaches the model without its own description",
        remedy="Mend the frontmatter of its SKILL.md: it must begin the file and hold a description.",
        why="The harness could not read the description and shows a path in its place.",
        source="docs/design.md, section 7: compare descriptions",
    ),
    Rule(
        code=UNLOAD_INCOMPLETE,
        rule="unload-raised",
        layer=Layer.L2,
        message="unloading the package raised {error}",
        remedy="Make uninit of the rails work after init has.",
        why="An agent that cannot unload a package must be restarted to change it.",
        source="docs/design.md, section 7",
    ),
    Rule(
        code=UNLOAD_INCOMPLETE,
        rule="left-behind",
        layer=Layer.L2,
        message="after unloading, the agent still has {category} of the package: {items}",
        remedy="Undo in uninit what the rail's init added to the agent.",
        why="What is left goes on working on later sessions although the package is gone.",
        source="docs/design.md, section 7",
    ),
)
