"""Judges the skill tests: the model was told of the skill with its own description, and can open it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from verify_ext.kinds.harness_package.accept.plan import skill_step
from verify_ext.kinds.harness_package.accept.subject import Run, at, words_of
from verify_ext.kinds.harness_package.acceptance import SkillTest
from verify_ext.model import Declared, Finding
from verify_ext.source import SourceError, read_source

CANARY_SKILL = "canary-skill"
_COMPARED = 200
"""Characters of a description that must reach the model: a prompt may cut what is long."""


def judge_skills(run: Run) -> Iterator[Finding]:
    """Judge every skill test: each declared skill, or the one that it names."""
    said = set()
    for number, test in enumerate(run.spec.skill_tests):
        for part in run.checked.components:
            if part.type != "skill" or test.skill_name not in (None, part.name):
                continue
            for finding in _judge_one(run, number, test, part):
                if (finding.id, part.id) not in said:
                    said.add((finding.id, part.id))
                    yield finding


def _judge_one(run: Run, number: int, test: SkillTest, part: Declared) -> Iterator[Finding]:
    step = skill_step(number)
    told = _told(run, step)
    description = _plain(part.facts.get("description") or "")
    if part.name not in told or description[:_COMPARED] not in told or not description:
        finding = run.finding("skill_not_loaded/not-in-prompt", at(part), part, verified=True, name=part.name)
        yield replace(finding, expected=description[:_COMPARED] or "its own description", actual=told[-300:])
        return
    failed = _opening_failed(run, step, part)
    if failed is not None and _opens_usually(run):
        yield run.finding("skill_not_loaded/not-opened", at(part), part, name=part.name, problem=failed)
        return
    texts = test.answer_contains_any
    own = _plain(f"{part.name} {description} {_body(run, part)}")
    if texts and not any(_plain(text) in own for text in texts):
        shown = ", ".join(repr(text) for text in texts)[:300]
        rule = "skill_not_loaded/text-missing"
        yield run.finding(rule, at(part), part, verified=True, name=part.name, texts=shown)


def _told(run: Run, step: str) -> str:
    """Return what the model is told of skills: its prompt, and what list_skill brought."""
    requests = run.requests(step)
    prompt = "\n".join(request.system for request in requests)
    users = "\n".join(text for request in requests for text in request.texts("user"))
    listed = [call["message"] for call in run.record(step)["calls"] if call["name"] == "list_skill"]
    return _plain("\n".join([prompt, users.replace(run.steps[step].query, ""), *listed]))


def _opening_failed(run: Run, step: str, part: Declared) -> str | None:
    """Return why skill_tool did not open a skill; None if it did, or was not asked to."""
    executions, calls = (
        [one for one in run.record(step)[kind] if one["name"] == "skill_tool"]
        for kind in ("executions", "calls")
    )
    for execution, call in zip(executions, calls, strict=False):
        arguments = execution["arguments"]
        if isinstance(arguments, dict) and arguments.get("skill_name") == part.name:
            value = call["result"]["value"]
            if call["error"] is not None:
                return words_of(call["error"])
            if isinstance(value, dict) and value.get("success") is False:
                return str(value.get("error"))[:300]
    return None


def _opens_usually(run: Run) -> bool:
    """Return whether our own known-good skill was opened in this harness: else the extension is not to blame.

    Nor is the environment, for most packages have no skill: the canary itself need not open its own.
    """
    if run.usual is None:
        return False
    usual = replace(run, seen=run.usual, usual=None)
    canary = Declared(type="skill", name=CANARY_SKILL, location=run.checked.location)
    return _opening_failed(usual, skill_step(0), canary) is None


def _body(run: Run, part: Declared) -> str:
    """Return the text of a skill's own file."""
    file = f"{part.facts['path']}/SKILL.md"
    try:
        return read_source(run.extension.root / file, run.extension.shown(file)).text
    except SourceError:  # it was read before; L1 has said what is wrong with it
        return ""


def _plain(text: str) -> str:
    return " ".join(text.split())
