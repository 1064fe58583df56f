"""A harness in which our canary has passed, and what extensions do in it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from verify_ext.bugs import unexpected
from verify_ext.codes import ENVIRONMENT_ERROR, HARNESS_ENVIRONMENT_BROKEN, Rule, Rules
from verify_ext.events import CheckResult, verdict_of
from verify_ext.evidence.digest import PackageTooLarge, UnreadableFile
from verify_ext.harness.environments import Environment
from verify_ext.harness.jobs import Ended, JobRunner
from verify_ext.harness.outcome import Limits, excerpt, findings_of_ending, findings_of_violations
from verify_ext.harness.proof import Proof, breaks_harness, read_canary
from verify_ext.harness.protections import described
from verify_ext.harness.provision import Plan
from verify_ext.harness.scripted_model import ScriptedModel
from verify_ext.harness.session import Session, SessionError
from verify_ext.harness.trouble import EnvironmentTrouble
from verify_ext.kinds import Exercise, Kind, Seen
from verify_ext.model import Artifact, Finding, HarnessState, Layer, Verdict
from verify_ext.reading import Subject
from verify_ext.source import Spot, file_spot, line_spot

FIRST_UID = 61184
"""The first user that jobs run as (worker/jail.py)."""

_FULL = "no room is left in the scratch folder"

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


class ReadyHarness:
    """One harness that works. Threads may share it."""

    def __init__(self, runner: JobRunner) -> None:
        self.requirement = runner.environment.requirement
        self.environment = runner.environment
        self.runner = runner
        self.proof = Proof(runner)

    @property
    def protections(self) -> dict[str, Any]:
        """What holds jobs in here; in the words of the report."""
        return described(self.runner.session.protections, FIRST_UID)

    @property
    def state(self) -> HarnessState:
        return HarnessState(
            requirement=self.requirement,
            contract=self.runner.session.contract,
            canary=Verdict.PASS,
            fingerprint=self.environment.fingerprint,
        )

    def close(self) -> None:
        """End every job, at once. What was running raises SessionError."""
        self.runner.session.close()

    def exercise(
        self, subject: Subject, plan: Plan, watch: Callable[[Exercise, Seen], None] | None = None
    ) -> Iterator[CheckResult]:
        """Run the exercises of a subject in order; after a failed one the rest is skipped.

        `watch` is shown what each of them saw. Raises SessionError.
        """
        verdict = verdict_of(subject.structure)
        beforehand = list(plan.findings)
        if verdict is Verdict.PASS and plan.paths and not beforehand:
            problem = self.proof.broken_by(subject.kind, plan.paths)
            beforehand = [] if problem is None else [breaks_harness(subject, self.requirement, problem)]
        for exercise in subject.kind.exercises:
            if exercise.layer is Layer.L3 and subject.criteria:
                verdict = Verdict.SKIPPED
            if verdict is not Verdict.PASS:
                yield subject.skipped(exercise, self.requirement)
                continue
            if beforehand:
                result = subject.result(exercise, self.requirement, beforehand, reached=False)
            else:
                result = self._judged(subject, exercise, plan.paths, watch)
            verdict = result.verdict
            yield result

    def _judged(
        self,
        subject: Subject,
        exercise: Exercise,
        paths: tuple[Path, ...],
        watch: Callable[[Exercise, Seen], None] | None,
    ) -> CheckResult:
        """Run one exercise and judge what was seen."""

        def judged(found: Sequence[Finding | Artifact], *, reached: bool) -> CheckResult:
            return subject.result(exercise, self.requirement, found, reached=reached)

        try:
            ended = self.runner.run(subject, exercise, paths)
        except (UnreadableFile, PackageTooLarge):
            place = Spot(subject.checked.location)
            rule = "environment_error/changed-meanwhile"
            return judged([RULES.finding(rule, place, path=subject.extension.path)], reached=False)
        except OSError as error:
            place, problem = Spot(subject.checked.location), error.strerror or str(error)
            rule = "environment_error/scratch-unusable"
            return judged([RULES.finding(rule, place, problem=problem)], reached=False)
        if ended is None:
            return subject.absent(exercise, self.requirement)
        if ended.seen is not None and watch is not None:
            watch(exercise, ended.seen)
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
        if verdict_of(findings) is not Verdict.PASS and self.runner.scratch_is_full:
            # The harness swallows what a full disk does to it, and then looks as if the package were wrong.
            place = Spot(subject.checked.location)
            rule = "environment_error/scratch-unusable"
            return judged([RULES.finding(rule, place, problem=_FULL)], reached=False)
        return judged(found, reached=outcome.observed is not None)

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
            limits=self.runner.session.limits,
        )
        usual = self.proof.baseline(subject.kind, exercise)
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
            runner = JobRunner(
                environment=environment, session=session, scratch=folder, model=model, repeat=repeat
            )
            harness = ReadyHarness(runner)
            for kind in kinds.values():
                if kind.job is not None:
                    harness.proof.prove(read_canary(kind))
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
