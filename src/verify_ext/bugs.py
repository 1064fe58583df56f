"""Our own bugs: said as such, wherever they happen, and never blamed on an extension."""

from __future__ import annotations

import traceback

from verify_ext.codes import VERIFIER_ERROR, Rule, Rules
from verify_ext.model import Finding
from verify_ext.source import file_spot

RULES = Rules(
    Rule(
        code=VERIFIER_ERROR,
        rule="unexpected",
        layer=None,
        message="verify-ext itself failed: {problem}",
        remedy="Report this to verify-ext with the log. It says nothing about the extension.",
        why="Nothing was judged here; everything else was.",
        source="docs/design.md, section 6",
    ),
)


def unexpected(error: BaseException) -> Finding:
    """Return the finding for a bug of ours."""
    return RULES.finding(
        "verifier_error/unexpected",
        file_spot("."),
        problem=f"{type(error).__name__}: {error}",
        log="".join(traceback.format_exception(error))[-6000:],
    )
