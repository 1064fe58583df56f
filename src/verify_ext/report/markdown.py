"""A stranger's text in Markdown as GitHub renders it: only ever text.

Two ways in: `prose` for sentences, `code` for names and paths. Neither can open markup, a tag, a
link, a mention, a reference or a formula, inside a table or outside it; neither makes a new line.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from verify_ext.report.text import LINE_END, cut, visible, visible_lines

# Characters that mean something inside a line of GitHub's Markdown. As numeric references they
# cannot (CommonMark, "Entity and numeric character references"), also not between table cells.
_ACTIVE = re.compile(r"[\\`*\[\]<>&|~$#]|(?<![^\W_])_|_(?![^\W_])")
_QUOTED = re.compile(r"(?<!`)`([^`]+)`(?!`)")
# Filters that run after Markdown, on text, make these into links or pictures; an invisible
# character keeps them apart.
_APART = "&#8203;"
_LINKED = re.compile(
    r"@(?=\w)"  # mentions, addresses
    r"|&#35;(?=\d)"  # issues
    r"|(?<![^\W_])GH-(?=\d)"
    r"|:(?=//)|(?<![^\W_])www(?=\.)"  # links without brackets
    r"|:(?=[+\w-]+:)",  # emoji
    re.IGNORECASE,
)


def prose(text: str, limit: int = 20_000) -> str:
    """Return `text` for the middle of a line; the caller puts something of its own before it.

    What stands between backticks becomes code.
    """
    parts = _QUOTED.split(cut(visible(text.strip()), limit))
    return "".join(code(part, limit) if number % 2 else _words(part) for number, part in enumerate(parts))


def code(text: str, limit: int = 400) -> str:
    """Return `text` as a code span, which GitHub's filters leave alone."""
    shown = cut(visible(text), limit)
    if not shown.strip():
        return "<code>&nbsp;</code>"
    if "`" in shown or "|" in shown or shown != shown.strip():
        return f"<code>{_words(shown)}</code>"
    return f"`{shown}`"


def _words(text: str) -> str:
    return _LINKED.sub(lambda match: match[0] + _APART, _ACTIVE.sub(_reference, text))


def broken(text: str, line: Callable[[str], str] = prose) -> str:
    """Return text of several lines with `<br>` between them, each line as `line` says."""
    return "<br>".join(line(part) for part in LINE_END.split(text.strip()))


def block(text: str, lines: int) -> str:
    """Return the last `lines` lines of `text` as a block of its own, with blank lines around it."""
    shown = [_ACTIVE.sub(_reference, cut(line, 1_000)) for line in visible_lines(text)[-lines:]]
    return "\n<pre>\n" + "\n".join(shown) + "\n</pre>\n"


def _reference(match: re.Match[str]) -> str:
    return f"&#{ord(match[0])};"
