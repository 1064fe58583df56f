"""Exercises packages in one started harness, as the pipeline does, and returns what was found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from verify_ext.config import Options, default_cache
from verify_ext.discover import discover
from verify_ext.events import EventLog, Started, fold
from verify_ext.harness.choice import Chosen
from verify_ext.harness.outcome import Limits
from verify_ext.harness.provision import Plan, Provision
from verify_ext.harness.ready import ReadyHarness, open_harness
from verify_ext.kinds import all_kinds
from verify_ext.model import Finding, Layer, Report
from verify_ext.reading import Subject, read

LIMITS = Limits(deadline_s=20)
"""Long enough for a loaded machine to load a package, short enough to wait for the hanging ones."""


@dataclass(frozen=True)
class Living:
    """One harness that is ready, and what is needed to put packages through it."""

    contract: str
    ready: ReadyHarness
    chosen: Chosen
    provision: Provision

    def findings(self, package: Path) -> tuple[Finding, ...]:
        """Return all findings about a package, static ones included."""
        return self.report(package).findings

    def report(self, package: Path) -> Report:
        """Read and exercise a package; no other is in the report."""
        log = EventLog()
        log.append(
            Started(
                tool_version="test",
                commit=None,
                dirty=None,
                harnesses=(self.ready.requirement,),
                required=(Layer.L1, Layer.L2),
            )
        )
        subject = self.read(package)
        log.append(subject.digested())
        for result in subject.results():
            log.append(result)
        for result in self.ready.exercise(subject, self.plan(subject)):
            log.append(result)
        return fold(log.events())

    def read(self, package: Path) -> Subject:
        """Find and read the one extension that a folder is."""
        kinds = {kind.name: kind for kind in all_kinds()}
        (extension,) = discover([package], package.parent, tuple(kinds.values())).extensions
        return read(extension, kinds[extension.kind])

    def plan(self, subject: Subject) -> Plan:
        """Say where a subject is exercised."""
        return self.provision.plan(self.chosen, subject.checked, print)


@contextmanager
def open_living(requirement: str, scratch: Path) -> Iterator[Living]:
    """Prepare and start a harness. The environments are those of the user's cache."""
    options = Options(paths=(scratch,), harnesses=(requirement,), cache=default_cache(), limits=LIMITS)
    provision = Provision(options, scratch)
    (chosen,) = provision.choose()
    kinds = {kind.name: kind for kind in all_kinds()}
    environment = provision.environment(chosen, print)
    with open_harness(environment, kinds, scratch, LIMITS) as ready:
        yield Living(ready.state.contract or "", ready, chosen, provision)
