"""The story of a run: find the extensions, read each, exercise each in every harness.

Each step appends events; what they amount to is the fold's business (events.py). No rule, no
format and no harness version is named here: a kind brings its check and its exercises, a
harness brings an environment in which they run.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from verify_ext import __version__, git
from verify_ext.codes import (
    ENVIRONMENT_ERROR,
    MANIFEST_INVALID,
    RESOURCE_LIMIT_EXCEEDED,
    VERIFIER_ERROR,
    Rule,
    Rules,
)
from verify_ext.config import Options
from verify_ext.discover import discover, find_repo
from verify_ext.events import (
    STATIC,
    CheckResult,
    EnvironmentPreparing,
    EnvironmentReady,
    EventLog,
    Started,
    SubjectDigested,
    TroubleFound,
    component_verdicts,
    verdict_of,
)
from verify_ext.evidence.digest import PackageTooLarge, UnreadableFile, digest
from verify_ext.harness.choice import Chosen
from verify_ext.harness.provision import Plan, Provision
from verify_ext.harness.ready import ReadyHarness, Subject, open_harness, result_of
from verify_ext.harness.session import SessionError
from verify_ext.harness.trouble import EnvironmentTrouble
from verify_ext.kinds import Kind, all_kinds
from verify_ext.model import Checked, Extension, Finding, HarnessState, Layer, Verdict
from verify_ext.source import Spot, file_spot

RULES = Rules(
    Rule(
        code=MANIFEST_INVALID,
        rule="unreadable-file",
        layer=Layer.L1,
        message="{problem}",
        remedy="Make the file readable, or leave it out of the extension.",
        why="What cannot be read cannot be loaded, nor bound to a verdict.",
        source="docs/design.md, section 10",
    ),
    Rule(
        code=RESOURCE_LIMIT_EXCEEDED,
        rule="package-size",
        layer=Layer.L1,
        message="the extension is too large to be verified: {problem}",
        remedy="Leave out what is not part of the extension, or have git ignore it.",
        why="Every job gets a copy of its own.",
        source="A limit of verify-ext: 512 MiB, 20,000 files",
    ),
    Rule(
        code=ENVIRONMENT_ERROR,
        rule="protections-missing",
        layer=None,
        message="this machine lacks protections that are required: {missing}",
        remedy="Run in a container as the action does, or leave out --require-protections.",
        why="Extension code would run with more rights than the operator allows.",
        source="docs/design.md, section 13",
    ),
    Rule(
        code=VERIFIER_ERROR,
        rule="unexpected",
        layer=None,
        message="verify-ext itself failed: {problem}",
        remedy="Report this to verify-ext with the log. It says nothing about the extension.",
        why="Nothing was judged here; everything else was.",
        source="docs/design.md, section 6",
    ),
)


def verify(options: Options, log: EventLog) -> None:
    """Verify the extensions that `options` name: discover, read, and exercise in each harness."""
    kinds = {kind.name: kind for kind in all_kinds()}
    repo = options.repo or find_repo(options.paths)
    found = discover(options.paths, repo, tuple(kinds.values()), allow_empty=options.allow_empty)
    provision = Provision(options, repo)
    harnesses, troubles = _choose(provision) if not options.static else ((), ())
    log.append(_started(repo, options, harnesses))
    for finding in (*found.findings, *troubles):
        log.append(TroubleFound(finding=finding))
    subjects = [read(extension, kinds[extension.kind], log) for extension in found.extensions]
    if subjects:
        with scratch_folder() as scratch:
            for harness in harnesses:
                exercise_all(harness, provision, subjects, kinds, scratch, options, log)


def prepare(options: Options, log: EventLog) -> None:
    """Build every environment that `verify` would need. Runs nothing of an extension."""
    kinds = {kind.name: kind for kind in all_kinds()}
    repo = options.repo or find_repo(options.paths)
    found = discover(options.paths, repo, tuple(kinds.values()), allow_empty=True)
    provision = Provision(options, repo)
    harnesses, troubles = _choose(provision)
    log.append(_started(repo, options, harnesses))
    for finding in troubles:
        log.append(TroubleFound(finding=finding))
    checked = [kinds[extension.kind].check(extension) for extension in found.extensions]
    for harness in harnesses:
        try:
            provision.environment(harness, _announce(log))
            for each in checked:
                for finding in provision.plan(harness, each, _announce(log)).findings:
                    log.append(TroubleFound(finding=finding))
        except EnvironmentTrouble as trouble:
            log.append(TroubleFound(finding=trouble.finding))


def _choose(provision: Provision) -> tuple[tuple[Chosen, ...], tuple[Finding, ...]]:
    try:
        return provision.choose(), ()
    except EnvironmentTrouble as trouble:
        return (), (trouble.finding,)


def _started(repo: Path, options: Options, harnesses: Sequence[Chosen]) -> Started:
    commit, dirty = git.revision(repo)
    return Started(
        tool_version=__version__,
        commit=commit,
        dirty=dirty,
        harnesses=tuple(harness.requirement for harness in harnesses),
        required=(Layer.L1,) if options.static else (Layer.L1, Layer.L2),
    )


def read(extension: Extension, kind: Kind, log: EventLog) -> Subject:
    """Digest an extension and check it statically. Nothing of it is executed."""
    try:
        checked = kind.check(extension)
        findings = checked.findings
    except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other extensions their verdicts
        checked = Checked(findings=(), location=file_spot(extension.path).location)
        findings = (unexpected(error),)
    identity = "unreadable"
    try:
        identity = digest(extension)
    except UnreadableFile as error:
        rule, problem = "manifest_invalid/unreadable-file", str(error)
        findings += (RULES.finding(rule, Spot(checked.location), problem=problem),)
    except PackageTooLarge as error:
        rule, problem = "resource_limit_exceeded/package-size", str(error)
        findings += (RULES.finding(rule, Spot(checked.location), problem=problem),)
    checked = Checked(
        findings=findings,
        components=checked.components,
        requirements=checked.requirements,
        location=checked.location,
    )
    log.append(
        SubjectDigested(
            extension=extension.path,
            name=extension.name,
            kind=kind.name,
            digest=identity,
            exercises=tuple((exercise.name, exercise.layer) for exercise in kind.exercises),
        )
    )
    log.append(
        CheckResult(
            extension=extension.path,
            harness=None,
            exercise=STATIC,
            layer=Layer.L1,
            verdict=verdict_of(findings),
            components=component_verdicts([part.id for part in checked.components], findings),
            findings=findings,
        )
    )
    return Subject(extension=extension, kind=kind, digest=identity, checked=checked)


def exercise_all(
    harness: Chosen,
    provision: Provision,
    subjects: Sequence[Subject],
    kinds: Mapping[str, Kind],
    scratch: Path,
    options: Options,
    log: EventLog,
) -> None:
    """Exercise every subject in one harness, several at a time.

    What an extension requires may need an environment of its own, so the subjects are taken
    environment by environment.
    """
    try:
        plans = [(subject, provision.plan(harness, subject.checked, _announce(log))) for subject in subjects]
        for environment in dict.fromkeys(plan.environment for _, plan in plans):
            here = [(subject, plan) for subject, plan in plans if plan.environment == environment]
            log.append(EnvironmentPreparing(what=f"starting {harness.requirement}"))
            with open_harness(environment, kinds, scratch, provision.limits) as ready:
                log.append(EnvironmentReady(harness=ready.state, protections=ready.protections))
                if options.require_protections:
                    demand_protections(ready.protections)
                _exercise_each(ready, here, log)
    except EnvironmentTrouble as trouble:
        log.append(TroubleFound(finding=trouble.finding))
        _unjudged(harness.requirement, subjects, log)


def _exercise_each(ready: ReadyHarness, plans: Sequence[tuple[Subject, Plan]], log: EventLog) -> None:
    pool = ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0)), thread_name_prefix="exercise")
    try:
        tasks = [pool.submit(_exercise, ready, subject, plan, log) for subject, plan in plans]
        for task in tasks:
            task.result()
    except BaseException:  # cancelled, or the harness is gone: end the jobs before waiting for threads
        pool.shutdown(wait=False, cancel_futures=True)
        ready.close()
        raise
    pool.shutdown()


def _exercise(ready: ReadyHarness, subject: Subject, plan: Plan, log: EventLog) -> None:
    done: set[str] = set()
    try:
        for result in ready.exercise(subject, plan):
            done.add(result.exercise)
            log.append(result)
    except SessionError:
        raise
    except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the others their verdicts
        rest = [exercise for exercise in subject.kind.exercises if exercise.name not in done]
        for exercise in rest[:1]:
            log.append(result_of(subject, exercise, ready.requirement, [unexpected(error)]))


def demand_protections(protections: Mapping[str, Any]) -> None:
    """Raise EnvironmentTrouble where a part of the jail is missing that this user could have.

    Another user id is root's to give; without root Landlock must keep signals in (ABI 6).
    """
    missing = dict(protections["missing"])
    if missing.get("uid") == "not started as root" and (protections["landlock"] or 0) >= 6:
        del missing["uid"]
    if missing:
        words = ", ".join(f"{name} ({why})" for name, why in sorted(missing.items()))
        finding = RULES.finding("environment_error/protections-missing", file_spot("."), missing=words)
        raise EnvironmentTrouble(finding)


def _unjudged(requirement: str, subjects: Sequence[Subject], log: EventLog) -> None:
    """Say that a harness judged nothing more: it is at fault, no extension is."""
    judged = {
        (event.extension, event.exercise)
        for event in log.events()
        if isinstance(event, CheckResult) and event.harness == requirement
    }
    for subject in subjects:
        failed = verdict_of(subject.checked.findings) is not Verdict.PASS
        for exercise in subject.kind.exercises:
            if (subject.extension.path, exercise.name) not in judged:
                log.append(
                    CheckResult(
                        extension=subject.extension.path,
                        harness=requirement,
                        exercise=exercise.name,
                        layer=exercise.layer,
                        verdict=Verdict.SKIPPED if failed else Verdict.ERROR,
                    )
                )
    if not any(
        isinstance(event, EnvironmentReady) and event.harness.requirement == requirement
        for event in log.events()
    ):
        state = HarnessState(requirement=requirement, contract=None, canary=Verdict.ERROR, fingerprint=None)
        log.append(EnvironmentReady(harness=state))


def unexpected(error: BaseException) -> Finding:
    """Return the finding for a bug of ours."""
    return RULES.finding(
        "verifier_error/unexpected",
        file_spot("."),
        problem=f"{type(error).__name__}: {error}",
        log="".join(traceback.format_exception(error))[-6000:],
    )


def _announce(log: EventLog) -> Callable[[str], None]:
    return lambda what: log.append(EnvironmentPreparing(what=what))


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder for this run alone, and remove it whatever a job has done to it."""
    folder = Path(tempfile.mkdtemp(prefix="verify-ext-"))
    folder.chmod(0o711)  # jobs run as another user; they pass through to folders whose names they know
    try:
        yield folder
    finally:
        shutil.rmtree(folder, onerror=_force)


def _force(remove: Callable[[str], None], path: str, _: object) -> None:
    """Remove what an extension made unwritable; what still resists is left to the system."""
    try:
        os.chmod(os.path.dirname(path), 0o700)
        os.chmod(path, 0o700)
        remove(path)
    except OSError:
        return
