"""`verify-ext explain CODE`, and docs/codes.md: every code and rule, from its declaration.

`python -m verify_ext.explain --write docs/codes.md` writes the document again.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from itertools import groupby
from pathlib import Path

from verify_ext.codes import Code, Rule, collect
from verify_ext.model import Fault
from verify_ext.report.text import cut, visible

FAULTS = {
    Fault.EXTENSION: "the extension's: its author can mend it",
    Fault.SPEC: "the acceptance spec's: it does not say what should be tested",
    Fault.HARNESS: "the harness's: not your change",
    Fault.ENVIRONMENT: "the environment's: not your change",
    Fault.CONFIGURATION: "the configuration's: a flag, an input or a file of settings",
    Fault.VERIFIER: "verify-ext's own: not your change, please report it",
}


class UnknownNameError(Exception):
    """No code or rule has this name; the message names those that come close."""


def explain(name: str) -> str:
    """Return what a code (`manifest_invalid`) or a rule (`manifest_invalid/schema-version`) means.

    Raises UnknownNameError.
    """
    rules = collect()
    if name in rules:
        return _code_text(rules[name].code) + "\n" + _rule_text(rules[name])
    below = [rule for rule in rules.values() if name in (rule.code.name, rule.rule)]
    if not below:
        raise UnknownNameError(_no_such(name, rules.values()))
    return "\n".join(
        "\n".join([_code_text(code), *map(_rule_text, group)]) for code, group in _by_code(below)
    )


def _by_code(rules: Iterable[Rule]) -> Iterator[tuple[Code, list[Rule]]]:
    """Yield the rules of each code; `collect` has sorted them by it."""
    for code, group in groupby(rules, key=lambda rule: rule.code):
        yield code, list(group)


def _no_such(name: str, rules: Iterable[Rule]) -> str:
    known = {rule.code.name: None for rule in rules} | {rule.id: None for rule in rules}
    close = get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else "all of them are in docs/codes.md"
    return f"there is no code or rule '{cut(visible(name), 80)}'; {hint}"


def _code_text(code: Code) -> str:
    return f"{code.name}\n  {code.meaning}\n  The fault is {FAULTS[code.fault]}.\n"


def _rule_text(rule: Rule) -> str:
    lines = [
        rule.id,
        f"  says      {rule.message}",
        f"  fix       {rule.remedy}",
        f"  why       {rule.why}",
        f"  severity  {rule.severity}",
        f"  layer     {rule.layer or 'none: it is about the run'}",
        f"  source    {rule.source}",
    ]
    return "\n".join(lines) + "\n"


# --- docs/codes.md ---------------------------------------------------------------------------

_PREFACE = """\
<!-- Written by `python -m verify_ext.explain --write docs/codes.md`. Do not edit. -->

# Codes and rules

A *code* says whose fault a finding is, and never changes. A *rule* is the exact thing under a
code. Findings are named `code/rule`. `verify-ext explain NAME` shows
the same in a terminal. Words in braces are filled in at the place that is wrong.
"""

_QUOTED = re.compile(r"(`[^`]+`)")
_ACTIVE = re.compile(r"[\\*\[\]<]|(?<![^\W_])_|_(?![^\W_])")


def document() -> str:
    """Return docs/codes.md."""
    groups = list(_by_code(collect().values()))
    table = "".join(
        f"| [`{code.name}`](#{code.name}) | {code.fault} | {len(rules)} | {_cell(code.meaning)} |\n"
        for code, rules in groups
    )
    parts = [_PREFACE, f"| code | fault | rules | meaning |\n|---|---|---|---|\n{table}"]
    for code, rules in groups:
        parts.append(f"## {code.name}\n\n{_text(code.meaning)}\nThe fault is {FAULTS[code.fault]}.\n")
        parts += [_rule_section(rule) for rule in rules]
    return "\n".join(parts)


def _rule_section(rule: Rule) -> str:
    return (
        f"### `{rule.id}`\n\n"
        f"{_text(rule.message)}\n\n"
        f"- fix: {_text(rule.remedy)}\n"
        f"- why: {_text(rule.why)}\n"
        f"- {rule.severity}, {rule.layer or 'about the run'}\n"
        f"- source: {_text(rule.source)}\n"
    )


def _text(text: str) -> str:
    """Return what a template says as Markdown in which only backticks mean something."""
    parts = _QUOTED.split(text.replace("\n", " "))
    return "".join(part if number % 2 else _ACTIVE.sub(r"\\\g<0>", part) for number, part in enumerate(parts))


def _cell(text: str) -> str:
    return _text(text).replace("|", "\\|")


def main(arguments: list[str] | None = None) -> int:
    """Write the document, or print it."""
    parser = argparse.ArgumentParser(prog="python -m verify_ext.explain", description="Write docs/codes.md.")
    parser.add_argument("--write", type=Path, metavar="FILE", help="where to write; otherwise it is printed")
    target: Path | None = parser.parse_args(arguments).write
    if target is None:
        sys.stdout.write(document())
    else:
        target.write_text(document(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
