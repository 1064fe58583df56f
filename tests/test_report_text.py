"""A stranger's text made visible: in every output first."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given

from tests.report_sample import odd_text
from verify_ext.model import Location
from verify_ext.report.terminal import cells, snippet, wrap
from verify_ext.report.text import UNSEEN, cut, inert, visible, visible_lines

# Format characters that are drawn, so that nothing hides (Unicode: Prepended_Concatenation_Mark,
# and the joints of hieroglyphs).
DRAWN = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13460)}


def test_everything_that_cannot_be_seen_is_escaped() -> None:
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    missed = [
        hex(number)
        for number in range(sys.maxunicode + 1)
        if unicodedata.category(chr(number)) in hidden
        and number not in DRAWN
        and not UNSEEN.match(chr(number))
    ]
    assert missed == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain 工具 é 😀", "plain 工具 é 😀"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b[31m\x07\x9b", r"\x1b[31m\x07\x9b"),
        ("\u202e\u2066\u200b\ufeff", r"\u202e\u2066\u200b\ufeff"),
        ("\udc80\U000e0041", r"\udc80\U000e0041"),
        ("⚠\ufe0f", "⚠\ufe0f"),
        ("#\ufe0f#[", r"#\ufe0f#["),
        ("\u3000\ufe0f::", "\u3000\\ufe0f::"),
    ],
)
def test_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(odd_text)
def test_visible_text_is_one_line_that_can_be_written_anywhere(text: str) -> None:
    shown = visible(text)
    assert shown.encode("utf-8").decode("utf-8") == shown
    assert len(shown.splitlines()) <= 1
    assert visible(shown) == shown


def test_lines_end_as_editors_say_and_tabs_are_room() -> None:
    assert visible_lines("a\r\n\tb\rc\u2028d\n\n \n") == ["a", "    b", "c\\u2028d"]


@pytest.mark.parametrize(
    ("line", "safe"),
    [
        ("a ##[error]b", "a # #[error]b"),
        ("###[error]", "## #[error]"),
        ("  ::error::x::y", "  : :error::x::y"),
        ("\u3000::error::", "\u3000: :error::"),
        (":::error::", ": ::error::"),
        ("a::b", "a::b"),
    ],
)
def test_no_line_of_a_log_is_a_command(line: str, safe: str) -> None:
    assert inert(line) == safe


def test_cut_says_so() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdefg", 6) == "abc..."


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("short", 20, ["short"]),
        ("one two three", 8, ["one two", "three"]),
        ("a/path/that/is/longer than", 8, ["a/path/that/is/longer", "than"]),
        ("这个工具写了一个文件", 8, ["这个工具", "写了一个", "文件"]),
        ("   ", 2, []),
    ],
)
def test_wrap(text: str, width: int, lines: list[str]) -> None:
    assert wrap(text, width) == lines


@given(odd_text.map(visible))
def test_wrapping_loses_nothing_but_blanks(text: str) -> None:
    assert "".join("".join(wrap(text, 10)).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "place", "shown", "marks"),
    [
        ("key: value", (1, 6, 1, 11), "key: value", "     ^^^^^"),
        ("key: value", (1, 6, 1, 6), "key: value", "     ^"),
        ("key: value", (1, 6, 3, 1), "key: value", "     ^^^^^"),
        ("key: value", (2, 6, 1, 1), "key: value", "     ^"),
        ("key: value", (1, 60, 1, 70), "key: value", "          ^"),
        ("\tkey", (1, 2, 1, 5), "    key", "    ^^^"),
        ("工具: v", (1, 5, 1, 6), "工具: v", "      ^"),
        ("\x1bk", (1, 2, 1, 3), "\\x1bk", "    ^"),
    ],
)
def test_snippet_marks_the_place(text: str, place: tuple[int, int, int, int], shown: str, marks: str) -> None:
    line, column, end_line, end_column = place
    where = Location(path="a", line=line, column=column, end_line=end_line, end_column=end_column, text=text)
    assert snippet(where, 40) == (shown, marks)


def test_a_place_without_a_line_has_no_snippet() -> None:
    assert snippet(Location(path="a", text=" \t"), 40) is None


@pytest.mark.parametrize("column", [1, 50, 200, 390, 400])
@pytest.mark.parametrize("width", [20, 60])
def test_of_a_long_line_the_part_around_the_place_is_shown(column: int, width: int) -> None:
    text = "x" * (column - 1) + "工" + "x" * (400 - column)
    shown = snippet(Location(path="a", column=column, end_column=column + 1, text=text), width)
    assert shown is not None
    line, marks = shown
    assert cells(line) <= width
    start = len(marks) - len(marks.lstrip())
    assert line[start] == "工"
    assert marks.strip() == "^^"
