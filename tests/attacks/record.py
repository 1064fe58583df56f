"""Runs the attacks where it is started and records what came of them.

`python -m tests.attacks.record [--only ATTACK …] [--write FILE]`; the recorded places are in
recorded/. Needs no pytest, so that it also runs in the image.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.attacks.catalogue import attacks
from tests.attacks.scene import Run, findings_of, open_scene, run
from verify_ext.config import default_cache

HARNESSES = {"labels": "openjiuwen==0.1.16", "records": "openjiuwen==0.1.19.post2"}


def outcome(done: Run) -> dict[str, Any]:
    """Return one run in short: for each attack what was found, and everything that was damaged."""
    return {
        "protections": done.results["protections"],
        "seconds": round(done.seconds),
        "damage": list(done.damage),
        "found": {
            each.name: list(findings_of(done, name)) for name, each in done.made.items() if each is not None
        },
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.record")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="record here; otherwise it is only printed"
    )
    parser.add_argument("--only", nargs="*", default=[], metavar="ATTACK")
    parser.add_argument("--contract", choices=sorted(HARNESSES), action="append")
    parsed = parser.parse_args()
    chosen = [each for each in attacks() if not parsed.only or each.name in parsed.only]
    recorded: dict[str, Any] = {}
    wrong = 0
    for contract in parsed.contract or sorted(HARNESSES):
        with (
            tempfile.TemporaryDirectory(prefix="verify-ext-attacks-") as name,
            open_scene(Path(name)) as scene,
        ):
            done = run(scene, chosen, HARNESSES[contract], default_cache().resolve())
            recorded[contract] = outcome(done)
            wrong += _show(contract, done)
    if parsed.write:
        parsed.write.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 1 if wrong else 0


def _show(contract: str, done: Run) -> int:
    """Print what is not as expected and return how much that is."""
    wrong = list(done.damage)
    for name, each in done.made.items():
        if each is not None and findings_of(done, name) != each.findings:
            wrong.append(
                f"{each.theme}/{each.name}: expected {list(each.findings)}, found {list(findings_of(done, name))}"
            )
            said = [
                f"    {finding['severity']} {finding['message'][:300]!r}"
                for finding in done.results["findings"]
                if finding["extension"] and finding["extension"].startswith(f"{name}/")
            ]
            wrong += said[:6]
    print(f"{contract}: {len(done.made)} packages, {done.seconds:.0f} s, {done.results['protections']}")
    print("".join(f"  {each}\n" for each in wrong), flush=True)
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main())
