"""The plan of an acceptance run: which steps are taken, in which sessions, and what the model says.

Each test has sessions of its own. Where a rail is declared a tool test is taken four times over: in
a session that nothing prepared (`fresh`), in one that the prewarm queries prepared (the test itself),
at the same time in another one (`other`), and once more in the prepared session by a process that
knows of it only what is in files (`apart`). What these results share and do not share tells where
state comes from.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from verify_ext.harness.scripted_model import Turn
from verify_ext.kinds import Ask, Place
from verify_ext.kinds.harness_package.acceptance import (
    OUTPUT_DIR,
    SESSION_ID,
    AcceptanceSpec,
    RailTest,
    SkillTest,
    ToolCall,
    ToolTest,
)
from verify_ext.kinds.harness_package.judge import MANIFEST, classes_of
from verify_ext.model import Checked, Declared

BARE = "bare"
"""The step of an agent that has not loaded the package: what is there without it."""
HELLO = "Hello."
AT_ONCE = 3
"""How many queries are asked one after the other, and as many at the same time, of one session."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One query to one agent in one session, and what the scripted model calls in it."""

    id: str
    query: str
    session: str
    agent: str = "main"
    calls: tuple[ToolCall, ...] = ()
    turns: tuple[Turn, ...] = ()
    component: str | None = None
    stream: bool = False

    def output(self, place: Place) -> Path:
        """Where the files that this step asks for belong: a folder of its own."""
        return place.output / self.id.replace("/", "-")


Group = tuple[Step, ...]
"""Steps that are taken at the same time."""


def acceptance(checked: Checked) -> AcceptanceSpec | None:
    """Return the acceptance spec that the static check read, None if there is none."""
    spec = checked.facts.get("acceptance")
    return spec if isinstance(spec, AcceptanceSpec) else None


def ask_to_accept(checked: Checked, place: Place) -> Ask | None:
    """Ask for every step of the plan to be taken; None without an acceptance spec."""
    spec = acceptance(checked)
    if spec is None:
        return None
    groups = tuple(plan(spec, checked.components, place.repeat))
    place.output.mkdir()
    place.output.chmod(0o755)  # who measures how much a job wrote does so as its user
    for step in (step for group in groups for step in group):
        folder = step.output(place)
        folder.mkdir()
        folder.chmod(0o777)  # the job is another user, who knows the folder's name
    request = {
        "manifest": MANIFEST,
        "components": classes_of(checked),
        "groups": [[_asked(step, place) for step in group] for group in groups],
    }
    script = {step.id: _turns(step, place) for group in groups for step in group}
    return Ask(request=request, script=script)


def plan(spec: AcceptanceSpec, components: tuple[Declared, ...], repeat: int) -> Iterator[Group]:
    """Yield the groups of steps, in order."""
    yield (Step(id=BARE, query=HELLO, session="bare", agent="bare"),)
    sharing = bool(spec.prewarm_queries) and any(part.type == "rail" for part in components)
    apart = _apart(spec) if sharing else None
    for number, test in enumerate(spec.tool_tests):
        yield from _tool_steps(spec, number, test, sharing=sharing, apart=number == apart, repeat=repeat)
    for number, rail in enumerate(spec.rail_tests):
        yield from _rail_steps(number, rail)
    for number, skill in enumerate(spec.skill_tests):
        yield (_skill_step(number, skill, components),)


def tool_step(number: int) -> str:
    """Return the id of the step that a tool test is judged by; its other steps are below it."""
    return f"tool-{number}"


def rail_step(number: int) -> str:
    return f"rail-{number}"


def skill_step(number: int) -> str:
    return f"skill-{number}"


def _apart(spec: AcceptanceSpec) -> int | None:
    """Return which tool test is taken in a process apart: one that says it reads state, else the first."""
    tests = spec.tool_tests
    declared = (number for number, test in enumerate(tests) if test.state_fields)
    return next(declared, 0 if tests else None)


def _tool_steps(
    spec: AcceptanceSpec, number: int, test: ToolTest, *, sharing: bool, apart: bool, repeat: int
) -> Iterator[Group]:
    name = tool_step(number)

    def step(below: str, session: str, agent: str = "main") -> Step:
        return Step(id=f"{name}{below}", query=test.query, session=session, agent=agent, calls=(test.call,))

    if sharing or repeat > 1:
        yield (step("/fresh", f"{name}-fresh"),)
    for index, query in enumerate(spec.prewarm_queries):
        yield (Step(id=f"{name}/prewarm-{index}", query=query, session=name),)
    yield (step("", name), step("/other", f"{name}-other")) if sharing else (step("", name),)
    if apart:
        yield (step("/apart", name, "apart"),)
    for index in range(1, repeat):
        yield (step(f"/repeat-{index}", f"{name}-repeat-{index}"),)


def _rail_steps(number: int, test: RailTest) -> Iterator[Group]:
    name = rail_step(number)
    agent = "loop" if test.steering_contains else "main"

    def step(below: str, session: str) -> Step:
        return Step(id=f"{name}{below}", query=test.query, session=session, agent=agent, calls=test.calls)

    yield (replace(step("", name), stream=bool(test.stream_contains)),)
    if test.state_file is not None and agent == "main":
        for index in range(AT_ONCE):
            yield (step(f"/one-by-one-{index}", f"{name}-one-by-one"),)
        yield tuple(step(f"/at-once-{index}", f"{name}-at-once") for index in range(AT_ONCE))


def _skill_step(number: int, test: SkillTest, components: tuple[Declared, ...]) -> Step:
    """Have the model look at the list of skills, where there is one, and open those that are tested."""
    wanted = [part.name for part in components if part.type == "skill"]
    names = [test.skill_name] if test.skill_name else wanted
    opened = tuple(("skill_tool", {"skill_name": name}) for name in names)
    turns = (Turn(calls=(("list_skill", None), *opened)),)
    name = skill_step(number)
    return Step(id=name, query=test.query, session=name, turns=turns)


def _asked(step: Step, place: Place) -> dict[str, Any]:
    return {
        "id": step.id,
        "agent": step.agent,
        "session": step.session,
        "query": filled(step.query, step, place),
        "component": step.component,
        "stream": step.stream,
    }


def _turns(step: Step, place: Place) -> tuple[Turn, ...]:
    if step.turns or not step.calls:
        return step.turns
    calls = tuple((call.tool_name, filled(call.arguments, step, place)) for call in step.calls)
    return (Turn(calls=calls, output=str(step.output(place))),)


def filled(value: Any, step: Step, place: Place) -> Any:
    """Return plain data with the placeholders of a spec replaced by what they stand for in a step."""
    if isinstance(value, str):
        return value.replace(OUTPUT_DIR, os.fspath(step.output(place))).replace(SESSION_ID, step.session)
    if isinstance(value, Mapping):
        return {key: filled(item, step, place) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [filled(item, step, place) for item in value]
    return value
