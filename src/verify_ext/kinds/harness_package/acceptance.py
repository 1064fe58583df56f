"""The acceptance spec of a harness package (docs/design.md, section 8), as plain nouns.

`acceptance_spec.py` reads it from `acceptance.json` or `acceptance.yaml`; `exercise` and `judge`
of the acceptance layer work with what stands here. Texts and arguments may hold `<output_dir>`
and `<session_id>`, which stand for the job's own folder and session.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from verify_ext.model import Location

OUTPUT_DIR = "<output_dir>"
SESSION_ID = "<session_id>"


@dataclass(frozen=True, kw_only=True)
class ArtifactClaim:
    """A file that a tool's result must name and that must be what it claims."""

    location: Location
    path_field: str = "path"
    """The field of the result that holds its path; dots lead into objects."""
    format: str | None = None
    """None: what the suffix of its path says."""
    required_fields: tuple[str, ...] = ()
    min_bytes: int = 1


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """What the scripted model calls: a tool by the name on its card, with arguments."""

    location: Location
    tool_name: str
    arguments: Mapping[str, Any] | None = None
    """None: made from the tool's own schema (its examples, defaults and types)."""


@dataclass(frozen=True, kw_only=True)
class ToolTest:
    """One call of one tool through the real chain, and what its result must hold."""

    location: Location
    query: str
    call: ToolCall
    effect: str | None = None
    """`read` or `write`; None: not said."""
    allow_degraded: bool = False
    success: bool = True
    """What the result must say of itself (`tool_result_success`)."""
    required_fields: Mapping[str, str | None] = field(default_factory=dict)
    """Field (dots lead into objects) to its JSON type, None for any."""
    state_fields: tuple[str, ...] = ()
    """Fields that must come from what a rail wrote in the same session."""
    artifacts: tuple[ArtifactClaim, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RailTest:
    """One query, perhaps with tool calls, and what a rail must visibly have changed by it."""

    location: Location
    query: str
    rail_name: str | None = None
    """The rail's class; None: the only rail there is."""
    calls: tuple[ToolCall, ...] = ()
    state_file: str | None = None
    """`observable_state_file`: below the extension's folder."""
    json_contains: Mapping[str, Any] = field(default_factory=dict)
    """Field of the state file (dots lead into objects) to the value it must have; `ANY` for any."""
    prompt_contains: tuple[str, ...] = ()
    """Texts that must be in the prompt the model gets, and are not there without the extension."""
    hidden_tools: tuple[str, ...] = ()
    """Gating: tools that are offered without the rail and not with it, or whose call it refuses."""
    rewritten_arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Tool name to arguments that the tool must get although the model called it with others."""
    stream_contains: tuple[str, ...] = ()
    """Texts that the rail must write to the session's output stream."""
    steering_contains: tuple[str, ...] = ()
    """Texts that must reach the model as a steering message."""
    must_observe_side_effect: bool = True

    @property
    def observables(self) -> bool:
        """Whether the test says itself what must have changed."""
        return bool(
            self.state_file
            or self.prompt_contains
            or self.hidden_tools
            or self.rewritten_arguments
            or self.stream_contains
            or self.steering_contains
        )


@dataclass(frozen=True, kw_only=True)
class SkillTest:
    """One query with the skill in the prompt; with a scripted model its own text is judged."""

    location: Location
    query: str
    skill_name: str | None = None
    answer_contains_any: tuple[str, ...] = ()


ANY = object()
"""In `RailTest.json_contains`: the field must be there, with any value but null."""


@dataclass(frozen=True, kw_only=True)
class AcceptanceSpec:
    """A whole spec. `path` is the file's, relative to the extension."""

    location: Location
    path: str
    name: str
    components: tuple[str, ...] = ()
    """`rail`, `tool`, `skill`, or one of them as `tool:DeckTool`; () stands for all declared."""
    prewarm_queries: tuple[str, ...] = ()
    tool_tests: tuple[ToolTest, ...] = ()
    rail_tests: tuple[RailTest, ...] = ()
    skill_tests: tuple[SkillTest, ...] = ()
