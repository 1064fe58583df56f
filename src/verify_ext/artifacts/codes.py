"""Codes of artifacts, from the seed "verify-ext" (失败归因, L3)."""

from __future__ import annotations

from verify_ext.codes import Code
from verify_ext.model import Fault

ARTIFACT_NOT_CREATED = Code(
    "artifact_not_created",
    Fault.EXTENSION,
    "The file that a tool says it made is not there, or is not where its user finds it.",
)
ARTIFACT_FORMAT_INVALID = Code(
    "artifact_format_invalid",
    Fault.EXTENSION,
    "A file is not of the format that it claims, or is damaged so that it will not open.",
)
ARTIFACT_PLACEHOLDER_OUTPUT = Code(
    "artifact_placeholder_output",
    Fault.EXTENSION,
    "A file is of its format and whole, but holds a placeholder instead of content.",
)
