"""Lines for a terminal: cells, wrapping, the place in a source line, styles.

A line is a list of spans, so that layout counts cells and colour comes last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from verify_ext.model import Location
from verify_ext.report.text import inert, visible

# A line may break at blanks and beside wide characters (Chinese, Japanese and Korean break
# anywhere). Words are never broken: paths and hashes stay whole to copy.
_WIDE = "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffe6"
_PIECES = re.compile(rf"\s+|[{_WIDE}]|[^\s{_WIDE}]+")


@dataclass(frozen=True)
class Span:
    """Some text in one style (a style of rich, empty for none)."""

    text: str
    style: str = ""


Line = Sequence[Span]


def cells(text: str) -> int:
    """Return how many columns of a terminal `text` takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def wrap(text: str, width: int) -> list[str]:
    """Return `text` in lines of at most `width` cells; a longer word has a line of its own."""
    if cells(text) <= width:
        return [text]
    lines, line, used = [], "", 0
    for piece in _PIECES.findall(text):
        size = cells(piece)
        if line and used + size > width:
            lines.append(line.rstrip())
            line, used = "", 0
            if piece.isspace():
                continue
        line, used = line + piece, used + size
    return [*lines, line.rstrip()] if line.strip() else lines


def snippet(place: Location, width: int) -> tuple[str, str] | None:
    """Return a source line and the line that marks the place in it, both at most `width` cells.

    None where the line is not known. Of a longer line the part around the place is shown.
    """
    if not place.text.strip():
        return None
    shown = ["    " if character == "\t" else visible(character) for character in place.text]
    start = min(place.column - 1, len(shown))
    end = min(_end(place), len(shown))
    left, right = _window([cells(part) for part in shown], start, width)
    before, after = "..." if left else "", "..." if right < len(shown) else ""
    room = cells(before + "".join(shown[left:start]))
    mark = max(1, cells("".join(shown[start : min(end, right)])))
    return before + "".join(shown[left:right]) + after, " " * room + "^" * mark


def _end(place: Location) -> int:
    """Return where the mark ends in the first line; a place without length is one character."""
    if place.end_line > place.line:
        return len(place.text)
    return max(place.end_column - 1 if place.end_line == place.line else 0, place.column)


def _window(sizes: list[int], start: int, width: int) -> tuple[int, int]:
    """Return which characters to show, so that `start` is seen and room for two marks remains."""
    if sum(sizes) <= width:
        return 0, len(sizes)
    width = max(width - 6, 1)
    left = start
    room = width // 3
    while left > 0 and sizes[left - 1] <= room:
        left -= 1
        room -= sizes[left]
    right, room = left, width
    while right < len(sizes) and (sizes[right] <= room or right <= start):
        room -= sizes[right]
        right += 1
    return left, right


def written(lines: Iterable[Line], *, color: bool) -> str:
    """Return lines as text, with colour codes where `color` says so.

    A console may be the log of a workflow: no line can be read as a command there.
    """
    paint = _painted if color else _plain
    return "".join("".join(map(paint, _inert(line))).rstrip(" ") + "\n" for line in lines)


def _inert(line: Line) -> Line:
    text = "".join(span.text for span in line)
    safe = inert(text)
    return line if safe == text else [Span(safe)]


def _plain(span: Span) -> str:
    return span.text


def _painted(span: Span) -> str:
    if not span.style or not span.text:
        return span.text
    before, after = _codes(span.style)
    return f"{before}{span.text}{after}"


@cache
def _codes(style: str) -> tuple[str, str]:
    from rich.color import ColorSystem
    from rich.style import Style

    before, after = Style.parse(style).render("|", color_system=ColorSystem.STANDARD).split("|")
    return before, after
