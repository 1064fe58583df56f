"""Text of strangers, made safe to look at.

What an extension says can hold anything: terminal codes, marks that turn the direction of
writing, characters nobody sees, half surrogates. Every output first makes such characters
visible here, and then escapes what its own format reads.
"""

from __future__ import annotations

import re

# Controls (C0, DEL, C1), line and paragraph separators, bidirectional marks, and everything
# Unicode calls "default ignorable": it is invisible, and searches that follow Unicode collation
# skip it, so that `#<zero width>#[` would be found as `##[`. Surrogates cannot be encoded.
UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    # A variation selector chooses how a symbol looks; after anything else it only hides.
    "|(?<![\u00a9\u00ae\u203c-\u204f\u20e3\u2100-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff])"
    "[\ufe00-\ufe0f]"
)
"""What `visible` shows as an escape."""

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
LINE_END = re.compile(r"\r\n|\r|\n")


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    number = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if number <= 0xFF:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def visible(text: str) -> str:
    r"""Return `text` on one line, with everything invisible or dangerous as `\n`, `\x1b`, `\u202e` …"""
    return UNSEEN.sub(_escape, text)


def visible_lines(text: str) -> list[str]:
    """Return the lines of `text`, each made visible; empty lines at the end are left out.

    A tab becomes four spaces: inside a line it is nothing but room.
    """
    lines = [visible(line.replace("\t", "    ")) for line in LINE_END.split(text)]
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def inert(line: str) -> str:
    """Return a visible line as one that the workflow runner cannot read as a command.

    The runner takes `::name::` at the start of a trimmed line and `##[name]` anywhere in it
    (actions/runner, ActionCommand.cs). A blank breaks them: it is seen, and unlike a zero-width
    character the runner's search, which follows Unicode collation, does not skip it.
    """
    line = line.replace("##[", "# #[")
    return line.replace("::", ": :", 1) if line.lstrip().startswith("::") else line


def cut(text: str, limit: int, mark: str = "...") -> str:
    """Return `text`, or its start with `mark`, in at most `limit` code points."""
    return text if len(text) <= limit else text[: max(0, limit - len(mark))] + mark
