"""What text is a placeholder: shared by every format that holds text.

Thresholds are proposals: no measured rates of false alarms were found. An error is only what is a
placeholder as a whole; a single hit in real text is a warning at most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from verify_ext.artifacts.codes import ARTIFACT_PLACEHOLDER_OUTPUT
from verify_ext.artifacts.model import ArtifactFile
from verify_ext.codes import Rule, Rules
from verify_ext.model import Finding, Severity

LOREM_SHARE, PROMPT_SHARE = 0.4, 0.25
SHORT_TEXT = 80
CHATTER_LIMIT = 400
_KEPT = 500_000
"""Characters that are looked at; what follows in longer texts changes no share."""

_SOURCE = "docs/design.md, section 9: not a placeholder"


def _rule(rule: str, message: str, remedy: str, severity: Severity = Severity.ERROR) -> Rule:
    return Rule(
        code=ARTIFACT_PLACEHOLDER_OUTPUT,
        rule=rule,
        layer=None,
        severity=severity,
        message=message,
        remedy=remedy,
        why="The file opens, and says nothing that its reader wants to know.",
        source=_SOURCE,
    )


RULES = Rules(
    _rule("lorem", "{share} of the text is lorem ipsum: {text}", "Write the real text."),
    _rule("prompts", "{share} of the text asks to be filled in: {text}", "Fill it in."),
    _rule("todo", "the whole text is a note to do it later: {text}", "Write the real text."),
    _rule("chatter", "the whole text is a model talking: {text}", "Write what was asked for, not about it."),
    _rule(
        "lorem-mentioned", "{where}: lorem ipsum: {text}", "Replace it, if it is not meant.", Severity.WARNING
    ),
    _rule("prompt-left", "{where}: something is not filled in: {text}", "Fill it in.", Severity.WARNING),
    _rule(
        "todo-left", "{where}: a note to do something: {text}", "Do it, or remove the note.", Severity.WARNING
    ),
    _rule("template-field", "{where}: an unfilled field: {text}", "Fill it in.", Severity.WARNING),
    _rule("markdown-left", "{where}: raw Markdown: {text}", "Format the text instead.", Severity.WARNING),
    _rule(
        "mojibake",
        "{where}: wrongly decoded characters: {text}",
        "Decode the text as UTF-8.",
        Severity.WARNING,
    ),
    _rule(
        "glyphs-missing",
        "{where}: characters without a glyph: {text}",
        "Use a font that has them.",
        Severity.WARNING,
    ),
)

# The classical words; two of them beside each other are no accident.
_LOREM_WORD = (
    r"lorem|ipsum|dolor|sit|amet|consectetur|adipiscing|adipisicing|elit|sed|do|eiusmod|tempor|incididunt|ut|labore"
    r"|et|dolore|magna|aliqua|enim|ad|minim|veniam|quis|nostrud|exercitation|ullamco|laboris|nisi|aliquip|ex|ea"
    r"|commodo|consequat|duis|aute|irure|in|reprehenderit|voluptate|velit|esse|cillum|eu|fugiat|nulla|pariatur"
    r"|excepteur|sint|occaecat|cupidatat|non|proident|sunt|culpa|qui|officia|deserunt|mollit|anim|id|est|laborum"
)
_LOREM = re.compile(
    rf"\blorem\s+ipsum\b(?:[\s,.;:]+(?:{_LOREM_WORD})\b)*[.]?|\b(?:dolor\s+sit\s+amet)\b(?:[\s,.;:]+(?:{_LOREM_WORD})\b)*[.]?",
    re.I,
)
_PROMPT = re.compile(
    r"\[\s*(?:insert|your|add|enter|company|client|name|date|title|topic|placeholder|todo|tbd|fill|describe|replace)\b[^\]\n]{0,80}\]"
    r"|\bclick to (?:add|edit)\b[^.\n]{0,40}"
    r"|\b(?:your (?:text|content|title|name|company) (?:goes )?here)\b"
    r"|\b(?:placeholder text|text goes here|content goes here|insert (?:text|content|title) here)\b"
    r"|[【\[]\s*(?:此处|请|待|填写|插入|你的|您的|公司|姓名|日期|标题)[^】\]\n]{0,40}[】\]]"
    r"|(?:此处插入|在此插入|请在此处|待补充|待填写|占位文本|占位符文本|示例文本)[^。\n]{0,20}"
    r"|(?:单击此处(?:添加|编辑)[^。\n]{0,20})",
    re.I,
)
_TODO = re.compile(r"\b(?:TODO|TBD|FIXME|XXX)\b|待办|待定")
_TODO_START = re.compile(
    r"\s*(?:TODO|TBD|FIXME|coming soon|to be (?:done|written|added|determined)|待办|待定|待补充)", re.I
)
_CHATTER = re.compile(
    r"\s*(?:(?:sure|certainly|of course|absolutely|great)[!,.]\s*(?:here|i)\b"
    r"|here(?: is|'s| are) (?:the|your|a)\b"
    r"|i(?:'m| am) (?:sorry|unable|afraid|not able)\b"
    r"|i (?:can(?:no|')t|cannot) (?:create|generate|make|produce|write)\b"
    r"|as an ai\b|(?:当然|好的|抱歉)[，,!！。]|以下是|作为(?:一个)?(?:AI|人工智能))",
    re.I,
)
_FIELD = re.compile(r"\{\{\s*[\w.]{1,40}\s*\}\}|\$\{[\w.]{1,40}\}|<<[\w ]{1,40}>>|%[A-Z_]{3,40}%")
_MARKDOWN = re.compile(r"\*\*[^*\s][^*\n]{0,80}\*\*|^\|?\s*:?-{3,}:?\s*\|[\s|:-]*$|^```", re.M)
_MOJIBAKE = re.compile(r"Ã[\x80-\xbf©¨¤¶¼\x9f]|â€[™œ\x9d“”¦]|ï¿½|ä¸­|å›½|\ufffd{1,}")
_GLYPHS = re.compile(r"[\u25a0\u25a1\ufffd]{4,}")


def judge_text(file: ArtifactFile, pieces: Sequence[tuple[str, str]]) -> Iterator[Finding]:
    """Judge the text of a file: `pieces` are (where, text), such as ("slide 3", "…").

    Yields one error if the text as a whole is a placeholder, else a warning for the first of each
    kind of hit.
    """
    whole = "\n".join(text for _, text in pieces)[:_KEPT]
    size = len("".join(whole.split()))
    if not size:
        return
    for rule, pattern, least in (("lorem", _LOREM, LOREM_SHARE), ("prompts", _PROMPT, PROMPT_SHARE)):
        hits = [match[0] for match in pattern.finditer(whole)]
        share = sum(len("".join(hit.split())) for hit in hits) / size
        if hits and share > least:
            words: dict[str, Any] = {"share": f"{min(share, 1):.0%}", "text": _shown(hits[0])}
            yield RULES.finding(f"artifact_placeholder_output/{rule}", file, **words)
            return
    stripped = whole.strip()
    if len(stripped) < SHORT_TEXT and _TODO_START.match(stripped):
        yield RULES.finding("artifact_placeholder_output/todo", file, text=_shown(stripped))
    elif len(stripped) < CHATTER_LIMIT and _CHATTER.match(stripped):
        yield RULES.finding("artifact_placeholder_output/chatter", file, text=_shown(stripped))
    else:
        yield from _mentions(file, pieces)


_MENTIONS = (
    ("lorem-mentioned", _LOREM),
    ("prompt-left", _PROMPT),
    ("todo-left", _TODO),
    ("template-field", _FIELD),
    ("markdown-left", _MARKDOWN),
    ("mojibake", _MOJIBAKE),
    ("glyphs-missing", _GLYPHS),
)


def _mentions(file: ArtifactFile, pieces: Sequence[tuple[str, str]]) -> Iterator[Finding]:
    for rule, pattern in _MENTIONS:
        for where, text in pieces:
            hit = pattern.search(text[:_KEPT])
            if hit is not None:
                words: dict[str, Any] = {"where": where, "text": _shown(hit[0])}
                yield RULES.finding(f"artifact_placeholder_output/{rule}", file, **words)
                break


def _shown(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= 80 else f"{text[:77]}…")
