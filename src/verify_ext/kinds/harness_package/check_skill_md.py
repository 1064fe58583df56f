"""A SKILL.md as openjiuwen's SkillUseRail reads it.

Both contracts take the text between the first two `---`, wherever these stand, and give it to
yaml.safe_load. Where that fails the skill is loaded all the same, and the model is told "Skill
located in <path>" in place of what its author wrote. Content rules of other clients are not
looked at here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from verify_ext.codes import SKILL_MANIFEST_INVALID, Place, Rule, Rules
from verify_ext.kinds.harness_package.contents import Contents
from verify_ext.kinds.harness_package.hints import did_you_mean
from verify_ext.model import Finding, Layer, Severity
from verify_ext.source import Node, Source, SourceError, Spot, parse_frontmatter, parse_yaml

_SEED = 'Seed "verify-ext", L3: SKILL.md frontmatter 合法'
_RAIL = "openjiuwen: SkillUseRail._load_yaml, _load_description"
_STATIC = "openjiuwen: runtime_extension_static_checks._validate_skill_frontmatter"
_LOST = "The model is told a path instead of what the skill is for."

RULES = Rules(
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="skill-unreadable",
        layer=Layer.L1,
        message="SKILL.md cannot be read: {problem}",
        remedy="Make it an ordinary, readable file.",
        why=_LOST,
        source=_RAIL,
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="skill-too-large",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="SKILL.md is not checked before it is loaded: {problem}",
        remedy="Keep SKILL.md short, and move what is seldom needed into files beside it.",
        why="What is not read is not checked; a model could not read it either.",
        source="A limit of verify-ext: TEXT_LIMIT_BYTES, 64 KiB of frontmatter",
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="skill-encoding",
        layer=Layer.L1,
        message="SKILL.md is not UTF-8: {problem}",
        remedy="Save it as UTF-8.",
        why=_LOST,
        source=_RAIL,
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="byte-order-mark",
        layer=Layer.L1,
        message="SKILL.md begins with a byte order mark, so the harness does not see its frontmatter",
        remedy="Save it as UTF-8 without BOM.",
        why=_LOST,
        source=_RAIL + ': text.startswith("---")',
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="no-frontmatter",
        layer=Layer.L1,
        message="SKILL.md does not begin with frontmatter",
        remedy="Make '---' the very first line, then name and description, then '---' again.",
        why=_LOST,
        source=_RAIL + ': text.startswith("---")',
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="frontmatter-not-closed",
        layer=Layer.L1,
        message="the frontmatter of SKILL.md is not closed",
        remedy="Add a line '---' below the last field.",
        why=_LOST,
        source=_RAIL,
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="frontmatter-cut",
        layer=Layer.L1,
        message="the harness ends the frontmatter at these hyphens: what follows is lost to it",
        remedy="Write two hyphens or a dash ('—') in place of '---' inside the frontmatter.",
        why="openjiuwen splits the file at the first two '---', also inside a value.",
        source=_RAIL + ': text.split("---", 2)',
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="frontmatter-syntax",
        layer=Layer.L1,
        message="the frontmatter of SKILL.md is {problem}",
        remedy="Put the value in quotes: text that contains ': ' or begins with '[', '{{', '*', '&', '!', '%'"
        " or '@' needs them.",
        why=_LOST,
        source=_RAIL,
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="frontmatter-not-a-mapping",
        layer=Layer.L1,
        message="the frontmatter of SKILL.md is {actual}, not a mapping with name and description",
        remedy="Write 'name: …' and 'description: …' on lines of their own.",
        why=_LOST,
        source=_RAIL,
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="description-missing",
        layer=Layer.L1,
        message="SKILL.md has no description{hint}",
        remedy="Add: description: <what the skill does and when to use it>",
        why=_LOST,
        source=_RAIL,
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="description-empty",
        layer=Layer.L1,
        message="the description of SKILL.md is empty",
        remedy="Write what the skill does and when to use it.",
        why=_LOST,
        source=_STATIC,
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="description-type",
        layer=Layer.L1,
        message="the description of SKILL.md is {actual}, not text",
        remedy="Put it in quotes.",
        why="The model is shown how Python writes the value; the harness's own checks refuse it.",
        source=_STATIC,
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="description-comment",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="the description ends before '#': YAML takes the rest of the line for a comment",
        remedy="Put the description in quotes.",
        why="The model is shown half a sentence.",
        source="YAML 1.1, 4.3.2: a comment begins with ' #'",
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="name-missing",
        layer=Layer.L1,
        message="SKILL.md has no name",
        remedy="Add: name: {folder}",
        why="The harness's own checks refuse the skill, and other clients do not load it.",
        source=_STATIC,
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="name-type",
        layer=Layer.L1,
        message="the name of SKILL.md is {actual}, not text",
        remedy="Put it in quotes.",
        why="The harness's own checks refuse the skill, and other clients fail on it.",
        source=_STATIC,
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="skill-name-differs",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="SKILL.md names the skill {actual}, its folder names it {expected}",
        remedy="Give folder and name the same text.",
        why="openjiuwen shows the model the folder's name and ignores the other.",
        source="openjiuwen: SkillUseRail._load_skill, name=skill_dir.name",
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="repeated-field",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="{actual} is written twice in the frontmatter: the first one is ignored",
        remedy="Remove one of them.",
        why="YAML keeps the last of repeated keys.",
        source=_RAIL,
    ),
)

_UNREADABLE = {"encoding": "skill-encoding", "too-large": "skill-too-large"}
_FRONTMATTER_LIMIT = 64 * 1024
_FIELDS = ("name", "description", "description_cn", "description_en")
_FENCE_LINE = re.compile(r"---[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_CLOSING_LINE = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)
_COMMENT_IN_TEXT = re.compile(r"[ \t]+#[^\s#!]")


def read_skill(contents: Contents, file: str) -> Node | Finding:
    """Return the frontmatter of a SKILL.md as openjiuwen reads it, or why it reads none."""
    try:
        source = contents.read(file)
    except SourceError as error:
        rule = _UNREADABLE.get(error.reason, "skill-unreadable")
        return _finding(rule, error.place, "a UTF-8 text file", str(error), problem=str(error))
    if source.had_bom:
        return _finding("byte-order-mark", source.top, "no byte order mark", "a byte order mark")
    if not source.text.startswith("---"):
        return _no_frontmatter(source)
    end = source.text.find("---", 3)
    if end < 0:
        return _finding("frontmatter-not-closed", source.spot(0, 3), "a second ---", "the end of the file")
    if end > _FRONTMATTER_LIMIT:
        problem = f"its frontmatter is longer than {_FRONTMATTER_LIMIT} characters"
        return _finding("skill-too-large", source.spot(0, 3), "a few fields", problem, problem=problem)
    return _read_between(source, end)


def _read_between(source: Source, end: int) -> Node | Finding:
    try:
        node = parse_yaml(source, 3, end)
    except SourceError as error:
        return _unreadable(source, end, error)
    if _is_cut(source, end, node):
        return _cut(source, end)
    if node.kind in ("mapping", "null"):
        return node
    return _finding("frontmatter-not-a-mapping", node, "a mapping with name and description", node.describe())


def check_frontmatter(node: Node, folder: str) -> Iterator[Finding]:
    """Check the fields that the harness reads; `folder` is the name of the skill's folder."""
    yield from _name(node, folder)
    yield from _description(node)
    for key in node.repeated_keys():
        yield _finding("repeated-field", key, "each field once", repr(key.value))


def _finding(rule: str, place: Place, expected: str, actual: str, **words: Any) -> Finding:
    return RULES.finding(f"skill_manifest_invalid/{rule}", place, expected=expected, actual=actual, **words)


def _no_frontmatter(source: Source) -> Finding:
    first = source.line(1)
    return _finding("no-frontmatter", source.spot(0, len(first)), "--- as the first line", _shown(first))


def _shown(line: str) -> str:
    return repr(line[:80]) if line else "an empty line"


def _unreadable(source: Source, end: int, error: SourceError) -> Finding:
    if not _FENCE_LINE.match(source.text):
        return _no_frontmatter(source)
    closing = _closing_fence(source)
    if closing is not None and end < closing:
        return _cut(source, end)
    return _finding("frontmatter-syntax", error.place, "valid YAML", str(error), problem=str(error))


def _closing_fence(source: Source) -> int | None:
    """Return where the line that its author meant to close the frontmatter begins."""
    match = _CLOSING_LINE.search(source.text, 3)
    return match.start() if match else None


def _is_cut(source: Source, end: int, read: Node) -> bool:
    """Return whether the harness ends the frontmatter early and so misreads a field that it uses."""
    closing = _closing_fence(source)
    if closing is None or closing <= end:
        return False
    try:
        meant = parse_frontmatter(source).node
    except SourceError:
        return False
    return any(_value(meant, field) != _value(read, field) for field in _FIELDS)


def _value(node: Node, field: str) -> object:
    value = node.get(field)
    return None if value is None else (value.kind, value.value)


def _cut(source: Source, end: int) -> Finding:
    line = source.spot(end).location.text
    return _finding(
        "frontmatter-cut", source.spot(end, end + 3), "'---' only on the closing line", _shown(line)
    )


def _name(node: Node, folder: str) -> Iterator[Finding]:
    name = node.get("name")
    if name is None or name.kind == "null" or not str(name.value).strip():
        place = node.key("name") or _head(node)
        yield _finding("name-missing", place, f"name: {folder}", "no name", folder=folder)
    elif name.kind != "string":
        yield _finding("name-type", name, "text", name.describe())
    elif name.value != folder:
        yield _finding("skill-name-differs", name, repr(folder), repr(name.value))


def _description(node: Node) -> Iterator[Finding]:
    description = node.get("description")
    if description is None:
        names = [str(key.value) for key, _ in node.entries if key.value != "name"]
        hint = next(
            (f" (is {name!r} meant to be it?)" for name in names if did_you_mean(name, ["description"])), ""
        )
        yield _finding("description-missing", _head(node), "description: …", "no description", hint=hint)
    elif description.kind == "null" or (description.kind == "string" and not description.value.strip()):
        yield _finding("description-empty", node.key("description") or node, "text", description.describe())
    elif description.kind != "string":
        yield _finding("description-type", description, "text", description.describe())
    elif _COMMENT_IN_TEXT.match(description.source.text, description.end) and not _is_quoted(description):
        rest = description.source.text[description.end :].splitlines()[0]
        place = description.source.spot(description.end, description.end + len(rest))
        yield _finding("description-comment", place, "the whole line", f"without {_shown(rest.strip())}")


def _is_quoted(node: Node) -> bool:
    return node.source.text[node.start : node.start + 1] in ("'", '"')


def _head(node: Node) -> Place:
    return node.entries[0][0] if node.entries else Spot(node.source.spot(0, 3).location)
