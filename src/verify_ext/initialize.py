"""A first acceptance spec for extensions that have none, made from what their own code shows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from verify_ext import __version__, git
from verify_ext.config import Options
from verify_ext.discover import discover, find_repo
from verify_ext.events import EnvironmentPreparing, EnvironmentReady, EventLog, Started, TroubleFound
from verify_ext.harness.choice import Chosen
from verify_ext.harness.provision import Provision
from verify_ext.harness.ready import open_harness
from verify_ext.harness.trouble import EnvironmentTrouble
from verify_ext.kinds import Draft, Exercise, Kind, Seen, all_kinds
from verify_ext.model import Layer, Verdict
from verify_ext.reading import Subject, read
from verify_ext.scratch import scratch_folder


@dataclass(frozen=True, kw_only=True)
class Said:
    """What became of one extension's spec, in words; `failed`: its file could not be written."""

    text: str
    failed: bool = False


def initialize(options: Options, log: EventLog) -> Iterator[Said]:
    """Write a spec into every extension named that has none; say what became of each.

    What is wrong with an extension is in the events; then nothing is written for it. A file that is
    there is never touched.
    """
    kinds = {kind.name: kind for kind in all_kinds()}
    repo = options.repo or find_repo(options.paths)
    found = discover(options.paths, repo, tuple(kinds.values()), allow_empty=options.allow_empty)
    provision = Provision(options, repo)
    try:
        harness = provision.choose()[0]
    except EnvironmentTrouble as trouble:
        log.append(TroubleFound(finding=trouble.finding))
        return
    log.append(_started(repo, harness))
    for finding in found.findings:
        log.append(TroubleFound(finding=finding))
    for extension in found.extensions:
        subject = read(extension, kinds[extension.kind])
        draft, there = subject.kind.draft, _there(subject)
        if draft is None:
            yield Said(
                text=f"{extension.path}: extensions of the kind {extension.kind} have no acceptance spec"
            )
        elif there is not None:
            yield Said(text=f"{there} is there already; it is left as it is")
        else:
            yield _write(subject, draft, _first_seen(subject, draft, harness, provision, kinds, options, log))


def _started(repo: Path, harness: Chosen) -> Started:
    commit, dirty = git.revision(repo)
    return Started(
        tool_version=__version__,
        commit=commit,
        dirty=dirty,
        harnesses=(harness.requirement,),
        required=(Layer.L1,),
    )


def _there(subject: Subject) -> str | None:
    names = subject.kind.draft.file_names if subject.kind.draft else ()
    root = subject.extension.root
    return next((subject.extension.shown(name) for name in names if os.path.lexists(root / name)), None)


def _first_seen(
    subject: Subject,
    draft: Draft,
    harness: Chosen,
    provision: Provision,
    kinds: dict[str, Kind],
    options: Options,
    log: EventLog,
) -> Seen | None:
    """Return what the draft's exercise saw; None if the extension did not get through it."""
    seen: dict[str, Seen] = {}

    def watch(exercise: Exercise, what: Seen) -> None:
        seen[exercise.name] = what

    def announce(what: str) -> None:
        log.append(EnvironmentPreparing(what=what))

    log.append(subject.digested())
    for result in subject.results():
        log.append(result)
    try:
        plan = provision.plan(harness, subject.checked, announce)
        announce(f"starting {plan.environment.requirement}")
        with (
            scratch_folder() as scratch,
            open_harness(plan.environment, kinds, scratch, options.limits) as ready,
        ):
            log.append(EnvironmentReady(harness=ready.state, protections=ready.protections))
            for result in ready.exercise(subject, plan, watch):
                log.append(result)
                if result.exercise == draft.exercise:
                    return seen.get(draft.exercise) if result.verdict is Verdict.PASS else None
    except EnvironmentTrouble as trouble:
        log.append(TroubleFound(finding=trouble.finding))
    return None


def _write(subject: Subject, draft: Draft, seen: Seen | None) -> Said:
    extension = subject.extension
    name = draft.file_names[0]
    shown = extension.shown(name)
    if seen is None:
        return Said(
            text=f"nothing is written for {extension.path}: it does not get as far as its tools' cards"
        )
    text = draft.write(extension.name, subject.checked, seen.observed)
    try:
        with open(extension.root / name, "x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        return Said(text=f"{shown} cannot be written: {error.strerror}", failed=True)
    return Said(
        text=f"{shown} is written. Say in it what the results must hold, then run: verify-ext {extension.path}"
    )
