"""What holds extension code on this machine, and whether that is enough."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verify_ext.codes import ENVIRONMENT_ERROR, Rule, Rules
from verify_ext.harness.trouble import EnvironmentTrouble
from verify_ext.source import file_spot

NETWORK_SINCE_LANDLOCK, SIGNALS_SINCE_LANDLOCK = 4, 6

RULES = Rules(
    Rule(
        code=ENVIRONMENT_ERROR,
        rule="protections-missing",
        layer=None,
        message="this machine lacks protections that are required: {missing}",
        remedy="Run in a container as the action does, or leave out --require-protections.",
        why="Extension code would run with more rights than the operator allows.",
        source="docs/design.md, section 13",
    ),
)


def described(found: Mapping[str, Any], uid: int) -> dict[str, Any]:
    """Return what a worker's probe found, in the words of the report.

    `found` has `parts` (those that work), `missing` (part → why not) and `abi` (Landlock's);
    `uid` is the first user that jobs run as, where that part works.
    """
    parts = found["parts"]
    return {
        # What is called may reach the scripted model; that it reaches nothing else is Landlock's to say.
        "network": "none" if "seccomp" in parts and found["abi"] >= NETWORK_SINCE_LANDLOCK else "open",
        "landlock": found["abi"] if "landlock" in parts else None,
        "seccomp": "seccomp" in parts,
        "uid": uid if "uid" in parts else None,
        "no_new_privs": "no_new_privs" in parts,
        "missing": dict(found["missing"]),
    }


def demand(protections: Mapping[str, Any]) -> None:
    """Raise EnvironmentTrouble where a part of the jail is missing that this user could have.

    Another user id is root's to give; without root Landlock must keep signals in.
    """
    missing = dict(protections["missing"])
    signals_kept = (protections["landlock"] or 0) >= SIGNALS_SINCE_LANDLOCK
    if missing.get("uid") == "not started as root" and signals_kept:
        del missing["uid"]
    if missing:
        words = ", ".join(f"{name} ({why})" for name, why in sorted(missing.items()))
        finding = RULES.finding("environment_error/protections-missing", file_spot("."), missing=words)
        raise EnvironmentTrouble(finding)
