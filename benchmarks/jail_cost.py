"""What the jail costs a job: `python benchmarks/jail_cost.py [HARNESS]`.

The same load, in turns with and without the jail, in one run on one machine; the medians are
compared, so that a noisy neighbour hits both.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from verify_ext.config import Options, default_cache
from verify_ext.harness.jobs import open_to_job
from verify_ext.harness.outcome import Limits
from verify_ext.harness.proof import CANARY_ROOT, read_canary
from verify_ext.harness.provision import Provision
from verify_ext.harness.session import Job, Session
from verify_ext.kinds import Place
from verify_ext.kinds.harness_package import KIND

ROUNDS = 60
LIMIT_MS = 10.0


def job(scratch: Path, number: int, name: str) -> Job:
    """Make the job that loads one fresh copy of the canary."""
    folder = scratch / f"{name}-{number}"
    root = folder / CANARY_ROOT.name
    shutil.copytree(CANARY_ROOT, root)
    open_to_job(root)
    load = next(exercise for exercise in KIND.exercises if exercise.name == "load")
    ask = load.ask(read_canary(KIND).checked, Place(root=root, folder=folder))
    assert ask is not None
    return Job(kind=KIND.name, exercise=load.name, root=root, folder=folder, request=ask.request)


def main() -> int:
    harness = sys.argv[1] if len(sys.argv) > 1 else "openjiuwen==0.1.16"
    options = Options(paths=(CANARY_ROOT,), harnesses=(harness,), cache=default_cache(), limits=Limits())
    provision = Provision(options, CANARY_ROOT)
    (chosen,) = provision.choose()
    python = provision.environment(chosen, print).python
    assert KIND.job is not None
    jobs = {KIND.name: KIND.job}
    costs: dict[str, list[float]] = {"without": [], "with": []}
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        scratch = Path(name)
        scratch.chmod(0o711)
        sessions = {
            side: stack.enter_context(Session(python, jobs, scratch, options.limits, jail=side == "with"))
            for side in costs
        }
        print(f"{harness}, protections {sessions['with'].protections['parts']}")
        for side, session in sessions.items():
            first = session.run(job(scratch, -1, side), options.limits)
            session.preload(() if first is None else first.imported)
        for number in range(ROUNDS):
            for side, session in sessions.items():
                outcome = session.run(job(scratch, number, side), options.limits)
                if outcome is None or outcome.observed is None:
                    raise SystemExit(f"{side}: {outcome}")
                costs[side].append(outcome.cpu_s * 1000)
    without, jailed = (statistics.median(costs[side]) for side in ("without", "with"))
    kept = jailed - without <= LIMIT_MS
    print(f"{ROUNDS} loads: {without:.1f} ms of CPU without the jail, {jailed:.1f} ms with it")
    print(f"the jail costs {jailed - without:.1f} ms <= {LIMIT_MS:g} {'ok' if kept else 'MISSED'}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
