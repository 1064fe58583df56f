"""Text files of strangers, read with a place for everything.

YAML, JSON and frontmatter become `Node` trees whose every node knows where it stands; Python
becomes an `ast` tree with a way from node to place. Nothing here executes, follows a link out
of a folder, or trusts a size. Trouble is a `SourceError` at the place where it is.
"""

from __future__ import annotations

import ast
import bisect
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from verify_ext.model import Extension, Location

TEXT_LIMIT_BYTES = 4 * 1024 * 1024
"""More than any manifest, skill or module that a person maintains; a limit of our own."""

DEPTH_LIMIT = 100
PLAIN_LIMIT_NODES = 100_000
_SNIPPET_LIMIT = 400


@dataclass(frozen=True)
class Spot:
    """A place and nothing else."""

    location: Location


class SourceError(Exception):
    """Text that cannot be read as what it should be.

    `reason` is one of `missing`, `not-a-file`, `too-large`, `unreadable`, `encoding`, `syntax`,
    `recursive`, `too-deep`; `place` is where; the message says what, for a person.
    """

    def __init__(self, reason: str, message: str, place: Spot) -> None:
        super().__init__(message)
        self.reason = reason
        self.place = place


@dataclass(frozen=True, eq=False)
class Source:
    """One text file: its repo-relative POSIX `path`, its `text` without a BOM."""

    path: str
    text: str
    had_bom: bool = False

    @cached_property
    def _line_starts(self) -> list[int]:
        # Lines as editors and GitHub count them. YAML also breaks at U+2028; positions here are
        # therefore made of offsets, never of a parser's own line numbers.
        return [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", self.text))]

    def line(self, number: int) -> str:
        """Return line `number` (from 1) without its end, at most 400 code points of it."""
        start = self._line_starts[number - 1]
        return re.split(r"[\r\n]", self.text[start : start + _SNIPPET_LIMIT], maxsplit=1)[0]

    def spot(self, start: int, end: int | None = None) -> Spot:
        """Return the place of the code points from `start` to `end` (exclusive)."""
        line, column = self._line_and_column(start)
        end_line, end_column = self._line_and_column(max(start, start if end is None else end))
        return Spot(
            Location(
                path=self.path,
                line=line,
                column=column,
                end_line=end_line,
                end_column=end_column,
                text=self.line(line),
            )
        )

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a line and column, both from 1; what is past the end is clamped."""
        starts = self._line_starts
        return min(starts[min(max(line, 1), len(starts)) - 1] + max(column, 1) - 1, len(self.text))

    def _line_and_column(self, offset: int) -> tuple[int, int]:
        offset = min(max(offset, 0), len(self.text))
        line = bisect.bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    @property
    def top(self) -> Spot:
        """The first place of the file, for what is said about the file as a whole."""
        return self.spot(0)


def line_spot(extension: Extension, file: str, line: int) -> Spot | None:
    """Return the place of a whole line in a file of an extension, None if there is no such line.

    `file` and `line` may come from a worker: nothing but the extension's own files is read.
    """
    if file not in extension.files or type(line) is not int or line < 1:
        return None
    try:
        source = read_source(extension.root / file, extension.shown(file))
        text = source.line(line)
    except (SourceError, IndexError):
        return None
    start = source.offset(line, len(text) - len(text.lstrip()) + 1)
    return source.spot(start, source.offset(line, len(text) + 1))


def file_spot(path: str) -> Spot:
    """Return the place of a file that could not be read as text."""
    return Spot(Location(path=path))


def read_source(file: Path, path: str, *, limit: int = TEXT_LIMIT_BYTES) -> Source:
    """Read a regular UTF-8 text file of at most `limit` bytes.

    `path` is how findings name it. Never opens anything but a regular file (a FIFO would hang),
    never follows a final link. Raises SourceError.
    """
    return decode(read_bytes(file, path, limit=limit), path)


def read_bytes(file: Path, path: str, *, limit: int = TEXT_LIMIT_BYTES) -> bytes:
    """Read a regular file of at most `limit` bytes. Raises SourceError."""
    spot = file_spot(path)
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise SourceError("missing", f"{path} does not exist", spot) from None
    except (OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or str(error)
        raise SourceError("unreadable", f"{path} cannot be read: {what}", spot) from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise SourceError("not-a-file", f"{path} is not a regular file", spot)
        with os.fdopen(handle, "rb", closefd=False) as stream:
            data = stream.read(limit + 1)
    except OSError as error:
        raise SourceError("unreadable", f"{path} cannot be read: {error.strerror}", spot) from None
    finally:
        os.close(handle)
    if len(data) > limit:
        raise SourceError("too-large", f"{path} is larger than {limit // 1024} KiB", spot)
    return data


def decode(data: bytes, path: str) -> Source:
    """Decode UTF-8 text, with or without a BOM. Raises SourceError at the first wrong byte."""
    had_bom = data.startswith(b"\xef\xbb\xbf")
    body = data[3:] if had_bom else data
    try:
        return Source(path, body.decode("utf-8"), had_bom)
    except UnicodeDecodeError as error:
        start = len(body[: error.start].decode("utf-8"))
        spot = Source(path, body.decode("utf-8", "replace")).spot(start, start + 1)
        wrong = body[error.start : error.start + 1].hex()
        raise SourceError("encoding", f"byte 0x{wrong} is not UTF-8", spot) from None


@dataclass(frozen=True, eq=False)
class Node:
    """A value in YAML or JSON, and where it stands.

    `kind` is `mapping`, `sequence`, `string`, `integer`, `number`, `boolean`, `null` or `other`
    (dates, binary data, unknown tags). Scalars have a `value`, mappings `entries` in the order
    of the file with repeated keys kept, sequences `elements`.
    """

    source: Source = field(repr=False)
    start: int
    end: int
    kind: str
    value: Any = None
    entries: tuple[tuple[Node, Node], ...] = field(default=(), repr=False)
    elements: tuple[Node, ...] = field(default=(), repr=False)

    @property
    def location(self) -> Location:
        return self.source.spot(self.start, self.end).location

    def get(self, key: str) -> Node | None:
        """Return the value of `key`; of repeated keys the last, as parsers do."""
        return next((value for name, value in reversed(self.entries) if name.value == key), None)

    def key(self, key: str) -> Node | None:
        """Return the key node itself, the last of its name."""
        return next((name for name, _ in reversed(self.entries) if name.value == key), None)

    def repeated_keys(self) -> Iterator[Node]:
        """Yield each key node whose name was there before in the same mapping."""
        seen: set[tuple[str, str]] = set()
        for name, _ in self.entries:
            mark = (name.kind, _shown(name.value))
            if mark in seen:
                yield name
            seen.add(mark)

    def text(self) -> str | None:
        """Return the value if it is a string."""
        return self.value if self.kind == "string" else None

    def plain(self) -> Any:
        """Return plain Python data. Raises SourceError where aliases blow it up."""
        budget = [PLAIN_LIMIT_NODES]
        return _plain(self, budget)

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it, each once, in the order of the file."""
        seen: set[int] = set()
        stack = [self]
        while stack:
            node = stack.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            yield node
            below = [*(part for entry in node.entries for part in entry), *node.elements]
            stack.extend(reversed(below))

    def describe(self) -> str:
        """Return what this is, for the `actual` of a finding: short, on one line."""
        if self.kind in ("mapping", "sequence"):
            size = len(self.entries) or len(self.elements)
            return f"a {self.kind} of {size}" if size else f"an empty {self.kind}"
        if self.kind == "null":
            return "nothing (null)"
        shown = _shown(self.value)
        return f"the {self.kind} {shown if len(shown) <= 80 else shown[:77] + '…'}"


def _shown(value: Any) -> str:
    """Return a scalar as Python writes it; an integer with more digits than Python prints, in hex."""
    try:
        return repr(value)
    except ValueError:
        return hex(value)


def _plain(node: Node, budget: list[int]) -> Any:
    budget[0] -= 1
    if budget[0] < 0:
        raise SourceError(
            "recursive",
            f"aliases expand to more than {PLAIN_LIMIT_NODES} values",
            Spot(node.location),
        )
    if node.kind == "mapping":
        return {name.value: _plain(value, budget) for name, value in node.entries}
    if node.kind == "sequence":
        return [_plain(element, budget) for element in node.elements]
    return node.value


# --- YAML ------------------------------------------------------------------------------------

_YAML_KINDS = {
    "tag:yaml.org,2002:map": "mapping",
    "tag:yaml.org,2002:seq": "sequence",
    "tag:yaml.org,2002:str": "string",
    "tag:yaml.org,2002:int": "integer",
    "tag:yaml.org,2002:float": "number",
    "tag:yaml.org,2002:bool": "boolean",
    "tag:yaml.org,2002:null": "null",
}


# libyaml is ten times faster than PyYAML's own parser, and accepts a little more: tabs, a comment
# that touches a block scalar's mark, a BOM inside, questions in flow, some directives and tags; of
# escapes like \\ud83d it accepts less.
_DIFFERS_IN_LIBYAML = re.compile(r"[\t\ufeff]|\\[uU]|[|>][-+0-9]*#|^%|(?:^|[\s\[{,])!", re.MULTILINE)
_SLOW_PARSER_LIMIT = 64 * 1024


def parse_yaml(source: Source, start: int = 0, end: int | None = None) -> Node:
    """Parse the YAML document in `source.text[start:end]` as `yaml.safe_load` reads it.

    An empty document is a `null` node. Raises SourceError.
    """
    import yaml

    text = source.text[start:end]
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    question_in_flow = "?" in text and ("[" in text or "{" in text)
    if len(text) <= _SLOW_PARSER_LIMIT and (question_in_flow or _DIFFERS_IN_LIBYAML.search(text)):
        loader = yaml.SafeLoader
    try:
        root = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        parts = [part for part in (error.context, error.problem) if part]
        spot = source.spot(start + _offset_of(error, text))
        raise SourceError("syntax", "not valid YAML: " + ", ".join(parts), spot) from None
    except yaml.YAMLError as error:
        # A character that YAML forbids. libyaml gives its position in bytes, the other in code points.
        forbidden = yaml.reader.Reader.NON_PRINTABLE.search(text)
        spot = source.spot(start + (forbidden.start() if forbidden else 0))
        raise SourceError("syntax", f"not valid YAML: {str(error).splitlines()[0]}", spot) from None
    except RecursionError:
        raise SourceError("too-deep", "nested too deeply", source.spot(start)) from None
    if root is None:
        return Node(source, start, start, "null")
    return _YamlReader(source, start).node(root, 0)


def _offset_of(error: Any, text: str) -> int:
    """Return where a parser's error is; of what the text ends in, where that was opened."""
    marks: list[int] = [mark.index for mark in (error.problem_mark, error.context_mark) if mark is not None]
    at_end = bool(marks) and marks[0] >= len(text.rstrip())
    return min(marks) if at_end else next(iter(marks), 0)


class _YamlReader:
    """Makes a `Node` tree of PyYAML's nodes, with merge keys resolved as its constructor does."""

    def __init__(self, source: Source, base: int) -> None:
        import yaml

        self._source = source
        self._base = base
        self._known: dict[int, Node | None] = {}
        self._construct = yaml.constructor.SafeConstructor()
        self._yaml = yaml

    def node(self, raw: Any, depth: int) -> Node:
        if id(raw) in self._known:
            known = self._known[id(raw)]
            if known is None:
                raise SourceError("recursive", "an alias contains itself", self._spot(raw))
            return known
        if depth > DEPTH_LIMIT:
            raise SourceError("too-deep", f"nested more than {DEPTH_LIMIT} deep", self._spot(raw))
        self._known[id(raw)] = None
        made = self._make(raw, depth)
        self._known[id(raw)] = made
        return made

    def _make(self, raw: Any, depth: int) -> Node:
        kind = _YAML_KINDS.get(raw.tag, "other")
        start = self._base + raw.start_mark.index
        if kind == "mapping" and isinstance(raw, self._yaml.MappingNode):
            entries = tuple(self._entries(raw, depth))
            end = self._end(raw, [part for entry in entries for part in entry])
            return Node(self._source, start, end, kind, entries=entries)
        if kind == "sequence" and isinstance(raw, self._yaml.SequenceNode):
            elements = tuple(self.node(element, depth + 1) for element in raw.value)
            return Node(self._source, start, self._end(raw, elements), kind, elements=elements)
        return Node(self._source, start, self._end(raw, ()), kind, value=self._value(raw))

    def _end(self, raw: Any, inside: Iterable[Node]) -> int:
        """Return where a node's own text ends; a parser's mark is where the next token begins."""
        start: int = self._base + raw.start_mark.index
        end: int = self._base + raw.end_mark.index
        if getattr(raw, "flow_style", None) is False:
            end = max((node.end for node in inside if start <= node.start and node.end <= end), default=end)
        return start + len(self._source.text[start:end].rstrip())

    def _entries(self, raw: Any, depth: int) -> Iterator[tuple[Node, Node]]:
        merged: list[tuple[Node, Node]] = []
        own: list[tuple[Node, Node]] = []
        for key, value in raw.value:
            if key.tag == "tag:yaml.org,2002:merge":
                merged += self._merged(value, depth)
                continue
            if key.tag == "tag:yaml.org,2002:value":  # a plain "=", which is text as a key
                key.tag = "tag:yaml.org,2002:str"
            name = self.node(key, depth + 1)
            if not _is_hashable(name):
                raise SourceError("syntax", "not valid YAML: found unhashable key", self._spot(key))
            own.append((name, self.node(value, depth + 1)))
        last = {_shown(name.value): (name, value) for name, value in merged}
        names = {_shown(name.value) for name, _ in own}
        yield from (entry for name, entry in last.items() if name not in names)
        yield from own

    def _merged(self, raw: Any, depth: int) -> list[tuple[Node, Node]]:
        """Return what a merge key brings: of a list of mappings the first has the last word."""
        mappings = list(reversed(raw.value)) if isinstance(raw, self._yaml.SequenceNode) else [raw]
        if not all(isinstance(mapping, self._yaml.MappingNode) for mapping in mappings):
            what = "expected a mapping or list of mappings for merging"
            raise SourceError("syntax", f"not valid YAML: {what}", self._spot(raw))
        return [entry for mapping in mappings for entry in self.node(mapping, depth + 1).entries]

    def _value(self, raw: Any) -> Any:
        try:
            return self._construct.construct_object(raw, deep=True)
        except RecursionError:
            raise SourceError("too-deep", "nested too deeply", self._spot(raw)) from None
        except (
            self._yaml.YAMLError,
            ValueError,
            ArithmeticError,
            LookupError,
            TypeError,
            AttributeError,
        ) as error:
            # PyYAML's constructors fail with whatever a wrong date, number or flag makes them
            what = getattr(error, "problem", None) or str(error) or "a value that does not fit its tag"
            raise SourceError("syntax", f"not valid YAML: {what}", self._spot(raw)) from None

    def _spot(self, raw: Any) -> Spot:
        return self._source.spot(self._base + raw.start_mark.index, self._base + raw.end_mark.index)


def _is_hashable(key: Node) -> bool:
    try:
        hash(key.value)
    except TypeError:
        return False
    return key.kind not in ("mapping", "sequence")


# --- JSON ------------------------------------------------------------------------------------

_JSON_SPACE = re.compile(r"[ \t\r\n]*")
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_JSON_WORDS = {"true": ("boolean", True), "false": ("boolean", False), "null": ("null", None)}


def parse_json(source: Source) -> Node:
    """Parse strict JSON (RFC 8259: no NaN, no comments, one value). Raises SourceError."""
    reader = _JsonReader(source)
    node, end = reader.value(reader.space(0), 0)
    end = reader.space(end)
    if end != len(source.text):
        reader.fail(end, "text after the JSON value")
    return node


class _JsonReader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._text = source.text

    def space(self, at: int) -> int:
        match = _JSON_SPACE.match(self._text, at)
        return match.end() if match else at

    def fail(self, at: int, what: str) -> NoReturn:
        raise SourceError("syntax", f"not valid JSON: {what}", self._source.spot(at))

    def value(self, at: int, depth: int) -> tuple[Node, int]:
        if depth > DEPTH_LIMIT:
            raise SourceError("too-deep", f"nested more than {DEPTH_LIMIT} deep", self._source.spot(at))
        head = self._text[at : at + 1]
        if head == "{":
            return self._object(at, depth)
        if head == "[":
            return self._array(at, depth)
        if head == '"':
            return self._string(at)
        for word, (kind, value) in _JSON_WORDS.items():
            if self._text.startswith(word, at):
                return Node(self._source, at, at + len(word), kind, value), at + len(word)
        match = _JSON_NUMBER.match(self._text, at)
        if not match:
            self.fail(at, f"unexpected {head!r}" if head else "a value is missing")
        return self._number(match)

    def _number(self, match: re.Match[str]) -> tuple[Node, int]:
        integral = match[1] is None and match[2] is None
        try:
            value: int | float = int(match[0]) if integral else float(match[0])
        except ValueError:  # more digits than Python converts (sys.int_info)
            self.fail(match.start(), "a number with too many digits")
        kind = "integer" if integral else "number"
        return Node(self._source, match.start(), match.end(), kind, value), match.end()

    def _string(self, at: int) -> tuple[Node, int]:
        try:
            value, end = json.decoder.scanstring(self._text, at + 1, True)  # type: ignore[attr-defined]
        except json.JSONDecodeError as error:
            self.fail(error.pos, error.msg[:1].lower() + error.msg[1:])
        return Node(self._source, at, end, "string", value), end

    def _object(self, at: int, depth: int) -> tuple[Node, int]:
        entries: list[tuple[Node, Node]] = []

        def entry(here: int) -> int:
            if self._text[here : here + 1] != '"':
                self.fail(here, "a key in double quotes is missing")
            key, here = self._string(here)
            here = self.space(here)
            if self._text[here : here + 1] != ":":
                self.fail(here, "':' is missing after the key")
            value, here = self.value(self.space(here + 1), depth + 1)
            entries.append((key, value))
            return here

        end = self._items(at, "}", entry)
        return Node(self._source, at, end, "mapping", entries=tuple(entries)), end

    def _array(self, at: int, depth: int) -> tuple[Node, int]:
        elements: list[Node] = []

        def element(here: int) -> int:
            value, here = self.value(here, depth + 1)
            elements.append(value)
            return here

        end = self._items(at, "]", element)
        return Node(self._source, at, end, "sequence", elements=tuple(elements)), end

    def _items(self, at: int, close: str, item: Callable[[int], int]) -> int:
        here = self.space(at + 1)
        if self._text[here : here + 1] == close:
            return here + 1
        while True:
            here = self.space(item(here))
            mark = self._text[here : here + 1]
            if mark == close:
                return here + 1
            if mark != ",":
                self.fail(here, f"',' or {close!r} is missing")
            here = self.space(here + 1)


# --- Frontmatter -----------------------------------------------------------------------------

_FENCE = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)


@dataclass(frozen=True, eq=False)
class Frontmatter:
    """The YAML between the fences of a Markdown file, and where its body starts."""

    node: Node
    body_start: int


def parse_frontmatter(source: Source) -> Frontmatter:
    """Parse the frontmatter of a Markdown file. Raises SourceError.

    The fences are lines of exactly three hyphens; the first must be the first line
    (Agent Skills specification, "SKILL.md format").
    """
    opening = _FENCE.match(source.text)
    if opening is None:
        raise SourceError("no-fence", "the first line is not '---'", source.top)
    closing = _FENCE.search(source.text, opening.end())
    if closing is None:
        raise SourceError("unclosed", "the frontmatter is not closed by a line '---'", source.top)
    node = parse_yaml(source, opening.end(), closing.start())
    return Frontmatter(node, closing.end())


# --- Python ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PythonModule:
    """A parsed module; it was read, never imported."""

    source: Source
    tree: ast.Module

    def spot(self, node: ast.AST) -> Spot:
        """Return the place of an `ast` node (whose columns are UTF-8 bytes, ours code points)."""
        line = getattr(node, "lineno", 1)
        end_line = getattr(node, "end_lineno", None) or line
        start = self._offset(line, getattr(node, "col_offset", 0))
        end = self._offset(end_line, getattr(node, "end_col_offset", 0) or 0)
        return self.source.spot(start, end)

    def _offset(self, line: int, column_bytes: int) -> int:
        start = self.source.offset(line, 1)
        # A code point has at least one byte, so the first `column_bytes` of them are enough.
        text = self.source.text[start : start + column_bytes]
        return start + len(text.encode("utf-8", "surrogatepass")[:column_bytes].decode("utf-8", "ignore"))


def parse_python(source: Source) -> PythonModule:
    """Parse a module with this interpreter's grammar. Raises SourceError."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "invalid escape sequence" is the author's, not ours
            return PythonModule(source, ast.parse(source.text))
    except SyntaxError as error:
        offset = source.offset(error.lineno or 1, error.offset or 1)
        raise SourceError("syntax", f"not valid Python: {error.msg}", source.spot(offset)) from None
    except (ValueError, RecursionError, MemoryError) as error:
        what = str(error) or type(error).__name__
        raise SourceError("syntax", f"not valid Python: {what}", source.top) from None
