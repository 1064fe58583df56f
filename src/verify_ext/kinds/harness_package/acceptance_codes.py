"""Codes of the acceptance layer (L3); those of artifacts are in verify_ext.artifacts.codes."""

from __future__ import annotations

from verify_ext.codes import Code
from verify_ext.model import Fault

ACCEPTANCE_SPEC_INVALID = Code(
    "acceptance_spec_invalid",
    Fault.SPEC,
    "The acceptance spec cannot be read, breaks its schema, or would prove nothing.",
)
ACCEPTANCE_SPEC_MISSING = Code(
    "acceptance_spec_missing", Fault.SPEC, "The extension has no acceptance spec, so nothing exercises it."
)
TOOL_NOT_CALLED = Code(
    "tool_not_called", Fault.EXTENSION, "A tool was asked for and was not called, or could not be."
)
TOOL_RESULT_FAILED = Code(
    "tool_result_failed", Fault.EXTENSION, "A tool was called and failed, or says that it failed."
)
TOOL_RESULT_SCHEMA_MISSING = Code(
    "tool_result_schema_missing",
    Fault.EXTENSION,
    "A tool's result has not the fields that it must have, or they have the wrong type.",
)
RAIL_HOOK_NOT_OBSERVED = Code(
    "rail_hook_not_observed",
    Fault.EXTENSION,
    "A rail has no effect that can be observed, or its hooks fail or are never called.",
)
RAIL_TOOL_STATE_NOT_SHARED = Code(
    "rail_tool_state_not_shared",
    Fault.EXTENSION,
    "A tool does not return what a rail wrote in the same session.",
)
STATE_NOT_ISOLATED = Code(
    "state_not_isolated", Fault.EXTENSION, "One session sees or changes the state of another."
)
STATE_WRITE_NOT_ATOMIC = Code(
    "state_write_not_atomic",
    Fault.EXTENSION,
    "State is written so that a reader can meet half a file, or two writers lose what one wrote.",
)
STATE_SOURCE_NOT_ALLOWED = Code(
    "state_source_not_allowed",
    Fault.EXTENSION,
    "A tool takes state from where it must not: the context, the agent, its rails, module globals.",
)
RESULT_NONDETERMINISTIC = Code(
    "result_nondeterministic",
    Fault.EXTENSION,
    "The same call gave different results in fresh sessions.",
)
SCHEMA_REFUSED_BY_PROVIDER = Code(
    "schema_refused_by_provider",
    Fault.EXTENSION,
    "A real model API refuses the tool's name or parameters, though a scripted one accepts them.",
)
