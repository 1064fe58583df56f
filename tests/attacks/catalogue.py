"""What an attack is, and all of them.

An attack is a function in a module of `themes/`, one module per theme. It edits a copy of our own
known-good package; its docstring says what it attempts and what must hold. `attack(…)` names the
findings that the package must then get: those and no others. None at all means that it passes,
because everything that it tried was refused and it made nothing of that.

Whoever gains something raises `Gained` (means.py) and so gets a finding that is not expected.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.attacks import themes

TOOL = "tools/canary_tool.py"
_MEANS = "from openjiuwen.extensions.harness.verify_ext_canary.means import *"
_RULES = "__attack__"

Strike = Callable[[Path], None]


@dataclass(frozen=True)
class Attack:
    """One hostile package: how it is made, and what must be found."""

    name: str
    theme: str
    strike: Strike
    findings: tuple[str, ...]
    limit: str | None
    """Why it may pass although it lies about itself; None for everything that may not."""

    @property
    def aim(self) -> str:
        """What it attempts and what must hold, on one line."""
        return " ".join((self.strike.__doc__ or "").split())


def attack(*findings: str, limit: str | None = None) -> Callable[[Strike], Strike]:
    """Mark a function as an attack that must get these findings (errors and warnings)."""

    def mark(strike: Strike) -> Strike:
        setattr(strike, _RULES, (findings, limit))
        return strike

    return mark


def attacks() -> tuple[Attack, ...]:
    """Return all attacks, in the order in which they are written."""
    return tuple(_collect())


def _collect() -> Iterator[Attack]:
    for info in pkgutil.iter_modules(themes.__path__):
        module = importlib.import_module(f"{themes.__name__}.{info.name}")
        functions = [
            each for _, each in inspect.getmembers(module, inspect.isfunction) if hasattr(each, _RULES)
        ]
        for strike in sorted(functions, key=lambda function: function.__code__.co_firstlineno):
            findings, limit = getattr(strike, _RULES)
            name = strike.__name__.replace("_", "-")
            yield Attack(name, info.name, strike, tuple(sorted(findings)), limit)


def run_code(package: Path, code: str, *, file: str = TOOL) -> None:
    """Put code at the end of a module of the package, run when it is imported; means.py is at hand."""
    path = package / file
    path.write_text(f"{path.read_text()}\n\n{_MEANS}\n\n{textwrap.dedent(code).strip()}\n", encoding="utf-8")
