"""What the fork server saves, and what a run costs: `python benchmarks/hot_load.py [HARNESS]`.

Everything is measured in one run on one machine, so that the ratios mean something; each line
says the limit that the project has set itself.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from verify_ext.config import Options, default_cache
from verify_ext.harness.outcome import Limits
from verify_ext.harness.provision import Provision

ROOT = Path(__file__).resolve().parent.parent
CANARY = ROOT / "src/verify_ext/harness/canary/verify_ext_canary"
PACKAGES = 20
MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Cost:
    wall_s: float
    cpu_s: float
    peak_pss_bytes: int


def measured(command: list[str], folder: Path, expected: int = 0) -> Cost:
    """Run a command to its end; CPU is that of all processes below it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    with open(folder / "output.txt", "ab") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)
        with watched(process.pid) as peak:
            status = process.wait()
    if status != expected:
        raise SystemExit(f"{command} exited with {status}; see {folder}/output.txt")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.monotonic() - started, cpu, peak())


@contextmanager
def watched(pid: int) -> Iterator[Callable[[], int]]:
    """Sample the proportional memory of a process and all below it until the block ends."""
    highest, done = 0, threading.Event()

    def sample() -> None:
        nonlocal highest
        while not done.wait(0.1):
            highest = max(highest, tree_pss(pid))

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield lambda: highest
    finally:
        done.set()
        thread.join()


def tree_pss(pid: int) -> int:
    total = 0
    try:
        processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    for process in processes:
        try:
            total += process.memory_full_info().pss
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return total


def lay_out(folder: Path, count: int) -> Path:
    """Make a tree of `count` packages, all of one name and none alike to the file system."""
    tree = folder / f"packages-{count}"
    for number in range(count):
        shutil.copytree(CANARY, tree / f"team-{number:02}" / CANARY.name)
    return tree


def show(name: str, value: float, unit: str, limit: float, *, at_least: bool = False) -> bool:
    kept = value >= limit if at_least else value <= limit
    sign = ">=" if at_least else "<="
    print(f"{name:<58}{value:>9.3f} {unit:<4} {sign} {limit:g} {'ok' if kept else 'MISSED'}")
    return kept


def main() -> int:
    harness = sys.argv[1] if len(sys.argv) > 1 else "openjiuwen==0.1.16"
    verify = [sys.executable, "-m", "verify_ext"]
    options = Options(paths=(ROOT,), harnesses=(harness,), cache=default_cache(), limits=Limits())
    provision = Provision(options, ROOT)
    (chosen,) = provision.choose()
    environment = provision.environment(chosen, print)
    print(f"{harness}, {os.cpu_count()} processors, Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        half, whole = lay_out(folder, PACKAGES // 2), lay_out(folder, PACKAGES)
        run = [*verify, "verify", "--harness", harness]
        measured([*run, str(half)], folder)  # both sides get a warm disk
        first, second = measured([*run, str(half)], folder), measured([*run, str(whole)], folder)
        script = str(ROOT / "benchmarks/fresh_load.py")
        fresh = [
            measured([str(environment.python), "-I", script, str(manifest)], folder)
            for manifest in sorted(whole.rglob("harness_config.yaml"))
        ]
        version = measured([*verify, "--version"], folder)
        static = measured([*verify, "--static", str(CANARY)], folder)
    fresh_s = sum(cost.wall_s for cost in fresh)
    print(f"{PACKAGES} packages: {second.wall_s:.2f} s; in fresh interpreters: {fresh_s:.2f} s")
    kept = [
        show("times faster than fresh interpreters", fresh_s / second.wall_s, "x", 8, at_least=True),
        show("CPU per further package", (second.cpu_s - first.cpu_s) / (PACKAGES // 2), "s", 0.15),
        show("CPU of --version", version.cpu_s, "s", 0.15),
        show("CPU of --static on one package", static.cpu_s, "s", 0.4),
        show("peak PSS of verifier, server and jobs", second.peak_pss_bytes / MEBIBYTE, "MiB", 600),
    ]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
