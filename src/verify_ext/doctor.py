"""What works on this machine: versions, protections, environments, canaries, and what to do."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verify_ext import __version__, git
from verify_ext.config import Options
from verify_ext.discover import find_repo
from verify_ext.harness.choice import Chosen
from verify_ext.harness.provision import Provision
from verify_ext.harness.ready import open_harness
from verify_ext.harness.trouble import EnvironmentTrouble
from verify_ext.kinds import all_kinds
from verify_ext.model import Finding
from verify_ext.scratch import scratch_folder

_PARTS = {
    "no_new_privs": "a program that an extension starts could gain rights",
    "uid": "jobs run as the same user as the verifier; only Landlock keeps them from its files and processes."
    " As root, use an interpreter and a cache that other users can reach (--cache, or Python from the system)",
    "landlock": "jobs can read and write what this user can; use a kernel with Landlock (5.13, better 6.12)",
    "seccomp": "jobs can use the network and inspect processes",
}


@dataclass(frozen=True)
class Checkup:
    """What was found: lines for people, and how many of them are trouble."""

    lines: tuple[str, ...]
    troubles: int


def examine(options: Options) -> Checkup:
    """Look at everything that a run would need; start each prepared harness and its canary."""
    repo = options.repo or find_repo(options.paths)
    provision = Provision(options, repo)
    lines = list(_versions(options))
    troubles = 0
    try:
        harnesses = provision.choose()
    except EnvironmentTrouble as trouble:
        return Checkup((*lines, *_trouble("harness", trouble.finding)), 1)
    for chosen in harnesses:
        try:
            lines += _healthy(chosen, provision, options)
        except EnvironmentTrouble as trouble:
            lines += _trouble(chosen.requirement, trouble.finding)
            troubles += 1
    return Checkup(tuple(lines), troubles)


def _versions(options: Options) -> Iterator[str]:
    yield f"verify-ext   {__version__}, Python {platform.python_version()} ({sys.executable})"
    yield f"machine      {platform.system()} {platform.release()} {platform.machine()}"
    version = git.run_git(Path.cwd(), "version")
    if version is None:
        yield "git          not found: what git ignores is verified too, and no revision is recorded"
    else:
        yield f"git          {version.decode('utf-8', 'replace').removeprefix('git version ').strip()}"
    yield f"cache        {options.cache}"


def _healthy(chosen: Chosen, provision: Provision, options: Options) -> Iterator[str]:
    environment = provision.environment(chosen, lambda _: None)
    kinds = {kind.name: kind for kind in all_kinds()}
    with scratch_folder() as scratch, open_harness(environment, kinds, scratch, options.limits) as ready:
        yield f"harness      {chosen.requirement} ({chosen.origin}): contract {ready.state.contract}, canary passed"
        yield f"             {environment.python}"
        yield f"             {environment.fingerprint}"
        yield from _protections(ready.protections)


def _protections(found: dict[str, Any]) -> Iterator[str]:
    for name, danger in _PARTS.items():
        if name in found["missing"]:
            yield f"protection   {name}: MISSING, {found['missing'][name]}: {danger}"
        elif name == "landlock":
            weak = "" if found["landlock"] >= 6 else ", too old to keep signals in (6 does)"
            yield f"protection   landlock: ABI {found['landlock']}{weak}"
        else:
            yield f"protection   {name}: in force"


def _trouble(name: str, finding: Finding) -> Iterator[str]:
    yield f"{name}: {finding.id}: {finding.message}"
    if finding.actual:
        yield f"             found: {finding.actual}"
    yield f"             do: {finding.remedy}"
