"""Packages of the Open Packaging Conventions: parts, their types, what they refer to.

Only what can be reached from the package's relationships is judged: real files carry orphans. Names
are compared without case, Strict relationship types are read as the transitional ones.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from verify_ext.artifacts.container import Archive, Entry
from verify_ext.artifacts.model import ArtifactFile
from verify_ext.artifacts.opc_rules import RULES
from verify_ext.model import Finding

TREE_LIMIT_BYTES = 24 * 1024 * 1024
"""XML parts up to this size are held as a tree; larger ones are only streamed."""
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_STRICT_R = "http://purl.oclc.org/ooxml/officeDocument/relationships"
_MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"
_KNOWN_NAMESPACES = (
    "http://schemas.openxmlformats.org/",
    "http://schemas.microsoft.com/",
    "http://purl.oclc.org/",
    "urn:schemas-microsoft-com:",
    "http://www.w3.org/",
)
_XML_TYPE = re.compile(r"(?:\+|/)xml$", re.I)
_RELATIONSHIPS = re.compile(
    rb"xmlns:([\w.-]+)=[\"'](?:%b|%b)[\"']" % (re.escape(R.encode()), re.escape(_STRICT_R.encode()))
)
_HEAD = 8192
_IGNORABLE = re.compile(rb"Ignorable=[\"']([^\"'<>]*)[\"']")
_TYPED = frozenset(
    [
        "officeDocument",
        "styles",
        "settings",
        "numbering",
        "theme",
        "fontTable",
        "webSettings",
        "header",
        "footer",
        "footnotes",
        "endnotes",
        "comments",
        "slide",
        "slideLayout",
        "slideMaster",
        "notesSlide",
        "notesMaster",
        "worksheet",
        "sharedStrings",
        "table",
        "chart",
        "drawing",
    ]
)
"""Relationships to parts that have content types of their own."""
_MACRO = re.compile(r"macroEnabled|vbaProject", re.I)


@dataclass(frozen=True)
class Relationship:
    """A relationship: `target` is a part's name without its leading slash, None where it is external."""

    id: str
    type: str
    """The last step of its type, such as `slide`."""
    target: str | None
    written: str

    def is_broken(self, package: Package) -> bool:
        """Return whether it leads to a part that is not there; NULL is Office's own way to say none."""
        if self.target is None or self.target.rpartition("/")[2] == "NULL":
            return False
        return package.part(self.target) is None


@dataclass
class Part:
    """A part of the package, by the name of its archive entry."""

    name: str
    content_type: str | None
    entry: Entry
    relationships: dict[str, Relationship] = field(default_factory=dict)

    @property
    def is_xml(self) -> bool:
        return bool(self.content_type and _XML_TYPE.search(self.content_type))

    def related(self, kind: str) -> list[Relationship]:
        """Return the relationships of a type, by its last step."""
        return [each for each in self.relationships.values() if each.type == kind]


class Package:
    """An open package. Findings gather in `findings`; `main` is None where there is no document."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.findings: list[Finding] = []
        self.main: Part | None = None
        self._entries = {entry.name.lower(): entry for entry in archive.entries}
        self._parts: dict[str, Part] = {}
        self._defaults: dict[str, str] = {}
        self._overrides: dict[str, str] = {}
        self._said: set[tuple[str, ...]] = set()

    @property
    def file(self) -> ArtifactFile:
        return self.archive.file

    def say(self, rule: str, **words: Any) -> None:
        """Note a finding of the package, the same one once."""
        key = (rule, *words.values())
        if key not in self._said and len(self._said) < 60:
            self._said.add(key)
            self.findings.append(RULES.finding(f"artifact_format_invalid/{rule}", self.file, **words))

    # --- opening -----------------------------------------------------------------------------

    def open(self) -> bool:
        """Read names, content types and the package's relationships; False if there is no document."""
        self._check_names()
        if "[content_types].xml" not in self._entries:
            nested = [name for name in self._entries if name.endswith("/[content_types].xml")]
            hint = f"; there is {nested[0]}: the archive has a folder too many" if nested else ""
            self.say("opc-no-content-types", hint=hint)
            return False
        self._read_types()
        if "_rels/.rels" not in self._entries:
            self.say("opc-no-relationships")
            return False
        root = self._relationships("", "_rels/.rels")
        document = next((each for each in root.values() if each.type == "officeDocument"), None)
        if document is None:
            self.say("opc-no-main-part", problem="no relationship officeDocument")
            return False
        self.main = self.part(document.target or "")
        if self.main is None:
            self.say("opc-no-main-part", problem=f"{document.written} is not in the package")
            return False
        self._root = list(root.values())
        return True

    def _check_names(self) -> None:
        seen: set[str] = set()
        for entry in self.archive.entries:
            if "\\" in entry.name or entry.name.startswith("/"):
                self.say("opc-name-odd", entry=repr(entry.name))
                return
            if entry.name.lower() in seen:
                self.say("opc-name-twice", entry=entry.name)
            seen.add(entry.name.lower())
            if entry.method not in (0, 8):
                self.say("opc-method", entry=entry.name)

    def _read_types(self) -> None:
        tree = self._tree_of("[Content_Types].xml", self._entries["[content_types].xml"])
        if tree is None:
            return
        for element in tree:
            kind = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
            table, key = (
                (self._defaults, element.get("Extension", "").lower())
                if kind == "Default"
                else (self._overrides, element.get("PartName", "").lower().lstrip("/"))
            )
            if kind not in ("Default", "Override"):
                continue
            if key in table:
                self.say("opc-type-twice", name=key)
            table[key] = element.get("ContentType", "")
        for name in self._overrides:
            if unquote(name) not in self._entries and name not in self._entries:
                self.say("opc-override-without-part", name=f"/{name}")

    def _type_of(self, name: str) -> str | None:
        lower = name.lower()
        return self._overrides.get(lower) or self._defaults.get(posixpath.splitext(lower)[1].lstrip("."))

    def part(self, name: str) -> Part | None:
        """Return a part by its name, whatever its case; None if it is not in the package."""
        entry = self._entries.get(name.lower()) or self._entries.get(unquote(name).lower())
        if entry is None:
            return None
        key = entry.name.lower()
        if key not in self._parts:
            part = self._parts[key] = Part(entry.name, self._type_of(entry.name), entry)
            folder, base = posixpath.split(entry.name)
            part.relationships = self._relationships(folder, f"{folder}/_rels/{base}.rels".lstrip("/"))
        return self._parts[key]

    def _relationships(self, folder: str, name: str) -> dict[str, Relationship]:
        entry = self._entries.get(name.lower())
        tree = None if entry is None else self._tree_of(name, entry)
        found = {}
        for element in tree if tree is not None else ():
            if not isinstance(element.tag, str):
                continue
            written = element.get("Target", "")
            external = element.get("TargetMode", "") == "External"
            path = written.partition("#")[0]
            target = path.lstrip("/") if path.startswith("/") else posixpath.join(folder, path)
            target = posixpath.normpath(target) if path else None
            kind = element.get("Type", "").rpartition("/")[2]
            found[element.get("Id", "")] = Relationship(
                element.get("Id", ""), kind, None if external else target, written
            )
        return found

    # --- walking -----------------------------------------------------------------------------

    def walk(
        self,
        visit: Callable[[Part, Any], None],
        *,
        streamed: frozenset[str] = frozenset(),
        unread: frozenset[str] = frozenset(),
    ) -> None:
        """Visit every part that can be reached, each once, with its XML tree (None where it has none).

        Each is read once and let go. Parts of the content types in `streamed`, and those that are too
        large for a tree, are visited without one; who streams them reads them itself. Parts whose
        content types end in one of `unread` need no tree either, but for what every part must keep.
        """
        assert self.main is not None
        waiting, seen = [self.main], {self.main.name.lower()}
        for each in self._root:
            self._follow(None, each, waiting, seen)
        while waiting:
            part = waiting.pop(0)
            if part.content_type is None:
                self.say("opc-part-without-type", part=part.name)
            tree = None
            if part.is_xml and part.content_type not in streamed:
                tree = self._checked_tree(part, is_read=not str(part.content_type).endswith(tuple(unread)))
            elif not part.is_xml and not self.archive.is_exhausted:
                self.archive.drain(part.entry)
            visit(part, tree)
            for each in part.relationships.values():
                self._follow(part, each, waiting, seen)

    def _follow(self, part: Part | None, each: Relationship, waiting: list[Part], seen: set[str]) -> None:
        target = None if each.target is None else self.part(each.target)
        if (
            target is not None
            and each.type in _TYPED
            and target.content_type in ("application/xml", "text/xml")
        ):
            words: dict[str, Any] = {
                "part": target.name,
                "actual": target.content_type or "",
                "expected": each.type,
            }
            self.say("opc-part-type-wrong", **words)
        if target is not None and target.name.lower() not in seen:
            seen.add(target.name.lower())
            waiting.append(target)

    def stream(self, part: Part) -> Iterator[Any]:
        """Yield the elements of a part's XML as they end; whoever gets one clears it."""
        from lxml import etree

        parser = etree.XMLPullParser(
            events=("end",), resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
        )
        try:
            for block in self.archive.blocks(part.entry):
                parser.feed(block)
                for _, element in parser.read_events():
                    yield element
            parser.close()
        except etree.XMLSyntaxError as error:
            self._not_well_formed(part.name, error)

    def _checked_tree(self, part: Part, *, is_read: bool) -> Any:
        """Check what every part's XML must keep; return its tree if it `is_read` or was needed for that."""
        data = self._data_of(part.name, part.entry)
        if data is None:
            return None
        uses, compatible = _uses_relationships(data), _needs_compatibility(data)
        if not is_read and not uses and not compatible:
            self._check_well_formed(part.name, data)
            return None
        tree = self._parsed(part.name, data)
        if tree is not None and uses:
            for used in set(tree.xpath("//@r:*|//@s:*", namespaces={"r": R, "s": _STRICT_R})):
                self._check_use(part, str(used))
        if tree is not None and compatible:
            self._check_compatibility(part, tree)
        return tree

    def _check_well_formed(self, name: str, data: bytes) -> None:
        """Parse without keeping anything, which is a good deal faster."""
        from xml.parsers import expat

        parser = expat.ParserCreate()
        doctypes: list[object] = []
        parser.StartDoctypeDeclHandler = lambda *declared: doctypes.append(declared)
        try:
            parser.Parse(data, True)
        except expat.ExpatError as error:
            self._not_well_formed(name, error)
        if doctypes:
            self.say("opc-dtd", part=name)

    def _data_of(self, name: str, entry: Entry) -> bytes | None:
        data = self.archive.read(entry, TREE_LIMIT_BYTES)
        if data is None and entry.size > TREE_LIMIT_BYTES:
            self.say("opc-part-too-large", part=name, problem=f"{entry.size >> 20} MiB of XML")
        return data

    def _tree_of(self, name: str, entry: Entry) -> Any:
        data = self._data_of(name, entry)
        return None if data is None else self._parsed(name, data)

    def _parsed(self, name: str, data: bytes) -> Any:
        from lxml import etree

        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
        try:
            tree = etree.fromstring(data, parser)
        except (etree.XMLSyntaxError, ValueError) as error:
            self._not_well_formed(name, error)
            return None
        if getattr(tree.getroottree().docinfo, "doctype", ""):
            self.say("opc-dtd", part=name)
        return tree

    def _not_well_formed(self, name: str, error: Exception) -> None:
        if "huge" in str(error).lower():  # a limit of the parser, no fault of the text
            self.say("opc-part-too-large", part=name, problem="a text of more than 10 MB")
            return
        line = str(getattr(error, "lineno", None) or 1)
        self.say("opc-not-well-formed", part=name, line=line, problem=str(error)[:200])

    def _check_compatibility(self, part: Part, tree: Any) -> None:
        """Check mc: attributes: what is to be ignored is declared, what must be understood is known."""
        named = "//*[@mc:Ignorable or @mc:MustUnderstand]"
        for element in tree.xpath(named, namespaces={"mc": _MC}):
            for prefix in element.get(f"{{{_MC}}}Ignorable", "").split():
                if prefix not in element.nsmap:
                    self.say("opc-ignorable-undeclared", part=part.name, name=prefix)
            for prefix in element.get(f"{{{_MC}}}MustUnderstand", "").split():
                if not str(element.nsmap.get(prefix, "")).startswith(_KNOWN_NAMESPACES):
                    self.say("opc-must-understand", part=part.name, name=prefix)

    def _check_use(self, part: Part, name: str) -> None:
        if not name:
            return
        relationship = part.relationships.get(name)
        if relationship is None:
            self.say("opc-relationship-undefined", part=part.name, name=name)
        elif relationship.is_broken(self):
            self.say("opc-relationship-target-missing", part=part.name, target=relationship.written)

    # --- the document's type -----------------------------------------------------------------

    def check_kind(self, types: dict[str, tuple[str, ...]]) -> None:
        """Check the document's content type against the file's suffix, and macros against both.

        `types` maps each suffix of the format to the endings of content types it may have.
        """
        assert self.main is not None
        actual, suffix = self.main.content_type or "nothing", self.file.suffix
        known = tuple(ending for endings in types.values() for ending in endings)
        if not actual.endswith(known):
            self.say("opc-part-type-wrong", part=self.main.name, actual=actual, expected="a document")
            return
        if suffix in types and not actual.endswith(types[suffix]):
            self.say("opc-main-type", part=self.main.name, actual=actual, suffix=suffix)
        elif suffix in types and not suffix.endswith("m"):
            macros = [part for part in self._parts.values() if _MACRO.search(part.content_type or "")]
            for part in macros[:1]:
                self.say("opc-macro-part", part=part.name, suffix=suffix)


def _uses_relationships(data: bytes) -> bool:
    """Return whether a part's XML has attributes in the namespace of relationships, told by its bytes."""
    if b"\0" in data:  # UTF-16
        return True
    return any(
        b" %b:" % prefix in data or b"\n%b:" % prefix in data for prefix in _RELATIONSHIPS.findall(data)
    )


def _needs_compatibility(data: bytes) -> bool:
    """Return whether mc: attributes need a look at the tree.

    The usual ones, on the root alone and of prefixes that are declared there, are told by the bytes.
    """
    if b"MustUnderstand" in data or b"\0" in data:
        return True
    count = data.count(b"Ignorable")
    head = data[:_HEAD]
    named = _IGNORABLE.search(head)
    if count == 1 and named is not None:
        return not all(b"xmlns:%b=" % prefix in head for prefix in named[1].split())
    return count > 0


@lru_cache(maxsize=8)
def document_type(file: ArtifactFile) -> str | None:
    """Return the content type of a package's document part, None if the file is no package.

    For recognising a format only: reads two small entries and judges nothing.
    """
    from verify_ext.artifacts.container import ArchiveError

    if not file.head.startswith(b"PK"):
        return None
    try:
        with Archive(file) as archive:
            package = Package(archive)
            opened = package.open()
            return (package.main.content_type or "") if opened and package.main is not None else None
    except ArchiveError:
        return None
