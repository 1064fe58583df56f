"""Jobs: one exercise of one extension, on a private copy of it, from the copy to what was seen."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, replace
from pathlib import Path

from verify_ext.evidence.digest import UnreadableFile, digest
from verify_ext.harness.environments import Environment
from verify_ext.harness.outcome import Limits, Outcome, excerpt
from verify_ext.harness.portable import portable
from verify_ext.harness.scripted_model import ScriptedModel
from verify_ext.harness.session import Job, Session
from verify_ext.kinds import Ask, Exercise, Place, Seen
from verify_ext.reading import Subject
from verify_ext.scratch import remove

LEAST_BYTES, LEAST_FILES = 4 * 1024 * 1024, 64
"""With less room than this in the scratch folder nothing can be judged."""

TRIES = 2
"""How often a job is started whose supervisor was lost: a neighbour may have been the cause."""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A job that has ended: how, where, and what was seen of it if it got to its end."""

    outcome: Outcome
    root: Path
    seen: Seen | None = None


@dataclass(frozen=True, kw_only=True)
class JobRunner:
    """Runs jobs in one harness. Threads may share it."""

    environment: Environment
    session: Session
    scratch: Path
    model: ScriptedModel
    repeat: int = 1

    @property
    def scratch_is_full(self) -> bool:
        """Whether so little room is left that nothing can be judged."""
        free = os.statvfs(self.scratch)
        return free.f_bavail * free.f_frsize < LEAST_BYTES or (
            free.f_files > 0 and free.f_favail < LEAST_FILES
        )

    def run(
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
        limits = replace(self.session.limits, deadline_s=max(least_s, self.session.limits.deadline_s))
        for _ in range(TRIES):
            # A name that nobody can guess: jobs may pass through the folder above, none may list it.
            folder = self.scratch / f"job-{secrets.token_hex(16)}"
            root = folder / "package" / subject.extension.name
            try:
                root.mkdir(mode=0o711, parents=True)
                folder.chmod(0o711)
                place = Place(root=root, folder=folder, repeat=self.repeat)
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
            outcome, transcript = self.session.run(job, limits), {}
        else:
            with self.model.conversation(ask.script) as conversation:
                request = {**ask.request, "model_url": conversation.url}
                job = replace(job, request=request, ports=(self.model.port,))
                outcome = self.session.run(job, limits)
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


def open_to_job(root: Path) -> None:
    """Let the user that the job runs as write in its own copy; links are left as they are."""
    for folder, _, files in os.walk(root):
        os.chmod(folder, 0o777)
        for name in files:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.chmod(path, os.stat(path).st_mode | 0o666)


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
