"""`harness_config.yaml` as a file: readable YAML of the schema harness_config.v0.1."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from verify_ext.codes import MANIFEST_INVALID, Rule, Rules
from verify_ext.kinds.harness_package import manifest_schema as schema
from verify_ext.kinds.harness_package.contents import Contents
from verify_ext.kinds.harness_package.hints import did_you_mean, listed
from verify_ext.model import Finding, Layer, Severity
from verify_ext.source import Node, SourceError, parse_yaml

MANIFEST_NAME = "harness_config.yaml"
SCHEMA_VERSION = "harness_config.v0.1"
_LIMIT_BYTES = 256 * 1024
_LIMIT_NODES = 10_000
COMPONENT_SECTIONS = ("rails", "tools", "skills")

_SEED = 'Seed "verify-ext", L1 结构校验'
_SCHEMA = "openjiuwen 0.1.13-0.1.16 harness/harness_config/schema.py, 0.1.17+ RuntimeHarnessManifest"
_LOADERS = "openjiuwen: DeepAgent.load_harness_config (0.1.13-0.1.16), DeepAgent.load_plugin (0.1.17+)"

RULES = Rules(
    Rule(
        code=MANIFEST_INVALID,
        rule="manifest-missing",
        layer=Layer.L1,
        message="the extension has no harness_config.yaml{hint}",
        remedy="Add harness_config.yaml to the extension's folder, and to git.",
        why="The harness knows of nothing that the manifest does not declare.",
        source=_SEED + ": harness_config.yaml 存在",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="manifest-unreadable",
        layer=Layer.L1,
        message="the manifest cannot be read: {problem}",
        remedy="Make harness_config.yaml an ordinary, readable file.",
        why="The harness cannot read it either, and loads nothing.",
        source=_SEED + ": harness_config.yaml 存在",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="manifest-too-large",
        layer=Layer.L1,
        message="the manifest is not read: {problem}",
        remedy="Keep in harness_config.yaml only what the harness needs to know.",
        why="No person maintains a manifest of this size; reading it is not safe.",
        source="A limit of verify-ext: 256 KiB, 10,000 keys and values",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="manifest-encoding",
        layer=Layer.L1,
        message="the manifest is not UTF-8: {problem}",
        remedy="Save harness_config.yaml as UTF-8.",
        why="The harness reads the manifest as UTF-8 and fails at the first wrong byte.",
        source=_LOADERS,
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="yaml-syntax",
        layer=Layer.L1,
        message="the manifest is {problem}",
        remedy="Correct the YAML here; put text that contains ': ', ' #', '{{' or a leading '*', '&', '!' or"
        " '%' in quotes.",
        why="The harness cannot parse the manifest and loads nothing.",
        source=_LOADERS + ": yaml.safe_load",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="yaml-nesting",
        layer=Layer.L1,
        message="the manifest cannot be taken apart: {problem}",
        remedy="Write the values out; no manifest needs such nesting.",
        why="Parsers give up on it or take for ever.",
        source="A limit of verify-ext: DEPTH_LIMIT",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="manifest-empty",
        layer=Layer.L1,
        message="the manifest is empty",
        remedy="Declare schema_version and resources; see examples/good/deck_maker.",
        why="The harness loads nothing from it and reports no error.",
        source=_SEED,
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="manifest-not-a-mapping",
        layer=Layer.L1,
        message="the manifest is {actual}, not a mapping of keys to values",
        remedy="Begin it with 'schema_version: harness_config.v0.1', then 'resources:' and what they are.",
        why="The harness refuses the whole manifest.",
        source=_SCHEMA,
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="schema-version-missing",
        layer=Layer.L1,
        message="the manifest has no schema_version",
        remedy="Add as the first line: schema_version: harness_config.v0.1",
        why="Without it nothing says which schema the rest follows; the harness guesses silently.",
        source=_SEED + ": schema_version: harness_config.v0.1",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="schema-version",
        layer=Layer.L1,
        message="schema_version is {actual}, which is no version of harness packages",
        remedy="Write exactly: schema_version: harness_config.v0.1",
        why="The harness ignores the version and reads the file as v0.1, whatever it says.",
        source=_SEED + ": schema_version: harness_config.v0.1",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="field-type",
        layer=Layer.L1,
        message="{field} is {actual}; the schema harness_config.v0.1 wants {expected}",
        remedy="Make {field} {expected}, or remove it; text that looks like something else needs quotes.",
        why="openjiuwen 0.1.13-0.1.16 refuse the whole manifest; newer ones do where they verify packages.",
        source=_SCHEMA,
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="empty-section",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="{field} has no value: openjiuwen 0.1.13-0.1.16 refuse the manifest, newer ones load it",
        remedy="Remove the key, or write an empty list: []",
        why="A list whose entries were all commented out is null, which the schema does not allow.",
        source=_SCHEMA,
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="repeated-resource-key",
        layer=Layer.L1,
        message="{key} is written twice in the same mapping: what stands at the first one is lost",
        remedy="Merge the two into one.",
        why="YAML keeps the last of repeated keys: the harness never loads what the first one declared.",
        source=_LOADERS + ": yaml.safe_load",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="repeated-key",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="{key} is written twice in the same mapping: the first one is ignored",
        remedy="Remove one of them.",
        why="YAML keeps the last of repeated keys; the harness never sees the first.",
        source=_LOADERS + ": yaml.safe_load",
    ),
    Rule(
        code=MANIFEST_INVALID,
        rule="unknown-key",
        layer=Layer.L1,
        severity=Severity.WARNING,
        message="{key} is no key of the schema, so the harness ignores it{hint}",
        remedy="Correct the key's name, or remove it; helper keys for anchors may begin with 'x-'.",
        why="The harness allows extra keys: a misspelt one silently changes nothing.",
        source=_SCHEMA + ': "extra": "allow"',
    ),
)

_UNREADABLE = {
    "too-large": "manifest-too-large",
    "encoding": "manifest-encoding",
    "syntax": "yaml-syntax",
    "recursive": "yaml-nesting",
    "too-deep": "yaml-nesting",
}


def read_manifest(contents: Contents) -> Node | Finding:
    """Return the manifest's root mapping, or the finding that says why there is none."""
    if not contents.is_file(MANIFEST_NAME):
        return _missing(contents)
    try:
        root = parse_yaml(contents.read(MANIFEST_NAME, limit=_LIMIT_BYTES))
    except SourceError as error:
        rule = _UNREADABLE.get(error.reason, "manifest-unreadable")
        return RULES.finding(
            f"manifest_invalid/{rule}",
            error.place,
            expected="a UTF-8 file of YAML",
            actual=str(error),
            problem=str(error),
        )
    if sum(1 for _ in islice(root.walk(), _LIMIT_NODES + 1)) > _LIMIT_NODES:
        return _too_much(root)
    if root.kind == "mapping" and root.entries:
        return root
    rule = "manifest-empty" if root.kind in ("mapping", "null") else "manifest-not-a-mapping"
    return RULES.finding(
        f"manifest_invalid/{rule}",
        root,
        expected="a mapping with schema_version and resources",
        actual=root.describe(),
    )


def _too_much(root: Node) -> Finding:
    problem = f"it holds more than {_LIMIT_NODES} keys and values"
    return RULES.finding(
        "manifest_invalid/manifest-too-large",
        root.source.top,
        expected="what a person maintains",
        actual=problem,
        problem=problem,
    )


def _missing(contents: Contents) -> Finding:
    names = contents.names(".")
    similar = [name for name in names if name.lower() in (MANIFEST_NAME, "harness_config.yml")]
    folder = " (it is a folder)" if contents.is_folder(MANIFEST_NAME) else ""
    return RULES.finding(
        "manifest_invalid/manifest-missing",
        contents.spot(similar[0] if similar else MANIFEST_NAME),
        expected=f"a file {contents.extension.shown(MANIFEST_NAME)}",
        actual=listed(names),
        hint=f" (the harness does not read {similar[0]!r})" if similar and not folder else folder,
    )


def check_manifest(root: Node) -> Iterator[Finding]:
    """Check the manifest against its schema; `root` is its mapping."""
    yield from _schema_version(root)
    yield from _field_types(root)
    yield from _repeated_keys(root)
    yield from _unknown_keys(root)


def section(root: Node, name: str) -> Node | None:
    """Return the value of a key below `resources`."""
    resources = root.get("resources")
    return resources.get(name) if resources is not None else None


def _schema_version(root: Node) -> Iterator[Finding]:
    version = root.get("schema_version")
    if version is None:
        yield RULES.finding(
            "manifest_invalid/schema-version-missing",
            root.entries[0][0],
            expected=f"schema_version: {SCHEMA_VERSION}",
            actual=listed(str(key.value) for key, _ in root.entries),
        )
    elif version.text() != SCHEMA_VERSION:
        yield RULES.finding(
            "manifest_invalid/schema-version",
            version,
            expected=SCHEMA_VERSION,
            actual=version.describe(),
        )


def _field_types(root: Node) -> Iterator[Finding]:
    for key, _ in root.entries:
        if key.kind != "string":
            yield _field_type(schema.Mismatch(key, f"the key {key.describe()}", "text as a key"))
    for mismatch in schema.record(schema.MANIFEST)(root, ""):
        yield _field_type(mismatch)


def _field_type(mismatch: schema.Mismatch) -> Finding:
    return RULES.finding(
        "manifest_invalid/empty-section" if mismatch.newer_accept else "manifest_invalid/field-type",
        mismatch.node,
        expected=mismatch.expected,
        actual=mismatch.node.describe(),
        field=mismatch.field,
    )


def _repeated_keys(root: Node) -> Iterator[Finding]:
    resources = {
        id(node) for name, value in root.entries if name.value == "resources" for node in value.walk()
    }
    for node in root.walk():
        for key in node.repeated_keys():
            lost = id(node) in resources or (node is root and key.value == "resources")
            yield RULES.finding(
                "manifest_invalid/repeated-resource-key" if lost else "manifest_invalid/repeated-key",
                key,
                expected="each key once",
                actual=f"{key.value!r} again",
                key=repr(key.value),
            )


def _unknown_keys(root: Node) -> Iterator[Finding]:
    known = {*schema.MANIFEST, *schema.NEWER_MANIFEST_KEYS, *COMPONENT_SECTIONS}
    yield from _unknown(root, known)
    sections: tuple[tuple[str, Iterable[str]], ...] = (
        ("resources", schema.RESOURCES),
        ("meta", schema.META),
        ("prompts", ("sections",)),
    )
    for name, fields in sections:
        value = root.get(name)
        if value is not None:
            yield from _unknown(value, set(fields))
    skills = section(root, "skills")
    if skills is not None:
        yield from _unknown(skills, set(schema.SKILLS))


def _unknown(node: Node, known: set[str]) -> Iterator[Finding]:
    for key, _ in node.entries:
        name = key.text()
        if name is not None and name not in known and not name.startswith(("x-", "x_", ".", "_")):
            yield RULES.finding(
                "manifest_invalid/unknown-key",
                key,
                expected=listed(sorted(known)),
                actual=repr(name),
                key=repr(name),
                hint=did_you_mean(name, known),
            )
