"""Reads `acceptance.json` or `acceptance.yaml`: every problem at its line, all of them at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

from verify_ext.codes import Rule, Rules
from verify_ext.kinds.harness_package.acceptance import (
    ANY,
    OUTPUT_DIR,
    SESSION_ID,
    AcceptanceSpec,
    ArtifactClaim,
    RailTest,
    SkillTest,
    ToolCall,
    ToolTest,
)
from verify_ext.kinds.harness_package.acceptance_codes import (
    ACCEPTANCE_SPEC_INVALID,
    ACCEPTANCE_SPEC_MISSING,
)
from verify_ext.kinds.harness_package.contents import Contents
from verify_ext.kinds.harness_package.hints import did_you_mean, listed
from verify_ext.model import Declared, Finding, Layer, Severity
from verify_ext.source import Node, SourceError, Spot, parse_json, parse_yaml

NAMES = ("acceptance.json", "acceptance.yaml")
_LIMIT_BYTES = 256 * 1024
_FINDINGS_LIMIT = 50
_DESIGN = "docs/design.md, section 8"
_VACUOUS = "docs/design.md, section 6: vacuous specs"


def _rule(rule: str, message: str, remedy: str, why: str, source: str = _DESIGN) -> Rule:
    return Rule(
        code=ACCEPTANCE_SPEC_INVALID,
        rule=rule,
        layer=Layer.L3,
        message=message,
        remedy=remedy,
        why=why,
        source=source,
    )


RULES = Rules(
    Rule(
        code=ACCEPTANCE_SPEC_MISSING,
        rule="no-spec",
        layer=Layer.L3,
        severity=Severity.NOTICE,
        message="there is no acceptance spec, so nothing was called{hint}",
        remedy="Write one with `verify-ext init {path}` and adapt it.",
        why="That a package loads does not say that its tools work.",
        source=_DESIGN,
    ),
    _rule(
        "unreadable",
        "the acceptance spec cannot be read: {problem}",
        "Make it an ordinary UTF-8 file of at most 256 KiB.",
        "Without a spec nothing is exercised.",
    ),
    _rule(
        "syntax",
        "the acceptance spec cannot be parsed: {problem}",
        "Correct the syntax at this place.",
        "Without a spec nothing is exercised.",
    ),
    _rule(
        "two-specs",
        "there are acceptance.json and acceptance.yaml",
        "Keep one of them.",
        "Which of them counts would be a guess.",
    ),
    _rule(
        "duplicate-key",
        "the key {key} is there twice",
        "Keep one of them.",
        "One of the two is silently ignored.",
    ),
    _rule(
        "unknown-field",
        "{field} is no field of {where}{hint}",
        "Correct or remove it; the schema is schemas/acceptance.schema.json.",
        "What is misspelled is not asserted.",
    ),
    _rule(
        "field-missing",
        "{where} has no {field}",
        "Add it.",
        "Without it the test cannot be run.",
    ),
    _rule(
        "schema",
        "{where} is wrong: {problem}",
        "Write what the schema expects; it is schemas/acceptance.schema.json.",
        "What has the wrong shape cannot be asserted.",
    ),
    _rule(
        "other-tool",
        "the test is of {tool} and must call {other}",
        "Write the same name in tool_name and must_call_tool.",
        "A test asserts of the tool that it calls.",
    ),
    _rule(
        "component-unknown",
        "the manifest declares no {name}{hint}",
        "Name what the manifest declares, by its class or the skill's folder.",
        "A test of what is not there proves nothing.",
    ),
    _rule(
        "rail-not-named",
        "there are several rails, and the test does not say which it is about",
        "Add rail_name with the rail's class.",
        "The effect of one rail would pass for that of another.",
    ),
    _rule(
        "state-file-place",
        "{path} is no file below .state/",
        "Name the session's file, such as .state/<session_id>.json.",
        "State lies below .state/ of the extension (seed, 状态交互规则).",
    ),
    _rule(
        "state-file-not-per-session",
        "{path} is the same in every session",
        "Put <session_id> into the name: .state/<session_id>.json.",
        "State is kept apart by session (seed, 状态交互规则), and what was there before must not count.",
    ),
    _rule(
        "placeholder-unknown",
        "{name} is no placeholder{hint}",
        "Write <output_dir> or <session_id>.",
        "It would be taken literally.",
    ),
    _rule(
        "format-and-path",
        "the path {path} ends otherwise than a {format} does",
        "Let the suffix fit the format.",
        "The tool is asked for one format and tested for another.",
    ),
    _rule(
        "vacuous",
        "{what} proves nothing: {problem}",
        "{remedy}",
        "A spec that passes whatever the extension does is worse than none.",
        _VACUOUS,
    ),
)


def read_acceptance(
    contents: Contents, components: tuple[Declared, ...], manifest: Spot
) -> tuple[AcceptanceSpec | None, tuple[Finding, ...]]:
    """Read the acceptance spec of a package; None with findings that say why there is none.

    `components` are those that the manifest declares. Raises nothing for what is in the package.
    """
    there = [name for name in NAMES if contents.is_file(name)]
    if not there:
        near = [name for name in contents.names(".") if re.fullmatch(r"acceptance\.(json|ya?ml)", name, re.I)]
        hint = (
            f" ({near[0]} is not read: it must be called acceptance.json or acceptance.yaml)" if near else ""
        )
        words: dict[str, Any] = {"hint": hint, "path": contents.extension.path}
        return None, (RULES.finding("acceptance_spec_missing/no-spec", manifest, **words),)
    if len(there) > 1:
        return None, (RULES.finding("acceptance_spec_invalid/two-specs", contents.spot(there[1])),)
    try:
        source = contents.read(there[0], limit=_LIMIT_BYTES)
        root = parse_json(source) if there[0].endswith(".json") else parse_yaml(source)
        plain = root.plain()
    except SourceError as error:
        rule = "syntax" if error.reason in ("syntax", "recursive", "too-deep") else "unreadable"
        return None, (RULES.finding(f"acceptance_spec_invalid/{rule}", error.place, problem=str(error)),)
    findings = tuple(_schema_findings(root, plain))
    if findings:
        return None, findings[:_FINDINGS_LIMIT]
    spec = _Reader(root, there[0]).spec()
    return spec, tuple(_Meaning(spec, root, components).findings())[:_FINDINGS_LIMIT]


# --- the shape -----------------------------------------------------------------------------


@cache
def _schema() -> dict[str, Any]:
    text = resources.files("verify_ext.schemas").joinpath("acceptance.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _schema_findings(root: Node, plain: Any) -> Iterator[Finding]:
    import jsonschema

    for node in root.walk():
        for key in node.repeated_keys() if node.kind == "mapping" else ():
            yield RULES.finding("acceptance_spec_invalid/duplicate-key", key, key=str(key.value)[:100])
    errors = jsonschema.Draft202012Validator(_schema()).iter_errors(plain)
    for error in sorted(errors, key=lambda error: [str(step) for step in error.absolute_path]):
        yield from _of_error(root, error)


def _of_error(root: Node, error: Any) -> Iterator[Finding]:
    node, where = _node_at(root, error.absolute_path), _where(error.absolute_path)
    if error.validator == "additionalProperties" and isinstance(error.instance, dict) and node is not None:
        known = error.schema.get("properties", {})
        for name in error.instance:
            if name not in known and known:
                hint = did_you_mean(str(name), known) or f"; known are {listed(known)}"
                place = node.key(name) or node
                words: dict[str, Any] = {"field": repr(name), "where": where, "hint": hint}
                yield RULES.finding("acceptance_spec_invalid/unknown-field", place, **words)
        if known:
            return
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        for name in missing[:1]:
            yield RULES.finding(
                "acceptance_spec_invalid/field-missing", node or root, where=where, field=name
            )
        return
    problem = error.message if len(error.message) <= 300 else f"{error.message[:297]}…"
    yield RULES.finding(
        "acceptance_spec_invalid/schema",
        node or root,
        where=where,
        problem=problem,
        expected=str(error.validator_value)[:200],
        actual=(node or root).describe(),
    )


def _where(path: Any) -> str:
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return steps.lstrip(".") or "the spec"


def _node_at(root: Node, path: Any) -> Node | None:
    node: Node | None = root
    for step in path:
        if node is None:
            return None
        below = node.elements[step : step + 1] if isinstance(step, int) else (node.get(step),)
        node = next(iter(below), None)
    return node


# --- the nouns -----------------------------------------------------------------------------


class _Reader:
    """Makes the spec of a tree whose shape is right."""

    def __init__(self, root: Node, path: str) -> None:
        self._root = root
        self._path = path
        self._degraded = _plain(root, "allow_degraded", False)

    def spec(self) -> AcceptanceSpec:
        root = self._root
        return AcceptanceSpec(
            location=root.location,
            path=self._path,
            name=_plain(root, "name", ""),
            components=tuple(_plain(root, "components", ())),
            prewarm_queries=tuple(_plain(root, "prewarm_queries", ())),
            tool_tests=tuple(self._tool_test(node) for node in _elements(root, "tool_tests")),
            rail_tests=tuple(self._rail_test(node) for node in _elements(root, "rail_tests")),
            skill_tests=tuple(self._skill_test(node) for node in _elements(root, "skill_tests")),
        )

    def _tool_test(self, node: Node) -> ToolTest:
        asserted = node.get("assertions")
        return ToolTest(
            location=node.location,
            query=_plain(node, "query", ""),
            call=_call(node),
            effect=_plain(node, "effect", None),
            allow_degraded=_plain(node, "allow_degraded", self._degraded),
            success=_plain(asserted, "tool_result_success", True),
            required_fields=_named(_plain(asserted, "required_fields", ()), None),
            state_fields=tuple(_plain(asserted, "state_fields", ())),
            artifacts=tuple(_artifact(each) for each in _elements(node, "artifacts")),
        )

    def _rail_test(self, node: Node) -> RailTest:
        asserted = node.get("assertions")
        return RailTest(
            location=node.location,
            query=_plain(node, "query", ""),
            rail_name=_plain(node, "rail_name", None),
            calls=tuple(_call(each) for each in _elements(node, "calls")),
            state_file=_plain(asserted, "observable_state_file", None),
            json_contains=_named(_plain(asserted, "json_contains", ()), ANY),
            prompt_contains=tuple(_plain(asserted, "prompt_contains", ())),
            hidden_tools=tuple(_plain(asserted, "hidden_tools", ())),
            rewritten_arguments=_plain(asserted, "rewritten_arguments", {}),
            stream_contains=tuple(_plain(asserted, "stream_contains", ())),
            steering_contains=tuple(_plain(asserted, "steering_contains", ())),
            must_observe_side_effect=_plain(asserted, "must_observe_side_effect", False),
        )

    def _skill_test(self, node: Node) -> SkillTest:
        return SkillTest(
            location=node.location,
            query=_plain(node, "query", ""),
            skill_name=_plain(node, "skill_name", None),
            answer_contains_any=tuple(_plain(node.get("assertions"), "answer_contains_any", ())),
        )


def _plain(node: Node | None, key: str, default: Any) -> Any:
    below = node.get(key) if node is not None else None
    return default if below is None else below.plain()


def _elements(node: Node, key: str) -> tuple[Node, ...]:
    below = node.get(key)
    return below.elements if below is not None else ()


def _call(node: Node) -> ToolCall:
    arguments = _plain(node, "arguments", None)
    return ToolCall(location=node.location, tool_name=_plain(node, "tool_name", ""), arguments=arguments)


def _artifact(node: Node) -> ArtifactClaim:
    return ArtifactClaim(
        location=node.location,
        path_field=_plain(node, "path_field", "path"),
        format=_plain(node, "format", None),
        required_fields=tuple(_plain(node, "required_fields", ())),
        min_bytes=_plain(node, "min_bytes", 1),
    )


def _named(value: Any, default: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else dict.fromkeys(value, default)


# --- the meaning ---------------------------------------------------------------------------

_TAG = re.compile(r"<([a-z]+(?:[_ -][a-z]+)*)>", re.I)
_OWN_TAGS = {OUTPUT_DIR.strip("<>"), SESSION_ID.strip("<>")}


class _Meaning:
    """Finds what a spec of the right shape gets wrong, or does not prove."""

    def __init__(self, spec: AcceptanceSpec, root: Node, components: tuple[Declared, ...]) -> None:
        self._spec = spec
        self._root = root
        self._components = components

    def findings(self) -> Iterator[Finding]:
        yield from self._named_components()
        yield from self._unproved()
        for number, tool in enumerate(self._spec.tool_tests):
            yield from self._tool(tool, f"tool_tests[{number}]", number)
        for number, rail in enumerate(self._spec.rail_tests):
            yield from self._rail(rail, f"rail_tests[{number}]", number)
        for number, skill in enumerate(self._spec.skill_tests):
            node = self._node("skill_tests", number)
            yield from self._known("skill", skill.skill_name, node.get("skill_name") or node)
        yield from self._placeholders()

    def _node(self, section: str, number: int) -> Node:
        return _elements(self._root, section)[number]

    def _names(self, kind: str) -> list[str]:
        return [part.name for part in self._components if part.type == kind]

    def _known(self, kind: str, name: str | None, place: Node) -> Iterator[Finding]:
        if name is not None and name not in self._names(kind):
            hint = did_you_mean(name, self._names(kind)) or f"; it declares {listed(self._names(kind))}"
            rule = "acceptance_spec_invalid/component-unknown"
            yield RULES.finding(rule, place, name=f"{kind} {name!r}", hint=hint)

    def _named_components(self) -> Iterator[Finding]:
        for node in _elements(self._root, "components"):
            kind, colon, name = str(node.value).partition(":")
            if colon:
                yield from self._known(kind, name, node)
            elif not self._names(kind):
                hint = f"; it declares {listed(sorted({part.type for part in self._components}))}"
                yield RULES.finding("acceptance_spec_invalid/component-unknown", node, name=kind, hint=hint)

    def _unproved(self) -> Iterator[Finding]:
        """Find declared components that no test is about (tools by name only when they are loaded)."""
        spec = self._spec
        if self._names("tool") and not spec.tool_tests:
            yield self._vacuous(self._root, "the spec", "no test calls a tool", "Add tool_tests.")
        for name in self._names("rail"):
            if not any(test.rail_name in (None, name) for test in spec.rail_tests):
                problem = f"no test is about the rail {name}"
                yield self._vacuous(self._root, "the spec", problem, "Add a test to rail_tests.")
        for name in self._names("skill"):
            if not any(test.skill_name in (None, name) for test in spec.skill_tests):
                problem = f"no test is about the skill {name}"
                yield self._vacuous(self._root, "the spec", problem, "Add a test to skill_tests.")
        if not self._components or not (spec.tool_tests or spec.rail_tests or spec.skill_tests):
            yield self._vacuous(self._root, "the spec", "it has no tests", "Add tests.")

    def _vacuous(self, place: Node, what: str, problem: str, remedy: str) -> Finding:
        rule = "acceptance_spec_invalid/vacuous"
        return RULES.finding(rule, place, what=what, problem=problem, remedy=remedy)

    def _tool(self, test: ToolTest, where: str, number: int) -> Iterator[Finding]:
        node = self._node("tool_tests", number)
        asserted = node.get("assertions")
        other = asserted.get("must_call_tool") if asserted is not None else None
        if other is not None and other.value != test.call.tool_name:
            words: dict[str, Any] = {"tool": test.call.tool_name, "other": other.value}
            yield RULES.finding("acceptance_spec_invalid/other-tool", other, **words)
        if not self._names("tool"):
            yield from self._known("tool", test.call.tool_name, node.get("tool_name") or node)
        if test.state_fields and not self._names("rail"):
            problem = "no rail is declared that could write state"
            yield self._vacuous(node, f"state_fields of {where}", problem, "Remove state_fields.")
        elif test.state_fields and not self._spec.prewarm_queries:
            problem = "nothing prepares the session"
            yield self._vacuous(node, f"state_fields of {where}", problem, "Add prewarm_queries.")
        yield from self._formats(test, node)

    def _formats(self, test: ToolTest, node: Node) -> Iterator[Finding]:
        """Find a path argument whose suffix is of another format than the one that is asked for."""
        from verify_ext.kinds.harness_package.accept.results import suffix_format

        formats = {claim.format for claim in test.artifacts if claim.format is not None}
        paths = [value for value in (test.call.arguments or {}).values() if isinstance(value, str)]
        paths = [path for path in paths if OUTPUT_DIR in path and suffix_format(path)]
        if len(formats) == 1 and len(paths) == 1 and suffix_format(paths[0]) not in formats:
            words: dict[str, Any] = {"path": paths[0], "format": next(iter(formats))}
            place = node.get("arguments") or node
            yield RULES.finding("acceptance_spec_invalid/format-and-path", place, **words)

    def _rail(self, test: RailTest, where: str, number: int) -> Iterator[Finding]:
        node = self._node("rail_tests", number)
        yield from self._known("rail", test.rail_name, node.get("rail_name") or node)
        if test.rail_name is None and len(self._names("rail")) > 1:
            yield RULES.finding("acceptance_spec_invalid/rail-not-named", node)
        if not test.observables and not test.must_observe_side_effect:
            remedy = "Assert what the rail changes, or must_observe_side_effect: true."
            yield self._vacuous(node, where, "it asserts nothing", remedy)
        if test.json_contains and test.state_file is None:
            remedy = "Add observable_state_file."
            yield self._vacuous(node, f"json_contains of {where}", "no state file is named", remedy)
        asserted = node.get("assertions")
        file = asserted.get("observable_state_file") if asserted is not None else None
        if file is not None:
            yield from self._state_file(file)

    def _state_file(self, node: Node) -> Iterator[Finding]:
        path = str(node.value).removeprefix("./")
        steps = path.split("/")
        if steps[0] != ".state" or len(steps) < 2 or ".." in steps or "" in steps or "\\" in path:
            yield RULES.finding("acceptance_spec_invalid/state-file-place", node, path=repr(node.value))
        elif SESSION_ID not in path:
            yield RULES.finding("acceptance_spec_invalid/state-file-not-per-session", node, path=path)

    def _placeholders(self) -> Iterator[Finding]:
        """Find what is close to a placeholder and none; other words in angle brackets are meant so."""
        for node in self._root.walk():
            for tag in _TAG.findall(node.text() or ""):
                hint = did_you_mean(tag.lower().replace("-", "_").replace(" ", "_"), _OWN_TAGS)
                if tag not in _OWN_TAGS and hint:
                    rule = "acceptance_spec_invalid/placeholder-unknown"
                    yield RULES.finding(rule, node, name=f"<{tag}>", hint=hint)
