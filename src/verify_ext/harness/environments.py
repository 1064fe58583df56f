"""Harness environments: one harness and nothing else, built once, kept in the cache.

Built with the interpreter that verify-ext itself runs on, from a lock file of ours or, for a
version without one, from the harness's own metadata; then compared with its RECORDs, file by file.
What an extension requires never goes in here (overlays.py).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from verify_ext.codes import ENVIRONMENT_ERROR, HARNESS_UNAVAILABLE, Place, Rule, Rules
from verify_ext.harness import store, trouble
from verify_ext.harness.choice import Chosen
from verify_ext.harness.installer import Installer
from verify_ext.harness.interpreters import Interpreter, inspect
from verify_ext.harness.records import changed_files, fingerprint, installed, record_lines, tree_digest
from verify_ext.harness.supported import HARNESS, lock_text, refuse_too_old, requirement_lines
from verify_ext.harness.trouble import EnvironmentTrouble, flag_place, readable, system_trouble

Progress = Callable[[str], None]

RULES = Rules(
    Rule(
        code=HARNESS_UNAVAILABLE,
        rule="unknown-version",
        layer=None,
        message="the package index has no {requirement}",
        remedy="Name a version that was released, or ask an index that has this one.",
        why="What cannot be installed cannot be verified against.",
        source="the package index",
    ),
    Rule(
        code=HARNESS_UNAVAILABLE,
        rule="not-installed",
        layer=None,
        message="openjiuwen is not installed for {python}",
        remedy="Install the harness there, or leave out --harness-python to have an environment built.",
        why="The extension is loaded by the harness of that interpreter.",
        source="the installed distributions that the interpreter finds",
    ),
    Rule(
        code=ENVIRONMENT_ERROR,
        rule="not-prepared",
        layer=None,
        message="{what} is not prepared in {cache}",
        remedy="Run `verify-ext prepare` with the same cache, interpreter and harness first; it may use the "
        "network, `verify` may not.",
        why="Where an extension runs, nothing may be fetched.",
        source="docs/design.md, section 3",
    ),
    Rule(
        code=ENVIRONMENT_ERROR,
        rule="damaged",
        layer=None,
        message="{what} in {cache} is not as it was built: {damage}",
        remedy="Run `verify-ext prepare` again; it builds a damaged environment anew.",
        why="A harness that somebody changed proves nothing.",
        source="docs/design.md, section 7: environments",
    ),
    Rule(
        code=ENVIRONMENT_ERROR,
        rule="record-mismatch",
        layer=None,
        message="what was installed for {what} is not what its packages record: {damage}",
        remedy="Ask whoever runs the index or mirror, or report it to the package's authors.",
        why="Downloaded twice, unpacked twice, and still other bytes than the package names.",
        source="RECORD of each installed distribution",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Environment:
    """An interpreter with one harness installed."""

    requirement: str
    python: Path
    fingerprint: str
    """`sha256:…` over interpreter and installed files; the same wherever the same is installed."""
    locked: bool
    """Made from a lock file that ships with verify-ext."""
    interpreter: Interpreter
    """What resolves and installs for it: never an interpreter that sees an extension's packages."""
    sites: tuple[Path, ...]
    folder: Path | None
    """Where the cache holds it; None for one that somebody else made."""

    @property
    def version(self) -> str:
        return self.requirement.partition("==")[2]

    @property
    def python_version(self) -> str:
        return self.interpreter.version


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """All that decides what an environment becomes, known before it is built.

    Without `pins` the harness's metadata is resolved when it is built; what came out is then kept
    until the cache is emptied.
    """

    version: str
    pins: str | None
    locked: bool
    interpreter: Interpreter

    @property
    def requirement(self) -> str:
        return f"{HARNESS}=={self.version}"

    @property
    def key(self) -> str:
        """The entry's name: an environment points to its interpreter, so where that lies counts."""
        parts = [requirement_lines(self.version), self.pins, self.interpreter.identity, self.interpreter.base]
        digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
        return f"{HARNESS}-{self.version}-python{self.interpreter.version}-{digest}"


def ensure_environment(
    chosen: Chosen, cache: Path, progress: Progress, *, python: Path | None = None
) -> Environment:
    """Return the environment for a harness, built if the cache has none that is whole.

    `python` is the interpreter to build it with, by default our own. Raises EnvironmentTrouble.
    """
    with system_trouble(chosen, chosen.requirement):
        return build_or_reuse(recipe_of(chosen, python), cache.absolute(), progress, chosen)


def find_environment(chosen: Chosen, cache: Path, *, python: Path | None = None) -> Environment:
    """Return the environment that `prepare` built. Never builds, never asks an index.

    Raises EnvironmentTrouble if there is none, or if it is damaged.
    """
    with system_trouble(chosen, chosen.requirement):
        return find(recipe_of(chosen, python), cache.absolute(), chosen)


def recipe_of(chosen: Chosen, python: Path | None = None) -> Recipe:
    """Return what the environment for a harness is made of. Raises EnvironmentTrouble."""
    pins = lock_text(chosen.version)
    interpreter = inspect(python or Path(sys.executable), chosen)
    return Recipe(version=chosen.version, pins=pins, locked=pins is not None, interpreter=interpreter)


def find(recipe: Recipe, cache: Path, place: Place) -> Environment:
    """Return the environment of a recipe from the cache. Raises EnvironmentTrouble, OSError."""
    entry = _look_up(cache / "environments", recipe.key)
    what = f"{recipe.requirement} for Python {recipe.interpreter.version}"
    return _environment(recipe, usable(entry, what, cache, place))


def usable(entry: store.Entry | None, what: str, cache: Path, place: Place) -> store.Entry:
    """Return an entry of the cache that may be used as it is. Raises EnvironmentTrouble."""
    if entry is None:
        finding = RULES.finding("environment_error/not-prepared", place, what=what, cache=cache)
        raise EnvironmentTrouble(finding)
    if entry.damage:
        rule = "environment_error/damaged"
        raise EnvironmentTrouble(RULES.finding(rule, place, what=what, cache=cache, damage=entry.damage))
    return entry


def build_or_reuse(
    recipe: Recipe, cache: Path, progress: Progress, place: Place, *, start: bool = True
) -> Environment:
    """Return the environment of a recipe. With `start` false its interpreter is never started.

    Raises EnvironmentTrouble, OSError.
    """
    shelf, key, what = cache / "environments", recipe.key, recipe.requirement
    entry = _look_up(shelf, key)
    if entry is not None and not entry.damage:
        return _environment(recipe, entry)
    with store.only_builder(shelf, key, lambda: progress(f"waiting for another build of {what}")) as lock:
        entry = _look_up(shelf, key)  # whoever held the lock may have built it
        if entry is None or entry.damage:
            if entry is not None:
                progress(f"{what} in the cache is damaged ({entry.damage}): building it again")
            installer = Installer(python=recipe.interpreter.python, what=what, place=place, keep_open=(lock,))
            with store.draft(shelf, key) as folder:
                _build(recipe, folder, installer, progress, start=start)
            entry = _look_up(shelf, key)
    if entry is None or entry.damage:  # somebody empties the cache while it is filled
        return find(recipe, cache, place)
    return _environment(recipe, entry)


def _look_up(shelf: Path, key: str) -> store.Entry | None:
    entry = store.look_up(shelf, key)
    if entry is not None and not entry.damage and not isinstance(entry.facts.get("fingerprint"), str):
        return replace(entry, damage="its seal has no fingerprint")
    return entry


def _build(recipe: Recipe, folder: Path, installer: Installer, progress: Progress, *, start: bool) -> None:
    progress(f"installing {recipe.requirement} for Python {recipe.interpreter.version}")
    pins = recipe.pins if recipe.pins is not None else _resolve(recipe, installer)

    def install(afresh: bool) -> None:
        installer.make_environment(folder).install(pins, afresh=afresh)

    install_whole(folder, install, lambda: _sites(folder), installer, progress)
    if start:
        progress(f"starting {recipe.requirement} once, so that it starts faster from now on")
        _warm_up(folder / "bin" / "python", installer, progress)
    keeper = _sites(folder)[0] / "verify_ext.pth"
    keeper.write_text(_NO_BYTECODE, encoding="utf-8")
    keeper.chmod(0o644)
    distributions = installed(_sites(folder))
    facts = {"fingerprint": fingerprint(recipe.interpreter.identity, distributions, ())}
    store.seal(folder, facts)


def _resolve(recipe: Recipe, installer: Installer) -> str:
    """Return pins for a version without a lock file of ours."""
    resolution = installer.resolve(requirement_lines(recipe.version))
    if resolution.found:
        return resolution.pins
    refusal, place = resolution.refusal, installer.place
    if f"no version of {recipe.requirement}" in refusal:
        rule = "harness_unavailable/unknown-version"
        finding = RULES.finding(rule, place, actual=refusal, requirement=recipe.requirement)
        raise EnvironmentTrouble(finding)
    unknown = f"{HARNESS} was not found in" in refusal or f"no versions of {HARNESS} " in refusal
    rule = "environment_error/" + ("index-unreachable" if unknown else "build-failed")
    finding = trouble.RULES.finding(rule, place, actual=refusal, log=resolution.log, what=recipe.requirement)
    raise EnvironmentTrouble(finding)


def install_whole(
    folder: Path,
    install: Callable[[bool], None],
    sites: Callable[[], tuple[Path, ...]],
    installer: Installer,
    progress: Progress,
) -> None:
    """Run `install` into `folder` and compare what came with every RECORD; if it differs, once more.

    uv's cache shares files with environments that people edit: the second time all is downloaded.
    """
    damage: tuple[str, ...] = ()
    for afresh in (False, True):
        if afresh:
            progress(f"{damage[0]}: not what the package records, downloading everything again")
            shutil.rmtree(folder)
            folder.mkdir(mode=0o755)
        install(afresh)
        damage = changed_files(installed(sites()))
        if not damage:
            return
    finding = RULES.finding(
        "environment_error/record-mismatch",
        installer.place,
        actual="\n".join(damage[:10]),
        what=installer.what,
        damage=damage[0],
    )
    raise EnvironmentTrouble(finding)


_WARM_UP = """
import compileall, os
import openjiuwen.core.runner.runner, openjiuwen.harness.deep_agent, openjiuwen
compileall.compile_dir(os.path.dirname(openjiuwen.__file__), quiet=2)
"""
WARM_UP_LIMIT_S = 300.0

# Whoever starts this interpreter must not leave bytecode behind by accident; the flag -B can be
# forgotten, and -I makes Python ignore PYTHONDONTWRITEBYTECODE.
_NO_BYTECODE = "import sys; sys.dont_write_bytecode = True\n"


def _warm_up(python: Path, installer: Installer, progress: Progress) -> None:
    """Import the harness once, so that its bytecode is written: 5 s now, 3 s less at every start.

    Afterwards the environment is sealed, bytecode too: what a job leaves would run in place of the
    source. A harness that cannot be imported is the canary's to judge.
    """
    with tempfile.TemporaryDirectory(prefix="verify-ext-") as home:
        try:
            subprocess.run(
                [python, "-I", "-c", _WARM_UP],
                cwd=home,
                env={"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": home, "TMPDIR": home},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=WARM_UP_LIMIT_S,
                check=True,
                pass_fds=installer.keep_open,
                umask=0o022,
            )
        except subprocess.TimeoutExpired:
            progress(f"{installer.what} did not start within {WARM_UP_LIMIT_S:g} seconds")
        except subprocess.CalledProcessError as error:
            last = readable(error.stderr).strip().rpartition("\n")[2]
            progress(f"{installer.what} did not start: {last}")


def _environment(recipe: Recipe, entry: store.Entry) -> Environment:
    return Environment(
        requirement=recipe.requirement,
        python=entry.folder / "bin" / "python",
        fingerprint=entry.facts["fingerprint"],
        locked=recipe.locked,
        interpreter=recipe.interpreter,
        sites=_sites(entry.folder),
        folder=entry.folder,
    )


def _sites(folder: Path) -> tuple[Path, ...]:
    return tuple(folder.glob("lib/python*/site-packages"))


def adopt_environment(python: Path) -> Environment:
    """Return the environment of an interpreter in which somebody else installed the harness.

    It is asked in isolated mode, and all its files are hashed: what differs from the RECORDs, and
    a harness that lies elsewhere (an editable install), counts in the fingerprint.
    Raises EnvironmentTrouble.
    """
    place = flag_place("--harness-python", str(python))
    interpreter = inspect(python, place)
    distributions = installed(interpreter.sites)
    harness = next((found for found in distributions if found.name == HARNESS), None)
    if harness is None:
        finding = RULES.finding("harness_unavailable/not-installed", place, python=interpreter.python)
        raise EnvironmentTrouble(finding)
    refuse_too_old(harness.version, place)
    recorded = {line.file for line in record_lines(harness)}
    elsewhere = [folder for folder in interpreter.packages if folder / "__init__.py" not in recorded]
    extra = [*changed_files(distributions), *(tree_digest(folder) for folder in elsewhere)]
    return Environment(
        requirement=harness.pin,
        python=interpreter.python,
        fingerprint=fingerprint(interpreter.identity, distributions, extra),
        locked=False,
        interpreter=interpreter,
        sites=interpreter.sites,
        folder=None,
    )
