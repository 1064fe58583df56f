"""A harness in which our canary has passed, and what extensions do in it."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from verify_ext.codes import (
    DEPENDENCY_CONFLICT,
    ENVIRONMENT_ERROR,
    HARNESS_ENVIRONMENT_BROKEN,
    Rule,
    Rules,
)
from verify_ext.events import CheckResult, component_verdicts, verdict_of
from verify_ext.evidence.digest import PackageTooLarge, UnreadableFile, digest
from verify_ext.harness.environments import Environment
from verify_ext.harness.outcome import Limits, Outcome, excerpt, findings_of_ending, findings_of_violations
from verify_ext.harness.provision import Plan
from verify_ext.harness.session import Job, Session, SessionError
from verify_ext.harness.trouble import EnvironmentTrouble
from verify_ext.kinds import Exercise, Kind
from verify_ext.model import Checked, Extension, Finding, HarnessState, Layer, Verdict
from verify_ext.source import Spot, file_spot, line_spot

FIRST_UID = 61184
"""The first user that jobs run as (worker/jail.py)."""

CANARY_ROOT = Path(__file__).parent / "canary" / "verify_ext_canary"

RULES = Rules(
    Rule(
        code=HARNESS_ENVIRONMENT_BROKEN,
        rule="harness-does-not-start",
        layer=None,
        message="{harness} cannot be used: {problem}",
        remedy="Remove the environment from the cache and prepare it again; look at the log for the cause.",
        why="Nothing can be said about extensions in a harness that does not start.",
        source="docs/design.md, section 7",
    ),
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
    Rule(
        code=ENVIRONMENT_ERROR,
        rule="changed-meanwhile",
        layer=None,
        message="{path} changed while it was being verified",
        remedy="Run again when nothing writes to the folder.",
        why="A verdict is about bytes; these are not the ones that were read first.",
        source="docs/design.md, section 10",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """An extension that was read: what it is, its digest, what the static check found."""

    extension: Extension
    kind: Kind
    digest: str
    checked: Checked


class ReadyHarness:
    """One harness that works. Threads may share it."""

    def __init__(self, environment: Environment, session: Session, scratch: Path) -> None:
        self.requirement = environment.requirement
        self.environment = environment
        self._session = session
        self._scratch = scratch
        self._baseline: dict[tuple[str, str], dict[str, Any]] = {}
        self._overlays: dict[tuple[Path, ...], Future[Finding | None]] = {}
        self._lock = threading.Lock()

    @property
    def protections(self) -> dict[str, Any]:
        """What holds jobs in here; in the words of the report."""
        found = self._session.protections
        parts = found["parts"]
        return {
            "network": "none" if "seccomp" in parts else "open",
            "landlock": found["abi"] if "landlock" in parts else None,
            "seccomp": "seccomp" in parts,
            "uid": FIRST_UID if "uid" in parts else None,
            "no_new_privs": "no_new_privs" in parts,
            "missing": found["missing"],
        }

    @property
    def state(self) -> HarnessState:
        return HarnessState(
            requirement=self.requirement,
            contract=self._session.contract,
            canary=Verdict.PASS,
            fingerprint=self.environment.fingerprint,
        )

    def close(self) -> None:
        """End every job, at once. What was running raises SessionError."""
        self._session.close()

    def exercise(self, subject: Subject, plan: Plan) -> Iterator[CheckResult]:
        """Run the exercises of a subject in order; after a failed one the rest is skipped.

        Raises SessionError.
        """
        verdict = verdict_of(subject.checked.findings)
        beforehand = list(plan.findings)
        if verdict is Verdict.PASS and plan.paths and not beforehand:
            beforehand = self._broken_by(subject, plan.paths)
        for exercise in subject.kind.exercises:
            if verdict is not Verdict.PASS:
                yield result_of(subject, exercise, self.requirement, (), skipped=True)
                continue
            findings = beforehand or list(self._judged(subject, exercise, plan.paths))
            verdict = verdict_of(findings)
            yield result_of(subject, exercise, self.requirement, findings)

    def _judged(self, subject: Subject, exercise: Exercise, paths: tuple[Path, ...]) -> Iterator[Finding]:
        request = exercise.request(subject.checked)
        if request is None:
            return
        folder = self._job_folder()
        root = folder / subject.extension.name
        try:
            if digest(subject.extension, copy_to=root) != subject.digest:
                raise UnreadableFile(subject.extension.path, "changed")
            open_to_job(root)
            job = Job(
                kind=subject.kind.name,
                exercise=exercise.name,
                root=root.resolve(),
                folder=folder,
                request=request,
                paths=paths,
            )
            yield from self._judgement(subject, exercise, root.resolve(), self._session.run(job))
        except (UnreadableFile, PackageTooLarge):
            place = Spot(subject.checked.location)
            yield RULES.finding("environment_error/changed-meanwhile", place, path=subject.extension.path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _job_folder(self) -> Path:
        """Make the folder of one job. Its name is a secret: jobs may pass through, none may list."""
        folder = self._scratch / f"job-{secrets.token_hex(16)}"
        folder.mkdir(mode=0o711)
        return folder

    def _judgement(
        self, subject: Subject, exercise: Exercise, root: Path, outcome: Outcome
    ) -> Iterator[Finding]:
        outcome = _checked_shape(outcome, exercise)
        named = next((part for part in subject.checked.components if part.id == outcome.component), None)

        def locate(file: str, line: int) -> Spot | None:
            path = Path(file)
            inside = path.is_relative_to(root)
            return line_spot(subject.extension, path.relative_to(root).as_posix(), line) if inside else None

        place = Spot(named.location if named else subject.checked.location)
        what = outcome.component or subject.extension.name
        yield from findings_of_ending(
            outcome,
            place=place,
            locate=locate,
            layer=exercise.layer,
            what=what,
            limits=self._session.limits,
        )
        yield from findings_of_violations(
            outcome, place=place, locate=locate, layer=exercise.layer, what=subject.extension.name
        )
        if outcome.observed is not None:
            baseline = self._baseline.get((subject.kind.name, exercise.name))
            yield from exercise.judge(subject.extension, subject.checked, outcome.observed, baseline)

    # --- the canary ----------------------------------------------------------------------

    def prove(self, canary: Subject) -> None:
        """Put the canary through every exercise, keep what it leaves, import what it imported.

        Raises EnvironmentTrouble if it does not pass.
        """
        imported: set[str] = set()
        for exercise in canary.kind.exercises:
            outcome = self._canary_outcome(canary, exercise, ())
            problem = self._canary_problem(canary, exercise, outcome)
            if problem is not None:
                raise EnvironmentTrouble(
                    RULES.finding(
                        "harness_environment_broken/canary-failed",
                        file_spot("."),
                        actual=problem,
                        log=excerpt(outcome.output) or None,
                        harness=self.requirement,
                        problem=problem,
                    )
                )
            assert outcome.observed is not None  # a canary without a result has a problem
            self._baseline[canary.kind.name, exercise.name] = outcome.observed
            imported.update(outcome.imported)
        self._session.preload(sorted(name for name in imported if "verify_ext_canary" not in name))

    def _canary_outcome(self, canary: Subject, exercise: Exercise, paths: tuple[Path, ...]) -> Outcome:
        folder = self._job_folder()
        root = folder / canary.extension.name
        try:
            shutil.copytree(canary.extension.root, root)
            open_to_job(root)
            request = exercise.request(canary.checked) or {}
            job = Job(
                kind=canary.kind.name,
                exercise=exercise.name,
                root=root.resolve(),
                folder=folder,
                request=request,
                paths=paths,
            )
            return _checked_shape(self._session.run(job), exercise)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _canary_problem(self, canary: Subject, exercise: Exercise, outcome: Outcome) -> str | None:
        if outcome.observed is None:
            return f"{exercise.name}: {outcome.malformed or outcome.disturbed or outcome.ending()}"
        baseline = self._baseline.get((canary.kind.name, exercise.name))
        findings = exercise.judge(canary.extension, canary.checked, outcome.observed, baseline)
        return next((f"{finding.id}: {finding.message}" for finding in findings), None)

    def _broken_by(self, subject: Subject, paths: tuple[Path, ...]) -> list[Finding]:
        """Return a finding if the canary no longer passes beside what a subject requires."""
        with self._lock:
            known = self._overlays.get(paths)
            mine = known is None
            if known is None:
                known = self._overlays[paths] = Future()
        if mine:
            try:
                known.set_result(self._broken_by_paths(subject, paths))
            except SessionError as error:  # whoever waits for the answer must not wait for ever
                known.set_exception(error)
        finding = known.result()
        return [replace(finding, location=subject.checked.location)] if finding else []

    def _broken_by_paths(self, subject: Subject, paths: tuple[Path, ...]) -> Finding | None:
        canary = read_canary(subject.kind)
        for exercise in subject.kind.exercises:
            problem = self._canary_problem(canary, exercise, self._canary_outcome(canary, exercise, paths))
            if problem is not None:
                return RULES.finding(
                    "dependency_conflict/breaks-harness",
                    Spot(subject.checked.location),
                    actual=problem,
                    harness=self.requirement,
                    problem=problem,
                )
        return None


def open_to_job(root: Path) -> None:
    """Let the user that the job runs as write in its own copy; links are left as they are."""
    for folder, _, files in os.walk(root):
        os.chmod(folder, 0o777)
        for name in files:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.chmod(path, os.stat(path).st_mode | 0o666)


def result_of(
    subject: Subject,
    exercise: Exercise,
    harness: str,
    findings: list[Finding] | tuple[()],
    skipped: bool = False,
) -> CheckResult:
    """Return the event for one exercise of a subject, its verdict taken from its findings."""
    ids = [part.id for part in subject.checked.components if _concerns(exercise, part.type)]
    if skipped:
        return CheckResult(
            extension=subject.extension.path,
            harness=harness,
            exercise=exercise.name,
            layer=exercise.layer,
            verdict=Verdict.SKIPPED,
            components=tuple((name, Verdict.SKIPPED) for name in ids),
        )
    return CheckResult(
        extension=subject.extension.path,
        harness=harness,
        exercise=exercise.name,
        layer=exercise.layer,
        verdict=verdict_of(findings),
        components=component_verdicts(ids, findings),
        findings=tuple(findings),
    )


def _concerns(exercise: Exercise, component_type: str) -> bool:
    return component_type in exercise.component_types


def _checked_shape(outcome: Outcome, exercise: Exercise) -> Outcome:
    """Return the outcome with what it observed taken away if that has not the exercise's shape."""
    import jsonschema

    if outcome.observed is None:
        return outcome
    validator = jsonschema.Draft202012Validator(exercise.observed_schema)
    problem = next(validator.iter_errors(outcome.observed), None)
    if problem is None:
        return outcome
    return replace(outcome, observed=None, malformed=f"{problem.json_path}: {problem.message[:200]}")


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
    return Subject(extension=extension, kind=kind, digest="", checked=kind.check(extension))


@contextmanager
def open_harness(
    environment: Environment, kinds: Mapping[str, Kind], scratch: Path, limits: Limits
) -> Iterator[ReadyHarness]:
    """Start a harness and prove it with the canary. Raises EnvironmentTrouble."""
    jobs = {name: kind.job for name, kind in kinds.items() if kind.job is not None}
    folder = Path(tempfile.mkdtemp(prefix="harness-", dir=scratch))
    folder.chmod(0o711)
    session = Session(environment.python, jobs, folder, limits)
    try:
        with session:
            harness = ReadyHarness(environment, session, folder)
            for kind in kinds.values():
                if kind.job is not None:
                    harness.prove(read_canary(kind))
            yield harness
    except SessionError as error:
        raise EnvironmentTrouble(
            RULES.finding(
                "harness_environment_broken/harness-does-not-start",
                file_spot("."),
                actual=str(error),
                log=excerpt(error.log) or None,
                harness=environment.requirement,
                problem=str(error),
            )
        ) from error
