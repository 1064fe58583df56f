"""Turns what the jobs of a harness package saw into findings.

The trusted half: `observed` comes from a process that the extension shares, so every name and
line in it is checked against what the extension holds before it is shown as a place.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from verify_ext.kinds import Ask, Place, Seen
from verify_ext.kinds.harness_package.judge_rules import RULES
from verify_ext.kinds.harness_package.places import (
    OWN_PREFIX,
    RUNTIME_PREFIX,
    card_place,
    is_own_module,
    place_of,
    same_class,
    trace_of,
)
from verify_ext.kinds.harness_package.provider_rules import judge_provider
from verify_ext.model import Checked, Declared, Extension, Finding, Provenance
from verify_ext.source import Spot

MANIFEST = "harness_config.yaml"
FALLBACK_DESCRIPTION = "Skill located in "
"""What openjiuwen shows the model when it could not read a skill's own description."""


# --- L1: imported and constructed ----------------------------------------------------------


def ask_to_construct(checked: Checked, place: Place) -> Ask | None:
    """Ask for every declared rail and tool to be imported and constructed."""
    components = classes_of(checked)
    return Ask(request={"components": components}) if components else None


def classes_of(checked: Checked) -> list[dict[str, Any]]:
    """Return the declared rails and tools as jobs are asked for them."""
    return [
        {"id": part.id, "type": part.type, "module": part.facts["module"], "class": part.facts["class"]}
        for part in checked.components
        if part.type in ("rail", "tool")
    ]


def judge_construct(
    extension: Extension, checked: Checked, seen: Seen, baseline: Seen | None
) -> Iterator[Finding]:
    """Judge imports, constructors and tool cards."""
    declared = {part.id: part for part in checked.components}
    items = {item["id"]: item for item in seen.observed["components"] if item["id"] in declared}
    for part in checked.components:
        if part.type not in ("rail", "tool"):
            continue
        item = items.get(part.id)
        if item is None:
            yield _finding("extension_crashed/component-not-reported", part, what=part.id)
        elif item["error"] is not None:
            yield _construct_error(extension, part, item["error"])
        elif part.type == "rail":
            if not item["is_rail"]:
                yield _finding("class_init_failed/not-a-rail", part, class_name=part.name)
        elif not item.get("is_tool"):
            yield _finding("class_init_failed/not-a-tool", part, class_name=part.name)
        else:
            yield from _judge_card(extension, part, item["card"])
    yield from _same_names(extension, checked, items)


def _construct_error(extension: Extension, part: Declared, error: dict[str, Any]) -> Finding:
    kind, message = error["type"], error["message"]
    place = place_of(extension, error) or Spot(part.location)
    words: dict[str, Any] = {"class_name": part.name, "error": f"{kind}: {message}" if message else kind}
    if kind in ("SystemExit", "KeyboardInterrupt"):
        rule = "extension_crashed/exit-called"
    elif kind == "MemoryError":
        rule = "resource_limit_exceeded/memory"
    elif error["stage"] == "import":
        rule = _import_rule(extension, error)
        words |= {"module": error["missing_module"] or part.facts["module"]}
        words["package"] = str(words["module"]).partition(".")[0]
    elif error["stage"] == "construct":
        rule = "class_init_failed/constructor-raised"
    else:
        rule = "class_init_failed/card-unreadable"
    return RULES.finding(
        rule,
        place,
        component=part.id,
        expected="no exception",
        actual=str(words["error"]),
        log=trace_of(extension, error),
        provenance=Provenance.OBSERVED,
        **words,
    )


def _import_rule(extension: Extension, error: dict[str, Any]) -> str:
    missing, message = error["missing_module"], error["message"]
    if missing is None:
        of_harness = error["type"] == "ImportError" and "from 'openjiuwen." in message
        own = f"from '{OWN_PREFIX}" in message or f"from '{RUNTIME_PREFIX}" in message
        return f"module_import_failed/{'harness-api-missing' if of_harness and not own else 'import-raised'}"
    if is_own_module(missing):
        return "module_import_failed/own-module-missing"
    if missing.partition(".")[0] == "openjiuwen":
        return "module_import_failed/harness-api-missing"
    if _is_own(extension, missing):
        return "module_import_failed/own-module-missing"
    return "dependency_missing/undeclared-module"


def _is_own(extension: Extension, module: str) -> bool:
    """Return whether a top-level name that was not found is a module or folder of the extension."""
    name = module.partition(".")[0]
    return any(f"/{file}".endswith(f"/{name}.py") or f"/{name}/" in f"/{file}" for file in extension.files)


def _judge_card(extension: Extension, part: Declared, card: dict[str, Any] | None) -> Iterator[Finding]:
    if card is None:
        yield _finding("class_init_failed/card-missing", part, class_name=part.name)
        return
    place = card_place(extension, part)
    for name in ("id", "name"):
        if name not in card["given"] or not card[name]:
            yield _finding(f"class_init_failed/card-{name}-not-set", part, place, class_name=part.name)
    if "input_params" not in card["given"]:
        yield _finding("class_init_failed/input-params-not-set", part, place, class_name=part.name)
    elif card["parameters_problem"] is not None:
        problem = card["parameters_problem"]
        yield _finding("class_init_failed/input-params-not-json", part, place, problem=problem)
    else:
        yield from _judge_parameters(part, place, card["parameters"])
        if card["name"]:
            yield from judge_provider(part, place, card["name"], card["parameters"])


def _judge_parameters(part: Declared, place: Spot, parameters: Any) -> Iterator[Finding]:
    import jsonschema

    if not isinstance(parameters, dict) or parameters.get("type") != "object":
        actual = _shown_type(parameters)
        yield replace(
            _finding("class_init_failed/input-params-not-object", part, place, actual_type=actual),
            expected='{"type": "object", "properties": {…}}',
            actual=actual,
        )
        return
    dialect = parameters.get("$schema") if isinstance(parameters.get("$schema"), str) else None
    validator = jsonschema.validators.validator_for(
        {"$schema": dialect} if dialect else {}, default=jsonschema.Draft202012Validator
    )
    problem = next(validator(validator.META_SCHEMA).iter_errors(parameters), None)
    if problem is not None:
        where = "/".join(str(step) for step in problem.absolute_path) or "the root"
        words = f"{problem.message[:300]} (at {where})"
        yield replace(
            _finding("class_init_failed/input-params-invalid-schema", part, place, problem=words),
            expected="a valid JSON Schema",
            actual=words,
        )


def _shown_type(parameters: Any) -> str:
    if isinstance(parameters, dict):
        return f'"type" is {parameters["type"]!r}'[:100] if "type" in parameters else 'no "type" at the root'
    return f"a {type(parameters).__name__}"


def _same_names(extension: Extension, checked: Checked, seen: dict[str, Any]) -> Iterator[Finding]:
    """Find tools that take each other's name or id: of those an agent keeps only one."""
    for field in ("name", "id"):
        first: dict[str, Declared] = {}
        for part in checked.components:
            card = (seen.get(part.id) or {}).get("card") if part.type == "tool" else None
            if not card or field not in card["given"]:
                continue
            other = first.setdefault(card[field], part)
            if other is not part:
                place = card_place(extension, part)
                rule = f"manifest_invalid/duplicate-tool-{field}"
                yield _finding(rule, part, place, value=card[field], other=other.name)


# --- L2: loaded ----------------------------------------------------------------------------


def ask_to_load(checked: Checked, place: Place) -> Ask | None:
    """Ask for the package to be loaded through the harness's real entry."""
    return Ask(request={"manifest": MANIFEST, "components": classes_of(checked)})


def judge_load(extension: Extension, checked: Checked, seen: Seen, usual: Seen | None) -> Iterator[Finding]:
    """Judge what the agent carries after loading, and after unloading again."""
    observed, baseline = seen.observed, None if usual is None else usual.observed
    if observed["error"] is not None:
        error = observed["error"]
        words = f"{error['type']}: {error['message']}"
        yield RULES.finding(
            "harness_load_failed/load-raised",
            place_of(extension, error) or Spot(checked.location),
            expected="the package is loaded",
            actual=words,
            log=trace_of(extension, error),
            provenance=Provenance.OBSERVED,
            error=words,
        )
        return
    for part in checked.components:
        yield from _JUDGES[part.type](extension, part, observed)
    yield from _names_of_harness(checked, observed, baseline)
    yield from _judge_unload(checked, observed["unload"], baseline)


def _judge_rail(extension: Extension, part: Declared, observed: dict[str, Any]) -> Iterator[Finding]:
    declared = _declared_class(part, observed)
    if f"rail:{declared['class']}" not in observed["labels"]:
        yield _missing_label("rail_not_registered/not-reported", part, observed)
    elif not any(same_class(rail, declared) for rail in observed["rails"]):
        yield _finding("rail_not_registered/not-on-agent", part, class_name=part.name)


def _judge_tool(extension: Extension, part: Declared, observed: dict[str, Any]) -> Iterator[Finding]:
    declared = _declared_class(part, observed)
    if f"tool:{declared['class']}" not in observed["labels"]:
        yield _missing_label("tool_not_registered/not-reported", part, observed)
        return
    cards = observed["cards"]
    if any(card["tool"] and same_class(card["tool"], declared) for card in cards):
        return
    if any(card["tool"] is None for card in cards):
        yield _finding("tool_not_registered/no-instance", part, class_name=part.name)
    else:
        names = ", ".join(sorted({card["name"] for card in cards})) or "none"
        yield replace(
            _finding("tool_not_registered/not-in-ability-manager", part, class_name=part.name),
            expected=f"a card whose tool is a {part.name}",
            actual=f"cards: {names}",
        )


def _names_of_harness(
    checked: Checked, observed: dict[str, Any], baseline: dict[str, Any] | None
) -> Iterator[Finding]:
    """Find tools that took a name which, beside the canary, one of the harness's own tools has."""
    usual = {card["name"] for card in (baseline or {}).get("cards", ()) if not _is_canary(card)}
    for part in checked.components:
        for card in observed["cards"] if part.type == "tool" else ():
            own = card["tool"] and same_class(card["tool"], _declared_class(part, observed))
            if own and card["name"] in usual:
                yield _finding("tool_not_registered/name-of-harness-tool", part, name=card["name"])


def _is_canary(card: dict[str, Any]) -> bool:
    return card["tool"] is None or is_own_module(card["tool"]["module"])


def _judge_skill(extension: Extension, part: Declared, observed: dict[str, Any]) -> Iterator[Finding]:
    folder, own = _real(extension, part.facts["dir"]), _real(extension, part.facts["path"])
    # From 0.1.17 on a folder that is a skill itself is mounted by its parent.
    mounted = {folder, posixpath.dirname(folder)} if folder == own else {folder}
    if not any(
        posixpath.normpath(label.removeprefix("skill_dir:")) == folder for label in observed["labels"]
    ):
        yield _missing_label("skill_not_loaded/not-reported", part, observed)
        return
    if mounted.isdisjoint(posixpath.normpath(name) for name in observed["skill_dirs"]):
        yield _finding("skill_not_loaded/not-in-skills-dir", part, folder=folder)
        return
    skill = next((skill for skill in observed["skills"] if skill["folder"] == own), None)
    if skill is None:
        names = ", ".join(sorted(skill["name"] for skill in observed["skills"])) or "none"
        yield replace(
            _finding("skill_not_loaded/not-found", part, name=part.name),
            expected=f"the skill {part.name}",
            actual=f"skills: {names}",
        )
    elif _is_fallback(skill["description"], part.facts.get("description")):
        yield replace(
            _finding("skill_not_loaded/without-description", part, name=part.name),
            expected=str(part.facts.get("description") or "its own description")[:200],
            actual=FALLBACK_DESCRIPTION + "…",
        )


_JUDGES = {"rail": _judge_rail, "tool": _judge_tool, "skill": _judge_skill}


def _real(extension: Extension, folder: str) -> str:
    """Return a folder of an extension as the harness names it: links followed, below the root."""
    root = extension.root.resolve()
    path = (root / folder).resolve()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else posixpath.normpath(folder)


def _is_fallback(shown: str, own: str | None) -> bool:
    return shown.startswith(FALLBACK_DESCRIPTION) and (own is None or shown.strip() != own.strip())


def _declared_class(part: Declared, observed: dict[str, Any]) -> dict[str, str]:
    """Return the names of the class that a component declares, as the class itself has them."""
    return observed["classes"].get(part.id) or {"class": part.facts["class"], "module": part.facts["module"]}


def _missing_label(rule: str, part: Declared, observed: dict[str, Any]) -> Finding:
    return replace(
        _finding(rule, part, name=part.name),
        actual=("loaded: " + ", ".join(observed["labels"]))[:500],
    )


def _judge_unload(
    checked: Checked, unload: dict[str, Any], baseline: dict[str, Any] | None
) -> Iterator[Finding]:
    place = Spot(checked.location)
    if unload["error"] is not None:
        error = unload["error"]
        words = f"{error['type']}: {error['message']}"
        yield RULES.finding(
            "unload_incomplete/unload-raised", place, error=words, provenance=Provenance.OBSERVED
        )
        return
    usual = {} if baseline is None else baseline["unload"]["left"]
    for category, items in sorted(unload["left"].items()):
        more = sorted(set(items) - set(usual.get(category, ())))
        if more and baseline is not None:
            yield RULES.finding(
                "unload_incomplete/left-behind",
                place,
                expected=f"no more {category} than before loading",
                actual=", ".join(more)[:500],
                provenance=Provenance.OBSERVED,
                category=category,
                items=", ".join(more)[:200],
            )


# --- places --------------------------------------------------------------------------------


def _finding(rule: str, part: Declared, place: Spot | None = None, **words: Any) -> Finding:
    return RULES.finding(
        rule,
        place or Spot(part.location),
        component=part.id,
        provenance=Provenance.OBSERVED,
        **words,
    )
