"""Judges the rail tests: what a rail says it changes is really changed, before and after differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from verify_ext.harness.scripted_model import REQUESTS_OF_STEP
from verify_ext.kinds.harness_package.accept.plan import rail_step
from verify_ext.kinds.harness_package.accept.results import MISSING, field_of, settled
from verify_ext.kinds.harness_package.accept.subject import Run, at, words_of
from verify_ext.kinds.harness_package.acceptance import ANY, SESSION_ID, RailTest
from verify_ext.kinds.harness_package.places import place_of, same_class, trace_of
from verify_ext.model import Declared, Finding
from verify_ext.source import Spot

_STREAM_OF_HARNESS = frozenset({"answer", "llm_output", "llm_reasoning", "tracer_agent", "context.usage"})


def judge_rails(run: Run) -> Iterator[Finding]:
    """Judge every rail test, and every hook that raised or was never called."""
    yield from _raised(run)
    for number, test in enumerate(run.spec.rail_tests):
        part = _part(run, test)
        if part is not None:
            yield from _judge_test(run, number, test, part)


def _part(run: Run, test: RailTest) -> Declared | None:
    wanted = [part for part in run.rails if test.rail_name in (None, part.name)]
    return wanted[0] if wanted else None


def _raised(run: Run) -> Iterator[Finding]:
    """Find hooks that raise: the harness swallows it and answers as if nothing had happened."""
    said = set()
    for hook in run.hooks():
        part = _own(run, hook)
        if hook["error"] is None or part is None or (part.id, hook["event"]) in said:
            continue
        said.add((part.id, hook["event"]))
        error = hook["error"]
        finding = run.finding(
            "rail_hook_not_observed/hook-raised",
            place_of(run.extension, error) or at(part),
            part,
            class_name=part.name,
            event=hook["event"],
            error=words_of(error),
        )
        yield replace(finding, log=trace_of(run.extension, error), actual=words_of(error))


def _own(run: Run, hook: Mapping[str, Any]) -> Declared | None:
    named = {"class": str(hook["class"]), "module": str(hook["module"])}
    for part in run.rails:
        if same_class(named, run.class_of(part)):
            return part
    return None


def _judge_test(run: Run, number: int, test: RailTest, part: Declared) -> Iterator[Finding]:
    step = rail_step(number)
    error = run.record(step)["error"] or run.seen.observed["error"]
    if (error is not None and len(run.requests(step)) < REQUESTS_OF_STEP) or not run.requests(step):
        words = words_of(error) if error else "the model was not asked"
        place = (place_of(run.extension, error) if error else None) or at(part)
        rule = "rail_hook_not_observed/run-failed"
        yield run.finding(rule, place, part, class_name=part.name, error=words)
        return
    if any(hook["error"] is not None and _own(run, hook) is part for hook in run.hooks()):
        return  # it has been said, and everything else follows from it
    findings = [finding for judge in _OBSERVABLES for finding in judge(run, step, test, part)]
    if (
        test.must_observe_side_effect
        and not test.observables
        and not _changed_anything(run, step, test, part)
    ):
        findings.append(
            run.finding("rail_hook_not_observed/no-side-effect", at(part), part, class_name=part.name)
        )
    called = any(_own(run, hook) is part for hook in run.hooks())
    if findings and not called and all(finding.code == "rail_hook_not_observed" for finding in findings):
        findings = [run.finding("rail_hook_not_observed/never-called", at(part), part, class_name=part.name)]
    yield from findings


# --- the observables -----------------------------------------------------------------------


def state_path(run: Run, step: str, test: RailTest) -> str:
    """Return where the state file of a test is, below the extension."""
    return str(test.state_file).replace(SESSION_ID, run.steps[step].session).removeprefix("./")


def _state_file(run: Run, step: str, test: RailTest, part: Declared) -> Iterator[Finding]:
    if test.state_file is None:
        return
    path = state_path(run, step, test)
    words: dict[str, Any] = {"path": _named(test.state_file), "class_name": part.name}
    text = run.found.state.get(path)
    if path in run.extension.files:
        rule = "rail_hook_not_observed/state-file-shipped"
        yield run.finding(rule, at(part), part, verified=True, **words)
        return
    if text is None:
        finding = run.finding(
            "rail_hook_not_observed/state-file-missing", at(part), part, verified=True, **words
        )
        there = ", ".join(sorted({settled(name) for name in run.found.state})[:20]) or "nothing"
        yield replace(finding, expected=_named(test.state_file), actual=f"in .state: {there}")
        return
    try:
        state = json.loads(text)
    except (ValueError, RecursionError) as problem:
        if test.json_contains or path.endswith(".json"):
            rule = "rail_hook_not_observed/state-file-not-json"
            yield run.finding(rule, at(part), part, verified=True, **words, problem=str(problem)[:200])
        return
    for name, wanted in test.json_contains.items():
        yield from _state_field(run, part, words, name, wanted, field_of(state, name))


def _named(path: str) -> str:
    return path.removeprefix("./")


def _state_field(
    run: Run, part: Declared, words: dict[str, Any], name: str, wanted: Any, value: Any
) -> Iterator[Finding]:
    if value is MISSING or (wanted is ANY and value is None):
        rule = "rail_hook_not_observed/state-field-missing"
        yield run.finding(rule, at(part), part, verified=True, **words, field=name)
    elif wanted is not ANY and value != wanted:
        rule = "rail_hook_not_observed/state-field-differs"
        shown: dict[str, Any] = {"expected": repr(wanted)[:200], "actual": repr(value)[:200]}
        yield run.finding(rule, at(part), part, verified=True, **words, field=name, **shown)


def _prompt(run: Run, step: str, test: RailTest, part: Declared) -> Iterator[Finding]:
    before = "" if run.bare is None else _read(run.bare)
    after = "\n".join(_read(request) for request in run.requests(step))
    for text in test.prompt_contains:
        if text in before:
            yield _always_there(run, test, f"{text!r} in the prompt")
        elif text not in after.replace(run.steps[step].query, ""):
            rule = "rail_hook_not_observed/prompt-unchanged"
            yield run.finding(rule, at(part), part, verified=True, text=text)


def _read(request: Any) -> str:
    """Return all that the model reads of a request but the results of tools."""
    return "\n".join([request.system, *request.texts("user"), *request.texts("developer")])


def _always_there(run: Run, test: RailTest, what: str) -> Finding:
    place = Spot(test.location)
    return run.finding(
        "acceptance_spec_invalid/observable-always-there", place, None, verified=True, what=what
    )


def _hidden_tools(run: Run, step: str, test: RailTest, part: Declared) -> Iterator[Finding]:
    executed = {execution["name"] for execution in run.record(step)["executions"]}
    offered = {name for request in run.requests(step) for name in request.offered}
    called = {call.tool_name for call in test.calls}
    known = set(run.tools) | _tools_of_harness(run)
    for tool in test.hidden_tools:
        refused = tool in called and tool in offered and tool not in executed
        if tool not in known and tool not in offered:
            yield _always_there(run, test, f"no tool {tool!r}")
        elif tool in offered and not refused:
            rule = "rail_hook_not_observed/tool-not-hidden"
            yield run.finding(rule, at(part), part, verified=True, tool=tool, class_name=part.name)


def _tools_of_harness(run: Run) -> set[str]:
    """Return the tools that the harness offers by itself, with and without skills."""
    seen = [run.bare] if run.bare is not None else []
    if run.usual is not None:
        seen += [request for requests in run.usual.transcript.values() for request in requests]
    return {name for request in seen for name in request.offered}


def _rewritten(run: Run, step: str, test: RailTest, part: Declared) -> Iterator[Finding]:
    given = {call.tool_name: call.arguments or {} for call in test.calls}
    for tool, wanted in test.rewritten_arguments.items():
        got = [one["arguments"] for one in run.record(step)["executions"] if one["name"] == tool]
        if _holds(given.get(tool, {}), wanted):
            yield _always_there(run, test, f"what {tool} must get")
        elif not any(_holds(_object(arguments), wanted) for arguments in got):
            rule = "rail_hook_not_observed/arguments-not-rewritten"
            shown = repr(got[0] if got else "nothing: it was not called")[:300]
            words: dict[str, Any] = {
                "tool": tool,
                "class_name": part.name,
                "expected": repr(dict(wanted))[:300],
            }
            yield run.finding(rule, at(part), part, actual=shown, **words)


def _object(arguments: Any) -> Mapping[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return {}
    return arguments if isinstance(arguments, Mapping) else {}


def _holds(arguments: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(name in arguments and arguments[name] == value for name, value in wanted.items())


def _stream(run: Run, step: str, test: RailTest, part: Declared) -> Iterator[Finding]:
    own = [chunk["text"] for chunk in run.record(step)["stream"] if chunk["type"] not in _STREAM_OF_HARNESS]
    for text in test.stream_contains:
        if not any(text in chunk for chunk in own):
            yield run.finding("rail_hook_not_observed/stream-unchanged", at(part), part, text=text)


def _steering(run: Run, step: str, test: RailTest, part: Declared) -> Iterator[Finding]:
    said = "\n".join(text for request in run.requests(step) for text in request.texts("user"))
    for text in test.steering_contains:
        if text not in said.replace(run.steps[step].query, ""):
            rule = "rail_hook_not_observed/steering-not-seen"
            yield run.finding(rule, at(part), part, verified=True, text=text)


_OBSERVABLES = (_state_file, _prompt, _hidden_tools, _rewritten, _stream, _steering)


def _changed_anything(run: Run, step: str, test: RailTest, part: Declared) -> bool:
    """Return whether a rail that names no observable visibly changed anything at all."""
    session = run.steps[step].session
    if any(session in name or session in text for name, text in run.found.state.items()):
        return True
    given = {call.tool_name: dict(call.arguments or {}) for call in test.calls}
    for execution in run.record(step)["executions"]:
        wanted = given.get(execution["name"])
        if wanted and _object(execution["arguments"]) != wanted:
            return True
    if any(chunk["type"] not in _STREAM_OF_HARNESS for chunk in run.record(step)["stream"]):
        return True
    return _changed_request(run, step)


def _changed_request(run: Run, step: str) -> bool:
    """Return whether what reaches the model differs by more than the query, the tools and the skills."""
    first = next(iter(run.requests(step)), None)
    if run.bare is None or first is None:
        return False
    if run.bare.offered - first.offered or set(run.tools) - first.offered:
        return True
    if any(part.type == "skill" for part in run.checked.components):
        return False  # the harness writes a section of its own for them
    users = first.texts("user")
    return first.system != run.bare.system or users != [run.steps[step].query]
