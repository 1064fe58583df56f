"""A harness in which our canary has passed, and what extensions do in it."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from verify_ext.bugs import unexpected
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
from verify_ext.harness.outcome import (
    Limits,
    Outcome,
    excerpt,
    findings_of_ending,
    findings_of_violations,
)
from verify_ext.harness.portable import portable
from verify_ext.harness.protections import described
from verify_ext.harness.provision import Plan
from verify_ext.harness.scripted_model import ScriptedModel
from verify_ext.harness.session import Job, Session, SessionError
from verify_ext.harness.trouble import EnvironmentTrouble
from verify_ext.kinds import Ask, Exercise, Kind, Place, Seen
from verify_ext.model import Artifact, Extension, Finding, HarnessState, Layer, Verdict
from verify_ext.reading import Subject, read
from verify_ext.scratch import remove
from verify_ext.source import Spot, file_spot, line_spot

FIRST_UID = 61184
"""The first user that jobs run as (worker/jail.py)."""

CANARY_DEADLINE_S = 60.0
"""The least time that the canary gets: a --timeout for extensions must not blame the environment."""

LEAST_BYTES, LEAST_FILES = 4 * 1024 * 1024, 64
"""With less room than this in the scratch folder nothing can be judged."""

_FULL = "no room is left in the scratch folder"

TRIES = 2
"""How often a job is started whose supervisor was lost: a neighbour may have been the cause."""

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
        rule="scratch-unusable",
        layer=None,
        message="the private copy of the extension cannot be written: {problem}",
        remedy="Free some space below the temporary folder, or point TMPDIR to another.",
        why="Extension code runs on a copy of its own.",
        source="docs/design.md, section 7",
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
class Ended:
    """A job that has ended: how, where, and what was seen of it if it got to its end."""

    outcome: Outcome
    root: Path
    seen: Seen | None = None


class ReadyHarness:
    """One harness that works. Threads may share it."""

    def __init__(
        self, environment: Environment, session: Session, scratch: Path, model: ScriptedModel, repeat: int
    ) -> None:
        self.requirement = environment.requirement
        self.environment = environment
        self._session = session
        self._scratch = scratch
        self._model = model
        self._repeat = repeat
        self._baseline: dict[tuple[str, str], Ended] = {}
        self._overlays: dict[tuple[Path, ...], Future[str | None]] = {}
        self._lock = threading.Lock()

    @property
    def protections(self) -> dict[str, Any]:
        """What holds jobs in here; in the words of the report."""
        return described(self._session.protections, FIRST_UID)

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
        verdict = verdict_of(subject.structure)
        beforehand = list(plan.findings)
        if verdict is Verdict.PASS and plan.paths and not beforehand:
            problem = self._broken_by(subject.kind, plan.paths)
            beforehand = [] if problem is None else [breaks_harness(subject, self.requirement, problem)]
        for exercise in subject.kind.exercises:
            if exercise.layer is Layer.L3 and subject.criteria:
                verdict = Verdict.SKIPPED
            if verdict is not Verdict.PASS:
                yield result_of(subject, exercise, self.requirement, (), reached=False, skipped=True)
                continue
            if beforehand:
                result = result_of(subject, exercise, self.requirement, beforehand, reached=False)
            else:
                result = self._judged(subject, exercise, plan.paths)
            verdict = result.verdict
            yield result

    def _judged(self, subject: Subject, exercise: Exercise, paths: tuple[Path, ...]) -> CheckResult:
        """Run one exercise and judge what was seen."""

        def judged(found: Sequence[Finding | Artifact], *, reached: bool) -> CheckResult:
            return result_of(subject, exercise, self.requirement, found, reached=reached)

        try:
            ended = self._run(subject, exercise, paths)
        except (UnreadableFile, PackageTooLarge):
            place = Spot(subject.checked.location)
            rule = "environment_error/changed-meanwhile"
            return judged([RULES.finding(rule, place, path=subject.extension.path)], reached=False)
        except OSError as error:
            place, problem = Spot(subject.checked.location), error.strerror or str(error)
            rule = "environment_error/scratch-unusable"
            return judged([RULES.finding(rule, place, problem=problem)], reached=False)
        if ended is None:
            return absent_result(subject, exercise, self.requirement)
        outcome = ended.outcome
        try:
            found = list(self._judgement(subject, exercise, ended))
        except Exception as error:  # noqa: BLE001 - words of the extension that our judgement stumbles over
            problem = f"{type(error).__name__}: {error}"
            outcome = replace(outcome, observed=None, malformed=f"it cannot be judged: {problem}")
            ended = replace(ended, outcome=outcome, seen=None)
            found = [
                replace(each, log=unexpected(error).log) if isinstance(each, Finding) else each
                for each in self._judgement(subject, exercise, ended)
            ]
        findings = [each for each in found if isinstance(each, Finding)]
        if verdict_of(findings) is not Verdict.PASS and self._scratch_is_full():
            # The harness swallows what a full disk does to it, and then looks as if the package were wrong.
            place = Spot(subject.checked.location)
            rule = "environment_error/scratch-unusable"
            return judged([RULES.finding(rule, place, problem=_FULL)], reached=False)
        return judged(found, reached=outcome.observed is not None)

    def _scratch_is_full(self) -> bool:
        free = os.statvfs(self._scratch)
        return free.f_bavail * free.f_frsize < LEAST_BYTES or (
            free.f_files > 0 and free.f_favail < LEAST_FILES
        )

    def _run(
        self,
        subject: Subject,
        exercise: Exercise,
        paths: tuple[Path, ...],
        *,
        least_s: float = 0.0,
    ) -> Ended | None:
        """Run one job on a private copy of a subject; None if there is nothing to exercise.

        Raises UnreadableFile if the bytes are no longer those that were digested.
        """
        limits = replace(self._session.limits, deadline_s=max(least_s, self._session.limits.deadline_s))
        for _ in range(TRIES):
            # A name that nobody can guess: jobs may pass through the folder above, none may list it.
            folder = self._scratch / f"job-{secrets.token_hex(16)}"
            root = folder / "package" / subject.extension.name
            try:
                root.mkdir(mode=0o711, parents=True)
                folder.chmod(0o711)
                place = Place(root=root, folder=folder, repeat=self._repeat)
                ask = exercise.ask(subject.checked, place)
                if ask is None:
                    return None
                if digest(subject.extension, copy_to=root) != subject.digest:
                    raise UnreadableFile(subject.extension.path, "changed")
                open_to_job(root)
                ended = self._at(place, ask, subject, exercise, paths, limits)
                if ended is not None:
                    return ended
            finally:
                remove(folder)
        lost = "the process that watches the job was killed, twice"
        return Ended(outcome=Outcome(observed=None, malformed=lost), root=root)

    def _at(
        self,
        place: Place,
        ask: Ask,
        subject: Subject,
        exercise: Exercise,
        paths: tuple[Path, ...],
        limits: Limits,
    ) -> Ended | None:
        """Run one job in its place and look at what it left there; None if its watcher was lost."""
        job = Job(
            kind=subject.kind.name,
            exercise=exercise.name,
            root=place.root,
            folder=place.folder,
            request=ask.request,
            paths=paths,
        )
        if ask.script is None:
            outcome, transcript = self._session.run(job, limits), {}
        else:
            with self._model.conversation(ask.script) as conversation:
                request = {**ask.request, "model_url": conversation.url}
                job = replace(job, request=request, ports=(self._model.port,))
                outcome = self._session.run(job, limits)
                transcript = dict(conversation.transcript)
        if outcome is None:
            return None
        outcome = _checked_shape(outcome, exercise)
        seen = None
        if outcome.observed is not None:
            seen = Seen(observed=outcome.observed, transcript=transcript)
            if exercise.inspect is not None:
                seen = replace(seen, found=exercise.inspect(subject.extension, subject.checked, place, seen))
        outcome = self._portable(outcome, place.root, paths)
        if seen is not None and outcome.observed is not None:
            seen = replace(seen, observed=outcome.observed)
        return Ended(outcome=outcome, root=place.root, seen=seen)

    def _portable(self, outcome: Outcome, root: Path, paths: tuple[Path, ...]) -> Outcome:
        """Return an outcome whose texts say nothing of this machine; frames keep their files."""
        environment = self.environment
        places = [
            (root.parent, ""),
            (root.parent.parent, "<job>/"),
            *((path, "<requirements>/") for path in paths),
            *((site, "<harness>/") for site in environment.sites),
            (environment.python.parent.parent, "<harness>/"),
            (Path(environment.interpreter.base).parent.parent, "<python>/"),
        ]
        return replace(
            outcome,
            observed=portable(outcome.observed, places),
            malformed=portable(outcome.malformed, places),
            disturbed=portable(outcome.disturbed, places),
            shown=portable(excerpt(outcome.output), places),
            violations=tuple(replace(each, what=portable(each.what, places)) for each in outcome.violations),
        )

    def _judgement(self, subject: Subject, exercise: Exercise, ended: Ended) -> Iterator[Finding | Artifact]:
        outcome, root = ended.outcome, ended.root
        parts = {part.id: part for part in subject.checked.components}
        named = parts.get(outcome.component or "")  # what a job says of itself may be no component

        def locate(file: str, line: int) -> Spot | None:
            path = Path(file)
            inside = path.is_relative_to(root)
            return line_spot(subject.extension, path.relative_to(root).as_posix(), line) if inside else None

        place = Spot(named.location if named else subject.checked.location)
        yield from findings_of_ending(
            replace(outcome, component=named.id if named else None),
            place=place,
            locate=locate,
            layer=exercise.layer,
            what=named.id if named else subject.extension.name,
            limits=self._session.limits,
        )
        usual = self._baseline.get((subject.kind.name, exercise.name))
        yield from findings_of_violations(
            outcome,
            usual=() if usual is None else usual.outcome.violations,
            place=place,
            locate=locate,
            layer=exercise.layer,
            what=subject.extension.name,
        )
        if ended.seen is not None:
            baseline = None if usual is None else usual.seen
            yield from exercise.judge(subject.extension, subject.checked, ended.seen, baseline)

    # --- the canary ----------------------------------------------------------------------

    def prove(self, canary: Subject) -> None:
        """Put the canary through every exercise, keep what it leaves, import what it imported.

        Raises EnvironmentTrouble if it does not pass, SessionError.
        """
        imported: set[str] = set()
        for exercise in canary.kind.exercises:
            ended = self._of_canary(canary, exercise, ())
            if ended is None:
                continue
            outcome, problem = ended.outcome, self._canary_problem(canary, exercise, ended)
            if problem is not None:
                raise EnvironmentTrouble(
                    RULES.finding(
                        "harness_environment_broken/canary-failed",
                        file_spot("."),
                        actual=problem,
                        log=outcome.shown or None,
                        harness=self.requirement,
                        problem=problem,
                    )
                )
            self._baseline[canary.kind.name, exercise.name] = ended
            imported.update(outcome.imported)
        self._session.preload(sorted(name for name in imported if "verify_ext_canary" not in name))

    def _of_canary(self, canary: Subject, exercise: Exercise, paths: tuple[Path, ...]) -> Ended | None:
        return self._run(canary, exercise, paths, least_s=CANARY_DEADLINE_S)

    def _canary_problem(self, canary: Subject, exercise: Exercise, ended: Ended) -> str | None:
        outcome = ended.outcome
        if ended.seen is None:
            how = outcome.malformed or outcome.disturbed or outcome.ending()
            return f"{exercise.name}: {how}{f' ({outcome.broken})' if outcome.broken else ''}"
        usual = self._baseline.get((canary.kind.name, exercise.name))
        baseline = None if usual is None else usual.seen
        found = exercise.judge(canary.extension, canary.checked, ended.seen, baseline)
        return next((f"{each.id}: {each.message}" for each in found if isinstance(each, Finding)), None)

    def _broken_by(self, kind: Kind, paths: tuple[Path, ...]) -> str | None:
        """Return what goes wrong with the canary beside what an extension requires, None if nothing."""
        with self._lock:
            known = self._overlays.get(paths)
            mine = known is None
            if known is None:
                known = self._overlays[paths] = Future()
        if mine:
            try:
                known.set_result(self._broken_by_paths(kind, paths))
            except BaseException as error:  # noqa: BLE001 - whoever waits for the answer must not wait for ever
                known.set_exception(error)
        return known.result()

    def _broken_by_paths(self, kind: Kind, paths: tuple[Path, ...]) -> str | None:
        canary = read_canary(kind)
        for exercise in kind.exercises:
            try:
                ended = self._of_canary(canary, exercise, paths)
            except OSError:
                return None  # as below: no scratch folder is not the extension's doing
            if ended is None:
                continue
            if ended.outcome.unstarted is not None or self._scratch_is_full():
                return None  # nothing was tried; the extension's own job will say why
            problem = self._canary_problem(canary, exercise, ended)
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
    found: Sequence[Finding | Artifact],
    *,
    reached: bool,
    skipped: bool = False,
) -> CheckResult:
    """Return the event for one exercise of a subject, its verdict taken from its findings.

    `reached` says whether the exercise got to its end: components without a finding of their own
    have passed only then.
    """
    findings = tuple(each for each in found if isinstance(each, Finding))
    ids = [part.id for part in subject.checked.components if part.type in exercise.component_types]
    verdicts = component_verdicts(ids, findings, reached=reached)
    if skipped:
        verdicts = tuple((name, Verdict.SKIPPED) for name in ids)
    return CheckResult(
        extension=subject.extension.path,
        harness=harness,
        exercise=exercise.name,
        layer=exercise.layer,
        verdict=Verdict.SKIPPED if skipped else verdict_of(findings),
        components=verdicts,
        findings=findings,
        artifacts=tuple(each for each in found if isinstance(each, Artifact)),
    )


def absent_result(subject: Subject, exercise: Exercise, harness: str) -> CheckResult:
    """Return the event for an exercise that found nothing to exercise."""
    ids = [part.id for part in subject.checked.components if part.type in exercise.component_types]
    return CheckResult(
        extension=subject.extension.path,
        harness=harness,
        exercise=exercise.name,
        layer=exercise.layer,
        verdict=exercise.absent,
        components=tuple((name, exercise.absent) for name in ids),
    )


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
    return read(extension, kind)


@contextmanager
def open_harness(
    environment: Environment, kinds: Mapping[str, Kind], scratch: Path, limits: Limits, repeat: int = 1
) -> Iterator[ReadyHarness]:
    """Start a harness and prove it with the canary. Raises EnvironmentTrouble."""
    jobs = {name: kind.job for name, kind in kinds.items() if kind.job is not None}
    folder = scratch.resolve() / f"harness-{secrets.token_hex(8)}"
    try:
        folder.mkdir(mode=0o711)
        folder.chmod(0o711)
        with ScriptedModel() as model, Session(environment.python, jobs, folder, limits) as session:
            harness = ReadyHarness(environment, session, folder, model, repeat)
            for kind in kinds.values():
                if kind.job is not None:
                    harness.prove(read_canary(kind))
            yield harness
    except OSError as error:
        problem = error.strerror or str(error)
        finding = RULES.finding("environment_error/scratch-unusable", file_spot("."), problem=problem)
        raise EnvironmentTrouble(finding) from error
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
