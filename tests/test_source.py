"""Text with places: every node stands where it says, and trouble is reported at its place."""

from __future__ import annotations

import ast
import os
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from verify_ext.source import (
    Node,
    Source,
    SourceError,
    decode,
    parse_frontmatter,
    parse_json,
    parse_python,
    parse_yaml,
    read_source,
)


def source(text: str) -> Source:
    return Source("file", text)


def words(node: Node) -> str:
    """Return the text that a node covers, found through its lines and columns."""
    place, text = node.location, node.source
    return text.text[text.offset(place.line, place.column) : text.offset(place.end_line, place.end_column)]


def covered(root: Node) -> list[str]:
    return [words(node) for node in root.walk()]


def error_of(text: str) -> tuple[str, int, int]:
    """Return the reason, line and column of the trouble with a YAML text."""
    with pytest.raises(SourceError) as caught:
        parse_yaml(source(text))
    return caught.value.reason, caught.value.place.location.line, caught.value.place.location.column


# --- files -----------------------------------------------------------------------------------


def test_a_byte_order_mark_is_taken_off_and_remembered() -> None:
    read = decode(b"\xef\xbb\xbfname: x\n", "file")
    assert (read.text, read.had_bom) == ("name: x\n", True)
    assert not decode(b"name: x\n", "file").had_bom


def test_a_wrong_byte_is_reported_in_its_line() -> None:
    with pytest.raises(SourceError) as caught:
        decode("ok: 1\r\n中: ".encode() + b"\xe4pfel\n", "file")
    place = caught.value.place.location
    assert caught.value.reason == "encoding"
    assert str(caught.value) == "byte 0xe4 is not UTF-8"
    assert (place.line, place.column, place.end_column, place.text) == (2, 4, 5, "中: \ufffdpfel")


def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("file")
    reasons = {}
    for name in ("folder", "fifo", "link", "missing", "file/below", "nul\0"):
        with pytest.raises(SourceError) as caught:
            read_source(tmp_path / name, name)
        reasons[name] = caught.value.reason
    assert reasons == {
        "folder": "not-a-file",
        "fifo": "not-a-file",
        "link": "unreadable",
        "missing": "missing",
        "file/below": "missing",
        "nul\0": "unreadable",
    }


def test_a_file_above_the_limit_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 1025)
    with pytest.raises(SourceError) as caught:
        read_source(tmp_path / "file", "file", limit=1024)
    assert caught.value.reason == "too-large"
    assert read_source(tmp_path / "file", "file", limit=1025).text == "x" * 1025


@given(st.text(alphabet="a中😀\n\r\u2028\u0085\x0c\t", max_size=40), st.integers(0, 40))
def test_offsets_survive_the_way_to_lines_and_back(text: str, offset: int) -> None:
    offset = min(offset, len(text))
    place = source(text).spot(offset).location
    assert source(text).offset(place.line, place.column) == offset
    assert place.text == source(text).line(place.line)


@pytest.mark.parametrize("separator", ["\u2028", "\u0085", "\x0c", "\x0b", "\x1c"])
def test_only_line_ends_of_editors_end_a_line(separator: str) -> None:
    assert source(f"a{separator}b\nc").spot(4).location.line == 2


def test_a_line_of_a_report_is_cut() -> None:
    assert len(source("x" * 1000).spot(900).location.text) == 400


# --- YAML ------------------------------------------------------------------------------------

MANIFEST = """\
# 清单
name: 'deck' # 名
tools:
  - {type: package, class: 工具}   # 😀
  - module: 模块.工具
    class:

  # next
note: |
  one

  two
last: [1, "😀", null]
"""
PARTS = [
    "name",
    "'deck'",
    "tools",
    "- {type: package, class: 工具}   # 😀\n  - module: 模块.工具\n    class:",
    "{type: package, class: 工具}",
    "type",
    "package",
    "class",
    "工具",
    "module: 模块.工具\n    class:",
    "module",
    "模块.工具",
    "class",
    "",
    "note",
    "|\n  one\n\n  two",
    "last",
    '[1, "😀", null]',
    "1",
    '"😀"',
    "null",
]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_yaml_nodes_cover_their_own_text(line_end: str) -> None:
    root = parse_yaml(source(MANIFEST.replace("\n", line_end)))
    assert covered(root)[1:] == [part.replace("\n", line_end) for part in PARTS]


def test_the_place_of_an_empty_value_is_behind_its_key() -> None:
    node = parse_yaml(source("tools:\n\nskills: x\n")).get("tools")
    assert node is not None
    assert (node.kind, node.location.line, node.location.column) == ("null", 1, 7)


def test_yaml_within_a_file_has_the_files_places() -> None:
    text = "---\nname: x\n---\nbody: y\n"
    node = parse_yaml(source(text), 3, 12).get("name")
    assert node is not None
    assert (node.location.line, node.location.column) == (2, 7)


def test_an_alias_stands_where_its_anchor_does() -> None:
    root = parse_yaml(source("a: &x [1]\nb: *x\n"))
    assert root.get("b") is root.get("a")


def test_merge_keys_bring_what_is_not_there() -> None:
    root = parse_yaml(source("a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc:\n  <<: [*a, *b]\n  z: 3\n"))
    merged = root.get("c")
    assert merged is not None
    assert merged.plain() == {"x": 1, "y": 1, "z": 3}
    assert list(merged.repeated_keys()) == []
    brought = merged.get("y")
    assert brought is not None
    assert (brought.location.line, words(brought)) == (1, "1")


def test_repeated_keys_are_kept_and_the_last_one_counts() -> None:
    root = parse_yaml(source("a: 1\nb: 2\na: 3\n'a': 4\n"))
    assert root.plain() == {"a": 4, "b": 2}
    assert [key.location.line for key in root.repeated_keys()] == [3, 4]
    assert root.get("a") is root.entries[3][1]


@pytest.mark.parametrize(
    ("text", "reason", "line", "column"),
    [
        ("a: b: c\n", "syntax", 1, 5),
        ("a:\tb\n", "syntax", 1, 3),
        ("ok: 1\n中文: 'open\n\n", "syntax", 2, 5),
        ("a: [1,\n  2\n", "syntax", 1, 4),
        ("a: 1\n b: 2\n", "syntax", 2, 3),
        ("a: 1\n中: \x01\n", "syntax", 2, 4),
        ("a: {{ b }}\n", "syntax", 1, 5),
        ("? [a]\n: b\n", "syntax", 1, 3),
        ("a: 1\nb: 2024-13-45\n", "syntax", 2, 4),
        ("a: !!bool maybe\n", "syntax", 1, 4),
        ("a: !!map [b]\n", "syntax", 1, 4),
        ("a: !!seq {b: c}\n", "syntax", 1, 4),
        ("a: !own b\n", "syntax", 1, 4),
        ("a: *nowhere\n", "syntax", 1, 4),
        ("<<: text\n", "syntax", 1, 5),
        ("a: &a [*a]\n", "recursive", 1, 4),
        ("a: &a {b: {c: *a}}\n", "recursive", 1, 4),
        ("a: 1\n---\nb: 2\n", "syntax", 2, 1),
    ],
)
def test_trouble_in_yaml_is_reported_where_it_is(text: str, reason: str, line: int, column: int) -> None:
    assert error_of(text) == (reason, line, column)


@pytest.mark.parametrize(
    "text", ["[" * 102 + "]" * 102, "[" * 50_000, "- " * 5_000 + "x", "!!omap [a: " * 300]
)
def test_deep_yaml_is_refused(text: str) -> None:
    assert error_of(text)[0] in ("too-deep", "syntax")


def test_depth_up_to_the_limit_is_read() -> None:
    assert parse_yaml(source("[" * 101 + "]" * 101)).kind == "sequence"


def test_aliases_that_multiply_are_read_and_never_expanded() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    root = parse_yaml(source("\n".join(lines)))
    assert sum(1 for _ in root.walk()) < 200
    with pytest.raises(SourceError) as caught:
        root.plain()
    assert caught.value.reason == "recursive"


def test_an_empty_document_is_nothing() -> None:
    assert parse_yaml(source("# only a comment\n")).kind == "null"


PIECES = [
    *(
        "a",
        "name",
        "1",
        "0x1f",
        "1_000",
        "1:30",
        "yes",
        "null",
        "~",
        "2024-01-01",
        "2024-13-45",
        "1e3",
        ".inf",
    ),
    *(": ", ":", "- ", "-", "\n", "\n  ", "\n    ", "\r\n", "\r", " ", "\t", ",", "?", "? ", "#", " #"),
    *("[", "]", "{", "}", "|", "|-", "|2", ">", ">-\n", "'", '"', "\\", "\\n", "%", "%YAML 1.1\n", "@", "`"),
    *("&a ", "*a", "<<", "<<: ", "<<: *a\n", "&a {a: 1}\n", "=", "!", "!x ", "!!str ", "!!binary ", "!!set "),
    *("!!float ", "!!int ", "!!map ", "!!seq ", "!!timestamp ", "!!omap ", "!!bool ", "---", "---\n", "..."),
    *("\u2028", "\x85", "\ufeff", "中", "😀", "\x01", "\x7f", "\x80"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@settings(max_examples=600, deadline=None)
def test_yaml_means_what_it_means_to_safe_load(text: str) -> None:
    try:
        loaded = repr(yaml.load(text, Loader=yaml.SafeLoader))
    except Exception:  # noqa: BLE001 - its constructors raise whatever a value makes them
        loaded = "refused"
    try:
        read = repr(parse_yaml(source(text)).plain())
    except SourceError:
        read = "refused"
    # An alias in a merge key to what is being read is refused here, and read as nothing there.
    assert read == loaded or "<<" in text


# --- JSON ------------------------------------------------------------------------------------


def test_json_nodes_cover_their_own_text() -> None:
    text = '{\r\n\t"名": [1, -2.5e3, "😀\\n"],\n "b": {"c": null, "d": true}\n}\n'
    root = parse_json(source(text))
    assert root.plain() == {"名": [1, -2500.0, "😀\n"], "b": {"c": None, "d": True}}
    assert covered(root)[1:4] == ['"名"', '[1, -2.5e3, "😀\\n"]', "1"]
    node = root.get("b")
    assert node is not None
    assert (node.location.line, node.location.column) == (3, 7)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("", 1, 1),
        ('{"a": 1,}', 1, 9),
        ("[1, 2,]", 1, 7),
        ("{'a': 1}", 1, 2),
        ('{"a" 1}', 1, 6),
        ('{"a": 1 "b": 2}', 1, 9),
        ('{"a": NaN}', 1, 7),
        ("[Infinity]", 1, 2),
        ("[-Infinity]", 1, 2),
        ("[01]", 1, 3),
        ("[1.]", 1, 3),
        ("[+1]", 1, 2),
        ('["\t"]', 1, 3),
        ('["a\n"]', 1, 4),
        ('["\\x"]', 1, 3),
        ('{"a": 1} {"b": 2}', 1, 10),
        ("// comment\n{}", 1, 1),
        ('[\n"中", "open', 2, 6),
        ("\u00a0{}", 1, 1),
        ("[" + "1" * 5_000 + "]", 1, 2),
    ],
)
def test_json_is_strict_and_says_where_it_is_not(text: str, line: int, column: int) -> None:
    with pytest.raises(SourceError) as caught:
        parse_json(source(text))
    place = caught.value.place.location
    assert (caught.value.reason, place.line, place.column) == ("syntax", line, column)


def test_deep_json_is_refused() -> None:
    with pytest.raises(SourceError) as caught:
        parse_json(source("[" * 100_000))
    assert caught.value.reason == "too-deep"


def test_repeated_keys_of_json_are_seen() -> None:
    root = parse_json(source('{"a": 1, "a": 2}'))
    assert [key.location.column for key in root.repeated_keys()] == [10]


# --- frontmatter -----------------------------------------------------------------------------


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_frontmatter_stands_between_lines_of_three_hyphens(line_end: str) -> None:
    text = "---  \nname: x\nnote: a --- b\n---\t\nbody\n---\n".replace("\n", line_end)
    read = parse_frontmatter(source(text))
    assert read.node.plain() == {"name": "x", "note": "a --- b"}
    note = read.node.get("note")
    assert note is not None
    assert (note.location.line, note.location.column, words(note)) == (3, 7, "a --- b")
    assert text[read.body_start :].strip().startswith("body")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("\n---\nname: x\n---\n", "no-fence"),
        ("----\nname: x\n----\n", "no-fence"),
        ("# Title\n", "no-fence"),
        ("", "no-fence"),
        ("---\nname: x\n", "unclosed"),
        ("---\nname: x\n ---\n", "unclosed"),
        ("---\na: b: c\n---\n", "syntax"),
    ],
)
def test_trouble_with_frontmatter_has_a_reason(text: str, reason: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_frontmatter(source(text))
    assert caught.value.reason == reason


def test_empty_frontmatter_is_nothing() -> None:
    assert parse_frontmatter(source("---\n---\nbody\n")).node.kind == "null"


# --- Python ----------------------------------------------------------------------------------


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_python_nodes_cover_their_own_text(line_end: str) -> None:
    text = "é = '中😀'; foo\nclass 类:\n\tx = '''a\nb''' + y\n\x0c\nz = '\u2028'; last".replace(
        "\n", line_end
    )
    module = parse_python(source(text))
    parts = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Name | ast.Constant):
            place = module.spot(node).location
            start, end = (
                module.source.offset(place.line, place.column),
                module.source.offset(place.end_line, place.end_column),
            )
            parts.append(text[start:end])
    assert sorted(parts) == sorted(
        ["é", "'中😀'", "foo", "x", f"'''a{line_end}b'''", "y", "z", "'\u2028'", "last"]
    )


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("x = (\n", 1, 5),
        ("def f(:\n", 1, 7),
        ("a = '中' b\n", 1, 9),
        ("a = 1\n\r\nb = ]\n", 3, 5),
        ("é = 😀\n", 1, 5),
        ("x = '''open\n", 1, 5),
        ("(" * 300, 1, 201),
        ("x = 1\0\n", 1, 1),
        ("-" * 100_000 + "1", 1, 1),
    ],
)
def test_trouble_in_python_is_reported_where_it_is(text: str, line: int, column: int) -> None:
    with pytest.raises(SourceError) as caught:
        parse_python(source(text))
    place = caught.value.place.location
    assert (caught.value.reason, place.line, place.column) == ("syntax", line, column)


@given(st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_no_text_makes_a_parser_raise_anything_else(text: str) -> None:
    for parse in (parse_yaml, parse_json, parse_frontmatter, parse_python):
        with suppress(SourceError):
            parse(source(text))
