"""What an extension requires beyond the harness: installed beside it, never into it.

The requirements are resolved under the exact versions of the environment, and what it lacks goes
into a folder of its own. The fork that runs the extension appends that folder to `sys.path` as a
plain entry, never with `site.addsitedir`: a `.pth` file of a wheel is code, and must not run. At
the end, so that nothing in it hides a module of the harness.

If the requirements contradict only versions that our lock file happens to pin, they get another
environment: the same harness, other versions of what it needs, as its own metadata allows. It
holds nothing but these, and its interpreter is not started here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from verify_ext.codes import Place
from verify_ext.harness import environments, store
from verify_ext.harness.dependencies import Refusal, solve
from verify_ext.harness.environments import Environment, Progress, Recipe, install_whole
from verify_ext.harness.installer import Installer
from verify_ext.harness.trouble import system_trouble


@dataclass(frozen=True, kw_only=True)
class Overlay:
    """What an extension needs to run: an environment, and perhaps a folder beside it.

    `environment` is the one that was asked about, or another one with the same harness where only
    our pins stood in the way; that one must be started, and proved by the canary, like the first.
    """

    environment: Environment
    folder: Path | None
    """To be appended to `sys.path` of the fork; None if the environment has everything."""
    packages: tuple[str, ...] = ()
    """What is in it, as `name==version`."""


def ensure_overlay(
    environment: Environment, requirements: Sequence[str], cache: Path, progress: Progress, place: Place
) -> Overlay:
    """Return what an extension needs, installed if the cache has not got it.

    `requirements` are plain requirement lines (PEP 508, no URL); `place` is where they stand.
    Raises EnvironmentTrouble, and ValueError for lines that a kind should have refused.
    """
    wanted = _Wanted(environment, plain_lines(requirements), cache.absolute(), place)
    with system_trouble(place, wanted.what):
        return wanted.ensure(progress)


def find_overlay(environment: Environment, requirements: Sequence[str], cache: Path, place: Place) -> Overlay:
    """Return what `prepare` installed for an extension; asks no index.

    Raises EnvironmentTrouble if there is nothing, if it is damaged, or if `prepare` found out that
    the requirements cannot be met; ValueError like `ensure_overlay`.
    """
    wanted = _Wanted(environment, plain_lines(requirements), cache.absolute(), place)
    with system_trouble(place, wanted.what):
        return wanted.find()


def plain_lines(requirements: Sequence[str]) -> tuple[str, ...]:
    """Return `name[extras]specifier; marker` lines in normal form, sorted, none twice.

    Raises ValueError for a URL and for what is no requirement: uv must never see an option or a
    path of a stranger.
    """
    from packaging.requirements import Requirement

    lines = set()
    for text in requirements:
        parsed = Requirement(text)
        if parsed.url:
            raise ValueError(f"a requirement with a URL: {text}")
        lines.add(str(parsed))
    return tuple(sorted(lines))


@dataclass(frozen=True)
class _Wanted:
    """What some requirements need beside an environment: found in the cache, or put there."""

    environment: Environment
    lines: tuple[str, ...]
    cache: Path
    place: Place

    @property
    def shelf(self) -> Path:
        return self.cache / "overlays"

    @property
    def key(self) -> str:
        text = json.dumps([self.environment.fingerprint, *self.lines])
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def what(self) -> str:
        return ", ".join(self.lines)

    def find(self) -> Overlay:
        if not self.lines:
            return Overlay(environment=self.environment, folder=None)
        found = store.look_up(self.shelf, self.key)
        entry = environments.usable(found, self.what, self.cache, self.place)
        recipe = self._recipe(entry.facts)
        other = environments.find(recipe, self.cache, self.place) if recipe else self.environment
        return self._overlay(entry, other)

    def ensure(self, progress: Progress) -> Overlay:
        if not self.lines:
            return Overlay(environment=self.environment, folder=None)
        entry = self._usable()
        if entry is None:
            waiting = f"waiting for another installation of {self.what}"
            with store.only_builder(self.shelf, self.key, lambda: progress(waiting)) as lock:
                entry = self._usable() or self._build(lock, progress)
        recipe, other = self._recipe(entry.facts), self.environment
        if recipe is not None:
            other = environments.build_or_reuse(recipe, self.cache, progress, self.place, start=False)
        return self._overlay(entry, other)

    def _usable(self) -> store.Entry | None:
        """Return the entry if it serves; a refusal is asked again, the index may know more by now."""
        entry = store.look_up(self.shelf, self.key)
        return None if entry is None or entry.damage or "refused" in entry.facts else entry

    def _build(self, lock: int, progress: Progress) -> store.Entry:
        progress(f"resolving {self.what} beside {self.environment.requirement}")
        python = self.environment.interpreter.python
        installer = Installer(python=python, what=self.what, place=self.place, keep_open=(lock,))
        with store.draft(self.shelf, self.key) as folder:
            facts = self._install(installer, folder / "site", progress)
            store.seal(folder, facts)
        return store.Entry(self.shelf / self.key, facts, None)

    def _install(self, installer: Installer, site: Path, progress: Progress) -> dict[str, Any]:
        """Install what is missing into `site`; return what the entry says about itself."""
        solution = solve(self.environment, self.lines, installer)
        if isinstance(solution, Refusal):
            return {"refused": asdict(solution)}  # kept for `verify`, which must ask nobody
        if solution.packages:
            progress(f"installing {', '.join(solution.packages)}")
            site.mkdir(mode=0o755)

            def install(afresh: bool) -> None:
                installer.install(solution.beside, target=site, afresh=afresh)

            install_whole(site, install, lambda: (site,), installer, progress)
        return {"packages": solution.packages, "environment": solution.environment}

    def _recipe(self, facts: dict[str, Any]) -> Recipe | None:
        """Return the recipe of the other environment, if one is needed. Raises EnvironmentTrouble."""
        if "refused" in facts:
            raise Refusal(**facts["refused"]).trouble(self.place)
        if facts["environment"] is None:
            return None
        return Recipe(
            version=self.environment.version,
            pins=facts["environment"],
            locked=False,
            interpreter=self.environment.interpreter,
        )

    def _overlay(self, entry: store.Entry, environment: Environment) -> Overlay:
        packages = tuple(entry.facts["packages"])
        folder = entry.folder / "site" if packages else None
        return Overlay(environment=environment, folder=folder, packages=packages)
