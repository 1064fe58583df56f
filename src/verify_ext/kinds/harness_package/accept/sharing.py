"""Judges state: shared by rail and tool of one session, seen by no other, written so that it lasts.

What is compared are results of the same call in sessions that differ in one thing (plan.py); what
moves from call to call by itself is taken out first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from verify_ext.kinds.harness_package.accept.files import STATE_FOLDER
from verify_ext.kinds.harness_package.accept.plan import AT_ONCE, rail_step, tool_step
from verify_ext.kinds.harness_package.accept.rails import state_path
from verify_ext.kinds.harness_package.accept.results import MISSING, Result, field_of, result_of_step, settled
from verify_ext.kinds.harness_package.accept.subject import Run, at
from verify_ext.kinds.harness_package.acceptance import ToolTest
from verify_ext.model import Declared, Finding
from verify_ext.source import line_spot

_VOLATILE = ("path", "absolute_path", "output_path", "file_path", "size_bytes")
_LOCKS = (".lock", ".lck", ".tmp")


def judge_sharing(run: Run, *, rails_failed: bool) -> Iterator[Finding]:
    """Judge what results say of state, and how state was written.

    Where the rails failed, it follows that a tool does not find what they would have written.
    """
    for number, test in enumerate(run.spec.tool_tests):
        part = run.tools.get(test.call.tool_name)
        if part is not None:
            if not rails_failed:
                yield from _judge_test(run, number, test, part)
            yield from _judge_repeats(run, number, test, part)
    yield from _in_place(run)
    yield from _shared_files(run)
    yield from _lost_updates(run)


def _judge_test(run: Run, number: int, test: ToolTest, part: Declared) -> Iterator[Finding]:
    step, name = tool_step(number), test.call.tool_name
    fresh, warm, other, apart = (
        _fields(result_of_step(run.seen, f"{step}{below}", name))
        for below in ("/fresh", "", "/other", "/apart")
    )
    if fresh is None or warm is None or other is None:
        return  # nothing prepares a session, or what went wrong has been said
    compared = test.state_fields or _common(fresh, warm, other)
    reads = _state_reads(run, step)
    changed = [field for field in compared if _at(warm, field) != _at(fresh, field)]
    leaked = [field for field in changed if _at(other, field) == _at(warm, field)]
    for field in leaked[:1]:
        rule = "state_not_isolated/seen-by-other-session"
        yield run.finding(rule, at(part), part, name=name, field=field)
    missing = [field for field in test.state_fields if field not in changed]
    if missing or (reads and not changed):
        yield _not_shared(run, step, test, part, missing, reads)
    elif changed and not leaked and apart is not None and _as(fresh, apart, changed):
        yield run.finding("state_source_not_allowed/kept-in-memory", at(part), part, name=name)


def _as(one: Mapping[str, Any], other: Mapping[str, Any], fields: list[str]) -> bool:
    return all(_at(one, field) == _at(other, field) for field in fields)


def _not_shared(
    run: Run, step: str, test: ToolTest, part: Declared, missing: list[str], reads: list[str]
) -> Finding:
    name, own = test.call.tool_name, run.steps[step].session
    if reads and not any(own in path for path in reads):
        rule = "rail_tool_state_not_shared/other-file"
        return run.finding(rule, at(part), part, name=name, path=settled(reads[0]))
    field = missing[0] if missing else "result"
    return run.finding("rail_tool_state_not_shared/not-returned", at(part), part, name=name, field=field)


def _fields(result: Result | None) -> dict[str, Any] | None:
    """Return the settled fields of a result, without those that differ from call to call by nature."""
    fields = None if result is None or result.error is not None else result.fields
    if fields is None:
        return None
    return {str(key): settled(value) for key, value in fields.items() if key not in _VOLATILE}


def _common(*results: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(sorted(set().union(*results)))


def _at(fields: Mapping[str, Any], name: str) -> Any:
    value = field_of(fields, name)
    return None if value is MISSING else value


def _state_reads(run: Run, step: str) -> list[str]:
    """Return which state files the tool itself opened for reading in a step, below the extension."""
    return [
        path
        for event in run.seen.observed["files"]
        if event["step"] == step and event["tool"] and event["how"] == "read"
        if (path := _state_name(run, event["path"])) and not path.endswith(_LOCKS)
    ]


def _state_name(run: Run, path: str) -> str | None:
    """Return a path of the job's folder as one below the extension, if it is in the state folder."""
    _, found, below = path.partition(f"{run.extension.name}/{STATE_FOLDER}/")
    return f"{STATE_FOLDER}/{below}" if found else None


def _judge_repeats(run: Run, number: int, test: ToolTest, part: Declared) -> Iterator[Finding]:
    """Compare the results of the same call in fresh sessions (--repeat)."""
    step, name = tool_step(number), test.call.tool_name
    first = _fields(result_of_step(run.seen, f"{step}/fresh", name))
    for below in (each for each in run.steps if each.startswith(f"{step}/repeat-")):
        again = _fields(result_of_step(run.seen, below, name))
        if first is None or again is None:
            continue
        differing = [field for field in _common(first, again) if _at(first, field) != _at(again, field)]
        if differing:
            field = differing[0]
            shown: dict[str, Any] = {
                "expected": repr(_at(first, field))[:300],
                "actual": repr(_at(again, field))[:300],
            }
            finding = run.finding("result_nondeterministic/differs", at(part), part, name=name, field=field)
            yield replace(finding, **shown)
            return


# --- how state is written ------------------------------------------------------------------


def _in_place(run: Run) -> Iterator[Finding]:
    """Find state that was opened for writing under the name by which it is read."""
    events = run.seen.observed["files"]
    moved = {event["from"] for event in events if event["how"] == "move"}
    said = set()
    for event in events:
        name = _state_name(run, event["path"])
        if event["how"] not in ("write", "create") or name is None or event["path"] in moved:
            continue
        if name.endswith(_LOCKS) or not run.found.state.get(name) or (event["file"], event["line"]) in said:
            continue
        said.add((event["file"], event["line"]))
        part = _part_of(run, event)
        place = line_spot(run.extension, event["file"], event["line"]) if event["file"] else None
        default = at(part) if part is not None else None
        where = place or default
        if where is not None:
            yield run.finding("state_write_not_atomic/written-in-place", where, part, path=settled(name))


def _part_of(run: Run, event: Mapping[str, Any]) -> Declared | None:
    """Return whose doing a file event is: the tool that was being called, else the only rail."""
    if event["tool"] in run.tools:
        return run.tools[event["tool"]]
    return run.rails[0] if len(run.rails) == 1 else None


def _shared_files(run: Run) -> Iterator[Finding]:
    """Find state files that more than one session wrote."""
    writers: dict[str, set[str]] = {}
    part_of: dict[str, Declared | None] = {}
    for event in run.seen.observed["files"]:
        name = _state_name(run, event["path"])
        step = run.steps.get(event["step"])
        if event["how"] in ("write", "create", "move") and name and step and run.found.state.get(name):
            writers.setdefault(name, set()).add(step.session)
            part_of[name] = _part_of(run, event)
    for name, sessions in sorted(writers.items()):
        if len(sessions) > 1 and not name.endswith(_LOCKS):
            part = part_of[name] or next(iter(run.rails), None) or next(iter(run.tools.values()))
            yield run.finding("state_not_isolated/shared-file", at(part), part, verified=True, path=name)


def _lost_updates(run: Run) -> Iterator[Finding]:
    """Compare the state that queries left one after the other with that of as many at the same time."""
    for number, test in enumerate(run.spec.rail_tests):
        step = rail_step(number)
        calm, busy = (f"{step}/{how}-0" for how in ("one-by-one", "at-once"))
        if calm not in run.steps or test.state_file is None:
            continue
        shapes = [_shape(run.found.state.get(state_path(run, each, test))) for each in (calm, busy)]
        part = next((part for part in run.rails if test.rail_name in (None, part.name)), None)
        if part is None or None in shapes or shapes[0] == shapes[1]:
            continue
        yield run.finding(
            "state_write_not_atomic/update-lost",
            at(part),
            part,
            verified=True,
            path=settled(test.state_file),
            count=AT_ONCE,
            expected=f"as one after the other: {shapes[0]}"[:300],
            actual=str(shapes[1])[:300],
        )


def _shape(text: str | None) -> Any:
    """Return what a state file counts: lengths of its arrays, its numbers; None if it is not JSON."""
    try:
        state = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    return _counted(state)


def _counted(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): counted for key, item in value.items() if (counted := _counted(item)) is not None}
    if isinstance(value, list):
        return len(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1_000 else None
