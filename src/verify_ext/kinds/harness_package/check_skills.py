"""`resources.skills`: the folders it names and the skills in them, as SkillUseRail finds them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from verify_ext.codes import MANIFEST_INVALID, SKILL_MANIFEST_INVALID, Place, Rule, Rules
from verify_ext.kinds.harness_package.check_manifest import section
from verify_ext.kinds.harness_package.contents import Contents
from verify_ext.kinds.harness_package.hints import listed
from verify_ext.model import Extension, Finding, Layer, Severity
from verify_ext.source import Node

SKILL_FILE = "SKILL.md"

_SEED = 'Seed "verify-ext", L1 结构校验: skill 目录 skills/<skill_name>/ 必须包含合法 SKILL.md'
_OLD = "openjiuwen 0.1.13-0.1.16: DeepAgent.load_harness_config"
_NEW = "openjiuwen 0.1.17+: harness/resources/extension_loader.py, harness/extension_binder.py"
_RAIL = "openjiuwen: harness/rails/skills/skill_use_rail.py"
_NEVER = "The model never hears of the skill."

RULES = Rules(
    Rule(
        code=MANIFEST_INVALID,
        rule="skills-dirs-missing",
        layer=Layer.L1,
        message="resources.skills does not say in which folders the skills are",
        remedy="Add: dirs: [skills]; or remove the section.",
        why="openjiuwen 0.1.17 and newer refuse the whole package.",
        source=_NEW,
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="skills-mode",
        layer=Layer.L1,
        message="the mode of resources.skills is {actual}",
        remedy="Write 'mode: all' or 'mode: auto_list', or leave it out.",
        why="openjiuwen 0.1.13-0.1.16 refuse the package, newer ones ignore the mode.",
        source=_RAIL + ", _VALID_SKILL_MODES",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="skills-dir-empty",
        layer=Layer.L1,
        message="an entry of resources.skills.dirs is empty",
        remedy="Name a folder of the extension, such as: skills",
        why="openjiuwen 0.1.17 and newer refuse the whole package.",
        source=_NEW,
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="skills-dir-outside",
        layer=Layer.L1,
        message="the skill folder {actual} lies outside the extension",
        remedy="Move the skills into the extension and name the folder relative to harness_config.yaml.",
        why="Where the extension is installed, the folder is another one or none.",
        source="docs/design.md, section 3: an extension is exactly its own files",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="skills-dir-missing",
        layer=Layer.L1,
        message="there is no folder {actual} in the extension",
        remedy="Correct the name, or add the folder with a skill in it (git keeps no empty folders).",
        why="openjiuwen 0.1.13-0.1.16 drop the folder silently, newer ones refuse the package.",
        source=_SEED,
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="skills-dir-not-a-folder",
        layer=Layer.L1,
        message="{actual} is a file; resources.skills.dirs names folders",
        remedy="Name the folder that holds the skills' folders, such as: skills",
        why=_NEVER,
        source=_SEED,
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="skills-dir-separator",
        layer=Layer.L1,
        message="{actual} has a comma or semicolon in its path, where the harness splits it",
        remedy="Rename the folder without ',' and ';'.",
        why="SkillUseRail takes the parts for several folders, finds none of them and says nothing.",
        source=_RAIL + ", _parse_skill_dirs",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="skills-dir-repeated",
        layer=Layer.L1,
        message="the skill folder {actual} is named a second time, by itself or through a skill in it",
        remedy="Remove the entry, or those for single skills in the folder.",
        why="openjiuwen 0.1.17 and newer refuse the package: already bound.",
        source=_NEW,
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="skills-dir-is-skill",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="{actual} is a skill itself: openjiuwen 0.1.13-0.1.16 load nothing from it, newer ones load"
        " it and all skills beside it",
        remedy="Name the folder that holds the skill's folder: {parent}",
        why="An entry of resources.skills.dirs is a folder of skills.",
        source=f"{_OLD}; {_NEW}",
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="no-skill",
        layer=Layer.L1,
        message="there is no skill in {actual}",
        remedy="Put each skill in a folder of its own with a SKILL.md, or remove the entry.",
        why="The harness loads nothing from the folder and reports no error.",
        source=_SEED,
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="skill-md-missing",
        layer=Layer.L1,
        message="the skill folder {folder} has no SKILL.md",
        remedy="Add {folder}/SKILL.md, or move the folder out of the skills; a name with a leading '_' marks"
        " what is no skill.",
        why=_NEVER,
        source=_SEED,
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="skill-md-name",
        layer=Layer.L1,
        message="{actual} is not read: the harness wants the name SKILL.md in capitals",
        remedy="Rename it: git mv {actual} SKILL.md",
        why="It works where the file system ignores case, and nowhere else.",
        source=_RAIL + ': skill_dir / "SKILL.md"',
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="skill-folder-skipped",
        layer=Layer.L1,
        message="openjiuwen 0.1.17 and newer do not look for skills in a folder named {actual}",
        remedy="Rename the skill's folder.",
        why=_NEVER,
        source=_RAIL + ", _SKILL_SCAN_SKIP_DIRS",
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="skill-nested",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="openjiuwen 0.1.13-0.1.16 do not find the skill {folder}: it lies in a group",
        remedy="Move it directly below {root}, or name its group in resources.skills.dirs.",
        why="They look one level deep only; newer ones look deeper.",
        source=_RAIL + ", _discover_skill_dirs",
    ),
    Rule(
        code=SKILL_MANIFEST_INVALID,
        rule="duplicate-skill",
        layer=Layer.L1,
        message="there is a second skill of the name {actual}: {folder}",
        remedy="Give each skill's folder a name of its own.",
        why="The harness keeps the first and drops the others, with a line in its log.",
        source=_RAIL + ", _collect_skills_in_order",
    ),
)

# Where 0.1.17 and newer do not look for skills, beside names with a leading dot.
_SKIPPED_FOLDERS = frozenset({"output", "temp", "assets", "node_modules"})
_MODES = ("all", "auto_list", "")


@dataclass(frozen=True, eq=False)
class SkillRoot:
    """An entry of `resources.skills.dirs`, and the folder that it names."""

    node: Node
    written: str
    folder: str


@dataclass(frozen=True, eq=False)
class Skill:
    """A folder with a SKILL.md, found below a root."""

    root: SkillRoot
    folder: str
    name: str
    """What the harness calls the skill: the name of its folder."""

    @property
    def file(self) -> str:
        return posixpath.normpath(f"{self.folder}/{SKILL_FILE}")

    @property
    def nested(self) -> bool:
        above = posixpath.dirname(self.folder) or "."
        return self.folder != self.root.folder and above != self.root.folder


def skill_roots(contents: Contents, root: Node) -> tuple[SkillRoot, ...]:
    """Return the entries of `resources.skills.dirs` that name a folder of the extension, each once."""
    found: dict[str, SkillRoot] = {}
    for node in _dirs(root):
        written = node.text()
        if written is not None and _problem(contents, written) is None:
            folder = posixpath.normpath(written)
            found.setdefault(folder, SkillRoot(node, written, folder))
    return tuple(found.values())


def skills(contents: Contents, roots: tuple[SkillRoot, ...]) -> tuple[Skill, ...]:
    """Return the skills in the order in which the harness finds them, each folder once."""
    found: dict[str, Skill] = {}
    for root in roots:
        folders = [root.folder] if _is_skill(contents, root.folder) else _skill_folders(contents, root.folder)
        for folder in folders:
            name = posixpath.basename(folder) if folder != "." else contents.extension.name
            found.setdefault(folder, Skill(root, folder, name))
    return tuple(found.values())


def check_skills(contents: Contents, root: Node) -> Iterator[Finding]:
    """Check `resources.skills` and the folders that it names, not what is in a SKILL.md."""
    node = section(root, "skills")
    if node is None or node.kind != "mapping":
        return
    mode = node.get("mode")
    if mode is not None and mode.kind == "string" and mode.value not in _MODES:
        yield _finding("manifest_invalid/skills-mode", mode, "all or auto_list", repr(mode.value))
    if node.get("dirs") is None:
        key = root.get("resources")
        place = (key.key("skills") if key is not None else None) or node
        yield RULES.finding(
            "manifest_invalid/skills-dirs-missing", place, expected="dirs: [skills]", actual="no dirs"
        )
    yield from _check_dirs(contents, root)
    roots = skill_roots(contents, root)
    for skill_root in roots:
        yield from _check_root(contents, skill_root)
    yield from _check_found(contents, skills(contents, roots))


def _finding(rule: str, place: Place, expected: str, actual: str, **words: Any) -> Finding:
    return RULES.finding(rule, place, expected=expected, actual=actual, **words)


def _dirs(root: Node) -> tuple[Node, ...]:
    node = section(root, "skills")
    dirs = node.get("dirs") if node is not None else None
    return dirs.elements if dirs is not None else ()


def _problem(contents: Contents, written: str) -> str | None:
    """Return the rule that an entry of `dirs` breaks, "" if another check has said what is wrong."""
    folder = posixpath.normpath(written)
    if not written.strip():
        return "skills-dir-empty"
    if set(",;") & set(f"{_path_of(contents.extension)}/{written}"):
        return "skills-dir-separator"
    if written.startswith(("/", "~")) or folder == ".." or folder.startswith("../"):
        return "skills-dir-outside"
    if contents.is_file(folder):
        return "skills-dir-not-a-folder"
    if contents.is_folder(folder):
        return None
    return "" if contents.has_broken_link(folder) else "skills-dir-missing"


def _path_of(extension: Extension) -> str:
    return extension.name if extension.path == "." else extension.path


def _check_dirs(contents: Contents, root: Node) -> Iterator[Finding]:
    mounted: set[str] = set()
    for node in _dirs(root):
        written = node.text()
        if written is None:
            continue  # the schema has said so
        folder = posixpath.normpath(written)
        is_skill = _is_skill(contents, folder)
        again = folder in mounted and not is_skill
        rule = _problem(contents, written) or ("skills-dir-repeated" if again else "")
        mounted.add(posixpath.dirname(folder) or "." if is_skill else folder)
        if rule:
            actual = written if rule != "skills-dir-separator" else contents.extension.shown(written)
            expected = f"one of {listed(_folders(contents))}"
            yield _finding(f"manifest_invalid/{rule}", node, expected, repr(actual))


def _folders(contents: Contents) -> list[str]:
    return [name for name in contents.names(".") if contents.is_folder(name)]


def _is_skill(contents: Contents, folder: str) -> bool:
    return contents.is_file(posixpath.normpath(f"{folder}/{SKILL_FILE}"))


def _subfolders(contents: Contents, folder: str) -> list[str]:
    paths = [posixpath.normpath(f"{folder}/{name}") for name in contents.names(folder)]
    return [path for path in paths if contents.is_folder(path)]


def _skill_folders(contents: Contents, folder: str) -> list[str]:
    """Return the folders below that hold a SKILL.md, in the harness's order; not what lies in these."""
    found = []
    waiting = _subfolders(contents, folder)[::-1]
    while waiting:
        path = waiting.pop()
        if _is_skill(contents, path):
            found.append(path)
        elif not _is_skipped(path):
            waiting += _subfolders(contents, path)[::-1]
    return found


def _is_skipped(folder: str) -> bool:
    name = posixpath.basename(folder)
    return name.startswith(".") or name in _SKIPPED_FOLDERS


def _check_root(contents: Contents, root: SkillRoot) -> Iterator[Finding]:
    if _is_skill(contents, root.folder):
        parent = posixpath.dirname(root.folder) or "."
        yield _finding(
            "manifest_invalid/skills-dir-is-skill", root.node, repr(parent), repr(root.written), parent=parent
        )
        return
    misnamed = [file for file in contents.files if _is_misnamed(contents, file)]
    problems = [
        problem
        for folder in _subfolders(contents, root.folder)
        for problem in _check_folder(contents, root, folder, misnamed)
    ]
    yield from problems
    if not (problems or _skill_folders(contents, root.folder) or contents.has_broken_link(root.folder)):
        expected = f"{root.folder}/<name>/{SKILL_FILE}"
        yield _finding("skill_manifest_invalid/no-skill", root.node, expected, repr(root.written))


def _check_folder(contents: Contents, root: SkillRoot, folder: str, misnamed: list[str]) -> Iterator[Finding]:
    """Check a folder directly below a root: it is a skill, or a group of skills."""
    name = posixpath.basename(folder)
    if _is_skill(contents, folder):
        if _is_skipped(folder):
            place = contents.spot(f"{folder}/{SKILL_FILE}")
            yield _finding("skill_manifest_invalid/skill-folder-skipped", place, "another name", repr(name))
        return
    misnamed_here = [file for file in misnamed if file.startswith(f"{folder}/")]
    for file in misnamed_here:
        actual = posixpath.basename(file)
        yield _finding("skill_manifest_invalid/skill-md-name", contents.spot(file), SKILL_FILE, actual)
    no_skill_meant = root.folder == "." or _is_skipped(folder) or name.startswith("_")
    said = misnamed_here or contents.has_broken_link(folder)
    if not (no_skill_meant or said or _skill_folders(contents, folder)):
        yield _finding(
            "skill_manifest_invalid/skill-md-missing",
            root.node,
            f"{folder}/{SKILL_FILE}",
            listed(contents.names(folder)),
            folder=folder,
        )


def _is_misnamed(contents: Contents, file: str) -> bool:
    folder, name = posixpath.split(file)
    return name != SKILL_FILE and name.lower() == SKILL_FILE.lower() and not _is_skill(contents, folder)


def _check_found(contents: Contents, found: tuple[Skill, ...]) -> Iterator[Finding]:
    first: dict[str, Skill] = {}
    for skill in found:
        place = contents.spot(skill.file)
        if skill.nested:
            root = skill.root.written
            expected = f"{skill.root.folder}/{skill.name}"
            yield _finding(
                "skill_manifest_invalid/skill-nested",
                place,
                expected,
                skill.folder,
                folder=skill.folder,
                root=root,
            )
        other = first.setdefault(skill.name, skill)
        if other is not skill:
            expected = f"one skill {skill.name}: {other.folder}"
            yield _finding(
                "skill_manifest_invalid/duplicate-skill",
                place,
                expected,
                repr(skill.name),
                folder=skill.folder,
            )
