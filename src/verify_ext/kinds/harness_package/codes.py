"""Codes that both the static check and the living harness report."""

from __future__ import annotations

from verify_ext.codes import Code
from verify_ext.model import Fault

ENTRY_POINT_NOT_ALLOWED = Code(
    "entry_point_not_allowed",
    Fault.EXTENSION,
    "The manifest names an installed entry point instead of a class of the package.",
)
MODULE_IMPORT_FAILED = Code(
    "module_import_failed", Fault.EXTENSION, "A module that the manifest declares cannot be imported."
)
CLASS_INIT_FAILED = Code(
    "class_init_failed",
    Fault.EXTENSION,
    "A class that the manifest declares cannot be constructed, or its tool card is not usable.",
)
