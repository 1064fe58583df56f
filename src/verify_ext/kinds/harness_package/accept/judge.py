"""Judges an acceptance run: tools, rails, skills, state, and what was written where nobody asked."""

from __future__ import annotations

import os
from collections.abc import Iterator

from verify_ext.kinds import Seen
from verify_ext.kinds.harness_package.accept.plan import acceptance, plan
from verify_ext.kinds.harness_package.accept.rails import judge_rails
from verify_ext.kinds.harness_package.accept.sharing import judge_sharing
from verify_ext.kinds.harness_package.accept.skills import judge_skills
from verify_ext.kinds.harness_package.accept.subject import Run, at
from verify_ext.kinds.harness_package.accept.tools import judge_tools
from verify_ext.model import Artifact, Checked, Declared, Extension, Finding
from verify_ext.source import Spot

_RAIL_FAILED = frozenset(
    f"rail_hook_not_observed/{rule}" for rule in ("hook-raised", "never-called", "run-failed")
)


def judge_acceptance(
    extension: Extension, checked: Checked, seen: Seen, usual: Seen | None
) -> Iterator[Finding | Artifact]:
    """Judge what was seen of an acceptance run."""
    spec = acceptance(checked)
    assert spec is not None  # without one there is no job
    repeat = 1 + max(
        (int(step.rpartition("-")[2]) for step in seen.transcript if "/repeat-" in step), default=0
    )
    steps = {step.id: step for group in plan(spec, checked.components, repeat) for step in group}
    run = Run(extension, checked, spec, steps, seen, usual)
    yield from judge_tools(run)
    of_rails = list(judge_rails(run))
    yield from of_rails
    yield from judge_sharing(run, rails_failed=any(finding.id in _RAIL_FAILED for finding in of_rails))
    yield from judge_skills(run)
    yield from _strays(run)


def _strays(run: Run) -> Iterator[Finding]:
    """Find files that were left where nobody asked for them; of each tool or rail the first few."""
    counts: dict[str | None, int] = {}
    for path in run.found.stray:
        part = _writer(run, path)
        key = part.id if part is not None else None
        counts[key] = counts.get(key, 0) + 1
        if counts[key] > 3:
            continue
        shown = path.replace(f"package/{run.extension.name}/", "<extension>/")
        place = at(part) if part is not None else Spot(run.checked.location)
        what = part.name if part is not None else run.extension.name
        yield run.finding(
            "artifact_not_created/written-elsewhere", place, part, verified=True, what=what, path=shown
        )


def _writer(run: Run, path: str) -> Declared | None:
    """Return who opened a file for writing, as far as its own process tells."""
    for event in run.seen.observed["files"]:
        if os.path.normpath(event["path"]) == path and event["how"] != "read":
            return run.tools.get(event["tool"] or "")
    tools = list(run.tools.values())
    return tools[0] if len(tools) == 1 and not run.rails else None
