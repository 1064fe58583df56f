"""The story of a run: find the extensions, read each, exercise each in every harness.

Each step appends events; what they amount to is the fold's business (events.py). No rule, no
format and no harness version is named here: a kind brings its check and its exercises, a
harness brings an environment in which they run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from verify_ext import __version__, git
from verify_ext.bugs import unexpected
from verify_ext.config import Options
from verify_ext.discover import discover, find_repo
from verify_ext.events import (
    CheckResult,
    EnvironmentPreparing,
    EnvironmentReady,
    EventLog,
    Started,
    TroubleFound,
    verdict_of,
)
from verify_ext.harness.choice import Chosen
from verify_ext.harness.environments import Environment
from verify_ext.harness.proof import breaks_harness
from verify_ext.harness.protections import demand
from verify_ext.harness.provision import Plan, Provision
from verify_ext.harness.ready import ReadyHarness, open_harness
from verify_ext.harness.session import SessionError
from verify_ext.harness.trouble import EnvironmentTrouble
from verify_ext.kinds import Kind, all_kinds
from verify_ext.model import Finding, HarnessState, Layer, Verdict
from verify_ext.reading import Subject, read
from verify_ext.scratch import scratch_folder


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
    subjects = []
    for extension in found.extensions:
        subject = read(extension, kinds[extension.kind])
        log.append(subject.digested())
        for result in subject.results():
            log.append(result)
        subjects.append(subject)
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
    for finding in (*found.findings, *troubles):
        log.append(TroubleFound(finding=finding))
    subjects = [read(extension, kinds[extension.kind]) for extension in found.extensions]
    subjects = [each for each in subjects if verdict_of(each.structure) is Verdict.PASS]
    for harness in harnesses:
        try:
            provision.environment(harness, _announce(log))
            for subject in subjects:
                for finding in provision.plan(harness, subject.checked, _announce(log)).findings:
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


def exercise_all(
    harness: Chosen,
    provision: Provision,
    subjects: Sequence[Subject],
    kinds: Mapping[str, Kind],
    scratch: Path,
    options: Options,
    log: EventLog,
) -> None:
    """Exercise every subject in one harness.

    What an extension requires may need an environment of its own, so the subjects are taken
    environment by environment; trouble with one of them is said of its own subjects alone.
    """
    subjects = list(_worth_exercising(harness.requirement, subjects, log))
    if not subjects:
        return
    try:
        usual = provision.environment(harness, _announce(log))
        plans = [(subject, provision.plan(harness, subject.checked, _announce(log))) for subject in subjects]
    except EnvironmentTrouble as trouble:
        log.append(TroubleFound(finding=trouble.finding))
        _unjudged(harness.requirement, subjects, log)
        return
    environments = dict.fromkeys((usual, *(plan.environment for _, plan in plans)))
    for environment in environments:
        here = [(subject, plan) for subject, plan in plans if plan.environment == environment]
        if here:
            _exercise_in(environment, here, kinds, scratch, options, log, is_usual=environment == usual)


def _worth_exercising(requirement: str, subjects: Sequence[Subject], log: EventLog) -> Iterator[Subject]:
    """Yield the subjects that passed the static check; of the others say that they are skipped.

    What is known to be wrong needs no environment: its author gets the answer at once.
    """
    for subject in subjects:
        if verdict_of(subject.structure) is Verdict.PASS:
            yield subject
            continue
        for exercise in subject.kind.exercises:
            log.append(subject.skipped(exercise, requirement))


def _exercise_in(
    environment: Environment,
    plans: Sequence[tuple[Subject, Plan]],
    kinds: Mapping[str, Kind],
    scratch: Path,
    options: Options,
    log: EventLog,
    *,
    is_usual: bool,
) -> None:
    requirement, subjects = environment.requirement, [subject for subject, _ in plans]
    log.append(EnvironmentPreparing(what=f"starting {requirement}"))
    try:
        with open_harness(environment, kinds, scratch, options.limits, options.repeat) as ready:
            log.append(EnvironmentReady(harness=ready.state, protections=ready.protections))
            if options.require_protections:
                demand(ready.protections)
            _exercise_each(ready, plans, log)
    except EnvironmentTrouble as trouble:
        if is_usual:
            log.append(TroubleFound(finding=trouble.finding))
            _unjudged(requirement, subjects, log)
        else:  # the usual environment is none for what these require; this one does not work
            for subject in subjects:
                exercise = subject.kind.exercises[0]
                found = [breaks_harness(subject, requirement, trouble.finding.message)]
                log.append(subject.result(exercise, requirement, found, reached=False))
            _unjudged(requirement, subjects, log)


def _exercise_each(ready: ReadyHarness, plans: Sequence[tuple[Subject, Plan]], log: EventLog) -> None:
    """Exercise several subjects at a time."""
    pool = ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0)), thread_name_prefix="exercise")
    try:
        tasks = [pool.submit(_exercise, ready, subject, plan, log) for subject, plan in plans]
        for task in tasks:
            task.result()
    except BaseException:  # cancelled, or the harness is gone: end the jobs, so that the threads end
        ready.close()
        pool.shutdown(wait=True, cancel_futures=True)
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
            found = [unexpected(error)]
            log.append(subject.result(exercise, ready.requirement, found, reached=False))


def _unjudged(requirement: str, subjects: Sequence[Subject], log: EventLog) -> None:
    """Say of some subjects that a harness judged nothing more of them."""
    results = [
        event for event in log.events() if isinstance(event, CheckResult) and event.harness == requirement
    ]
    judged = {(event.extension, event.exercise) for event in results}
    failed = {event.extension for event in results if event.verdict is not Verdict.PASS}
    for subject in subjects:
        path = subject.extension.path
        skipped = path in failed
        for exercise in subject.kind.exercises:
            if (path, exercise.name) not in judged:
                log.append(
                    CheckResult(
                        extension=path,
                        harness=requirement,
                        exercise=exercise.name,
                        layer=exercise.layer,
                        verdict=Verdict.SKIPPED if skipped else Verdict.ERROR,
                    )
                )
    if not any(
        isinstance(event, EnvironmentReady) and event.harness.requirement == requirement
        for event in log.events()
    ):
        state = HarnessState(requirement=requirement, contract=None, canary=Verdict.ERROR, fingerprint=None)
        log.append(EnvironmentReady(harness=state))


def _announce(log: EventLog) -> Callable[[str], None]:
    return lambda what: log.append(EnvironmentPreparing(what=what))
