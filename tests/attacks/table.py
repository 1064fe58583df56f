"""docs/attacks.md: every attack, what must hold, and what came of it in each place.

`python -m tests.attacks.table --write docs/attacks.md` writes the document again, from the attacks
and from what was recorded (record.py).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.attacks.catalogue import Attack, attacks

RECORDED = Path(__file__).with_name("recorded")
PLACES = {
    "plain-root": "a plain machine, root, and an interpreter that other users may run",
    "plain-root-same-user": "a plain machine, root, and an interpreter below /root: jobs stay root",
    "plain-user": "a plain machine, an ordinary user",
    "docker-default": "`docker run` with the image and nothing else",
    "docker-hardened": "`docker run` with the flags of action.yml",
}

_PREFACE = """\
<!-- Written by `python -m tests.attacks.table --write docs/attacks.md`. Do not edit. -->

# Attacks

Extension code is a stranger's. These packages are hostile, each in its own way; `tests/attacks` runs
all of them together in one run of the program, with good packages between them, as a pull request
could bring them. Of each it is known what must be said about it, and after the run it is checked that

- no other package got another verdict, and no static finding changed;
- the home of the user, the workspace, the files that steer a workflow, the environment of the
  harness and the interpreter are as before, to the last attribute;
- no socket that listened was reached, and a process beside it got no signal;
- neither the token nor the secret of the user is in the results or in anything that was printed;
- nothing that was printed is a command to a terminal or to a workflow runner;
- no process and no file is left.

An attack that gains something raises an exception, and so gets a finding that is not expected.

Run them: `pytest tests/attacks`, or `-k NAME` for one. Record a place:
`python -m tests.attacks.record --write tests/attacks/recorded/PLACE.json`; the image:
`.ci/with-docker tests/attacks/record-in-docker`.
"""

_LIMITS = """\
## What remains

- **An extension shares a process with the harness**, so it can lie about itself: it can write the
  result that the harness would have written. That is what `observed` says in a finding. It can
  never change what is said about another extension, nor a static finding, nor what is checked
  outside its process. The attacks that do so pass, and are marked *lies* above.
- **That files exist** is no secret: names, sizes and times can be asked for (`stat`), and changes in
  a folder of the same user be waited for (inotify), by who knows the path. Landlock has no right for
  either. Contents cannot be read.
- **Where jobs keep the user** (no root, or an interpreter that others may not run), modes, owners and
  times of files stay as they are, also those of the extension's own files: it is told that the change
  was made. A script that is made executable does not run there.
- **Without Landlock** (before Linux 5.13) another user still keeps memory, environment, files that
  are not readable for all, and all processes; not files that everybody may read or folders in which
  everybody may write. Signals are held by Landlock from ABI 6 on, before that by the user alone. Without
  either a job can end the run. `--require-protections` refuses to judge there.
- **Without a seccomp filter** (no amd64 or arm64) the network, sockets of other programs and the
  attributes of files of the same user are open.
- **Memory, disk and number of processes of a whole job** are measured from outside, every tenth to
  fifth of a second: for that long they can be exceeded. As another user, or one that is not root, the
  system itself refuses processes beyond the limit; for root, whom it never counts, the measuring
  process runs before all others.
- **A process that makes itself unreadable** (a program that its owner may not read) hides its deleted
  files from that measure, though not its memory.
- **A worker sees what its own process has seen**: memory of an earlier job's report may still be in
  the memory of a later one, of the same run. No token ever is.
"""


def document() -> str:
    """Return docs/attacks.md."""
    recorded = {place: json.loads((RECORDED / f"{place}.json").read_text("utf-8")) for place in PLACES}
    return "\n".join([_PREFACE, *_places(recorded), *_themes(recorded), _LIMITS])


def _places(recorded: dict[str, Any]) -> Iterator[str]:
    yield "## Places\n"
    yield "Both harnesses (0.1.16 and 0.1.19.post2) in each; `ok`: as said in the tables below.\n"
    yield "| | place | protections | attacks that came out as they must | damage |\n|---|---|---|---|---|"
    for (place, contracts), letter in zip(recorded.items(), "ABCDE", strict=True):
        right = [each for each in attacks() if _came(each, contracts) == "ok"]
        damage = sum(len(each["damage"]) for each in contracts.values())
        words = _protections(next(iter(contracts.values()))["protections"])
        yield f"| {letter} | {PLACES[place]} | {words} | {len(right)} of {len(attacks())} | {damage or 'none'} |"
    yield ""


def _protections(found: dict[str, Any]) -> str:
    user = "its own user for each job" if found["uid"] else "jobs keep the user"
    return f"no_new_privs, Landlock {found['landlock']}, seccomp, no network; {user}"


def _came(attack: Attack, contracts: dict[str, Any]) -> str:
    """Return in a word what came of an attack in one place."""
    found = [contract["found"].get(attack.name) for contract in contracts.values()]
    if None in found:
        return "not recorded"
    if all(each == list(attack.findings) for each in found):
        return "ok"
    return "by another rule" if all(found) and attack.findings else "NOT AS IT MUST"


def _themes(recorded: dict[str, Any]) -> Iterator[str]:
    for theme, group in groupby(attacks(), key=lambda each: each.theme):
        yield f"## {theme.capitalize()}\n"
        yield "| attack | what it does, and what must hold | what is said of it | A | B | C | D | E |"
        yield "|---|---|---|---|---|---|---|---|"
        for each in group:
            came = " | ".join(_came(each, contracts) for contracts in recorded.values())
            yield f"| `{each.name}` | {each.aim} | {_said(each)} | {came} |"
        yield ""


def _said(attack: Attack) -> str:
    if attack.limit:
        return f"passes: it *lies* about itself, because {attack.limit}"
    return ", ".join(f"`{rule}`" for rule in attack.findings) or "passes, with nothing gained"


def main(arguments: list[str] | None = None) -> int:
    """Write the document, or print it."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.table")
    parser.add_argument("--write", type=Path, metavar="FILE", help="where to write; otherwise it is printed")
    target: Path | None = parser.parse_args(arguments).write
    if target is None:
        sys.stdout.write(document())
    else:
        target.write_text(document(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
