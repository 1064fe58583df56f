"""What each layer of the good example costs: `python benchmarks/acceptance.py`.

In one run, for a harness of each contract: the processor time of every exercise, that of the jailed job,
of the trusted process (scripted model, judgement) and of the processes that examine files. The limit
that the project has set itself: L3 adds at most one second to L2.
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.conftest import HARNESSES, ROOT
from tests.living import Living, open_living
from verify_ext.kinds import Exercise
from verify_ext.model import Layer
from verify_ext.reading import Subject

EXAMPLE = ROOT / "examples/good/deck_maker"
ROUNDS = 7
LIMIT_S = 1.0


def used_s() -> float:
    """Return the processor time of this process, and of those below it that have ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in both)


def cost_s(living: Living, subject: Subject, exercise: Exercise, paths: tuple[Path, ...]) -> float:
    """Return the median processor time of an exercise, its judgement included."""
    taken = []
    for _ in range(ROUNDS):
        before = used_s()
        ended = living.ready.runner.run(subject, exercise, paths)
        if ended is None or ended.seen is None:
            raise SystemExit(f"{exercise.name} did not get to its end")
        list(exercise.judge(subject.extension, subject.checked, ended.seen, None))
        taken.append(used_s() - before + ended.outcome.cpu_s)
    return statistics.median(taken)


def main() -> int:
    worst = 0.0
    for requirement in HARNESSES.values():
        with tempfile.TemporaryDirectory() as name, open_living(requirement, Path(name)) as living:
            subject = living.read(EXAMPLE)
            paths = living.plan(subject).paths
            for exercise in subject.kind.exercises:
                cost = cost_s(living, subject, exercise, paths)
                print(f"{requirement}: {exercise.name} ({exercise.layer}) {cost:.2f} s")
                worst = max(worst, cost) if exercise.layer is Layer.L3 else worst
    print(f"L3 adds at most {worst:.2f} s of processor time; the limit is {LIMIT_S} s")
    return int(worst > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
