"""The proof of a harness: our own known-good package, the canary, passes in it."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from pathlib import Path

from verify_ext.codes import DEPENDENCY_CONFLICT, HARNESS_ENVIRONMENT_BROKEN, Rule, Rules
from verify_ext.harness.jobs import Ended, JobRunner
from verify_ext.harness.trouble import EnvironmentTrouble
from verify_ext.kinds import Exercise, Kind
from verify_ext.model import Extension, Finding, Layer
from verify_ext.reading import Subject, read
from verify_ext.source import Spot, file_spot

CANARY_ROOT = Path(__file__).parent / "canary" / "verify_ext_canary"

CANARY_DEADLINE_S = 60.0
"""The least time that the canary gets: a --timeout for extensions must not blame the environment."""

RULES = Rules(
    Rule(
        code=HARNESS_ENVIRONMENT_BROKEN,
        rule="canary-failed",
        layer=None,
        message="our own known-good package does not pass in {harness}: {problem}",
        remedy="Not your change. Compare the environment's packages with a lock file of verify-ext"
        " (a filelock 4 beside openjiuwen 0.1.16 is a known cause), or prepare it again.",
        why="What fails for a package that is known to be good says nothing about another.",
        source="docs/design.md, section 7: canary",
    ),
    Rule(
        code=DEPENDENCY_CONFLICT,
        rule="breaks-harness",
        layer=Layer.L1,
        message="with what the extension requires, {harness} no longer works: {problem}",
        remedy="Loosen or remove the requirement that replaces a part of the harness.",
        why="Our own known-good package passes in this harness without these requirements.",
        source="docs/design.md, section 7: canary",
    ),
)


class Proof:
    """What the canary showed of one harness. Threads may share it."""

    def __init__(self, runner: JobRunner) -> None:
        self._runner = runner
        self._baseline: dict[tuple[str, str], Ended] = {}
        self._overlays: dict[tuple[Path, ...], Future[str | None]] = {}
        self._lock = threading.Lock()

    def baseline(self, kind: Kind, exercise: Exercise) -> Ended | None:
        """Return how the canary's job of an exercise ended; None before it has been through it."""
        return self._baseline.get((kind.name, exercise.name))

    def prove(self, canary: Subject) -> None:
        """Put the canary through every exercise, keep what it leaves, import what it imported.

        Raises EnvironmentTrouble if it does not pass, SessionError.
        """
        requirement = self._runner.environment.requirement
        imported: set[str] = set()
        for exercise in canary.kind.exercises:
            ended = self._run(canary, exercise, ())
            if ended is None:
                continue
            problem = self._problem(canary, exercise, ended)
            if problem is not None:
                raise EnvironmentTrouble(
                    RULES.finding(
                        "harness_environment_broken/canary-failed",
                        file_spot("."),
                        actual=problem,
                        log=ended.outcome.shown or None,
                        harness=requirement,
                        problem=problem,
                    )
                )
            self._baseline[canary.kind.name, exercise.name] = ended
            imported.update(ended.outcome.imported)
        self._runner.session.preload(sorted(name for name in imported if CANARY_ROOT.name not in name))

    def _run(self, canary: Subject, exercise: Exercise, paths: tuple[Path, ...]) -> Ended | None:
        return self._runner.run(canary, exercise, paths, least_s=CANARY_DEADLINE_S)

    def _problem(self, canary: Subject, exercise: Exercise, ended: Ended) -> str | None:
        outcome = ended.outcome
        if ended.seen is None:
            how = outcome.malformed or outcome.disturbed or outcome.ending()
            return f"{exercise.name}: {how}{f' ({outcome.broken})' if outcome.broken else ''}"
        usual = self.baseline(canary.kind, exercise)
        baseline = None if usual is None else usual.seen
        found = exercise.judge(canary.extension, canary.checked, ended.seen, baseline)
        return next((f"{each.id}: {each.message}" for each in found if isinstance(each, Finding)), None)

    def broken_by(self, kind: Kind, paths: tuple[Path, ...]) -> str | None:
        """Return what goes wrong with the canary beside what an extension requires, None if nothing."""
        with self._lock:
            known = self._overlays.get(paths)
            mine = known is None
            if known is None:
                known = self._overlays[paths] = Future()
        if mine:
            try:
                known.set_result(self._broken_by(kind, paths))
            except BaseException as error:  # noqa: BLE001 - whoever waits for the answer must not wait for ever
                known.set_exception(error)
        return known.result()

    def _broken_by(self, kind: Kind, paths: tuple[Path, ...]) -> str | None:
        canary = read_canary(kind)
        for exercise in kind.exercises:
            try:
                ended = self._run(canary, exercise, paths)
            except OSError:
                return None  # as below: no scratch folder is not the extension's doing
            if ended is None:
                continue
            if ended.outcome.unstarted is not None or self._runner.scratch_is_full:
                return None  # nothing was tried; the extension's own job will say why
            problem = self._problem(canary, exercise, ended)
            if problem is not None:
                return problem
        return None


def breaks_harness(subject: Subject, requirement: str, problem: str) -> Finding:
    """Return the finding for requirements beside which our canary does not pass."""
    return RULES.finding(
        "dependency_conflict/breaks-harness",
        Spot(next(iter(subject.checked.requirement_locations), subject.checked.location)),
        actual=problem,
        harness=requirement,
        problem=problem,
    )


def read_canary(kind: Kind) -> Subject:
    """Return our own known-good package as a subject of this kind."""
    files = tuple(
        sorted(
            path.relative_to(CANARY_ROOT).as_posix()
            for path in CANARY_ROOT.rglob("*")
            if path.is_file() and path.suffix != ".pyc"
        )
    )
    extension = Extension(path=CANARY_ROOT.name, root=CANARY_ROOT, kind=kind.name, files=files, in_git=False)
    return read(extension, kind)
